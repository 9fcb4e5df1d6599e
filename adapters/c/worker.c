/* What a worker does in a turn: operations, their pacing, their samples. SPEC 5, 7 and 8. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "phase.h"

static const int64_t HELD_NS = 1000000000;

static void note_error(phase *all, const answer *got) {
    pthread_mutex_lock(&all->lock);
    uint32_t i = 0;
    while (i < all->error_count &&
           (all->errors[i].code != got->code || strcmp(all->errors[i].name, got->name) != 0))
        i++;
    if (i == all->error_count && i < ERRORS_MAX) {
        all->errors[i].code = got->code;
        memcpy(all->errors[i].name, got->name, sizeof got->name);
        memcpy(all->errors[i].message, got->message, sizeof got->message);
        all->error_count++;
    }
    if (i < ERRORS_MAX)
        all->errors[i].count++;
    pthread_mutex_unlock(&all->lock);
}

static void flush(worker *of) {
    /* Opened to append: the kernel keeps the writes of several threads apart. */
    size_t bytes = of->held * sizeof(sample);
    if (write(of->all->samples_fd, of->samples, bytes) != (ssize_t)bytes)
        of->all->write_error = errno ? errno : EIO;
    of->held = 0;
    of->written_ns = of->last_ns;
}

/* Makes the documents that an operation, or a bulk's part, is given. */
static uint8_t *give(const operation *each, const record *from, input *values, bson_t *documents,
                     uint8_t *to, int64_t item_step) {
    uint32_t count = each->kind->gives == MANY ? from->count : 1;
    for (uint32_t item = 0; item < count; item++) {
        for (int role = 0; role < ROLES_MAX; role++) {
            if (each->given[role].from)
                to = reference_make(&each->given[role], from->document + item, values, to,
                                    &documents[each->kind->gives == MANY ? item : (uint32_t)role]);
        }
        values->shift += (uint64_t)item_step;
        values->sequence++;
    }
    return to;
}

static void set_record(const phase *all, const record *from, uint64_t lap, input *values) {
    values->key = from->key;
    values->shift = from->flags & 1 ? lap * (uint64_t)all->lap_step : 0;
    memcpy(values->guid, from->guid, sizeof values->guid);
}

static void make(worker *of, lane *into) {
    const phase *all = of->all;
    const record *taken = &into->taken;
    const operation *each = &all->operations[taken->operation];
    input values = {.sequence = (int64_t)into->number,
                    .producer = all->first_worker + of->number,
                    .live = true};
    given *with = &into->with;
    with->count = taken->count;
    if (each->kind->gives != PARTS) {
        set_record(all, taken, into->lap, &values);
        give(each, taken, &values, with->documents, into->bytes, all->item_step);
        if (!each->given[0].from)
            with->count = 0; /* a no-op without documents */
        return;
    }
    uint8_t *to = into->bytes;
    for (uint32_t i = 0; i < taken->count; i++) {
        record part =
            record_at(&all->schedule, (uint64_t)all->schedule.records + taken->document + i);
        with->parts[i] = &all->operations[part.operation];
        values.sequence = (int64_t)(into->number + i);
        set_record(all, &part, into->lap, &values);
        to = give(with->parts[i], &part, &values, &with->documents[(size_t)ROLES_MAX * i], to, 0);
    }
}

