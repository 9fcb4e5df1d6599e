// The dialect of mongocxx, 3.7 and later: calls, options, errors, as its users write them.
#include <cerrno>
#include <iostream>
#include <map>

#include <bsoncxx/builder/basic/document.hpp>
#include <bsoncxx/json.hpp>
#include <mongocxx/bulk_write.hpp>
#include <mongocxx/client.hpp>
#include <mongocxx/exception/exception.hpp>
#include <mongocxx/exception/logic_error.hpp>
#include <mongocxx/exception/operation_exception.hpp>
#include <mongocxx/instance.hpp>
#include <mongocxx/logger.hpp>
#include <mongocxx/pipeline.hpp>
#include <mongocxx/pool.hpp>

#include "concerns_mongocxx.hpp"
#include "dialect.hpp"

namespace {

using bsoncxx::builder::basic::kvp;
using bsoncxx::builder::basic::make_document;
using View = bsoncxx::document::view;

// Codes of libmongoc, which mongocxx returns without their domain.
const int SERVER_SELECTION_FAILURE = 13053, CLIENT_AUTHENTICATE = 11, STREAM_CODES_END = 6;
const int AUTHENTICATION_FAILED = 18, MECHANISM_UNAVAILABLE = 334, ATLAS_ERROR = 8000;
const int POOL_SIZE_DEFAULT = 100;
// Options that libmongoc 1.x parses without any effect on a pool.
const char* const IGNORED[] = {"serverSelectionTryOnce", "socketCheckIntervalMS", "maxIdleTimeMS",
                               "waitQueueMultiple", "slaveOk"};

// The driver only warns of options that it does not know.
thread_local std::string warning;

class Warnings : public mongocxx::logger {
  void operator()(mongocxx::log_level level, bsoncxx::stdx::string_view domain,
                  bsoncxx::stdx::string_view message) noexcept override {
    if (level > mongocxx::log_level::k_warning) return;
    std::cerr << domain << ": " << message << std::endl;
    warning = std::string(message);
  }
};

View view(Document document) { return {document.data(), document.size()}; }

class CxxTarget : public Target {
 public:
  CxxTarget(mongocxx::client& client, const std::string& database, Document message,
            const Finds& finds)
      : database_(client[database]), call_(CALLS.at(message["kind"].text())) {
    if (message["collection"]) bind(message);
    if (message["sum_field"]) sum_field_ = message["sum_field"].text();
    if (message["ordered"]) {
      insert_.ordered(message["ordered"].integer() != 0);
      bulk_.ordered(message["ordered"].integer() != 0);
    }
    if (message["upsert"]) {
      update_.upsert(message["upsert"].integer() != 0);
      replace_.upsert(message["upsert"].integer() != 0);
    }
    if (message["batch_size"]) {
      find_.batch_size(static_cast<std::int32_t>(message["batch_size"].integer()));
    }
    if (message["field"]) field_ = message["field"].text();
    if (message["skip"]) find_.skip(message["skip"].integer());
    if (message["max_time_ms"]) {
      std::chrono::milliseconds most(message["max_time_ms"].integer());
      find_.max_time(most);
      change_.max_time(most);
    }
    ask(finds);
    projects_ = bool(message["projection"]);
  }

  void ready(const Given& given) override {
    errno = 0;
    documents_.clear();
    for (const auto& document : given.documents) documents_.push_back(view(document));
    find_.limit(given.count);
    if (projects_) find_.projection(documents_.at(1));
  }

  Answer call(const Given& given) override { return (this->*call_)(given); }

 private:
  void bind(Document message) {
    collection_ = database_[message["collection"].text()];
    if (message["write_concern"]) {
      collection_.write_concern(write_concern(message["write_concern"].document()));
    }
    if (message["read_concern"]) {
      collection_.read_concern(read_concern(message["read_concern"].text()));
    }
    if (message["read_preference"]) {
      collection_.read_preference(read_preference(message["read_preference"].text()));
    }
  }

  void ask(const Finds& finds) {
    if (finds.hint) find_.hint(mongocxx::hint(view(finds.hint)));
    if (finds.sort) {
      find_.sort(view(finds.sort));
      change_.sort(view(finds.sort));
    }
    if (finds.collation) {
      find_.collation(view(finds.collation));
      change_.collation(view(finds.collation));
    }
  }

  template <class Value>
  static std::int64_t integer(const Value& value) {
    return value.type() == bsoncxx::type::k_int32 ? value.get_int32().value
                                                  : value.get_int64().value;
  }

