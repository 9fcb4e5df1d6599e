/* The dialect of libmongoc, 1.x and 2.x alike: calls, options, errors, as its users write them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

const char *const extras[] = {"write_concern",    "read_concern",   "read_preference",
                              "command_concerns", "unacknowledged", "unordered",
                              "clients",          "sort",           "hint",
                              "collation",        "max_time",       NULL};

void fail(answer *got, const bson_error_t *error, const bson_t *reply) {
    static const char *const DOMAINS[] = {
        [MONGOC_ERROR_CLIENT] = "MONGOC_ERROR_CLIENT",
        [MONGOC_ERROR_STREAM] = "MONGOC_ERROR_STREAM",
        [MONGOC_ERROR_PROTOCOL] = "MONGOC_ERROR_PROTOCOL",
        [MONGOC_ERROR_CURSOR] = "MONGOC_ERROR_CURSOR",
        [MONGOC_ERROR_BSON] = "MONGOC_ERROR_BSON",
        [MONGOC_ERROR_COMMAND] = "MONGOC_ERROR_COMMAND",
        [MONGOC_ERROR_SERVER_SELECTION] = "MONGOC_ERROR_SERVER_SELECTION",
        [MONGOC_ERROR_WRITE_CONCERN] = "MONGOC_ERROR_WRITE_CONCERN",
        [MONGOC_ERROR_SERVER] = "MONGOC_ERROR_SERVER",
    };
    bool known = error->domain < sizeof DOMAINS / sizeof *DOMAINS && DOMAINS[error->domain];
    const char *name = known ? DOMAINS[error->domain] : "bson_error_t";
    const char *server_name = reply ? text_in(reply, "codeName") : NULL;
    if (error->domain == MONGOC_ERROR_SERVER || error->domain == MONGOC_ERROR_WRITE_CONCERN)
        got->code = (int32_t)error->code;
    /* For sockets the driver reports "error or timeout"; errno still has the value that its poll
     * has set. */
    bool late = got->code == 50 || got->code == 262 ||
                (error->domain == MONGOC_ERROR_STREAM && errno == ETIMEDOUT) ||
                (error->domain == MONGOC_ERROR_SERVER_SELECTION &&
                 error->code == MONGOC_ERROR_SERVER_SELECTION_FAILURE);
    got->outcome = late ? TIMED_OUT : FAILED;
    snprintf(got->name, sizeof got->name, "%s", server_name ? server_name : name);
    snprintf(got->message, sizeof got->message, "%s", error->message);
    if (got->reply && reply)
        bson_concat(got->reply, reply);
    /* The driver cuts messages at a byte. */
    size_t length = strlen(got->message);
    while (!bson_utf8_validate(got->message, length, false))
        got->message[--length] = '\0';
}

static void expect(answer *got, bool right, const char *wrong) {
    if (right)
        return;
    got->outcome = WRONG;
    snprintf(got->name, sizeof got->name, "WrongAnswer");
    snprintf(got->message, sizeof got->message, "%s", wrong);
}

static void read_document(const target *at, const bson_t *document, answer *got) {
    got->documents++;
    if (at->of->sum_field)
        got->sum += int_in(document, at->of->sum_field, 0);
}

static void noop(target *at, given *with, answer *got) {
    for (uint32_t i = 0; i < with->count; i++)
        read_document(at, with->list[i], got);
}

/* What a write has done, from its reply. */
static void finish(const target *at, bool done, bson_t *reply, const bson_error_t *error,
                   const char *counted, int64_t wanted, answer *got) {
    if (!done)
        fail(got, error, reply);
    else if (counted && at->acknowledged)
        expect(got, int_in(reply, counted, 0) + int_in(reply, "upsertedCount", 0) == wanted,
               counted);
    bson_destroy(reply);
}

static void insert_one(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done =
        mongoc_collection_insert_one(at->collection, with->list[0], &at->options, &reply, &error);
    finish(at, done, &reply, &error, NULL, 0, got);
}

