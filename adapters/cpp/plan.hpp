// What a phase executes: kinds of operations, the schedule's records.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.hpp"

enum Gives { ONE, MANY, PARTS };

struct Kind {
  const char* name;
  Gives gives;
  std::vector<const char*> roles;  // what a call is given, in this order
};

static const std::vector<Kind> KINDS = {
    {"noop", MANY, {"documents"}},
    {"insert_one", ONE, {"documents"}},
    {"insert_many", MANY, {"documents"}},
    {"find_one", ONE, {"filter", "projection"}},
    {"find", ONE, {"filter", "projection"}},
    {"update_one", ONE, {"filter", "update"}},
    {"update_many", ONE, {"filter", "update"}},
    {"delete_one", ONE, {"filter"}},
    {"delete_many", ONE, {"filter"}},
    {"count", ONE, {"filter"}},
    {"distinct", ONE, {"filter"}},
    {"estimated_count", ONE, {}},
    {"replace_one", ONE, {"filter", "documents"}},
    {"find_one_and_update", ONE, {"filter", "update"}},
    {"read_modify_write", ONE, {"filter", "update"}},
    {"bulk_write", PARTS, {}},
    {"aggregate", ONE, {"pipeline"}},
    {"command", ONE, {"command"}},
    {"drop", ONE, {}},
};

struct Record {
  std::int64_t intended_ns, key;
  std::uint32_t document, count;
  std::uint8_t operation, flags, unused[6], guid[16];
};

class Schedule {
 public:
  explicit Schedule(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) throw Refusal("internal", path + ": cannot be read");
    size_ = static_cast<std::size_t>(about.st_size);
    // Populated in advance: page faults belong to `prepare`, not to the first lap.
    void* bytes = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) throw Refusal("internal", path + ": cannot be mapped");
    bytes_ = static_cast<const std::uint8_t*>(bytes);
    record_bytes_ = load<std::uint32_t>(bytes_ + 8);
    records = load<std::uint32_t>(bytes_ + 12);
    slices = load<std::uint32_t>(bytes_ + 16);
    lap_ns = load<std::int64_t>(bytes_ + 24);
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() { munmap(const_cast<std::uint8_t*>(bytes_), size_); }

  Record at(std::uint64_t place) const {
    Record record = {};
    std::memcpy(&record, bytes_ + 32 + place * record_bytes_, record_bytes_);
    return record;
  }

  std::uint32_t records, slices;  // the parts of bulks follow the records
  std::int64_t lap_ns;

 private:
  const std::uint8_t* bytes_;
  std::size_t size_;
  std::uint32_t record_bytes_;
};

struct Slice {
  alignas(64) std::atomic<std::uint64_t> next{0};  // a cache line for each worker
  std::uint64_t limit = UINT64_MAX;
};

struct Operation {
  Operation(Document from, const std::vector<Pool>& pools) : message(from), kind(find(from)) {
    for (const auto* role : kind.roles) {
      if (from[role]) given.emplace_back(from[role].document(), pools);
    }
    finds = {fixed("sort", pools), fixed("hint", pools), fixed("collation", pools)};
  }

  // A document of a pool that has no stamps.
  Document fixed(const char* option, const std::vector<Pool>& pools) const {
    auto asked = message[option].document();
    if (!asked) return {};
    const auto& pool = pools.at(static_cast<std::size_t>(asked["pool"].integer()));
    return pool.at(static_cast<std::uint32_t>(asked["document"].integer()));
  }

  static const Kind& find(Document from) {
    if (from["shape"]) throw Refusal("unsupported", "this adapter has no shapes");
    for (const auto& kind : KINDS) {
      if (std::strcmp(kind.name, from["kind"].text()) == 0) return kind;
    }
    throw Refusal("unsupported", std::string("an operation of kind ") + from["kind"].text());
  }

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& each : given) sum += each.largest_bytes();
    return sum;
  }

  Document message;
  const Kind& kind;
  std::vector<Reference> given;
  Finds finds;
};

class Noop : public Target {
 public:
  explicit Noop(Document operation) {
    if (operation["sum_field"]) sum_field_ = operation["sum_field"].text();
  }
  void ready(const Given& /*given*/) override {}
  Answer call(const Given& given) override {
    Answer got;
    for (const auto& document : given.documents) {
      got.documents++;
      if (!sum_field_.empty()) got.sum += document[sum_field_.c_str()].integer();
    }
    return got;
  }

 private:
  std::string sum_field_;
};
