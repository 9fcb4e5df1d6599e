/* Fields of messages, the clock, sleeping. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "adapter.h"

int64_t epoch_ns;
atomic_bool stopped;
int stop_fd = -1;

bool refuse(refusal *why, const char *code, const char *format, ...) {
    va_list values;
    va_start(values, format);
    why->code = code;
    vsnprintf(why->message, sizeof why->message, format, values);
    va_end(values);
    return false;
}

int64_t int_in(const bson_t *message, const char *name, int64_t otherwise) {
    bson_iter_t at;
    bool there = bson_iter_init_find(&at, message, name) && BSON_ITER_HOLDS_NUMBER(&at);
    return there ? bson_iter_as_int64(&at) : otherwise;
}

bool bool_in(const bson_t *message, const char *name) {
    bson_iter_t at;
    return bson_iter_init_find(&at, message, name) && bson_iter_as_bool(&at);
}

const char *text_in(const bson_t *message, const char *name) {
    bson_iter_t at;
    bool there = bson_iter_init_find(&at, message, name) && BSON_ITER_HOLDS_UTF8(&at);
    return there ? bson_iter_utf8(&at, NULL) : NULL;
}

bool document_in(const bson_t *message, const char *name, bson_t *view) {
    bson_iter_t at;
    const uint8_t *bytes = NULL;
    uint32_t length = 0;
    if (!bson_iter_init_find(&at, message, name))
        return false;
    if (BSON_ITER_HOLDS_ARRAY(&at))
        bson_iter_array(&at, &length, &bytes);
    else if (BSON_ITER_HOLDS_DOCUMENT(&at))
        bson_iter_document(&at, &length, &bytes);
    return bytes && bson_init_static(view, bytes, length);
}

uint32_t length_of(const bson_t *message) {
    return bson_count_keys(message);
}

bool from_hex(const char *digits, uint8_t *bytes, size_t length) {
    static const char DIGITS[] = "0123456789abcdef";
    for (size_t i = 0; i < 2 * length; i++) {
        const char *digit = digits[i] ? strchr(DIGITS, digits[i]) : NULL;
        if (!digit)
            return false;
        uint8_t value = (uint8_t)(digit - DIGITS);
        bytes[i / 2] = (uint8_t)(i % 2 ? bytes[i / 2] | value : value << 4);
    }
    return !digits[2 * length];
}

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - epoch_ns;
}

bool sleep_until(int64_t due_ns) {
    /* clock_nanosleep would not do: SIGTERM interrupts only one thread. */
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    for (int64_t left_ns; (left_ns = due_ns - now_ns()) > 0;) {
        struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
        ppoll(&stop, 1, &left, NULL);
        if (stopped)
            return false;
    }
    return true;
}
