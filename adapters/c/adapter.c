/* The adapter of libmongoc: reads a line, does it, answers a line. SPEC sections 1 to 3. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "dialect.h"

enum { PROTOCOL = 2, FRAME = 0x1e };
static const char *const PACINGS[] = {"awaited", "think", "window", "rate", "burst", NULL};

static session *open_session;
static phase *current;
static atomic_bool in_turn;

static void on_term(int signal) {
    (void)signal;
    stopped = true; /* first: the turn may end in another thread meanwhile */
    if (!in_turn)
        _exit(0);
    eventfd_write(stop_fd, 1);
}

static void append_words(bson_t *to, const char *name, const char *const *words, size_t stride) {
    bson_t array;
    BSON_APPEND_ARRAY_BEGIN(to, name, &array);
    for (const char *at = (const char *)words; *(const char *const *)at; at += stride)
        BSON_APPEND_UTF8(&array, "", *(const char *const *)at);
    bson_append_array_end(to, &array);
}

static bool on_hello(const bson_t *message, bson_t *reply, refusal *why) {
    static const char *const NOTHING[] = {NULL};
    bson_t part, concurrency;
    struct timespec resolution;
    const char *epoch = text_in(message, "epoch_ns");
    if (int_in(message, "protocol", 0) != PROTOCOL || !epoch)
        return refuse(why, "protocol", "this adapter speaks protocol %d", PROTOCOL);
    epoch_ns = strtoll(epoch, NULL, 10);
    clock_getres(CLOCK_MONOTONIC, &resolution);
    BSON_APPEND_INT32(reply, "protocol", PROTOCOL);
    BSON_APPEND_UTF8(reply, "adapter", "c");
    BSON_APPEND_DOCUMENT_BEGIN(reply, "driver", &part);
    BSON_APPEND_UTF8(&part, "name", "libmongoc");
    BSON_APPEND_UTF8(&part, "version", driver_version());
    BSON_APPEND_NULL(&part, "native");
    bson_append_document_end(reply, &part);
    BSON_APPEND_DOCUMENT_BEGIN(reply, "runtime", &part);
#ifdef __clang__
    BSON_APPEND_UTF8(&part, "name", "clang");
#else
    BSON_APPEND_UTF8(&part, "name", "gcc");
#endif
    BSON_APPEND_UTF8(&part, "version", __VERSION__);
    append_words(&part, "flags", NOTHING, sizeof *NOTHING);
    bson_append_document_end(reply, &part);
    BSON_APPEND_DOCUMENT_BEGIN(reply, "clock", &part);
    BSON_APPEND_UTF8(&part, "source", "CLOCK_MONOTONIC");
    BSON_APPEND_INT64(&part, "resolution_ns", resolution.tv_nsec);
    bson_append_document_end(reply, &part);
    BSON_APPEND_DOCUMENT_BEGIN(reply, "capabilities", &part);
    append_words(&part, "operations", &kinds[0].name, sizeof *kinds);
    append_words(&part, "pacing", PACINGS, sizeof *PACINGS);
    append_words(&part, "extras", extras, sizeof *extras);
    append_words(&part, "shapes", NOTHING, sizeof *NOTHING);
    append_words(&part, "alters", NOTHING, sizeof *NOTHING);
    BSON_APPEND_UTF8(&part, "uri", "standard");
    BSON_APPEND_NULL(&part, "consumer_ns");
    BSON_APPEND_DOCUMENT_BEGIN(&part, "concurrency", &concurrency);
    BSON_APPEND_UTF8(&concurrency, "kind", "threads");
    BSON_APPEND_NULL(&concurrency, "max");
    BSON_APPEND_NULL(&concurrency, "threads");
    bson_append_document_end(&part, &concurrency);
    bson_append_document_end(reply, &part);
    return true;
}

static bool on_clock(const bson_t *message, bson_t *reply, refusal *why) {
    (void)message, (void)why;
    return BSON_APPEND_INT64(reply, "now_ns", now_ns());
}

static bool on_open(const bson_t *message, bson_t *reply, refusal *why) {
    session *opened = session_open(message, reply, why);
    if (!opened)
        return false;
    session_close(open_session);
    open_session = opened;
    return true;
}

static bool on_prepare(const bson_t *message, bson_t *reply, refusal *why) {
    (void)reply;
    return (current = phase_new(message, open_session, why)) != NULL;
}

