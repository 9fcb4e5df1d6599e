// The dialect of the legacy driver libmongoclient, 1.1: calls, options, errors, as its users wrote
// them. A connection is the client: there is no pool.
#include <cerrno>
#include <set>

#include <mongo/client/dbclient.h>

#include "dialect.hpp"

namespace {

using mongo::BSONObj;

const int AUTHENTICATION_FAILED = 18, MECHANISM_UNAVAILABLE = 334, NAMESPACE_NOT_FOUND = 26;
// The driver reads a few options of a connection string and ignores all others; the adapter sets
// those of write concerns and the timeout of sockets by the driver's own API.
const std::set<std::string> OPTIONS = {
    "w",          "journal",       "wtimeoutMS",      "replicaSet",
    "authSource", "authMechanism", "socketTimeoutMS", "serverSelectionTimeoutMS"};

// A command of the application, or a query, that the server refused.
struct CommandFailed : std::runtime_error {
  explicit CommandFailed(const BSONObj& reply)
      : runtime_error(reply["errmsg"].str()), reply(reply.getOwned()) {}
  BSONObj reply;
};

struct CursorDied : std::runtime_error {
  using runtime_error::runtime_error;
};

// Not copied: the harness keeps the bytes.
BSONObj object(Document document) {
  return BSONObj(reinterpret_cast<const char*>(document.data()));
}

mongo::WriteConcern write_concern(Document message) {
  auto made = mongo::WriteConcern::acknowledged;
  auto w = message["w"];
  if (w && w.text() == nullptr) {
    made.nodes(static_cast<int>(w.integer()));
  } else if (w) {
    made.mode(w.text());
  }
  if (message["j"]) made.journal(message["j"].integer() != 0);
  return made;
}

class LegacyTarget : public Target {
 public:
  LegacyTarget(mongo::DBClientBase& client, const std::string& database, Document message,
               const Finds& finds)
      : client_(client),
        database_(database),
        call_(CALLS.at(message["kind"].text())),
        concern_(client.getWriteConcern()),
        ordered_(message["ordered"].integer(1) != 0),
        upsert_(message["upsert"].integer() != 0),
        projects_(message["projection"]),
        batch_size_(static_cast<int>(message["batch_size"].integer())),
        skip_(static_cast<int>(message["skip"].integer())) {
    if (finds.sort) sort_ = object(finds.sort);
    if (finds.hint) hint_ = object(finds.hint);
    if (message["field"]) field_ = message["field"].text();
    if (message["collection"]) ns_ = database + "." + message["collection"].text();
    if (message["sum_field"]) sum_field_ = message["sum_field"].text();
    if (message["write_concern"]) {
      concern_ = write_concern(message["write_concern"].document());
    }
  }

  void ready(const Given& given) override {
    errno = 0;
    documents_.clear();
    for (const auto& document : given.documents) documents_.push_back(object(document));
  }

  Answer call(const Given& given) override { return (this->*call_)(given); }

 private:
  Answer read(const BSONObj& document) const {
    auto got = counted(1);
    if (!sum_field_.empty()) got.sum = document[sum_field_].numberLong();
    return got;
  }

  mongo::Query query() const {
    mongo::Query made(documents_[0]);
    if (!sort_.isEmpty()) made.sort(sort_);
    if (!hint_.isEmpty()) made.hint(hint_);
    return made;
  }

  Answer drain(const std::auto_ptr<mongo::DBClientCursor>& cursor) const {
    if (cursor.get() == nullptr) throw mongo::ConnectException("no answer to a query");
    Answer all;
    while (cursor->more()) {
      auto got = read(cursor->nextSafe());
      all.documents += got.documents;
      all.sum += got.sum;
    }
    return all;
  }

  Answer found(const BSONObj& document) const {
    if (document.isEmpty()) throw WrongAnswer("no document found");
    return read(document);
  }

  // update() and remove() do not return how many documents they changed: users ask the server once
  // more, or write a bulk of one, whose result has the number.
  int executed(mongo::BulkOperationBuilder& bulk) const {
    mongo::WriteResult result;
    bulk.execute(&concern_, &result);
    if (!concern_.requiresConfirmation()) return 0;
    return result.nInserted() + result.nMatched() + result.nUpserted() + result.nRemoved();
  }

  Answer executed(mongo::BulkOperationBuilder& bulk, int wanted) const {
    if (executed(bulk) != wanted && concern_.requiresConfirmation()) {
      throw WrongAnswer("the write has not done what was asked");
    }
    return {};
  }

