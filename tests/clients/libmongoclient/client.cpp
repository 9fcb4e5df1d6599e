// client ADDRESS: Debian's libmongoclient 1.1 does the steps of tests/instruments/old_clients.rs.
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <mongo/client/dbclient.h>

using namespace mongo;

using Cursor = std::auto_ptr<DBClientCursor>;  // the driver is older than unique_ptr
using Numbers = std::vector<int>;

static const std::string ITEMS = "old_clients.items";
static const std::string MESSAGES = "old_clients.messages";

static Numbers ids(Cursor cursor) {
  Numbers found;
  while (cursor->more()) found.push_back(cursor->next()["_id"].numberInt());
  return found;
}

static std::string list(const Numbers& numbers) {
  std::ostringstream text;
  for (int number : numbers) text << (text.tellp() ? "," : "[") << number;
  return text.str() + "]";
}

static Numbers total(const Numbers& found) {
  return {static_cast<int>(found.size()), std::accumulate(found.begin(), found.end(), 0)};
}

static int last_count(DBClientConnection& db) {
  return db.getLastErrorDetailed("old_clients")["n"].numberInt();
}

static std::string name(DBClientConnection& db, int id) {
  return db.findOne(ITEMS, BSON("_id" << id)).getStringField("name");
}

static int code_of_duplicate(DBClientConnection& db) {
  try {
    db.insert(ITEMS, BSON("_id" << 7));
  } catch (const OperationException& refused) {
    return refused.obj()["code"].numberInt();
  }
  return 0;
}

static Numbers tail(DBClientConnection& db, DBClientConnection& other) {
  db.createCollection(MESSAGES, 1 << 20, true);
  db.insert(MESSAGES, BSON("number" << 0));
  int options = QueryOption_CursorTailable | QueryOption_AwaitData;
  Cursor cursor = db.query(MESSAGES, Query(), 0, 0, nullptr, options);
  Numbers seen{cursor->next()["number"].numberInt()};  // the sentinel
  for (int number = 1; number <= 20; number++) other.insert(MESSAGES, BSON("number" << number));
  while (seen.size() <= 20 && !cursor->isDead()) {
    if (cursor->more()) seen.push_back(cursor->next()["number"].numberInt());
  }
  return seen;
}

static void scenario(const std::string& address) {
  DBClientConnection db, other;
  db.connect(address);
  other.connect(address);
  db.dropDatabase("old_clients");
  for (int first = 1; first <= 150; first += 50) {
    std::vector<BSONObj> batch;
    for (int id = first; id < first + 50; id++) {
      batch.push_back(BSON("_id" << id << "name"
                                 << "n" + std::to_string(id) << "group" << id % 3));
    }
    db.insert(ITEMS, batch);
  }
  std::cout << "{\"all\":" << list(total(ids(db.query(ITEMS, Query()))));
  std::cout << ",\"group\":" << list(total(ids(db.query(ITEMS, BSON("group" << 1)))));
  std::cout << ",\"range\":" << list(ids(db.query(ITEMS, BSON("_id" << GTE << 145))));
  std::cout << ",\"one\":\"" << name(db, 7);
  int in_group = db.count(ITEMS, BSON("group" << 1)), all = db.count(ITEMS);
  std::cout << "\",\"counts\":" << list({in_group, all});
  db.update(ITEMS, BSON("_id" << 7),
            BSON("$set" << BSON("name"
                                << "changed")));
  std::cout << ",\"updated\":" << last_count(db) << ",\"changed\":\"" << name(db, 7);
  db.remove(ITEMS, BSON("group" << 2));
  std::cout << "\",\"removed\":" << last_count(db) << ",\"left\":" << db.count(ITEMS);
  std::cout << ",\"duplicate\":" << code_of_duplicate(db);
  std::cout << ",\"tailed\":" << list(tail(db, other)) << "}" << std::endl;
}

int main(int, char** words) {
  client::GlobalInstance driver;
  driver.assertInitialized();
  try {
    scenario(words[1]);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << std::endl;
    return 1;
  }
}
