/* Pools, and what operations are given: copies of flat BSON, stamped in place. SPEC 4 to 6. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapter.h"

#if BSON_BYTE_ORDER != BSON_LITTLE_ENDIAN
#error "stamps are written as the machine has them, and BSON is little-endian"
#endif

enum { BINARY_HEAD = 5, STRING_HEAD = 4, GUID_TEXT = 36 };

typedef enum { INT32, INT64, DOUBLE, DATE, STRING, OBJECTID, GUID, GUID_STRING } form;
static const char *const FORMS[] = {"int32",  "int64",    "double", "date",
                                    "string", "objectid", "guid",   "guid_string"};
static const bson_type_t TYPES[] = {BSON_TYPE_INT32,     BSON_TYPE_INT64, BSON_TYPE_DOUBLE,
                                    BSON_TYPE_DATE_TIME, BSON_TYPE_UTF8,  BSON_TYPE_OID,
                                    BSON_TYPE_BINARY,    BSON_TYPE_UTF8};

typedef enum { KEY, SEQUENCE, PRODUCER, MADE_NS, TIME_MS } source;
static const char *const SOURCES[] = {"key", "sequence", "producer", "made_ns", "time_ms"};

typedef struct stamp {
    form as;
    source from;
    int64_t add;
    const char *prefix; /* into the message */
    uint8_t prefix_bytes[4];
    uint32_t prefix_length, width;
} stamp;

static uint32_t word_at(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

bool pool_read(pool *read, const char *path, refusal *why) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return refuse(why, "internal", "%s: %s", path, strerror(errno));
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file), at = 0, room = 0;
    rewind(file);
    read->bytes = bson_malloc(size ? size : 1);
    bool whole = fread(read->bytes, 1, size, file) == size;
    fclose(file);
    while (whole && at < size) {
        uint32_t bytes = size - at < 5 ? 0 : word_at(read->bytes + at);
        whole = bytes >= 5 && bytes <= size - at;
        at += bytes;
        if (read->length == room)
            read->ends = bson_realloc(read->ends, (room = 2 * room + 64) * sizeof *read->ends);
        read->ends[read->length++] = (uint32_t)at;
        if (bytes > read->largest_bytes)
            read->largest_bytes = bytes;
    }
    return whole || refuse(why, "internal", "%s does not hold whole documents", path);
}

void pool_free(pool *read) {
    bson_free(read->bytes);
    bson_free(read->ends);
}

static const uint8_t *document_at(const pool *from, uint32_t number, uint32_t *length) {
    uint32_t begin = number ? from->ends[number - 1] : 0;
    *length = from->ends[number] - begin;
    return from->bytes + begin;
}

/* The offset of a stamp's value, or 0 if the document has none of that type and length. */
static uint32_t offset_of(const stamp *each, const bson_t *path, const bson_t *document) {
    bson_iter_t step, at, inner;
    bool found = bson_iter_init(&at, document) && bson_iter_init(&step, path);
    for (bool first = true; found && bson_iter_next(&step); first = false) {
        if (!first) {
            found = bson_iter_recurse(&at, &inner);
            at = inner;
        }
        found = found && bson_iter_find(&at, bson_iter_utf8(&step, NULL));
    }
    if (!found || bson_iter_type(&at) != TYPES[each->as])
        return 0;
    /* A value begins after the zero byte of its name. */
    const char *name = bson_iter_key(&at);
    const uint8_t *value = (const uint8_t *)name + strlen(name) + 1;
    uint32_t text = each->as == GUID_STRING ? GUID_TEXT : each->prefix_length + each->width;
    if (TYPES[each->as] == BSON_TYPE_UTF8 && word_at(value) != text + 1)
        return 0;
    if (each->as == GUID && word_at(value) != 16)
        return 0;
    return (uint32_t)(value - bson_get_data(document));
}

static int word_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; word && i < count; i++) {
        if (!strcmp(word, words[i]))
            return (int)i;
    }
    return -1;
}

static bool stamp_read(stamp *read, const bson_t *message) {
    const char *from = text_in(message, "from"), *prefix = text_in(message, "prefix");
    int as = word_of(text_in(message, "as"), FORMS, sizeof FORMS / sizeof *FORMS);
    int taken = word_of(from ? from : "key", SOURCES, sizeof SOURCES / sizeof *SOURCES);
    *read = (stamp){.as = (form)as,
                    .from = (source)taken,
                    .add = int_in(message, "add", 0),
                    .prefix = prefix ? prefix : "",
                    .prefix_length = prefix ? (uint32_t)strlen(prefix) : 0,
                    .width = (uint32_t)int_in(message, "width", 0)};
    return as >= 0 && taken >= 0 &&
           (as != OBJECTID || from_hex(read->prefix, read->prefix_bytes, 4));
}

