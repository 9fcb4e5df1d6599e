/* The clients of `open`, as the dialect sees them. */
#ifndef CLIENT_H
#define CLIENT_H

#include <mongoc/mongoc.h>

#include "dialect.h"

struct session {
    mongoc_client_pool_t **pools;
    uint32_t clients;
    bool by_operation;
    char *database;
};

/* A read preference's mode, as in connection strings. */
const char *preference_name(const mongoc_read_prefs_t *preference);

#endif