static void insert_many(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done = mongoc_collection_insert_many(at->collection, with->list, with->count, &at->options,
                                              &reply, &error);
    finish(at, done, &reply, &error, "insertedCount", with->count, got);
}

static void drain(const target *at, mongoc_cursor_t *cursor, answer *got) {
    const bson_t *document, *reply = NULL;
    bson_error_t error;
    while (mongoc_cursor_next(cursor, &document))
        read_document(at, document, got);
    if (mongoc_cursor_error_document(cursor, &error, &reply))
        fail(got, &error, reply);
    mongoc_cursor_destroy(cursor);
}

static void find(target *at, given *with, answer *got) {
    drain(at,
          mongoc_collection_find_with_opts(at->collection, with->list[0], &with->options,
                                           at->preference),
          got);
}

static void find_one(target *at, given *with, answer *got) {
    find(at, with, got);
    if (got->outcome == RIGHT)
        expect(got, got->documents == 1, "no document found");
}

static void update_one(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done = mongoc_collection_update_one(at->collection, with->list[0], with->list[1],
                                             &at->options, &reply, &error);
    finish(at, done, &reply, &error, "matchedCount", 1, got);
}

static void replace_one(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done = mongoc_collection_replace_one(at->collection, with->list[0], with->list[1],
                                              &at->options, &reply, &error);
    finish(at, done, &reply, &error, "matchedCount", 1, got);
}

static void delete_one(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done =
        mongoc_collection_delete_one(at->collection, with->list[0], &at->options, &reply, &error);
    finish(at, done, &reply, &error, "deletedCount", 1, got);
}

/* What a write of many has done. */
static void finish_many(const target *at, bool done, bson_t *reply, const bson_error_t *error,
                        const char *counted, answer *got) {
    if (done && at->acknowledged)
        got->documents = int_in(reply, counted, 0);
    finish(at, done, reply, error, NULL, 0, got);
}

static void update_many(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done = mongoc_collection_update_many(at->collection, with->list[0], with->list[1],
                                              &at->options, &reply, &error);
    finish_many(at, done, &reply, &error, "matchedCount", got);
}

static void delete_many(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done =
        mongoc_collection_delete_many(at->collection, with->list[0], &at->options, &reply, &error);
    finish_many(at, done, &reply, &error, "deletedCount", got);
}

/* The driver has no such call: a command of its users. */
static void distinct(target *at, given *with, answer *got) {
    bson_t command = BSON_INITIALIZER, reply, values;
    bson_error_t error;
    bson_iter_t value;
    BSON_APPEND_UTF8(&command, "distinct", mongoc_collection_get_name(at->collection));
    BSON_APPEND_UTF8(&command, "key", text_in(&at->of->message, "field"));
    BSON_APPEND_DOCUMENT(&command, "query", with->list[0]);
    if (!mongoc_collection_read_command_with_opts(at->collection, &command, at->preference,
                                                  &at->options, &reply, &error))
        fail(got, &error, &reply);
    else if (document_in(&reply, "values", &values) && bson_iter_init(&value, &values))
        while (bson_iter_next(&value)) {
            got->documents++;
            if (at->of->sum_field)
                got->sum += bson_iter_as_int64(&value);
        }
    bson_destroy(&reply);
    bson_destroy(&command);
}

static void counted(int64_t documents, const bson_t *reply, const bson_error_t *error,
                    answer *got) {
    if (documents < 0)
        fail(got, error, reply);
    else
        got->documents = documents;
}

static void count(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    counted(mongoc_collection_count_documents(at->collection, with->list[0], &at->options,
                                              at->preference, &reply, &error),
            &reply, &error, got);
    bson_destroy(&reply);
}

static void estimated_count(target *at, given *with, answer *got) {
    (void)with;
    bson_t reply;
    bson_error_t error;
    counted(mongoc_collection_estimated_document_count(at->collection, &at->options, at->preference,
                                                       &reply, &error),
            &reply, &error, got);
    bson_destroy(&reply);
}

