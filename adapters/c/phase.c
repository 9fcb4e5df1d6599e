/* A phase from `prepare` to `end`: its schedule, its workers, its turns. SPEC 4, 5 and 7. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "phase.h"

bool phase_shares(const phase *all) {
    return all->mode == RATE || all->mode == BURST;
}

record record_at(const schedule *from, uint64_t place) {
    record read = {0};
    memcpy(&read, from->bytes + SCHEDULE_HEAD_BYTES + place * from->record_bytes,
           from->record_bytes);
    return read;
}

static bool schedule_open(schedule *opened, const char *path, refusal *why) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about))
        return refuse(why, "internal", "%s: %s", path, strerror(errno));
    opened->size = (size_t)about.st_size;
    /* Populated in advance: page faults belong to `prepare`, not to the first lap. */
    void *bytes = mmap(NULL, opened->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED || opened->size < SCHEDULE_HEAD_BYTES)
        return refuse(why, "internal", "%s: cannot be mapped", path);
    opened->bytes = bytes;
    memcpy(&opened->record_bytes, opened->bytes + 8, 4);
    memcpy(&opened->records, opened->bytes + 12, 4);
    memcpy(&opened->slices, opened->bytes + 16, 4);
    memcpy(&opened->lap_ns, opened->bytes + 24, 8);
    return true;
}

static bool operation_read(phase *all, operation *each, refusal *why) {
    bson_t view;
    const char *name = text_in(&each->message, "kind");
    each->kind = kinds;
    while (each->kind->name && name && strcmp(each->kind->name, name) != 0)
        each->kind++;
    if (!name || !each->kind->name || text_in(&each->message, "shape"))
        return refuse(why, "unsupported", "an operation of kind %s, or its shape", name);
    each->name = text_in(&each->message, "name");
    each->sum_field = text_in(&each->message, "sum_field");
    for (int role = 0; role < ROLES_MAX && each->kind->roles[role]; role++) {
        if (document_in(&each->message, each->kind->roles[role], &view) &&
            !reference_read(&each->given[role], &view, all->pools, why))
            return false;
    }
    return true;
}

/* Options that name documents of a pool, and the others of finds. */
static bool reading_read(const phase *all, operation *each, refusal *why) {
    static const char *const DOCUMENTS[] = {"sort", "hint", "collation"};
    bson_t view, document;
    for (size_t i = 0; i < sizeof DOCUMENTS / sizeof *DOCUMENTS; i++) {
        if (!document_in(&each->message, DOCUMENTS[i], &view))
            continue;
        const pool *from = &all->pools[int_in(&view, "pool", 0)];
        if (!pool_document(from, int_in(&view, "document", 0), &document))
            return refuse(why, "internal", "no document for %s", DOCUMENTS[i]);
        BSON_APPEND_DOCUMENT(&each->reading, DOCUMENTS[i], &document);
    }
    if (bson_has_field(&each->message, "skip"))
        BSON_APPEND_INT64(&each->reading, "skip", int_in(&each->message, "skip", 0));
    if (bson_has_field(&each->message, "max_time_ms"))
        BSON_APPEND_INT64(&each->reading, "maxTimeMS", int_in(&each->message, "max_time_ms", 0));
    return true;
}

/* The capacity that a call, or a part of a bulk, needs. */
static size_t most_bytes(const operation *each) {
    size_t bytes = 0;
    for (int role = 0; role < ROLES_MAX; role++)
        bytes += each->given[role].from ? each->given[role].from->largest_bytes : 0;
    return bytes;
}

/* The capacity that any call needs, over all records, so that no operation allocates. */
static void measure(phase *all) {
    size_t part_bytes = 0;
    for (uint32_t i = 0; i < all->operation_count; i++) {
        size_t bytes = most_bytes(&all->operations[i]);
        part_bytes = bytes > part_bytes ? bytes : part_bytes;
    }
    all->call_documents = ROLES_MAX;
    all->call_bytes = part_bytes + 1;
    for (uint32_t i = 0; i < all->schedule.records; i++) {
        record each = record_at(&all->schedule, i);
        const operation *of = &all->operations[each.operation];
        size_t documents = of->kind->gives == ONE ? 0 : (size_t)each.count * ROLES_MAX;
        size_t bytes = each.count * (of->kind->gives == PARTS ? part_bytes : most_bytes(of));
        if (documents > all->call_documents)
            all->call_documents = documents;
        if (documents && bytes > all->call_bytes)
            all->call_bytes = bytes;
    }
}

