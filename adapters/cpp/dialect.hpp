// The driver, as the harness sees it. One of the dialects is linked.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bson.hpp"

// A message that is answered with an `error` of this code.
struct Refusal : std::runtime_error {
  Refusal(const char* code, const std::string& message) : runtime_error(message), code(code) {}
  const char* code;
};

enum Outcome : std::uint8_t { RIGHT, WRONG, FAILED, TIMED_OUT };

struct Answer {
  std::int64_t documents = 0, sum = 0;
};

struct Failure {
  Outcome outcome;
  std::int64_t code;
  std::string name, message;
};

// Thrown by a call whose answer is not right by the contract.
struct WrongAnswer : std::runtime_error {
  using runtime_error::runtime_error;
};

// The class's name without its namespace.
std::string class_name(const std::exception& fault);

struct Part {
  Document message, first, second;
};

// What a call is given: documents in the order of its kind, or many, or the parts of a bulk.
struct Given {
  std::uint32_t count = 0;
  std::vector<Document> documents;
  std::vector<Part> parts;
};

// Options of a find that are documents, kept by the harness; empty if they are not asked for.
struct Finds {
  Document sort, hint, collation;
};

// An operation on its way to the driver, of one thread.
class Target {
 public:
  virtual ~Target() = default;
  // Makes the driver's own types from what is given, before the clock begins.
  virtual void ready(const Given& given) = 0;
  virtual Answer call(const Given& given) = 0;
};

// A tailable cursor.
class Tail {
 public:
  virtual ~Tail() = default;
  // Returns the next document; none if an await has ended without one. Throws when the cursor is
  // dead.
  virtual Document next() = 0;
};

// The part of a client that one thread uses.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual std::unique_ptr<Target> bind(Document operation, const Finds& finds) = 0;
  virtual std::unique_ptr<Tail> tail(const std::string& collection) = 0;
  virtual bool has(const std::string& collection, Document filter) = 0;
};

class Client {
 public:
  virtual ~Client() = default;
  virtual std::unique_ptr<Connection> connection() = 0;
  // `acknowledged` and `resolved` as fields of JSON.
  virtual std::string opened() = 0;
};

namespace dialect {

extern const char* const name;
extern const char* const uri;
extern const std::vector<std::string> extras;
extern const std::int64_t consumer_ns;
extern const int await_ms;

void start();
std::string version();
// Returns the BSON of a line of JSON; throws.
std::string from_json(const std::string& line);
// Throws what the driver cannot do, or its exception, which `refusal` names.
std::unique_ptr<Client> connect(Document target, const std::string& database);
// The answer to the exception in flight.
Refusal refusal();
Failure failure();

}  // namespace dialect
