/* Tests of libmongoc's peculiarities; `mongodyno check` replays the vectors. MDYN_URI adds tests on
 * a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mongoc/mongoc.h>

#include "dialect.h"

static int failed;

static void expect_at(int line, bool right, const char *said) {
    if (right)
        return;
    failed++;
    printf("test_adapter.c:%d: %s\n", line, said);
}
#define EXPECT(right, said) expect_at(__LINE__, right, said)

/* The session of one client; `opened` says whether it was opened. */
static session *open_uri(const char *uri, bson_t *opened, refusal *why) {
    const char *query = strchr(uri, '?');
    bson_t options = BSON_INITIALIZER;
    for (char name[64]; query && sscanf(query + 1, "%63[^=]", name) == 1;
         query = strchr(query + 1, '&'))
        BSON_APPEND_UTF8(&options, name, "1");
    bson_t *message = BCON_NEW("deal", "worker", "database", "mdyn_c_test", "clients", "[", "{",
                               "uri", BCON_UTF8(uri), "options", BCON_DOCUMENT(&options), "}", "]");
    *why = (refusal){.code = ""};
    session *made = session_open(message, opened, why);
    bson_destroy(message);
    bson_destroy(&options);
    return made;
}

static void refused(const char *uri, const char *code) {
    refusal why;
    bson_t opened = BSON_INITIALIZER;
    EXPECT(!open_uri(uri, &opened, &why), uri);
    EXPECT(!strcmp(why.code, code), why.message);
    bson_destroy(&opened);
}

static void options_without_effect_are_refused(void) {
    refused("mongodb://127.0.0.1:1/?serverSelectionTryOnce=true", "unsupported");
    refused("mongodb://127.0.0.1:1/?maxIdleTimeMS=5", "unsupported");
    refused("mongodb://127.0.0.1:1/?compressors=lz9", "unsupported");
    refused("mongodb://127.0.0.1:1/?journal=maybe", "unsupported");
    refused("mongodb://127.0.0.1:1/?w=0&journal=true", "unsupported");
    refused("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100", "connect");
}

static char *with_options(const char *uri, const char *options) {
    size_t length = strlen(uri);
    const char *between = strchr(uri, '?') ? "&" : length && uri[length - 1] == '/' ? "?" : "/?";
    return bson_strdup_printf("%s%s%s", uri, between, options);
}

static bool has(const bson_t *opened, const char *json) {
    char *text = bson_as_relaxed_extended_json(opened, NULL);
    bool there = strstr(text, json) != NULL;
    if (!there)
        printf("%s is not in %s\n", json, text);
    bson_free(text);
    return there;
}

static void what_the_driver_uses(const char *server) {
    refusal why;
    bson_t opened = BSON_INITIALIZER;
    char *uri = with_options(server, "maxPoolSize=2&w=majority&readConcernLevel=local&"
                                     "readPreference=nearest&retryWrites=false");
    session *with = open_uri(uri, &opened, &why);
    EXPECT(with, why.message);
    EXPECT(has(&opened, "\"max_pool_size\" : 2"), "maxPoolSize");
    EXPECT(has(&opened, "\"write_concern\" : { \"w\" : \"majority\" }"), "w");
    EXPECT(has(&opened, "\"read_concern\" : \"local\""), "readConcernLevel");
    EXPECT(has(&opened, "\"read_preference\" : \"nearest\""), "readPreference");
    EXPECT(has(&opened, "\"retry_writes\" : false"), "retryWrites");
    bson_free(uri);
    bson_destroy(&opened);
    if (!with)
        return;
    operation noop = {.kind = kinds};
    bson_init(&noop.message);
    target *first = targets_new(with, &noop, 1, &why), *second = targets_new(with, &noop, 1, &why);
    EXPECT(first && second, "two clients of a pool of two");
    EXPECT(!targets_new(with, &noop, 1, &why) && !strcmp(why.code, "unsupported"),
           "more threads than clients");
    targets_free(first, with, 1);
    targets_free(second, with, 1);
    session_close(with);
}

/* Makes the call that the JSON describes, with one document. */
static answer called(session *with, const char *json, const char *document) {
    refusal why = {.code = ""};
    answer got = {0};
    bson_t *message = bson_new_from_json((const uint8_t *)json, -1, NULL);
    bson_t *first = bson_new_from_json((const uint8_t *)document, -1, NULL);
    operation each = {.kind = kinds};
    while (strcmp(each.kind->name, text_in(message, "kind")) != 0)
        each.kind++;
    bson_init_static(&each.message, bson_get_data(message), message->len);
    bson_init(&each.reading); /* these finds have no options */
    given what = {.list = (const bson_t *[]){first, first}};
    bson_init(&what.options);
    target *at = targets_new(with, &each, 1, &why);
    call_ready(at, &what);
    each.kind->call(at, &what, &got);
    targets_free(at, with, 1);
    bson_destroy(&what.options);
    bson_destroy(first);
    bson_destroy(message);
    return got;
}

static void failures_have_the_words_of_the_server(const char *server) {
    static const char INSERT[] = "{\"kind\":\"insert_one\",\"collection\":\"items\"}";
    refusal why;
    bson_t opened = BSON_INITIALIZER;
    char *uri = with_options(server, "socketTimeoutMS=250&retryReads=false");
    session *with = open_uri(uri, &opened, &why);
    bson_free(uri);
    bson_destroy(&opened);
    EXPECT(with, why.message);
    if (!with)
        return;
    called(with, "{\"kind\":\"drop\",\"collection\":\"items\"}", "{}");
    EXPECT(called(with, INSERT, "{\"_id\":1}").outcome == RIGHT, "a first document");
    EXPECT(called(with, INSERT, "{\"_id\":1}").code == 11000, "its duplicate");
    answer got = called(with, "{\"kind\":\"command\"}", "{\"nonsense\":1}");
    EXPECT(got.code == 59 && !strcmp(got.name, "CommandNotFound"), got.name);
    got = called(with, "{\"kind\":\"command\",\"read_concern\":\"nonsense\"}",
                 "{\"count\":\"items\"}");
    EXPECT(got.outcome == FAILED && got.code, "a concern of a command is a field of it");
    called(with, "{\"kind\":\"drop\",\"collection\":\"items\"}", "{}");
    got = called(with, "{\"kind\":\"drop\",\"collection\":\"items\"}", "{}");
    EXPECT(got.outcome == RIGHT, "the drop of what is not there");
    called(with, INSERT, "{\"_id\":1}");
    got = called(with, "{\"kind\":\"find\",\"collection\":\"items\"}",
                 "{\"$expr\":{\"$function\":{\"body\":\"function() { sleep(1500); return true }\","
                 "\"args\":[],\"lang\":\"js\"}}}");
    EXPECT(got.outcome == TIMED_OUT, got.message);
    session_close(with);
}

int main(void) {
    const char *server = getenv("MDYN_URI");
    driver_start();
    options_without_effect_are_refused();
    if (server) {
        what_the_driver_uses(server);
        failures_have_the_words_of_the_server(server);
    } else {
        printf("skipped: what_the_driver_uses, failures_have_the_words_of_the_server "
               "(MDYN_URI names no server)\n");
    }
    printf("%s\n", failed ? "failed" : "ok");
    return failed != 0;
}
