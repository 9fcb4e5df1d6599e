// What the files of the harness share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dialect.hpp"

extern std::int64_t epoch_ns;
std::int64_t now_ns();
extern std::atomic<bool> stopped;
extern int stop_fd;  // readable from then on
// False if the process has to stop before.
bool sleep_until(std::int64_t due_ns);

std::string quoted(const std::string& text);
std::string from_hex(const std::string& digits);
std::string to_hex(const std::string& bytes);

// The values that stamps take. The two clocks are read when a stamp asks, if the input is live.
struct Input {
  std::int64_t key = 0, sequence = 0, producer = 0, made_ns = 0, time_ms = 0;
  std::uint64_t shift = 0;
  std::uint8_t guid[16] = {};
  bool live = false;
};

class Pool {
 public:
  explicit Pool(std::string bytes);
  static Pool read(const std::string& path);
  std::uint32_t length() const { return static_cast<std::uint32_t>(begins_.size()); }
  Document at(std::uint32_t number) const {
    return Document(reinterpret_cast<const std::uint8_t*>(bytes_.data()) + begins_[number]);
  }
  std::uint32_t largest_bytes() const { return largest_bytes_; }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> begins_;
  std::uint32_t largest_bytes_ = 0;
};

struct Stamp;

// Documents of a pool, or always the same one, with their stamps.
class Reference {
 public:
  Reference(Document message, const std::vector<Pool>& pools);
  ~Reference();
  Reference(Reference&&) noexcept;
  std::uint32_t largest_bytes() const { return pool_->largest_bytes(); }
  // Copies a document to `to`, stamps it and moves `to` past it.
  Document make(std::uint32_t number, const Input& input, std::uint8_t*& to) const;

 private:
  const Pool* pool_;
  std::int64_t fixed_;
  std::vector<Stamp> stamps_;
  std::vector<std::uint32_t> offsets_;  // per document and stamp; 0 if it has no such field
};

struct Session {
  std::vector<std::unique_ptr<Client>> clients;
  bool by_operation = false;
};

// Samples of one thread on their way to the file.
class Samples {
 public:
  explicit Samples(int fd) : fd_(fd), held_(HELD) {}  // its pages are mapped from here on
  void add(std::int64_t intended_ns, std::int64_t start_ns, std::int64_t end_ns,
           std::uint64_t index, std::uint8_t operation, Outcome outcome, std::uint32_t worker);
  void begin(std::int64_t began_ns) { written_ns_ = began_ns; }
  void flush();

 private:
  // The contract allows 32,768. Fewer cost no more: a write every few ms of no-ops.
  static const std::size_t HELD = 4096;
  struct Sample {
    std::int64_t intended_ns, start_ns, service_ns;
    std::uint32_t index;
    std::uint8_t operation, outcome;
    std::uint16_t worker;
  };
  static_assert(sizeof(Sample) == 32, "samples are written as they are");

  int fd_;
  std::vector<Sample> held_;
  std::size_t count_ = 0;
  std::int64_t written_ns_ = 0;
};

// Failures by code and name, of all workers.
class Errors {
 public:
  void note(const Failure& failure);
  std::string json() const;

 private:
  std::mutex lock_;
  std::vector<std::pair<Failure, std::int64_t>> counted_;
};

struct TurnDone {
  std::int64_t began_ns;
  bool exhausted, gave_up;
};

class Phase {
 public:
  virtual ~Phase() = default;
  virtual TurnDone turn(std::int64_t until_ns) = 0;
  // The fields of `ended`.
  virtual std::string end() = 0;
};

int create_samples(Document message);
// Waits for a turn's end, and ends the process if stdin ends first.
void watch_stdin(int done_fd);
std::unique_ptr<Phase> prepare_workers(const std::string& message, Session& session);
std::unique_ptr<Phase> prepare_consumer(const std::string& message, Session& session);
std::vector<std::string> kinds();
