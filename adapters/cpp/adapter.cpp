// The adapter of MongoDB's drivers for C++: reads a line, does it, answers a line. SPEC 1 to 3.
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <iostream>

#include "harness.hpp"

namespace {

const int PROTOCOL = 2;
const char FRAME = '\x1e';
const std::size_t MESSAGE_MAX = 4096;

Session session;
std::unique_ptr<Phase> phase;
std::atomic<bool> in_turn{false};

void on_term(int /*signal*/) {
  stopped = true;  // first: the turn may end in another thread meanwhile
  if (!in_turn) _exit(0);
  eventfd_write(stop_fd, 1);
}

std::string words(const std::vector<std::string>& list) {
  std::string text;
  for (const auto& word : list) text += (text.empty() ? "" : ",") + quoted(word);
  return "[" + text + "]";
}

std::string on_hello(Document message) {
  if (message["protocol"].integer() != PROTOCOL) {
    throw Refusal("protocol", "this adapter speaks protocol 2");
  }
  epoch_ns = std::stoll(message["epoch_ns"].text());
  timespec resolution;
  clock_getres(CLOCK_MONOTONIC, &resolution);
#ifdef __clang__
  const char* compiler = "clang";
#else
  const char* compiler = "gcc";
#endif
  return "\"hello\",\"protocol\":2,\"adapter\":\"cpp\",\"driver\":{\"name\":" +
         quoted(dialect::name) + ",\"version\":" + quoted(dialect::version()) +
         ",\"native\":null},\"runtime\":{\"name\":" + quoted(compiler) +
         ",\"version\":" + quoted(__VERSION__) +
         ",\"flags\":[]},\"clock\":{\"source\":\"CLOCK_MONOTONIC\",\"resolution_ns\":" +
         std::to_string(resolution.tv_nsec) +
         "},\"capabilities\":{\"operations\":" + words(kinds()) +
         ",\"pacing\":[\"awaited\",\"think\",\"window\",\"rate\",\"burst\"],\"extras\":" +
         words(dialect::extras) + ",\"shapes\":[],\"alters\":[],\"uri\":" + quoted(dialect::uri) +
         ",\"consumer_ns\":" + std::to_string(dialect::consumer_ns) +
         ",\"concurrency\":{\"kind\":\"threads\",\"max\":null,\"threads\":null}}";
}

std::string on_open(Document message) {
  Session opened;
  opened.by_operation = std::strcmp(message["deal"].text(), "operation") == 0;
  try {
    message["clients"].document().each([&](const Element& target) {
      opened.clients.push_back(dialect::connect(target.document(), message["database"].text()));
      return true;
    });
  } catch (...) {
    throw dialect::refusal();
  }
  session = std::move(opened);
  return "\"opened\"," + session.clients.at(0)->opened();
}

std::string on_prepare(const std::string& bytes) {
  phase.reset();
  phase = Document(bytes)["consumer"] ? prepare_consumer(bytes, session)
                                      : prepare_workers(bytes, session);
  return "\"ready\"";
}

std::string on_turn(Document message) {
  in_turn = true;
  auto done = phase->turn(message["until_ns"].integer());
  in_turn = false;
  if (stopped) _exit(0);  // the samples are written; a stopped turn has no answer
  return "\"turn_done\",\"began_ns\":" + std::to_string(done.began_ns) +
         ",\"exhausted\":" + (done.exhausted ? "true" : "false") +
         ",\"gave_up\":" + (done.gave_up ? "true" : "false");
}

std::string on_end() {
  auto totals = phase->end();
  phase.reset();
  return "\"ended\"," + totals;
}

std::string on_render(Document message) {
  auto given = message["input"].document();
  std::vector<Pool> pools;
  pools.emplace_back(from_hex(message["template"].text()));
  Input input;
  input.key = given["key"].integer();
  input.shift = static_cast<std::uint64_t>(given["shift"].integer());
  input.sequence = given["sequence"].integer();
  input.producer = given["producer"].integer();
  input.made_ns = given["made_ns"].integer();
  input.time_ms = given["time_ms"].integer();
  if (given["guid"]) std::memcpy(input.guid, from_hex(given["guid"].text()).data(), 16);
  std::vector<std::uint8_t> made(pools[0].largest_bytes());
  auto* to = made.data();
  Reference(message, pools).make(0, input, to);
  return "\"rendered\",\"bson\":" + quoted(to_hex({made.begin(), made.end()}));
}

std::string parsed(const std::string& line) {
  try {
    return dialect::from_json(line);
  } catch (const std::exception& fault) {
    throw Refusal("protocol", fault.what());
  }
}

// The answer without its brackets.
std::string answer(const std::string& line) {
  auto bytes = parsed(line);
  Document message(bytes);
  const char* text = message["type"].text();
  std::string type = text == nullptr ? "" : text;
  if (type == "hello") return on_hello(message);
  if (type == "clock") return "\"clock\",\"now_ns\":" + std::to_string(now_ns());
  if (type == "open") return on_open(message);
  if (type == "prepare") return on_prepare(bytes);
  if (type == "turn") return on_turn(message);
  if (type == "end") return on_end();
  if (type == "render") return on_render(message);
  if (type == "close") {
    session.clients.clear();
    return "\"closed\"";
  }
  throw Refusal("protocol", "a message of unknown type");
}

std::string error(const char* code, const std::string& message) {
  auto length = message.size();
  if (length > MESSAGE_MAX) {
    // Cuts between characters, not within one.
    for (length = MESSAGE_MAX; (message[length] & 0xc0) == 0x80;) length--;
  }
  return "\"error\",\"code\":" + quoted(code) + ",\"message\":" + quoted(message.substr(0, length));
}

}  // namespace

int main() {
  stop_fd = eventfd(0, EFD_CLOEXEC);
  struct sigaction action = {};
  action.sa_handler = on_term;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  dialect::start();
  for (std::string line; std::getline(std::cin, line);) {
    std::string told;
    try {
      told = answer(line);
    } catch (const Refusal& refusal) {
      told = error(refusal.code, refusal.what());
    } catch (const std::exception& fault) {
      told = error("internal", fault.what());
    }
    std::cout << FRAME << "{\"type\":" << told << "}" << std::endl;
    if (told == "\"closed\"") break;
  }
  std::cout.flush();
  _exit(0);  // drivers would wait for their threads
}