  static Answer counted(std::int64_t documents) {
    Answer got;
    got.documents = documents;
    return got;
  }

  static void append(mongo::BulkOperationBuilder& bulk, const std::string& kind, bool upsert,
                     const BSONObj& first, const BSONObj& second) {
    if (kind == "insert_one") return bulk.insert(first);
    auto found = bulk.find(first);
    if (kind == "delete_one") return found.removeOne();
    bool update = kind == "update_one";
    if (upsert)
      return update ? found.upsert().updateOne(second) : found.upsert().replaceOne(second);
    update ? found.updateOne(second) : found.replaceOne(second);
  }

  Answer one(const char* kind, const BSONObj& second) {
    auto bulk = client_.initializeOrderedBulkOp(ns_);
    append(bulk, kind, upsert_, documents_[0], second);
    return executed(bulk, 1);
  }

  Answer insert_one(const Given& /*given*/) {
    client_.insert(ns_, documents_[0], 0, &concern_);
    return {};
  }
  Answer insert_many(const Given& /*given*/) {
    client_.insert(ns_, documents_, ordered_ ? 0 : mongo::InsertOption_ContinueOnError, &concern_);
    return {};
  }
  Answer find_one(const Given& /*given*/) {
    return found(client_.findOne(ns_, query(), projects_ ? &documents_[1] : nullptr));
  }
  Answer find(const Given& given) {
    return drain(client_.query(ns_, query(), static_cast<int>(given.count), skip_,
                               projects_ ? &documents_[1] : nullptr, 0, batch_size_));
  }
  Answer update_one(const Given& /*given*/) { return one("update_one", documents_[1]); }
  Answer replace_one(const Given& /*given*/) { return one("replace_one", documents_[1]); }
  Answer delete_one(const Given& /*given*/) { return one("delete_one", BSONObj()); }
  Answer update_many(const Given& /*given*/) {
    auto bulk = client_.initializeOrderedBulkOp(ns_);
    bulk.find(documents_[0]).update(documents_[1]);
    return counted(executed(bulk));
  }
  Answer delete_many(const Given& /*given*/) {
    auto bulk = client_.initializeOrderedBulkOp(ns_);
    bulk.find(documents_[0]).remove();
    return counted(executed(bulk));
  }
  Answer distinct(const Given& /*given*/) {
    Answer all;
    auto values = client_.distinct(ns_, field_, documents_[0]);
    for (mongo::BSONObjIterator each(values); each.more(); all.documents++) {
      auto value = each.next();
      if (!sum_field_.empty()) all.sum += value.numberLong();
    }
    return all;
  }
  Answer count(const Given& /*given*/) {
    return counted(static_cast<std::int64_t>(client_.count(ns_, documents_[0])));
  }
  Answer estimated_count(const Given& /*given*/) {
    return counted(static_cast<std::int64_t>(client_.count(ns_)));
  }
  Answer find_one_and_update(const Given& /*given*/) {
    // By default the driver sends an empty document here, which servers refuse.
    auto concern = concern_;
    if (concern.obj().isEmpty()) concern.nodes(1);
    return found(client_.findAndModify(ns_, documents_[0], documents_[1], false, false, sort_,
                                       BSONObj(), &concern));
  }
  Answer read_modify_write(const Given& given) {
    auto got = find_one(given);
    update_one(given);
    return got;
  }
  Answer bulk_write(const Given& given) {
    // The builder keeps references to what it is given.
    std::vector<BSONObj> parts;
    for (const auto& part : given.parts) {
      parts.push_back(object(part.first));
      parts.push_back(part.second ? object(part.second) : BSONObj());
    }
    auto bulk =
        ordered_ ? client_.initializeOrderedBulkOp(ns_) : client_.initializeUnorderedBulkOp(ns_);
    for (std::size_t i = 0; i < given.parts.size(); i++) {
      append(bulk, given.parts[i].message["kind"].text(),
             given.parts[i].message["upsert"].integer() != 0, parts[2 * i], parts[2 * i + 1]);
    }
    return executed(bulk, static_cast<int>(given.count));
  }
  Answer aggregate(const Given& /*given*/) {
    auto options = BSON("cursor" << BSONObj());
    return drain(client_.aggregate(ns_, documents_[0]["pipeline"].Obj(), &options));
  }
  Answer command(const Given& /*given*/) {
    BSONObj reply;
    if (!client_.runCommand(database_, documents_[0], reply)) throw CommandFailed(reply);
    return {};
  }
  Answer drop(const Given& /*given*/) {
    BSONObj reply;
    bool done = client_.dropCollection(ns_, &reply);
    if (!done && reply["code"].numberInt() != NAMESPACE_NOT_FOUND) throw CommandFailed(reply);
    return {};
  }