  Answer read(View document) const {
    auto got = counted(1);
    if (sum_field_.empty()) return got;
    auto field = document[sum_field_];
    if (field) got.sum = integer(field);
    return got;
  }

  Answer drain(mongocxx::cursor cursor) const {
    Answer all;
    for (auto document : cursor) {
      auto got = read(document);
      all.documents += got.documents;
      all.sum += got.sum;
    }
    return all;
  }

  template <class Found>
  Answer found(const Found& document) const {
    if (!document) throw WrongAnswer("no document found");
    return read(document->view());
  }

  // A result is empty if the server was not asked for one.
  template <class Result>
  static Answer matched(const Result& result) {
    if (result && result->matched_count() != 1 && !result->upserted_id()) {
      throw WrongAnswer("no document matched");
    }
    return {};
  }

  static Answer counted(std::int64_t documents) {
    Answer got;
    got.documents = documents;
    return got;
  }

  Answer insert_one(const Given& /*given*/) {
    collection_.insert_one(documents_[0], insert_);
    return {};
  }
  Answer insert_many(const Given& /*given*/) {
    auto result = collection_.insert_many(documents_, insert_);
    if (result && result->inserted_count() != static_cast<std::int32_t>(documents_.size())) {
      throw WrongAnswer("not all were inserted");
    }
    return {};
  }
  Answer find_one(const Given& /*given*/) {
    return found(collection_.find_one(documents_[0], find_));
  }
  Answer find(const Given& /*given*/) { return drain(collection_.find(documents_[0], find_)); }
  Answer update_one(const Given& /*given*/) {
    return matched(collection_.update_one(documents_[0], documents_[1], update_));
  }
  Answer replace_one(const Given& /*given*/) {
    return matched(collection_.replace_one(documents_[0], documents_[1], replace_));
  }
  Answer delete_one(const Given& /*given*/) {
    auto result = collection_.delete_one(documents_[0]);
    if (result && result->deleted_count() != 1) throw WrongAnswer("no document deleted");
    return {};
  }
  Answer update_many(const Given& /*given*/) {
    auto result = collection_.update_many(documents_[0], documents_[1]);
    return counted(result ? result->matched_count() : 0);
  }
  Answer delete_many(const Given& /*given*/) {
    auto result = collection_.delete_many(documents_[0]);
    return counted(result ? result->deleted_count() : 0);
  }
  Answer distinct(const Given& /*given*/) {
    Answer all;
    for (auto answer : collection_.distinct(field_, documents_[0])) {
      for (const auto& value : answer["values"].get_array().value) {
        all.documents++;
        if (!sum_field_.empty()) all.sum += integer(value);
      }
    }
    return all;
  }
  Answer count(const Given& /*given*/) {
    return counted(collection_.count_documents(documents_[0]));
  }
  Answer estimated_count(const Given& /*given*/) {
    return counted(collection_.estimated_document_count());
  }
  Answer find_one_and_update(const Given& /*given*/) {
    return found(collection_.find_one_and_update(documents_[0], documents_[1], change_));
  }
  Answer read_modify_write(const Given& given) {
    auto got = find_one(given);
    update_one(given);
    return got;
  }
  Answer bulk_write(const Given& given) {
    auto bulk = collection_.create_bulk_write(bulk_);
    for (const auto& part : given.parts) append(bulk, part);
    auto result = bulk.execute();
    if (result && static_cast<std::uint32_t>(result->inserted_count() + result->matched_count() +
                                             result->upserted_count() + result->deleted_count()) !=
                      given.count) {
      throw WrongAnswer("not all parts did something");
    }
    return {};
  }
  Answer aggregate(const Given& /*given*/) {
    mongocxx::pipeline pipeline;
    pipeline.append_stages(documents_[0]["pipeline"].get_array().value);
    return drain(collection_.aggregate(pipeline));
  }
  Answer command(const Given& /*given*/) {
    database_.run_command(documents_[0]);
    return {};
  }
  Answer drop(const Given& /*given*/) {
    collection_.drop();
    return {};
  }

  static void append(mongocxx::bulk_write& bulk, const Part& part) {
    std::string kind = part.message["kind"].text();
    bool upsert = part.message["upsert"].integer() != 0;
    if (kind == "insert_one") {
      bulk.append(mongocxx::model::insert_one(view(part.first)));
    } else if (kind == "update_one") {
      mongocxx::model::update_one model(view(part.first), view(part.second));
      bulk.append(upsert ? model.upsert(true) : model);
    } else if (kind == "replace_one") {
      mongocxx::model::replace_one model(view(part.first), view(part.second));
      bulk.append(upsert ? model.upsert(true) : model);
    } else {
      bulk.append(mongocxx::model::delete_one(view(part.first)));
    }
  }