bool pool_document(const pool *of, int64_t number, bson_t *view) {
    if (number < 0 || number >= of->length)
        return false;
    uint32_t length;
    const uint8_t *bytes = document_at(of, (uint32_t)number, &length);
    return bson_init_static(view, bytes, length);
}

bool reference_read(reference *made, const bson_t *message, const pool *pools, refusal *why) {
    bson_t stamps, one, path;
    bson_iter_t each;
    made->from = &pools[int_in(message, "pool", 0)];
    made->fixed = int_in(message, "document", -1);
    uint32_t rows = made->fixed < 0 ? made->from->length : 1;
    made->stamped = document_in(message, "stamps", &stamps) ? length_of(&stamps) : 0;
    made->stamps = bson_malloc0(made->stamped * sizeof *made->stamps + 1);
    made->offsets = bson_malloc0((size_t)rows * made->stamped * sizeof *made->offsets + 1);
    if (!made->stamped)
        return true;
    bson_iter_init(&each, &stamps);
    for (uint32_t i = 0; bson_iter_next(&each); i++) {
        uint32_t length;
        const uint8_t *bytes;
        bson_iter_document(&each, &length, &bytes);
        if (!bson_init_static(&one, bytes, length) || !stamp_read(&made->stamps[i], &one) ||
            !document_in(&one, "path", &path))
            return refuse(why, "unsupported", "a stamp of another kind");
        for (uint32_t row = 0; row < rows; row++) {
            bson_t document;
            bytes = document_at(made->from, made->fixed < 0 ? row : (uint32_t)made->fixed, &length);
            if (bson_init_static(&document, bytes, length))
                made->offsets[row * made->stamped + i] =
                    offset_of(&made->stamps[i], &path, &document);
        }
    }
    return true;
}

void reference_free(reference *made) {
    bson_free(made->stamps);
    bson_free(made->offsets);
}

static int64_t value_of(const stamp *each, const input *values) {
    struct timespec wall;
    switch (each->from) {
    case KEY:
        return values->key + (int64_t)values->shift;
    case SEQUENCE:
        return values->sequence;
    case PRODUCER:
        return values->producer;
    case MADE_NS:
        return values->live ? now_ns() : values->made_ns;
    default:
        if (!values->live)
            return values->time_ms;
        clock_gettime(CLOCK_REALTIME, &wall);
        return (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    }
}

/* The record's guid, its first four bytes XORed with the shift's low half, its last ones with the
 * high half. */
static void guid_of(const input *values, uint8_t *guid) {
    uint32_t low = (uint32_t)values->shift, high = (uint32_t)(values->shift >> 32);
    memcpy(guid, values->guid, 16);
    low ^= word_at(guid);
    high ^= word_at(guid + 12);
    memcpy(guid, &low, 4);
    memcpy(guid + 12, &high, 4);
}

static void guid_text(const uint8_t *guid, uint8_t *to) {
    static const char DIGITS[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = (uint8_t)DIGITS[guid[i] >> 4];
        *to++ = (uint8_t)DIGITS[guid[i] & 15];
    }
}

static void stamp_at(const stamp *each, const input *values, uint8_t *at) {
    uint8_t guid[16];
    if (each->as == GUID || each->as == GUID_STRING) {
        guid_of(values, guid);
        if (each->as == GUID)
            memcpy(at + BINARY_HEAD, guid, sizeof guid);
        else
            guid_text(guid, at + STRING_HEAD);
        return;
    }
    int64_t value = value_of(each, values) + each->add;
    uint64_t rest = (uint64_t)value;
    double real = (double)value;
    switch (each->as) {
    case INT32:
        memcpy(at, &value, 4); /* its low half */
        break;
    case DOUBLE:
        memcpy(at, &real, 8);
        break;
    case STRING:
        at += STRING_HEAD;
        memcpy(at, each->prefix, each->prefix_length);
        for (uint32_t i = each->width; i-- > 0; rest /= 10)
            at[each->prefix_length + i] = (uint8_t)('0' + rest % 10);
        break;
    case OBJECTID:
        memcpy(at, each->prefix_bytes, 4);
        rest = BSON_UINT64_TO_BE(rest);
        memcpy(at + 4, &rest, 8);
        break;
    default:
        memcpy(at, &value, 8);
    }
}

uint8_t *reference_make(const reference *from, uint32_t number, const input *values, uint8_t *to,
                        bson_t *document) {
    uint32_t length, row = from->fixed < 0 ? number % from->from->length : 0;
    const uint8_t *bytes =
        document_at(from->from, from->fixed < 0 ? row : (uint32_t)from->fixed, &length);
    memcpy(to, bytes, length);
    const uint32_t *offsets = from->offsets + (size_t)row * from->stamped;
    for (uint32_t i = 0; i < from->stamped; i++) {
        if (offsets[i])
            stamp_at(&from->stamps[i], values, to + offsets[i]);
    }
    bson_init_static(document, to, length);
    return to + length;
}