  using Call = Answer (LegacyTarget::*)(const Given&);
  static const std::map<std::string, Call> CALLS;

  mongo::DBClientBase& client_;
  const std::string database_;
  const Call call_;
  mongo::WriteConcern concern_;
  const bool ordered_, upsert_, projects_;
  const int batch_size_, skip_;
  std::string ns_, sum_field_, field_;
  BSONObj sort_, hint_;
  std::vector<BSONObj> documents_;
};

const std::map<std::string, LegacyTarget::Call> LegacyTarget::CALLS = {
    {"insert_one", &LegacyTarget::insert_one},
    {"insert_many", &LegacyTarget::insert_many},
    {"find_one", &LegacyTarget::find_one},
    {"find", &LegacyTarget::find},
    {"update_one", &LegacyTarget::update_one},
    {"update_many", &LegacyTarget::update_many},
    {"delete_one", &LegacyTarget::delete_one},
    {"delete_many", &LegacyTarget::delete_many},
    {"distinct", &LegacyTarget::distinct},
    {"count", &LegacyTarget::count},
    {"estimated_count", &LegacyTarget::estimated_count},
    {"replace_one", &LegacyTarget::replace_one},
    {"find_one_and_update", &LegacyTarget::find_one_and_update},
    {"read_modify_write", &LegacyTarget::read_modify_write},
    {"bulk_write", &LegacyTarget::bulk_write},
    {"aggregate", &LegacyTarget::aggregate},
    {"command", &LegacyTarget::command},
    {"drop", &LegacyTarget::drop},
};

class LegacyTail : public Tail {
 public:
  LegacyTail(mongo::DBClientBase& client, const std::string& ns) {
    int options = mongo::QueryOption_CursorTailable | mongo::QueryOption_AwaitData;
    cursor_.reset(client.query(ns, mongo::Query(), 0, 0, nullptr, options).release());
    if (!cursor_) throw mongo::ConnectException("no answer to a query");
  }

  Document next() override {
    if (cursor_->more()) {
      message_ = cursor_->nextSafe();
      return Document(reinterpret_cast<const std::uint8_t*>(message_.objdata()));
    }
    if (cursor_->isDead()) throw CursorDied("the cursor is no longer alive");
    return {};
  }

 private:
  std::unique_ptr<mongo::DBClientCursor> cursor_;
  BSONObj message_;
};

class LegacyConnection : public Connection {
 public:
  LegacyConnection(std::unique_ptr<mongo::DBClientBase> client, std::string database)
      : client_(std::move(client)), database_(std::move(database)) {}

  std::unique_ptr<Target> bind(Document operation, const Finds& finds) override {
    return std::unique_ptr<Target>(new LegacyTarget(*client_, database_, operation, finds));
  }

  std::unique_ptr<Tail> tail(const std::string& collection) override {
    return std::unique_ptr<Tail>(new LegacyTail(*client_, database_ + "." + collection));
  }

  bool has(const std::string& collection, Document filter) override {
    return !client_->findOne(database_ + "." + collection, object(filter)).isEmpty();
  }

 private:
  std::unique_ptr<mongo::DBClientBase> client_;
  const std::string database_;
};

class LegacyClient : public Client {
 public:
  LegacyClient(Document target, std::string database) : database_(std::move(database)) {
    std::string problem;
    target_ = mongo::ConnectionString::parse(target["uri"].text(), problem);
    if (!target_.isValid()) throw Refusal("unsupported", problem);
    target["options"].document().each([this](const Element& option) {
      set(option.name, option.text());
      return true;
    });
  }

  std::unique_ptr<Connection> connection() override {
    return std::unique_ptr<Connection>(new LegacyConnection(connected(), database_));
  }

  void ping() {
    BSONObj reply;
    auto client = connected();
    if (!client->runCommand("admin", BSON("ping" << 1), reply)) throw CommandFailed(reply);
  }

