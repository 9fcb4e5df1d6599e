/* The least code with which a C program does the adapter's work, for comparison with it.
 *
 * loop URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
 * turn in ms; it answers with the operations done and the ns they took. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mongoc/mongoc.h>

enum { LOADED = 20000 }; /* documents that there are to be found: keys 0 and up */
enum { STRIDE = 7919 };  /* coprime to LOADED: every key comes, in an order that no cache knows */
enum { TIMES_MAX = 1 << 20 };
enum { BATCH = 1000 };

typedef struct worker worker;
struct worker {
    mongoc_collection_t *items;
    void (*operate)(worker *, int64_t *start_ns);
    uint64_t key, step;
    int64_t until_ns, sum, ended_ns;
    size_t count;
    struct {
        int64_t start_ns, end_ns;
    } * times;
};

static struct {
    const uint8_t *bytes;
    uint32_t length;
} * pool;
static size_t pool_length;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void read_pool(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        exit(1);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size);
    if (fread(bytes, 1, size, file) != size)
        exit(1);
    fclose(file);
    pool = calloc(size / 5, sizeof *pool);
    for (size_t at = 0; at < size; at += pool[pool_length++].length) {
        pool[pool_length].bytes = bytes + at;
        memcpy(&pool[pool_length].length, bytes + at, 4);
    }
}

static bson_oid_t id_of(uint64_t key) {
    bson_oid_t id = {{0x69, 0x55, 0xb9, 0x00}};
    key = BSON_UINT64_TO_BE(key);
    memcpy(id.bytes + 4, &key, 8);
    return id;
}

/* A copy of the pool's next document, with its own _id and number. */
static void make(worker *of, bson_t *document) {
    size_t number = of->key % pool_length;
    bson_t from;
    bson_iter_t at;
    bson_init_static(&from, pool[number].bytes, pool[number].length);
    bson_copy_to(&from, document);
    bson_oid_t id = id_of(of->key);
    if (bson_iter_init_find(&at, document, "_id"))
        bson_iter_overwrite_oid(&at, &id);
    if (bson_iter_init_find(&at, document, "number"))
        bson_iter_overwrite_int64(&at, (int64_t)of->key);
    of->key += of->step;
}

static void insert_one(worker *of, int64_t *start_ns) {
    bson_t document;
    bson_error_t error;
    make(of, &document);
    *start_ns = now_ns();
    if (!mongoc_collection_insert_one(of->items, &document, NULL, NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    of->ended_ns = now_ns();
    bson_destroy(&document);
}

static void insert_many(worker *of, int64_t *start_ns) {
    bson_t documents[BATCH];
    const bson_t *batch[BATCH];
    bson_error_t error;
    for (size_t i = 0; i < BATCH; i++) {
        make(of, &documents[i]);
        batch[i] = &documents[i];
    }
    *start_ns = now_ns();
    if (!mongoc_collection_insert_many(of->items, batch, BATCH, NULL, NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    of->ended_ns = now_ns();
    for (size_t i = 0; i < BATCH; i++)
        bson_destroy(&documents[i]);
}

static void find_one(worker *of, int64_t *start_ns) {
    bson_t filter = BSON_INITIALIZER, options = BSON_INITIALIZER;
    bson_iter_t at;
    const bson_t *found;
    of->key = (of->key + STRIDE) % LOADED;
    bson_oid_t id = id_of(of->key);
    BSON_APPEND_OID(&filter, "_id", &id);
    BSON_APPEND_INT64(&options, "limit", 1);
    BSON_APPEND_BOOL(&options, "singleBatch", true);
    *start_ns = now_ns();
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(of->items, &filter, &options, NULL);
    while (mongoc_cursor_next(cursor, &found)) {
        if (bson_iter_init_find(&at, found, "number"))
            of->sum += bson_iter_as_int64(&at);
    }
    mongoc_cursor_destroy(cursor);
    of->ended_ns = now_ns();
    bson_destroy(&filter);
    bson_destroy(&options);
}

static void *turn(void *argument) {
    worker *of = argument;
    of->count = 0;
    for (of->ended_ns = now_ns(); of->ended_ns < of->until_ns; of->count++) {
        int64_t start_ns;
        of->operate(of, &start_ns);
        of->times[of->count % TIMES_MAX].start_ns = start_ns;
        of->times[of->count % TIMES_MAX].end_ns = of->ended_ns;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 7)
        return 1;
    mongoc_init();
    bson_error_t error;
    mongoc_uri_t *uri = mongoc_uri_new_with_error(words[1], &error);
    mongoc_client_pool_t *clients = mongoc_client_pool_new(uri);
    size_t threads = (size_t)strtol(words[5], NULL, 10);
    worker *workers = calloc(threads, sizeof *workers);
    pthread_t *ids = calloc(threads, sizeof *ids);
    read_pool(words[6]);
    for (size_t i = 0; i < threads; i++) {
        mongoc_client_t *client = mongoc_client_pool_pop(clients);
        workers[i].items = mongoc_client_get_collection(client, words[2], words[3]);
        workers[i].operate = !strcmp(words[4], "insert_one")    ? insert_one
                             : !strcmp(words[4], "insert_many") ? insert_many
                                                                : find_one;
        workers[i].key = i;
        workers[i].step = threads;
        workers[i].times = calloc(TIMES_MAX, sizeof *workers[i].times);
    }
    char line[32];
    while (fgets(line, sizeof line, stdin)) {
        int64_t began_ns = now_ns(), ended_ns = began_ns;
        size_t operations = 0;
        for (size_t i = 0; i < threads; i++) {
            workers[i].until_ns = began_ns + strtol(line, NULL, 10) * 1000000;
            pthread_create(&ids[i], NULL, turn, &workers[i]);
        }
        for (size_t i = 0; i < threads; i++) {
            pthread_join(ids[i], NULL);
            operations += workers[i].count;
            if (workers[i].ended_ns > ended_ns)
                ended_ns = workers[i].ended_ns;
        }
        printf("%zu %lld\n", operations, (long long)(ended_ns - began_ns));
        fflush(stdout);
    }
    return 0;
}