static bool read_message(phase *all, refusal *why) {
    static const char *const MODES[] = {"awaited", "window", "rate", "burst"};
    const bson_t *message = all->message;
    bson_t pools, operations, pacing;
    bson_iter_t each;
    if (!document_in(message, "pacing", &pacing) || !document_in(message, "pools", &pools) ||
        !document_in(message, "operations", &operations))
        return refuse(why, "unsupported", "a phase of another kind");
    const char *mode = text_in(&pacing, "mode");
    for (all->mode = AWAITED; strcmp(mode, MODES[all->mode]) != 0; all->mode++) {
        if (all->mode == BURST)
            return refuse(why, "unsupported", "pacing %s", mode);
    }
    all->lane_count = all->mode == WINDOW ? (uint32_t)int_in(&pacing, "size", 1) : 1;
    all->think_ns = int_in(&pacing, "think_ns", 0);
    all->lap_step = int_in(message, "lap_step", 0);
    all->item_step = int_in(message, "item_step", 0);
    all->failures_max = int_in(message, "errors_consecutive_max", 0);
    all->first_worker = (uint32_t)int_in(message, "first_worker", 0);
    all->pool_count = length_of(&pools);
    all->pools = bson_malloc0(all->pool_count * sizeof *all->pools + 1);
    bson_iter_init(&each, &pools);
    for (uint32_t i = 0; bson_iter_next(&each); i++) {
        if (!pool_read(&all->pools[i], bson_iter_utf8(&each, NULL), why))
            return false;
    }
    all->operation_count = length_of(&operations);
    all->operations =
        aligned_alloc(_Alignof(operation), (all->operation_count + 1) * sizeof(operation));
    memset(all->operations, 0, (all->operation_count + 1) * sizeof(operation));
    for (uint32_t i = 0; i < all->operation_count; i++)
        bson_init(&all->operations[i].reading);
    bson_iter_init(&each, &operations);
    for (uint32_t i = 0; bson_iter_next(&each); i++) {
        uint32_t length;
        const uint8_t *bytes;
        bson_iter_document(&each, &length, &bytes);
        if (!bson_init_static(&all->operations[i].message, bytes, length) ||
            !operation_read(all, &all->operations[i], why) ||
            !reading_read(all, &all->operations[i], why))
            return false;
    }
    return schedule_open(&all->schedule, text_in(message, "schedule"), why);
}

static bool lane_new(worker *of, lane *made, refusal *why) {
    phase *all = of->all;
    made->worker = of;
    sem_init(&made->go, 0, 0);
    sem_init(&made->landed, 0, 0);
    made->bytes = bson_malloc(all->call_bytes);
    made->with.documents = aligned_alloc(_Alignof(bson_t), all->call_documents * sizeof(bson_t));
    made->with.list = bson_malloc(all->call_documents * sizeof *made->with.list);
    made->with.parts = bson_malloc(all->call_documents * sizeof *made->with.parts);
    for (size_t i = 0; i < all->call_documents; i++)
        made->with.list[i] = &made->with.documents[i];
    bson_init(&made->with.options);
    made->targets = targets_new(all->with, all->operations, all->operation_count, why);
    if (!made->targets)
        return false;
    if (all->mode == WINDOW)
        made->threaded = !pthread_create(&made->thread, NULL, lane_main, made);
    return all->mode != WINDOW || made->threaded || refuse(why, "internal", "no more threads");
}

static bool worker_new(phase *all, uint32_t number, refusal *why) {
    worker *made = &all->workers[number];
    made->all = all;
    made->number = number;
    sem_init(&made->go, 0, 0);
    made->samples = bson_malloc(SAMPLES_HELD * sizeof(sample));
    memset(made->samples, 0xff, SAMPLES_HELD * sizeof(sample)); /* resident from here on */
    made->lanes = aligned_alloc(_Alignof(lane), all->lane_count * sizeof(lane));
    memset(made->lanes, 0, all->lane_count * sizeof(lane));
    for (uint32_t i = 0; i < all->lane_count; i++) {
        if (!lane_new(made, &made->lanes[i], why))
            return false;
    }
    made->threaded = !pthread_create(&made->thread, NULL, worker_main, made);
    return made->threaded || refuse(why, "internal", "no more threads");
}

static bool begin(phase *all, refusal *why) {
    bson_t limits;
    bson_iter_t each;
    if (!read_message(all, why))
        return false;
    uint32_t slices = all->schedule.slices;
    uint64_t most = all->schedule.records < slices ? 0 : UINT64_MAX;
    all->slices = aligned_alloc(64, slices * sizeof *all->slices);
    for (uint32_t i = 0; i < slices; i++)
        all->slices[i] = (slice){.limit = most};
    if (most && document_in(all->message, "limits", &limits) && bson_iter_init(&each, &limits)) {
        for (uint32_t i = 0; i < slices && bson_iter_next(&each); i++)
            all->slices[i].limit = (uint64_t)bson_iter_as_int64(&each);
    }
    measure(all);
    const char *path = text_in(all->message, "samples");
    all->samples_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    all->done_fd = eventfd(0, EFD_CLOEXEC);
    if (all->samples_fd < 0 || all->done_fd < 0)
        return refuse(why, "internal", "%s: %s", path, strerror(errno));
    uint32_t clients = session_clients(all->with);
    all->clients = clients ? clients : 1;
    uint32_t workers = (uint32_t)int_in(all->message, "workers", 0);
    all->workers = bson_malloc0(workers * sizeof *all->workers + 1);
    while (all->worker_count < workers) {
        if (!worker_new(all, all->worker_count++, why))
            return false;
    }
    return true;
}