static void find_one_and_update(target *at, given *with, answer *got) {
    bson_t reply, found;
    bson_error_t error;
    mongoc_find_and_modify_opts_t *options = mongoc_find_and_modify_opts_new();
    mongoc_find_and_modify_opts_set_update(options, with->list[1]);
    mongoc_find_and_modify_opts_append(options, &at->options);
    const bson_t *reading = &at->of->reading;
    bson_t part, extra = BSON_INITIALIZER;
    if (document_in(reading, "sort", &part))
        mongoc_find_and_modify_opts_set_sort(options, &part);
    if (bson_has_field(reading, "maxTimeMS"))
        mongoc_find_and_modify_opts_set_max_time_ms(options,
                                                    (uint32_t)int_in(reading, "maxTimeMS", 0));
    if (document_in(reading, "collation", &part)) {
        BSON_APPEND_DOCUMENT(&extra, "collation", &part);
        mongoc_find_and_modify_opts_append(options, &extra);
    }
    if (!mongoc_collection_find_and_modify_with_opts(at->collection, with->list[0], options, &reply,
                                                     &error))
        fail(got, &error, &reply);
    else if (document_in(&reply, "value", &found))
        read_document(at, &found, got);
    else
        expect(got, false, "no document found");
    bson_destroy(&reply);
    bson_destroy(&extra);
    mongoc_find_and_modify_opts_destroy(options);
}

static void read_modify_write(target *at, given *with, answer *got) {
    find_one(at, with, got);
    if (got->outcome == RIGHT)
        update_one(at, with, got);
}

static void bulk_write(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool taken = true;
    mongoc_bulk_operation_t *bulk =
        mongoc_collection_create_bulk_operation_with_opts(at->collection, &at->options);
    for (uint32_t i = 0; taken && i < with->count; i++) {
        const bson_t *const *first = &with->list[(size_t)i * ROLES_MAX];
        const kind *part = with->parts[i]->kind;
        bson_t upsert = BSON_INITIALIZER;
        if (bool_in(&with->parts[i]->message, "upsert"))
            BSON_APPEND_BOOL(&upsert, "upsert", true);
        if (part->call == insert_one)
            taken = mongoc_bulk_operation_insert_with_opts(bulk, first[0], NULL, &error);
        else if (part->call == update_one)
            taken = mongoc_bulk_operation_update_one_with_opts(bulk, first[0], first[1], &upsert,
                                                               &error);
        else if (part->call == replace_one)
            taken = mongoc_bulk_operation_replace_one_with_opts(bulk, first[0], first[1], &upsert,
                                                                &error);
        else
            taken = mongoc_bulk_operation_remove_one_with_opts(bulk, first[0], NULL, &error);
        bson_destroy(&upsert);
    }
    if (!taken) {
        fail(got, &error, NULL);
    } else {
        if (!mongoc_bulk_operation_execute(bulk, &reply, &error))
            fail(got, &error, &reply);
        else if (at->acknowledged)
            expect(got,
                   int_in(&reply, "nInserted", 0) + int_in(&reply, "nMatched", 0) +
                           int_in(&reply, "nUpserted", 0) + int_in(&reply, "nRemoved", 0) ==
                       with->count,
                   "not all parts did something");
        bson_destroy(&reply);
    }
    mongoc_bulk_operation_destroy(bulk);
}

static void aggregate(target *at, given *with, answer *got) {
    drain(at,
          mongoc_collection_aggregate(at->collection, MONGOC_QUERY_NONE, with->list[0],
                                      &at->options, at->preference),
          got);
}

static void command(target *at, given *with, answer *got) {
    bson_t reply;
    bson_error_t error;
    bool done = mongoc_database_command_with_opts(at->database, with->list[0], at->preference,
                                                  &at->options, &reply, &error);
    finish(at, done, &reply, &error, NULL, 0, got);
}

static void drop(target *at, given *with, answer *got) {
    (void)with;
    bson_error_t error;
    bool done = mongoc_collection_drop_with_opts(at->collection, &at->options, &error);
    if (!done && error.code != 26) /* NamespaceNotFound: it was not there */
        fail(got, &error, NULL);
}