  std::string opened() override {
    return std::string("\"acknowledged\":") + (concern_.requiresConfirmation() ? "true" : "false") +
           ",\"resolved\":{\"write_concern\":" + concern_.obj().jsonString() +
           ",\"read_concern\":null,\"compressors\":[],\"retry_writes\":false,"
           "\"retry_reads\":false,\"tls\":false,\"commands\":{\"count\":\"count\"}}";
  }

 private:
  void set(const std::string& option, const std::string& value) {
    bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    bool number = option == "socketTimeoutMS" || option == "wtimeoutMS";
    bool word = option == "journal" && value != "true" && value != "false";
    if (OPTIONS.count(option) == 0 || (number && !digits) || word) {
      throw Refusal("unsupported", option + "=" + value + " has no effect in this driver");
    }
    if (option == "socketTimeoutMS") socket_timeout_s_ = std::stod(value) / 1000;
    if (option == "wtimeoutMS") concern_.timeout(std::stoi(value));
    if (option == "journal") concern_.journal(value == "true");
    if (option == "w" && digits) concern_.nodes(std::stoi(value));
    if (option == "w" && !digits) concern_.mode(value);
  }

  std::unique_ptr<mongo::DBClientBase> connected() const {
    std::string problem;
    std::unique_ptr<mongo::DBClientBase> client(target_.connect(problem, socket_timeout_s_));
    if (!client) throw mongo::ConnectException(problem);
    client->setWriteConcern(concern_);
    return client;
  }

  const std::string database_;
  mongo::ConnectionString target_;
  mongo::WriteConcern concern_ = mongo::WriteConcern::acknowledged;
  double socket_timeout_s_ = 0;  // none
};

// The driver's own codes have five digits; but so do two of the server's.
bool is_servers(int code) { return (code > 0 && code < 9000) || code == 11000 || code == 11001; }

Failure told(int code, const std::string& name, const std::exception& fault) {
  bool late = code == 50 || code == 262;
  return {late ? TIMED_OUT : FAILED, code, name.empty() ? class_name(fault) : name, fault.what()};
}

}  // namespace

namespace dialect {

const char* const name = "mongoclient";
const char* const uri = "plain";
const std::vector<std::string> extras = {"write_concern", "unacknowledged", "unordered",
                                         "clients",       "sort",           "hint"};
const std::int64_t consumer_ns = 300;
const int await_ms = 1000;

void start() {
  static mongo::client::GlobalInstance driver;
  driver.assertInitialized();
}

std::string version() { return mongo::client::kVersionString; }

std::string from_json(const std::string& line) {
  auto made = mongo::fromjson(line);
  return {made.objdata(), static_cast<std::size_t>(made.objsize())};
}

std::unique_ptr<Client> connect(Document target, const std::string& database) {
  std::unique_ptr<LegacyClient> made(new LegacyClient(target, database));
  made->ping();
  return made;
}

Refusal refusal() {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal;
  } catch (const mongo::DBException& fault) {
    bool refused =
        fault.getCode() == AUTHENTICATION_FAILED || fault.getCode() == MECHANISM_UNAVAILABLE;
    return {refused ? "auth" : "connect", fault.what()};
  } catch (const std::exception& fault) {
    return {"internal", fault.what()};
  }
}

Failure failure() {
  // If a query has no answer, the driver does not pass on the exception; the socket's errno stays.
  bool late = errno == EAGAIN;
  try {
    throw;
  } catch (const WrongAnswer& fault) {
    return {WRONG, 0, "WrongAnswer", fault.what()};
  } catch (const CommandFailed& fault) {
    return told(fault.reply["code"].numberInt(), fault.reply["codeName"].str(), fault);
  } catch (const mongo::OperationException& fault) {
    return told(fault.obj()["code"].numberInt(), fault.obj()["codeName"].str(), fault);
  } catch (const mongo::SocketException& fault) {
    late = fault._type == mongo::SocketException::RECV_TIMEOUT ||
           fault._type == mongo::SocketException::SEND_TIMEOUT;
    return {late ? TIMED_OUT : FAILED, 0, class_name(fault), fault.what()};
  } catch (const mongo::DBException& fault) {
    if (is_servers(fault.getCode())) return told(fault.getCode(), "", fault);
    return {late ? TIMED_OUT : FAILED, 0, class_name(fault), fault.what()};
  } catch (const std::exception& fault) {
    return {FAILED, 0, class_name(fault), fault.what()};
  }
}

}  // namespace dialect