  using Call = Answer (CxxTarget::*)(const Given&);
  static const std::map<std::string, Call> CALLS;

  mongocxx::database database_;
  mongocxx::collection collection_;
  Call call_;
  std::string sum_field_, field_;
  bool projects_;
  std::vector<View> documents_;
  mongocxx::options::insert insert_;
  mongocxx::options::find find_;
  mongocxx::options::find_one_and_update change_;
  mongocxx::options::update update_;
  mongocxx::options::replace replace_;
  mongocxx::options::bulk_write bulk_;
};

const std::map<std::string, CxxTarget::Call> CxxTarget::CALLS = {
    {"insert_one", &CxxTarget::insert_one},
    {"insert_many", &CxxTarget::insert_many},
    {"find_one", &CxxTarget::find_one},
    {"find", &CxxTarget::find},
    {"update_one", &CxxTarget::update_one},
    {"update_many", &CxxTarget::update_many},
    {"delete_one", &CxxTarget::delete_one},
    {"delete_many", &CxxTarget::delete_many},
    {"distinct", &CxxTarget::distinct},
    {"count", &CxxTarget::count},
    {"estimated_count", &CxxTarget::estimated_count},
    {"replace_one", &CxxTarget::replace_one},
    {"find_one_and_update", &CxxTarget::find_one_and_update},
    {"read_modify_write", &CxxTarget::read_modify_write},
    {"bulk_write", &CxxTarget::bulk_write},
    {"aggregate", &CxxTarget::aggregate},
    {"command", &CxxTarget::command},
    {"drop", &CxxTarget::drop},
};

class CxxTail : public Tail {
 public:
  explicit CxxTail(mongocxx::cursor cursor) : cursor_(std::move(cursor)), at_(cursor_.end()) {}

  Document next() override {
    // On a tailable cursor each begin() asks again.
    if (at_ == cursor_.end()) {
      at_ = cursor_.begin();
    } else {
      ++at_;
    }
    return at_ == cursor_.end() ? Document() : Document((*at_).data());
  }

 private:
  mongocxx::cursor cursor_;
  mongocxx::cursor::iterator at_;
};

class CxxConnection : public Connection {
 public:
  CxxConnection(mongocxx::pool::entry client, std::string database)
      : client_(std::move(client)), database_(std::move(database)) {}

  std::unique_ptr<Target> bind(Document operation, const Finds& finds) override {
    return std::unique_ptr<Target>(new CxxTarget(*client_, database_, operation, finds));
  }

  std::unique_ptr<Tail> tail(const std::string& collection) override {
    mongocxx::options::find options;
    options.cursor_type(mongocxx::cursor::type::k_tailable_await);
    options.max_await_time(std::chrono::milliseconds(dialect::await_ms));
    auto cursor = (*client_)[database_][collection].find({}, options);
    return std::unique_ptr<Tail>(new CxxTail(std::move(cursor)));
  }

  bool has(const std::string& collection, Document filter) override {
    return bool((*client_)[database_][collection].find_one(view(filter)));
  }

 private:
  mongocxx::pool::entry client_;
  const std::string database_;
};

class CxxClient : public Client {
 public:
  CxxClient(const mongocxx::uri& uri, std::string database)
      : pool_(uri), database_(std::move(database)) {}

  std::unique_ptr<Connection> connection() override {
    auto client = pool_.try_acquire();
    if (!client) {
      throw Refusal("unsupported",
                    "the pool has fewer clients (maxPoolSize, by default 100) than there are "
                    "threads, and each wants one");
    }
    return std::unique_ptr<Connection>(new CxxConnection(std::move(*client), database_));
  }

  void ping() {
    auto client = pool_.acquire();
    (*client)["admin"].run_command(make_document(kvp("ping", 1)));
  }

