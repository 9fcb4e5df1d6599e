/* A phase, as shared by phase.c and worker.c. */
#ifndef PHASE_H
#define PHASE_H

#include <pthread.h>
#include <semaphore.h>

#include "dialect.h"

enum { SCHEDULE_HEAD_BYTES = 32, ERRORS_MAX = 64 };
/* The contract allows 32,768 samples. Fewer cost no more: a write every few ms of no-ops. */
enum { SAMPLES_HELD = 4096 };

typedef struct {
    int64_t intended_ns, key;
    uint32_t document, count;
    uint8_t operation, flags, unused[6], guid[16];
} record;

typedef struct {
    const uint8_t *bytes;
    size_t size;
    uint32_t record_bytes, records, slices;
    int64_t lap_ns;
} schedule;

typedef struct {
    uint64_t intended_ns, start_ns, service_ns;
    uint32_t index;
    uint8_t operation, outcome;
    uint16_t worker;
} sample;
_Static_assert(sizeof(sample) == 32, "samples are written as they are");

typedef struct {
    _Alignas(64) _Atomic uint64_t next; /* a cache line for each worker's own slice */
    uint64_t limit;
} slice;

/* One operation between its record and its sample, and the thread of a window that calls it. */
typedef struct {
    struct worker *worker;
    target *targets, *at;
    given with;
    uint8_t *bytes;
    record taken;
    uint64_t number, lap;
    int64_t intended_ns, start_ns, end_ns;
    answer got;
    bool flying, threaded;
    sem_t go, landed;
    pthread_t thread;
} lane;

typedef struct worker {
    phase *all;
    uint32_t number; /* in this process */
    lane *lanes;
    sample *samples;
    uint32_t held, failures;
    int64_t written_ns, last_ns, ready_ns; /* ready: when the next operation may begin */
    int64_t documents, sum, retries;
    bool gave_up, threaded;
    sem_t go;
    pthread_t thread;
} worker;

struct phase {
    bson_t *message;
    session *with;
    pool *pools;
    uint32_t pool_count, operation_count, worker_count, first_worker, lane_count, clients;
    operation *operations;
    schedule schedule;
    slice *slices;
    enum { AWAITED, WINDOW, RATE, BURST } mode;
    int64_t think_ns, lap_step, item_step, failures_max;
    int64_t origin_ns, began_ns, until_ns; /* origin: T0 */
    size_t call_documents, call_bytes;     /* the most that one call is given */
    worker *workers;
    int samples_fd, done_fd;
    atomic_uint running;
    atomic_int write_error;
    bool ending;
    pthread_mutex_t lock; /* of the errors */
    struct {
        int32_t code;
        int64_t count;
        char name[64], message[BSON_ERROR_BUFFER_SIZE];
    } errors[ERRORS_MAX];
    uint32_t error_count;
};

bool phase_shares(const phase *all); /* one queue for all workers */
record record_at(const schedule *from, uint64_t place);
void *worker_main(void *argument);
void *lane_main(void *argument);

#endif
