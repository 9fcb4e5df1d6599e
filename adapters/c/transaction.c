/* Transactions, by the driver's own loop. SPEC section 5. */
#include "target.h"

/* What the callback of a transaction is given. */
struct attempts {
    target *at;
    given *with;
    answer *got;
    int64_t begun;
};

/* Calls a part in a session; `options` are those of finds. */
static bool call_part(target *at, given *with, mongoc_client_session_t *in, answer *got,
                      bson_error_t *error) {
    target own = *at;
    bson_copy_to(&at->options, &own.options);
    bson_init(&with->options);
    call_ready(at, with);
    bool done = mongoc_client_session_append(in, &own.options, error) &&
                mongoc_client_session_append(in, &with->options, error);
    if (done)
        at->of->kind->call(&own, with, got);
    else
        fail(got, error, NULL);
    bson_destroy(&with->options);
    bson_destroy(&own.options);
    return got->outcome == RIGHT;
}

/* One attempt of the driver's loop, which reads from the reply whether it may try again. */
static bool attempt(mongoc_client_session_t *in, void *context, bson_t **reply,
                    bson_error_t *error) {
    struct attempts *all = context;
    const given *with = all->with;
    bool right = true;
    all->begun++;
    *reply = bson_new();
    *all->got = (answer){.outcome = RIGHT};
    for (uint32_t i = 0; right && i < with->count; i++) {
        given part = {.list = &with->list[(size_t)i * ROLES_MAX], .count = 1};
        answer each = {.outcome = RIGHT, .reply = *reply};
        right = call_part(all->at + (with->parts[i] - all->at->of), &part, in, &each, error);
        each.documents += all->got->documents;
        each.sum += all->got->sum;
        *all->got = each;
    }
    return right;
}

/* By the driver's own loop. */
void transaction(target *at, given *with, answer *got) {
    struct attempts all = {.at = at, .with = with, .got = got};
    bson_t reply = BSON_INITIALIZER;
    bson_error_t error;
    mongoc_client_session_t *in = mongoc_client_start_session(at->client, NULL, &error);
    bool done = in && mongoc_client_session_with_transaction(in, attempt, at->transaction, &all,
                                                             &reply, &error);
    got->reply = NULL;
    if (!done && got->outcome == RIGHT) /* what failed is no part, but the commit */
        fail(got, &error, &reply);
    got->retries = all.begun > 1 ? all.begun - 1 : 0;
    bson_destroy(&reply);
    mongoc_client_session_destroy(in);
}

/* A transaction has no collection: its own options take the concerns. */
mongoc_transaction_opt_t *transaction_options(const bson_t *message) {
    mongoc_transaction_opt_t *made = mongoc_transaction_opts_new();
    bson_t concern;
    const char *level = text_in(message, "read_concern");
    if (document_in(message, "write_concern", &concern)) {
        mongoc_write_concern_t *set = write_concern_of(&concern);
        mongoc_transaction_opts_set_write_concern(made, set);
        mongoc_write_concern_destroy(set);
    }
    if (level) {
        mongoc_read_concern_t *set = mongoc_read_concern_new();
        mongoc_read_concern_set_level(set, level);
        mongoc_transaction_opts_set_read_concern(made, set);
        mongoc_read_concern_destroy(set);
    }
    return made;
}