  std::string opened() override {
    auto client = pool_.acquire();
    auto uri = client->uri();
    auto integer = [&](const char* name, int otherwise) {
      auto field = uri.options()[name];
      return field ? field.get_int32().value : otherwise;
    };
    bsoncxx::builder::basic::array compressors;
    for (auto compressor : uri.compressors()) compressors.append(compressor);
    auto concern = client->write_concern();
    auto level = client->read_concern().acknowledge_string();
    std::string mode;
    for (const auto& each : MODES) {
      if (each.second == client->read_preference().mode()) mode = each.first;
    }
    bsoncxx::builder::basic::document resolved;
    resolved.append(kvp("max_pool_size", integer("maxpoolsize", POOL_SIZE_DEFAULT)),
                    kvp("min_pool_size", integer("minpoolsize", 0)),
                    kvp("write_concern", concern.to_document()), kvp("read_preference", mode),
                    kvp("compressors", compressors),
                    kvp("retry_writes", uri.retry_writes().value_or(true)),
                    kvp("retry_reads", uri.retry_reads().value_or(true)), kvp("tls", uri.tls()),
                    kvp("commands", make_document(kvp("count", "aggregate"))));
    if (level.empty()) {
      resolved.append(kvp("read_concern", bsoncxx::types::b_null()));
    } else {
      resolved.append(kvp("read_concern", level));
    }
    return std::string("\"acknowledged\":") + (concern.is_acknowledged() ? "true" : "false") +
           ",\"resolved\":" + bsoncxx::to_json(resolved.view());
  }

 private:
  mongocxx::pool pool_;
  const std::string database_;
};

// The server's own code, or 0.
std::int64_t server_code(const mongocxx::operation_exception& fault) {
  if (!fault.raw_server_error()) return 0;
  auto raw = fault.raw_server_error()->view();
  bool told = raw["code"] || raw["writeErrors"] || raw["writeConcernErrors"];
  return told ? fault.code().value() : 0;
}

}  // namespace

namespace dialect {

const char* const name = "mongocxx";
const char* const uri = "standard";
const std::vector<std::string> extras = {
    "write_concern", "read_concern", "read_preference", "unacknowledged", "unordered", "clients",
    "sort",          "hint",         "collation",       "max_time"};
const std::int64_t consumer_ns = 300;
const int await_ms = 100;

void start() {
  static mongocxx::instance instance{std::unique_ptr<mongocxx::logger>(new Warnings)};
}

// The library has no function that returns its version; pkg-config does.
std::string version() { return DRIVER_VERSION; }

std::string from_json(const std::string& line) {
  auto made = bsoncxx::from_json(line);
  return {reinterpret_cast<const char*>(made.view().data()), made.view().length()};
}

std::unique_ptr<Client> connect(Document target, const std::string& database) {
  target["options"].document().each([](const Element& option) {
    for (const auto* ignored : IGNORED) {
      if (strcasecmp(option.name, ignored) == 0) {
        throw Refusal("unsupported", std::string(ignored) + " has no effect in this driver");
      }
    }
    return true;
  });
  warning.clear();
  std::unique_ptr<CxxClient> made(new CxxClient(mongocxx::uri(target["uri"].text()), database));
  if (!warning.empty()) throw Refusal("unsupported", warning);
  made->ping();
  return made;
}

Refusal refusal() {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal;
  } catch (const mongocxx::operation_exception& fault) {
    auto code = fault.code().value();
    bool server = server_code(fault) != 0;
    if (server &&
        (code == AUTHENTICATION_FAILED || code == MECHANISM_UNAVAILABLE || code == ATLAS_ERROR)) {
      return {"auth", fault.what()};
    }
    if (!server && code == CLIENT_AUTHENTICATE) return {"auth", fault.what()};
    bool connection = code == SERVER_SELECTION_FAILURE || (code > 0 && code < STREAM_CODES_END);
    return {!server && connection ? "connect" : "internal", fault.what()};
  } catch (const mongocxx::exception& fault) {
    return {"unsupported", fault.what()};
  } catch (const std::exception& fault) {
    return {"internal", fault.what()};
  }
}

Failure failure() {
  auto late = errno == ETIMEDOUT;
  try {
    throw;
  } catch (const WrongAnswer& fault) {
    return {WRONG, 0, "WrongAnswer", fault.what()};
  } catch (const mongocxx::operation_exception& fault) {
    Failure made{FAILED, server_code(fault), class_name(fault), fault.what()};
    if (made.code != 0) {
      auto given = fault.raw_server_error()->view()["codeName"];
      if (given) made.name = std::string(given.get_string().value);
    }
    // For sockets the driver reports "error or timeout"; errno still has the value that its poll
    // has set.
    bool client_late = late || fault.code().value() == SERVER_SELECTION_FAILURE;
    if (made.code == 0 ? client_late : made.code == 50 || made.code == 262) {
      made.outcome = TIMED_OUT;
    }
    return made;
  } catch (const std::exception& fault) {
    return {FAILED, 0, class_name(fault), fault.what()};
  }
}

}  // namespace dialect