/* Gets the next operation ready to be called, unless this worker's turn has ended. */
static bool take(worker *of, lane *into) {
    phase *all = of->all;
    if (stopped || of->gave_up || of->ready_ns >= all->until_ns)
        return false;
    uint32_t own = phase_shares(all) ? 0 : of->number;
    slice *from = &all->slices[own];
    uint64_t number = from->next, length = all->schedule.records / all->schedule.slices;
    do {
        if (number >= from->limit)
            return false;
        into->taken = record_at(&all->schedule, own * length + number % length);
        into->lap = number / length;
        into->intended_ns = all->origin_ns;
        if (all->mode == RATE) {
            into->intended_ns +=
                into->taken.intended_ns + (int64_t)into->lap * all->schedule.lap_ns;
            if (into->intended_ns >= all->until_ns)
                return false; /* it waits there for the next turn */
        }
    } while (!atomic_compare_exchange_weak(&from->next, &number, number + 1));
    into->number = number;
    int64_t due_ns = all->mode == RATE ? into->intended_ns : of->ready_ns;
    if (due_ns > of->last_ns && !sleep_until(due_ns))
        return false;
    uint64_t client = of->number;
    if (session_by_operation(all->with))
        client = own + number;
    into->at = target_of(into->targets, (uint32_t)(client % all->clients) * all->operation_count +
                                            into->taken.operation);
    make(of, into);
    call_ready(into->at, &into->with);
    return true;
}

static void call(lane *each) {
    const phase *all = each->worker->all;
    const kind *of = all->operations[each->taken.operation].kind;
    each->got = (answer){.outcome = RIGHT};
    each->start_ns = now_ns();
    of->call(each->at, &each->with, &each->got);
    each->end_ns = now_ns();
}

static void land(worker *of, lane *each) {
    phase *all = of->all;
    const answer *got = &each->got;
    of->retries += got->retries;
    if (got->outcome == RIGHT) {
        of->documents += got->documents;
        of->sum += got->sum;
        of->failures = 0;
    } else {
        note_error(all, got);
        of->gave_up = ++of->failures >= all->failures_max || of->gave_up;
    }
    int64_t intended_ns = phase_shares(all) ? each->intended_ns : each->start_ns;
    of->samples[of->held++] = (sample){.intended_ns = (uint64_t)intended_ns,
                                       .start_ns = (uint64_t)each->start_ns,
                                       .service_ns = (uint64_t)(each->end_ns - each->start_ns),
                                       .index = (uint32_t)each->number,
                                       .operation = each->taken.operation,
                                       .outcome = (uint8_t)got->outcome,
                                       .worker = (uint16_t)(all->first_worker + of->number)};
    if (each->end_ns > of->last_ns)
        of->last_ns = each->end_ns;
    of->ready_ns = of->last_ns + all->think_ns;
    if (of->held == SAMPLES_HELD || of->last_ns - of->written_ns >= HELD_NS)
        flush(of);
}

/* A call blocks its thread, so each place of a window has one. The places are a ring: the next
 * operation takes the place of the oldest. */
void *lane_main(void *argument) {
    lane *each = argument;
    for (;;) {
        while (sem_wait(&each->go))
            ;
        if (each->worker->all->ending)
            return NULL;
        call(each);
        sem_post(&each->landed);
    }
}

static void finish(worker *of, lane *each) {
    if (!each->flying)
        return;
    while (sem_wait(&each->landed))
        ;
    each->flying = false;
    land(of, each);
}

static void keep_flying(worker *of) {
    uint32_t count = of->all->lane_count, next = 0;
    for (; finish(of, &of->lanes[next]), take(of, &of->lanes[next]); next = (next + 1) % count) {
        of->lanes[next].flying = true;
        sem_post(&of->lanes[next].go);
    }
    for (uint32_t i = 0; i < count; i++)
        finish(of, &of->lanes[(next + i) % count]);
}

void *worker_main(void *argument) {
    worker *of = argument;
    phase *all = of->all;
    for (;;) {
        while (sem_wait(&of->go))
            ;
        if (all->ending)
            return NULL;
        of->last_ns = of->ready_ns = of->written_ns = all->began_ns;
        if (all->mode == WINDOW) {
            keep_flying(of);
        } else {
            for (lane *own = of->lanes; take(of, own); land(of, own))
                call(own);
        }
        flush(of);
        if (atomic_fetch_sub(&all->running, 1) == 1)
            eventfd_write(all->done_fd, 1);
    }
}
