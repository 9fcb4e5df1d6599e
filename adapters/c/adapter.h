/* What the files of the harness share: messages, the clock, documents, phases. */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

/* Answer to a message that the adapter refuses. */
typedef struct {
    const char *code;
    char message[1024];
} refusal;

/* Always false, so that a function can end with it. */
bool refuse(refusal *why, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fields of a message: null counts as missing. A document is a view, and may be an array. */
int64_t int_in(const bson_t *message, const char *name, int64_t otherwise);
bool bool_in(const bson_t *message, const char *name);
const char *text_in(const bson_t *message, const char *name);
bool document_in(const bson_t *message, const char *name, bson_t *view);
uint32_t length_of(const bson_t *message);
/* Writes `length` bytes; false if the text is not exactly their digits. */
bool from_hex(const char *digits, uint8_t *bytes, size_t length);

/* Nanoseconds since the epoch of `hello`. */
extern int64_t epoch_ns;
int64_t now_ns(void);
extern atomic_bool stopped;
extern int stop_fd; /* readable from then on */
/* False if the process has to stop before. */
bool sleep_until(int64_t due_ns);

/* The values that stamps take. */
typedef struct {
    int64_t key, sequence, producer, made_ns, time_ms;
    uint64_t shift;
    uint8_t guid[16];
    bool live; /* the two clocks are read when a stamp asks for them */
} input;

typedef struct {
    uint8_t *bytes;
    uint32_t *ends; /* of each document */
    uint32_t length, largest_bytes;
} pool;

bool pool_read(pool *read, const char *path, refusal *why);
void pool_free(pool *read);
bool pool_document(const pool *of, int64_t number, bson_t *view);

/* Documents of a pool, or always the same one, with their stamps. */
typedef struct {
    const pool *from;
    int64_t fixed; /* the number of that document, or -1 */
    struct stamp *stamps;
    uint32_t stamped;
    uint32_t *offsets; /* of each document and stamp; 0 where it has no such field */
} reference;

bool reference_read(reference *made, const bson_t *message, const pool *pools, refusal *why);
void reference_free(reference *made);
/* Copies a document to `to`, stamps it and sets `document` to it; returns its end. */
uint8_t *reference_make(const reference *from, uint32_t number, const input *values, uint8_t *to,
                        bson_t *document);

typedef struct session session;
typedef struct phase phase;
phase *phase_new(const bson_t *message, session *with, refusal *why);
void phase_free(phase *ended);
bool phase_turn(phase *all, int64_t until_ns, bson_t *reply, refusal *why);
void phase_ended(phase *all, bson_t *reply);

#endif
