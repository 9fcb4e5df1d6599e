/* What calls are made on, as the files of the dialect share it. */
#ifndef TARGET_H
#define TARGET_H

#include "client.h"

/* State of one operation for one thread and one client. */
struct target {
    const operation *of;
    mongoc_client_t *client;
    mongoc_database_t *database;
    mongoc_collection_t *collection;
    mongoc_read_prefs_t *preference; /* null: the client's */
    bson_t options;                  /* that never change */
    mongoc_transaction_opt_t *transaction;
    bool acknowledged;
};

/* A failure; its server's words come from the reply, which may be null. */
void fail(answer *got, const bson_error_t *error, const bson_t *reply);
mongoc_write_concern_t *write_concern_of(const bson_t *message);

void transaction(target *at, given *with, answer *got);
mongoc_transaction_opt_t *transaction_options(const bson_t *message);

#endif
