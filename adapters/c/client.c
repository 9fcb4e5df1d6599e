/* Pools of clients: connecting, options, what the driver resolves them to. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client.h"

/* Options that the driver (or versions before 2.0) parses without effect on a pool; the first two
 * concern clients without a pool. */
static const char *const IGNORED[] = {"serverSelectionTryOnce", "socketCheckIntervalMS",
                                      "maxIdleTimeMS", "waitQueueMultiple", "slaveOk"};
enum { IGNORED_COUNT = sizeof IGNORED / sizeof *IGNORED };
enum { AUTHENTICATION_FAILED = 18, MECHANISM_UNAVAILABLE = 334, ATLAS_ERROR = 8000 };
enum { POOL_SIZE_DEFAULT = 100 };

/* The driver only warns of options that it does not know. */
static _Thread_local char warning[512];

static void log_warning(mongoc_log_level_t level, const char *domain, const char *message,
                        void *unused) {
    (void)unused;
    if (level > MONGOC_LOG_LEVEL_WARNING)
        return;
    fprintf(stderr, "%s: %s\n", domain, message);
    snprintf(warning, sizeof warning, "%s", message);
}

void driver_start(void) {
    mongoc_log_set_handler(log_warning, NULL);
    mongoc_init();
}

const char *driver_version(void) {
    return mongoc_get_version();
}

static mongoc_client_pool_t *connect_one(const bson_t *target, refusal *why) {
    bson_t options;
    bson_iter_t each;
    bson_error_t error = {0};
    bool there = document_in(target, "options", &options) && bson_iter_init(&each, &options);
    while (there && bson_iter_next(&each)) {
        for (int i = 0; i < IGNORED_COUNT; i++) {
            if (!strcasecmp(bson_iter_key(&each), IGNORED[i])) {
                refuse(why, "unsupported", "%s has no effect in this driver", IGNORED[i]);
                return NULL;
            }
        }
    }
    warning[0] = '\0';
    mongoc_uri_t *uri = mongoc_uri_new_with_error(text_in(target, "uri"), &error);
    mongoc_client_pool_t *pool =
        uri && !warning[0] ? mongoc_client_pool_new_with_error(uri, &error) : NULL;
    mongoc_uri_destroy(uri);
    if (!pool || warning[0]) {
        if (pool)
            mongoc_client_pool_destroy(pool);
        refuse(why, "unsupported", "%s", warning[0] ? warning : error.message);
        return NULL;
    }
    mongoc_client_pool_set_error_api(pool, MONGOC_ERROR_API_VERSION_2);
    return pool;
}

static const char *code_of(const bson_error_t *error) {
    bool server = error->domain == MONGOC_ERROR_SERVER;
    if ((error->domain == MONGOC_ERROR_CLIENT && error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE) ||
        (server && (error->code == AUTHENTICATION_FAILED || error->code == MECHANISM_UNAVAILABLE ||
                    error->code == ATLAS_ERROR)))
        return "auth";
    bool connection =
        error->domain == MONGOC_ERROR_SERVER_SELECTION || error->domain == MONGOC_ERROR_STREAM;
    return connection ? "connect" : "internal";
}

static bool prove(mongoc_client_pool_t *pool, refusal *why) {
    bson_error_t error;
    bson_t ping = BSON_INITIALIZER;
    mongoc_client_t *client = mongoc_client_pool_pop(pool);
    BSON_APPEND_INT32(&ping, "ping", 1);
    bool there = mongoc_client_command_simple(client, "admin", &ping, NULL, NULL, &error);
    mongoc_client_pool_push(pool, client);
    bson_destroy(&ping);
    return there || refuse(why, code_of(&error), "%s", error.message);
}

static void append_write_concern(const mongoc_write_concern_t *concern, bson_t *resolved) {
    bson_t fields;
    int32_t w = mongoc_write_concern_get_w(concern);
    BSON_APPEND_DOCUMENT_BEGIN(resolved, "write_concern", &fields);
    if (mongoc_write_concern_get_wmajority(concern))
        BSON_APPEND_UTF8(&fields, "w", "majority");
    else if (mongoc_write_concern_get_wtag(concern))
        BSON_APPEND_UTF8(&fields, "w", mongoc_write_concern_get_wtag(concern));
    else if (w >= 0)
        BSON_APPEND_INT32(&fields, "w", w);
    if (mongoc_write_concern_journal_is_set(concern))
        BSON_APPEND_BOOL(&fields, "j", mongoc_write_concern_get_journal(concern));
    bson_append_document_end(resolved, &fields);
}