const kind kinds[] = {
    {"noop", noop, {"documents"}, MANY},
    {"insert_one", insert_one, {"documents"}, ONE},
    {"insert_many", insert_many, {"documents"}, MANY},
    {"find_one", find_one, {"filter", "projection"}, ONE},
    {"find", find, {"filter", "projection"}, ONE},
    {"update_one", update_one, {"filter", "update"}, ONE},
    {"delete_one", delete_one, {"filter"}, ONE},
    {"update_many", update_many, {"filter", "update"}, ONE},
    {"delete_many", delete_many, {"filter"}, ONE},
    {"distinct", distinct, {"filter"}, ONE},
    {"count", count, {"filter"}, ONE},
    {"estimated_count", estimated_count, {NULL}, ONE},
    {"replace_one", replace_one, {"filter", "documents"}, ONE},
    {"find_one_and_update", find_one_and_update, {"filter", "update"}, ONE},
    {"read_modify_write", read_modify_write, {"filter", "update"}, ONE},
    {"bulk_write", bulk_write, {NULL}, PARTS},
    {"transaction", transaction, {NULL}, PARTS},
    {"aggregate", aggregate, {"pipeline"}, ONE},
    {"command", command, {"command"}, ONE},
    {"drop", drop, {NULL}, ONE},
    {NULL, NULL, {NULL}, ONE},
};

void call_ready(target *at, given *with) {
    const operation *of = at->of;
    errno = 0;
    bool one = of->kind->call == find_one || of->kind->call == read_modify_write;
    if (!one && of->kind->call != find)
        return;
    bson_reinit(&with->options);
    if (of->kind->call == find) /* the update's upsert is no option of the find before it */
        bson_concat(&with->options, &at->options);
    bson_concat(&with->options, &of->reading);
    if (one || with->count)
        BSON_APPEND_INT64(&with->options, "limit", one ? 1 : with->count);
    if (one)
        BSON_APPEND_BOOL(&with->options, "singleBatch", true);
    if (of->given[1].from && of->kind->call != read_modify_write)
        BSON_APPEND_DOCUMENT(&with->options, "projection", with->list[1]);
}

mongoc_write_concern_t *write_concern_of(const bson_t *message) {
    mongoc_write_concern_t *made = mongoc_write_concern_new();
    const char *tag = text_in(message, "w");
    if (tag && !strcmp(tag, "majority"))
        mongoc_write_concern_set_w(made, MONGOC_WRITE_CONCERN_W_MAJORITY);
    else if (tag)
        mongoc_write_concern_set_wtag(made, tag);
    else
        mongoc_write_concern_set_w(made,
                                   (int32_t)int_in(message, "w", MONGOC_WRITE_CONCERN_W_DEFAULT));
    if (bson_has_field(message, "j"))
        mongoc_write_concern_set_journal(made, bool_in(message, "j"));
    return made;
}

static const struct {
    const char *name;
    mongoc_read_mode_t mode;
} PREFERENCES[] = {{"primary", MONGOC_READ_PRIMARY},
                   {"primaryPreferred", MONGOC_READ_PRIMARY_PREFERRED},
                   {"secondary", MONGOC_READ_SECONDARY},
                   {"secondaryPreferred", MONGOC_READ_SECONDARY_PREFERRED},
                   {"nearest", MONGOC_READ_NEAREST}};
enum { PREFERENCES_COUNT = sizeof PREFERENCES / sizeof *PREFERENCES };

const char *preference_name(const mongoc_read_prefs_t *preference) {
    int i = 0;
    while (i < PREFERENCES_COUNT - 1 &&
           PREFERENCES[i].mode != mongoc_read_prefs_get_mode(preference))
        i++;
    return PREFERENCES[i].name;
}

