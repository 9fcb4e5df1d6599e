// The consumer: reads the messages of a capped collection through a tailable cursor. SPEC 9.
#include <poll.h>
#include <unistd.h>

#include "harness.hpp"

namespace {

const std::int64_t REOPEN_NS = 10000000;

bool is_sentinel(Document message) { return message["sentinel"].integer() == 1; }

class Consumer : public Phase {
 public:
  Consumer(const std::string& message, Session& session)
      : bytes_(message),
        asked_(Document(bytes_)["consumer"].document()),
        collection_(asked_["collection"].text()),
        expected_(asked_["expected"].integer()),
        idle_ns_(asked_["idle_ms"].integer() * 1000000),
        failures_max_(Document(bytes_)["errors_consecutive_max"].integer()),
        connection_(session.clients.at(0)->connection()) {
    tail();
    auto sentinel = tail_->next();
    if (!sentinel || !is_sentinel(sentinel)) {
      throw Refusal("internal", "no sentinel stands first in " + collection_);
    }
    keep_position(sentinel);
    fd_ = create_samples(Document(bytes_));
    samples_.reset(new Samples(fd_));
  }

  ~Consumer() override { close(fd_); }

  TurnDone turn(std::int64_t until_ns) override {
    auto began_ns = now_ns();
    auto last_ns = began_ns;
    heard_ns_ = began_ns;
    samples_->begin(began_ns);
    while (last_ns < until_ns && last_ns - heard_ns_ < idle_ns_ && failures_ < failures_max_ &&
           !exhausted_ && !stopped) {
      auto message = next();
      last_ns = now_ns();
      if (message && !is_sentinel(message)) take(message, last_ns);
      pollfd stdin_closed = {STDIN_FILENO, 0, 0};
      if (!message && poll(&stdin_closed, 1, 0) > 0) _exit(0);  // the core has ended
    }
    samples_->flush();
    return {began_ns, exhausted_, failures_ >= failures_max_};
  }

  std::string end() override {
    return "\"totals\":{\"documents\":" + std::to_string(messages_) +
           ",\"sum\":0},\"errors\":" + errors_.json() +
           ",\"consumer\":{\"cursors\":" + std::to_string(cursors_) +
           ",\"positions_lost\":" + std::to_string(positions_lost_) + "}";
  }

 private:
  void tail() {
    cursors_++;
    tail_.reset();
    tail_ = connection_->tail(collection_);
  }

  // Copied as {_id: …}, because the bytes belong to the cursor.
  void keep_position(Document message) {
    auto id = message["_id"];
    auto size = static_cast<std::uint32_t>(4 + 1 + sizeof "_id" + id.size() + 1);
    position_.assign(reinterpret_cast<const char*>(&size), 4);
    position_ += static_cast<char>(id.type);
    position_.append("_id", sizeof "_id");
    position_.append(reinterpret_cast<const char*>(id.value), id.size());
    position_ += '\0';
  }

  bool is_position(Document message) const {
    auto id = message["_id"], last = Document(position_)["_id"];
    return id.type == last.type && id.size() == last.size() &&
           std::memcmp(id.value, last.value, id.size()) == 0;
  }

  // A cursor after the last document read if that still exists, otherwise at the oldest one.
  void reopen() {
    if (!position_.empty()) {
      if (connection_->has(collection_, Document(position_))) {
        tail();
        // An await that ends without a document: the position was overwritten meanwhile.
        for (auto passed = tail_->next(); passed; passed = tail_->next()) {
          if (is_position(passed)) return;
        }
      }
      positions_lost_++;
      position_.clear();
    }
    tail();
  }

  // The next document; none if an await, or a cursor, has ended without one.
  Document next() {
    try {
      if (!tail_) reopen();
      auto message = tail_->next();
      if (message) {
        // An await without a document resets nothing: drivers end dead cursors as silently.
        failures_ = 0;
        keep_position(message);
      }
      return message;
    } catch (...) {
      errors_.note(dialect::failure());
      failures_++;
      tail_.reset();
      sleep_until(now_ns() + REOPEN_NS);
      return {};
    }
  }

  void take(Document message, std::int64_t at_ns) {
    if (message[asked_["marker_field"].text()].type != Element::END) {
      exhausted_ = true;
      return;
    }
    heard_ns_ = at_ns;
    samples_->add(message["made_ns"].integer(), at_ns, at_ns,
                  static_cast<std::uint64_t>(message["sequence"].integer()), 0, RIGHT,
                  static_cast<std::uint32_t>(message["producer"].integer()));
    exhausted_ = ++messages_ >= expected_;
  }

  const std::string bytes_;
  const Document asked_;
  const std::string collection_;
  const std::int64_t expected_, idle_ns_, failures_max_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Tail> tail_;
  int fd_ = -1;
  std::unique_ptr<Samples> samples_;
  Errors errors_;
  std::string position_;  // empty: before the oldest document
  std::int64_t messages_ = 0, failures_ = 0, cursors_ = 0, positions_lost_ = 0, heard_ns_ = 0;
  bool exhausted_ = false;
};

}  // namespace

std::unique_ptr<Phase> prepare_consumer(const std::string& message, Session& session) {
  return std::unique_ptr<Phase>(new Consumer(message, session));
}