static bool on_turn(const bson_t *message, bson_t *reply, refusal *why) {
    in_turn = true;
    bool done = phase_turn(current, int_in(message, "until_ns", 0), reply, why);
    in_turn = false;
    if (stopped)
        _exit(0); /* the samples are written; a stopped turn has no answer */
    return done;
}

static bool on_end(const bson_t *message, bson_t *reply, refusal *why) {
    (void)message, (void)why;
    phase_ended(current, reply);
    phase_free(current);
    current = NULL;
    return true;
}

static bool on_close(const bson_t *message, bson_t *reply, refusal *why) {
    (void)message, (void)reply, (void)why;
    session_close(open_session);
    return true;
}

static bool on_render(const bson_t *message, bson_t *reply, refusal *why) {
    static const char DIGITS[] = "0123456789abcdef";
    bson_t values, document;
    const char *hex = text_in(message, "template"), *guid;
    size_t size = hex ? strlen(hex) / 2 : 0;
    uint8_t *bytes = bson_malloc(size + 1), *made = bson_malloc(size + 1);
    char *text = bson_malloc0(2 * size + 1);
    pool from = {.bytes = bytes, .ends = (uint32_t[]){(uint32_t)size}, .length = 1};
    reference template = {0};
    bool right = hex && from_hex(hex, bytes, size) && document_in(message, "input", &values) &&
                 reference_read(&template, message, &from, why);
    if (right) {
        input with = {.key = int_in(&values, "key", 0),
                      .shift = (uint64_t)int_in(&values, "shift", 0),
                      .sequence = int_in(&values, "sequence", 0),
                      .producer = int_in(&values, "producer", 0),
                      .made_ns = int_in(&values, "made_ns", 0),
                      .time_ms = int_in(&values, "time_ms", 0)};
        guid = text_in(&values, "guid");
        right = !guid || from_hex(guid, with.guid, sizeof with.guid);
        reference_make(&template, 0, &with, made, &document);
        for (size_t i = 0; i < 2 * size; i++)
            text[i] = DIGITS[i % 2 ? made[i / 2] & 15 : made[i / 2] >> 4];
        BSON_APPEND_UTF8(reply, "bson", text);
    }
    reference_free(&template);
    bson_free(text);
    bson_free(bytes);
    bson_free(made);
    return right || refuse(why, "internal", "no template in hex");
}

static const struct {
    const char *type, *answer;
    bool (*handle)(const bson_t *message, bson_t *reply, refusal *why);
} MESSAGES[] = {{"hello", "hello", on_hello},   {"clock", "clock", on_clock},
                {"open", "opened", on_open},    {"prepare", "ready", on_prepare},
                {"turn", "turn_done", on_turn}, {"end", "ended", on_end},
                {"close", "closed", on_close},  {"render", "rendered", on_render}};
enum { MESSAGES_COUNT = sizeof MESSAGES / sizeof *MESSAGES };

static void answer_line(const char *line, size_t length) {
    refusal why = {0};
    bson_error_t error = {0};
    bson_t reply = BSON_INITIALIZER;
    bson_t *message = bson_new_from_json((const uint8_t *)line, (ssize_t)length, &error);
    const char *type = message ? text_in(message, "type") : NULL;
    int i = 0;
    while (i < MESSAGES_COUNT && (!type || strcmp(type, MESSAGES[i].type) != 0))
        i++;
    bool done = false;
    if (i < MESSAGES_COUNT) {
        BSON_APPEND_UTF8(&reply, "type", MESSAGES[i].answer);
        done = MESSAGES[i].handle(message, &reply, &why);
    } else {
        refuse(&why, "protocol", "no message that is known: %s", error.message);
    }
    if (!done) {
        bson_reinit(&reply);
        BSON_APPEND_UTF8(&reply, "type", "error");
        BSON_APPEND_UTF8(&reply, "code", why.code);
        BSON_APPEND_UTF8(&reply, "message", why.message);
    }
    char *text = bson_as_relaxed_extended_json(&reply, NULL);
    printf("%c%s\n", FRAME, text);
    fflush(stdout);
    if (done && MESSAGES[i].handle == on_close)
        _exit(0);
    bson_free(text);
    bson_destroy(&reply);
    bson_destroy(message);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    stop_fd = eventfd(0, EFD_CLOEXEC);
    sigaction(SIGTERM, &action, NULL);
    driver_start();
    open_session = session_none();
    while ((length = getline(&line, &room, stdin)) > 0)
        answer_line(line, (size_t)length);
    _exit(0); /* the core is gone: no one waits for clean pools */
}