/* The collection has the concerns; a command has no collection, so its options take them. */
static void set_concerns(target *at) {
    const bson_t *message = &at->of->message;
    bson_t concern;
    const char *level = text_in(message, "read_concern");
    const char *mode = text_in(message, "read_preference");
    if (document_in(message, "write_concern", &concern)) {
        mongoc_write_concern_t *set = write_concern_of(&concern);
        if (at->collection)
            mongoc_collection_set_write_concern(at->collection, set);
        else
            mongoc_write_concern_append(set, &at->options);
        mongoc_write_concern_destroy(set);
    }
    if (level) {
        mongoc_read_concern_t *set = mongoc_read_concern_new();
        mongoc_read_concern_set_level(set, level);
        if (at->collection)
            mongoc_collection_set_read_concern(at->collection, set);
        else
            mongoc_read_concern_append(set, &at->options);
        mongoc_read_concern_destroy(set);
    }
    for (int i = 0; mode && i < PREFERENCES_COUNT; i++) {
        if (!strcmp(mode, PREFERENCES[i].name))
            at->preference = mongoc_read_prefs_new(PREFERENCES[i].mode);
    }
}

static void target_bind(target *at, const session *with) {
    const char *collection = text_in(&at->of->message, "collection");
    if (!at->client)
        return; /* a no-op before `open` */
    if (at->of->kind->call == transaction) {
        at->transaction = transaction_options(&at->of->message);
        return;
    }
    at->database = mongoc_client_get_database(at->client, with->database);
    if (collection)
        at->collection = mongoc_client_get_collection(at->client, with->database, collection);
    set_concerns(at);
    at->acknowledged = !collection || mongoc_write_concern_is_acknowledged(
                                          mongoc_collection_get_write_concern(at->collection));
    if (bson_has_field(&at->of->message, "ordered"))
        BSON_APPEND_BOOL(&at->options, "ordered", bool_in(&at->of->message, "ordered"));
    if (bson_has_field(&at->of->message, "upsert"))
        BSON_APPEND_BOOL(&at->options, "upsert", bool_in(&at->of->message, "upsert"));
    int64_t batch_size = int_in(&at->of->message, "batch_size", 0);
    if (batch_size)
        BSON_APPEND_INT64(&at->options, "batchSize", batch_size);
}

target *targets_new(session *with, const operation *operations, uint32_t count, refusal *why) {
    uint32_t clients = with->clients ? with->clients : 1;
    target *made = aligned_alloc(_Alignof(target), (clients * count + 1) * sizeof *made);
    memset(made, 0, (clients * count + 1) * sizeof *made);
    for (uint32_t i = 0; i < clients * count; i++) {
        made[i].of = &operations[i % count];
        bson_init(&made[i].options);
    }
    for (uint32_t j = 0; !with->clients && j < count; j++) {
        if (operations[j].kind->call != noop) {
            targets_free(made, with, count);
            refuse(why, "internal", "no client is open");
            return NULL;
        }
    }
    for (uint32_t i = 0; i < with->clients; i++) {
        mongoc_client_t *client = mongoc_client_pool_try_pop(with->pools[i]);
        for (uint32_t j = 0; client && j < count; j++) {
            made[i * count + j].client = client;
            target_bind(&made[i * count + j], with);
        }
        if (!client) {
            targets_free(made, with, count);
            refuse(why, "unsupported",
                   "the pool has fewer clients (maxPoolSize, by default 100) "
                   "than there are threads, and each wants one");
            return NULL;
        }
    }
    return made;
}

void targets_free(target *made, session *with, uint32_t count) {
    uint32_t clients = with->clients ? with->clients : 1;
    for (uint32_t i = 0; i < clients * count; i++) {
        target *each = &made[i];
        mongoc_collection_destroy(each->collection);
        mongoc_database_destroy(each->database);
        mongoc_read_prefs_destroy(each->preference);
        mongoc_transaction_opts_destroy(each->transaction);
        bson_destroy(&each->options);
        if (each->client && i % count == 0)
            mongoc_client_pool_push(with->pools[i / count], each->client);
    }
    free(made);
}

target *target_of(target *made, uint32_t number) {
    return &made[number];
}
