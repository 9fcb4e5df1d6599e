// Tests of what is special to the drivers; `mongodyno check` replays the vectors. MDYN_URI adds
// tests on a server.
#include <cstdlib>
#include <iostream>

#include "harness.hpp"

namespace {

int failed = 0;

void expect_at(int line, bool right, const std::string& said) {
  if (right) return;
  failed++;
  std::cout << "test_adapter.cpp:" << line << ": " << said << std::endl;
}
#define EXPECT(right, said) expect_at(__LINE__, right, said)

std::unique_ptr<Client> connected(const std::string& uri, const std::string& options) {
  bool more = uri.find('?') != std::string::npos;
  auto text = uri + (more ? "&" : uri.back() == '/' ? "?" : "/?") + options;
  std::string parts;
  for (std::size_t at = 0; at < options.size();) {
    auto end = std::min(options.find('&', at), options.size());
    auto is = options.find('=', at);
    parts += (parts.empty() ? "" : ",") + quoted(options.substr(at, is - at)) + ":" +
             quoted(options.substr(is + 1, end - is - 1));
    at = end + 1;
  }
  auto target = dialect::from_json("{\"uri\":" + quoted(text) + ",\"options\":{" + parts + "}}");
  return dialect::connect(Document(target), "mdyn_cpp_test");
}

std::string refused(const std::string& options) {
  try {
    connected("mongodb://127.0.0.1:1", options);
  } catch (...) {
    return dialect::refusal().code;
  }
  return "nothing";
}

void options_without_effect_are_refused() {
  EXPECT(refused("noSuchOption=1") == "unsupported", "an unknown option");
  EXPECT(refused("journal=maybe") == "unsupported", "a wrong value");
  EXPECT(refused("maxIdleTimeMS=5") == "unsupported", "an option that no version uses");
  EXPECT(refused("serverSelectionTimeoutMS=100") == "connect", "nobody is there");
}

// The failure of the call that the JSON describes, with one document.
Failure failure_of(Connection& connection, const std::string& json, const std::string& first,
                   const Finds& finds = {}) {
  auto message = dialect::from_json(json), document = dialect::from_json(first);
  auto target = connection.bind(Document(message), finds);
  Given given;
  given.documents.emplace_back(document);
  target->ready(given);
  try {
    target->call(given);
  } catch (...) {
    return dialect::failure();
  }
  return {RIGHT, 0, "", "no failure"};
}

void failures_have_the_words_of_the_server(const std::string& server) {
  const std::string insert = "{\"kind\":\"insert_one\",\"collection\":\"items\"}";
  const std::string drop = "{\"kind\":\"drop\",\"collection\":\"items\"}";
  auto client = connected(server, "socketTimeoutMS=300&w=1");
  EXPECT(client->opened().find("\"acknowledged\":true") == 0, client->opened());
  auto connection = client->connection();
  failure_of(*connection, drop, "{}");
  EXPECT(failure_of(*connection, insert, "{\"_id\":1}").outcome == RIGHT, "a first document");
  EXPECT(failure_of(*connection, insert, "{\"_id\":1}").code == 11000, "its duplicate");
  auto got = failure_of(*connection, "{\"kind\":\"command\"}", "{\"nonsense\":1}");
  EXPECT(got.code == 59 && got.name == "CommandNotFound", got.name);
  EXPECT(failure_of(*connection, drop, "{}").outcome == RIGHT, "a drop");
  EXPECT(failure_of(*connection, drop, "{}").outcome == RIGHT, "a drop of what is not there");
  failure_of(*connection, insert, "{\"_id\":1}");
  got = failure_of(*connection, "{\"kind\":\"find\",\"collection\":\"items\"}",
                   "{\"$where\":\"sleep(1500) || true\"}");
  EXPECT(got.outcome == TIMED_OUT, got.name + ": " + got.message);
}

void hints_are_sent(const std::string& server) {
  auto client = connected(server, "w=1");
  auto connection = client->connection();
  const std::string collection = "\",\"collection\":\"items\"}";
  failure_of(*connection, "{\"kind\":\"insert_one" + collection, "{\"_id\":7}");
  auto hint = dialect::from_json("{\"noSuchIndex\":1}");
  Finds finds;
  finds.hint = Document(hint);
  for (const char* kind : {"find", "find_one"}) {
    auto message = std::string("{\"kind\":\"") + kind + collection;
    EXPECT(failure_of(*connection, message, "{\"_id\":7}").outcome == RIGHT, "no hint");
    EXPECT(failure_of(*connection, message, "{\"_id\":7}", finds).outcome == FAILED, kind);
  }
}

}  // namespace

int main() {
  dialect::start();
  options_without_effect_are_refused();
  if (const char* server = std::getenv("MDYN_URI")) {
    failures_have_the_words_of_the_server(server);
    hints_are_sent(server);
  } else {
    std::cout << "skipped: failures_have_the_words_of_the_server (MDYN_URI names no server)\n"
              << "skipped: hints_are_sent (MDYN_URI names no server)\n";
  }
  std::cout << (failed != 0 ? "failed" : "ok") << std::endl;
  _Exit(failed != 0 ? 1 : 0);
}
