/* The driver, as the harness sees it. */
#ifndef DIALECT_H
#define DIALECT_H

#include "adapter.h"

enum { RIGHT, WRONG, FAILED, TIMED_OUT };
enum { ROLES_MAX = 2 };

typedef struct {
    int outcome;
    int64_t documents, sum, retries;
    int32_t code; /* these three only where it is not right */
    char name[64];
    char message[BSON_ERROR_BUFFER_SIZE];
    bson_t *reply; /* null: nobody wants a copy of a failure's */
} answer;

/* The documents of a call. Those of part n, of several, begin at n times ROLES_MAX. */
typedef struct {
    bson_t *documents;
    const bson_t **list; /* pointers to them */
    const struct operation **parts;
    uint32_t count;
    bson_t options; /* of finds */
} given;

typedef struct target target;
typedef struct kind {
    const char *name;
    void (*call)(target *at, given *with, answer *got);
    const char *roles[ROLES_MAX]; /* what it is given, in this order */
    enum { ONE, MANY, PARTS } gives;
} kind;
extern const kind kinds[]; /* a nameless one ends them */
extern const char *const extras[];

typedef struct operation {
    const kind *kind;
    const char *name, *sum_field;
    bson_t message;
    bson_t reading;             /* options of finds, the same for all calls */
    reference given[ROLES_MAX]; /* `from` is null where a role is not there */
} operation;

const char *driver_version(void);
void driver_start(void);
/* The clients of `open`; `opened` gets the fields of its answer. */
session *session_open(const bson_t *message, bson_t *opened, refusal *why);
session *session_none(void); /* for no-ops before `open` */
void session_close(session *closed);
uint32_t session_clients(const session *with);
bool session_by_operation(const session *with);

/* What one thread calls: `clients` times `operations` targets, made from its own clients. */
target *targets_new(session *with, const operation *operations, uint32_t count, refusal *why);
void targets_free(target *made, session *with, uint32_t count);
target *target_of(target *made, uint32_t number);
/* The options of a call, made before its clock begins. */
void call_ready(target *at, given *with);

#endif