phase *phase_new(const bson_t *message, session *with, refusal *why) {
    phase *made = bson_malloc0(sizeof *made);
    made->message = bson_copy(message); /* names and paths point into it */
    made->with = with;
    made->samples_fd = made->done_fd = -1;
    pthread_mutex_init(&made->lock, NULL);
    if (begin(made, why))
        return made;
    phase_free(made);
    return NULL;
}

static void worker_free(worker *of) {
    phase *all = of->all;
    if (of->threaded) {
        sem_post(&of->go);
        pthread_join(of->thread, NULL);
    }
    for (uint32_t i = 0; i < all->lane_count; i++) {
        lane *each = &of->lanes[i];
        if (each->threaded) {
            sem_post(&each->go);
            pthread_join(each->thread, NULL);
        }
        if (each->targets)
            targets_free(each->targets, all->with, all->operation_count);
        bson_free(each->bytes);
        free(each->with.documents);
        bson_free(each->with.list);
        bson_free(each->with.parts);
    }
    free(of->lanes);
    bson_free(of->samples);
}

void phase_free(phase *ended) {
    ended->ending = true;
    for (uint32_t i = 0; i < ended->worker_count; i++)
        worker_free(&ended->workers[i]);
    for (uint32_t i = 0; i < ended->operation_count; i++) {
        for (int role = 0; role < ROLES_MAX; role++)
            reference_free(&ended->operations[i].given[role]);
        bson_destroy(&ended->operations[i].reading);
    }
    for (uint32_t i = 0; i < ended->pool_count; i++)
        pool_free(&ended->pools[i]);
    bson_free(ended->pools);
    free(ended->operations);
    bson_free(ended->workers);
    free(ended->slices);
    if (ended->schedule.bytes)
        munmap((void *)ended->schedule.bytes, ended->schedule.size);
    close(ended->samples_fd);
    close(ended->done_fd);
    bson_destroy(ended->message);
    bson_free(ended);
}

bool phase_turn(phase *all, int64_t until_ns, bson_t *reply, refusal *why) {
    bool exhausted = true, gave_up = false;
    struct pollfd watched[] = {{.fd = STDIN_FILENO}, {.fd = all->done_fd, .events = POLLIN}};
    eventfd_t done;
    all->running = all->worker_count;
    all->until_ns = until_ns;
    all->began_ns = now_ns();
    if (!all->origin_ns)
        all->origin_ns = all->began_ns;
    for (uint32_t i = 0; i < all->worker_count; i++)
        sem_post(&all->workers[i].go);
    while (all->worker_count && !(watched[1].revents & POLLIN)) {
        if (poll(watched, 2, -1) > 0 && watched[0].revents)
            _exit(0); /* the core is gone: no line comes in a turn */
    }
    eventfd_read(all->done_fd, &done);
    if (all->write_error)
        return refuse(why, "internal", "samples: %s", strerror(all->write_error));
    for (uint32_t i = 0; i < all->schedule.slices; i++)
        exhausted = exhausted && all->slices[i].next >= all->slices[i].limit;
    for (uint32_t i = 0; i < all->worker_count; i++)
        gave_up = gave_up || all->workers[i].gave_up;
    BSON_APPEND_INT64(reply, "began_ns", all->began_ns);
    BSON_APPEND_BOOL(reply, "exhausted", exhausted);
    BSON_APPEND_BOOL(reply, "gave_up", gave_up);
    return true;
}

void phase_ended(phase *all, bson_t *reply) {
    int64_t documents = 0, sum = 0, retries = 0;
    bool may_retry = false;
    for (uint32_t i = 0; i < all->worker_count; i++) {
        documents += all->workers[i].documents;
        sum += all->workers[i].sum;
        retries += all->workers[i].retries;
    }
    for (uint32_t i = 0; i < all->operation_count; i++)
        may_retry = may_retry || !strcmp(all->operations[i].kind->name, "transaction");
    bson_t totals, errors, each;
    BSON_APPEND_DOCUMENT_BEGIN(reply, "totals", &totals);
    BSON_APPEND_INT64(&totals, "documents", documents);
    BSON_APPEND_INT64(&totals, "sum", sum);
    if (may_retry)
        BSON_APPEND_INT64(&totals, "retries", retries);
    bson_append_document_end(reply, &totals);
    BSON_APPEND_ARRAY_BEGIN(reply, "errors", &errors);
    for (uint32_t i = 0; i < all->error_count; i++) {
        BSON_APPEND_DOCUMENT_BEGIN(&errors, "", &each);
        BSON_APPEND_INT32(&each, "code", all->errors[i].code);
        BSON_APPEND_UTF8(&each, "name", all->errors[i].name);
        BSON_APPEND_INT64(&each, "count", all->errors[i].count);
        BSON_APPEND_UTF8(&each, "message", all->errors[i].message);
        bson_append_document_end(&errors, &each);
    }
    bson_append_array_end(reply, &errors);
}