/* Options of the first client. The URI has those that were set, and compressors' names as keys. */
static void append_opened(mongoc_client_pool_t *pool, bson_t *opened) {
    bson_t resolved, compressors, commands;
    bson_iter_t each;
    mongoc_client_t *client = mongoc_client_pool_pop(pool);
    const mongoc_uri_t *uri = mongoc_client_get_uri(client);
    const mongoc_write_concern_t *concern = mongoc_client_get_write_concern(client);
    const char *level = mongoc_read_concern_get_level(mongoc_client_get_read_concern(client));
    BSON_APPEND_BOOL(opened, "acknowledged", mongoc_write_concern_is_acknowledged(concern));
    BSON_APPEND_DOCUMENT_BEGIN(opened, "resolved", &resolved);
    BSON_APPEND_INT32(&resolved, "max_pool_size",
                      mongoc_uri_get_option_as_int32(uri, "maxpoolsize", POOL_SIZE_DEFAULT));
    BSON_APPEND_INT32(&resolved, "min_pool_size",
                      mongoc_uri_get_option_as_int32(uri, "minpoolsize", 0));
    append_write_concern(concern, &resolved);
    if (level)
        BSON_APPEND_UTF8(&resolved, "read_concern", level);
    else
        BSON_APPEND_NULL(&resolved, "read_concern");
    BSON_APPEND_UTF8(&resolved, "read_preference",
                     preference_name(mongoc_client_get_read_prefs(client)));
    BSON_APPEND_ARRAY_BEGIN(&resolved, "compressors", &compressors);
    if (bson_iter_init(&each, mongoc_uri_get_compressors(uri))) {
        while (bson_iter_next(&each))
            BSON_APPEND_UTF8(&compressors, "", bson_iter_key(&each));
    }
    bson_append_array_end(&resolved, &compressors);
    BSON_APPEND_BOOL(&resolved, "retry_writes",
                     mongoc_uri_get_option_as_bool(uri, "retrywrites", true));
    BSON_APPEND_BOOL(&resolved, "retry_reads",
                     mongoc_uri_get_option_as_bool(uri, "retryreads", true));
    BSON_APPEND_BOOL(&resolved, "tls", mongoc_uri_get_tls(uri));
    BSON_APPEND_DOCUMENT_BEGIN(&resolved, "commands", &commands);
    BSON_APPEND_UTF8(&commands, "count", "aggregate");
    bson_append_document_end(&resolved, &commands);
    bson_append_document_end(opened, &resolved);
    mongoc_client_pool_push(pool, client);
}

session *session_none(void) {
    return bson_malloc0(sizeof(session));
}

session *session_open(const bson_t *message, bson_t *opened, refusal *why) {
    bson_t targets, target;
    bson_iter_t each;
    const char *deal = text_in(message, "deal"), *database = text_in(message, "database");
    session *made = bson_malloc0(sizeof *made);
    made->by_operation = deal && !strcmp(deal, "operation");
    made->database = bson_strdup(database ? database : "");
    uint32_t wanted = document_in(message, "clients", &targets) ? length_of(&targets) : 0;
    made->pools = bson_malloc0(wanted * sizeof *made->pools + 1);
    bool right = wanted > 0 && bson_iter_init(&each, &targets);
    while (right && bson_iter_next(&each)) {
        uint32_t length;
        const uint8_t *bytes;
        bson_iter_document(&each, &length, &bytes);
        right = bson_init_static(&target, bytes, length);
        mongoc_client_pool_t *pool = right ? connect_one(&target, why) : NULL;
        if (pool)
            made->pools[made->clients++] = pool;
        right = pool && prove(pool, why);
    }
    if (right) {
        append_opened(made->pools[0], opened);
        return made;
    }
    session_close(made);
    return NULL;
}

void session_close(session *closed) {
    for (uint32_t i = 0; i < closed->clients; i++)
        mongoc_client_pool_destroy(closed->pools[i]);
    bson_free(closed->pools);
    bson_free(closed->database);
    bson_free(closed);
}

uint32_t session_clients(const session *with) {
    return with->clients;
}

bool session_by_operation(const session *with) {
    return with->by_operation;
}
