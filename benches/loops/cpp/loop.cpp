// The least code with which a C++ program does the adapter's work, for comparison with it: with the
// legacy driver, which Debian has.
//
// loop URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
// turn in ms; it answers with the operations done and the ns they took.
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include <mongo/client/dbclient.h>

using mongo::BSONObj;
using Clock = std::chrono::steady_clock;

static const std::uint64_t LOADED = 20000;  // documents that there are to be found: keys 0 and up
static const std::uint64_t STRIDE = 7919;   // coprime to LOADED: every key comes

static std::vector<BSONObj> pool;

static mongo::OID id_of(std::uint64_t key) {
  unsigned char bytes[12] = {0x69, 0x55, 0xb9, 0x00};
  key = __builtin_bswap64(key);
  std::memcpy(bytes + 4, &key, sizeof key);
  return mongo::OID(bytes);
}

struct Worker {
  std::unique_ptr<mongo::DBClientBase> client;
  std::string items;
  bool inserts;
  std::uint64_t key, step;
  long long sum;
  std::vector<std::pair<Clock::time_point, Clock::time_point>> times;

  // A copy of the pool's next document, with its own _id and number.
  BSONObj made() {
    auto document = pool[key % pool.size()].copy();
    auto id = id_of(key);
    auto number = static_cast<long long>(key);
    std::memcpy(const_cast<char*>(document["_id"].value()), id.view().view(), 12);
    std::memcpy(const_cast<char*>(document["number"].value()), &number, sizeof number);
    key += step;
    return document;
  }

  void insert_one() {
    auto document = made();
    auto start = Clock::now();
    client->insert(items, document);
    times.emplace_back(start, Clock::now());
  }

  void find_one() {
    key = (key + STRIDE) % LOADED;
    auto wanted = BSON("_id" << id_of(key));
    auto start = Clock::now();
    sum += client->findOne(items, wanted)["number"].numberLong();
    times.emplace_back(start, Clock::now());
  }

  void turn(Clock::time_point began, Clock::time_point until) {
    times.clear();
    for (auto now = began; now < until; now = times.back().second) {
      inserts ? insert_one() : find_one();
    }
  }
};

int main(int count, char** words) {
  if (count != 7) return 1;
  mongo::client::GlobalInstance driver;
  driver.assertInitialized();
  std::ostringstream bytes;
  bytes << std::ifstream(words[6], std::ios::binary).rdbuf();
  auto text = bytes.str();
  for (std::size_t at = 0; at < text.size();
       at += static_cast<std::size_t>(pool.back().objsize())) {
    pool.push_back(BSONObj(text.data() + at).copy());
  }
  std::string problem;
  auto target = mongo::ConnectionString::parse(words[1], problem);
  std::vector<Worker> workers(std::stoul(words[5]));
  for (std::size_t i = 0; i < workers.size(); i++) {
    workers[i].client.reset(target.connect(problem));
    workers[i].items = std::string(words[2]) + "." + words[3];
    workers[i].inserts = std::string(words[4]) == "insert_one";
    workers[i].key = i;
    workers[i].step = workers.size();
    workers[i].sum = 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    auto began = Clock::now(), ended = began;
    auto until = began + std::chrono::milliseconds(std::stol(line));
    std::vector<std::thread> threads;
    std::size_t operations = 0;
    for (auto& worker : workers) {
      threads.emplace_back([&worker, began, until] { worker.turn(began, until); });
    }
    for (std::size_t i = 0; i < workers.size(); i++) {
      threads[i].join();
      operations += workers[i].times.size();
      ended = std::max(ended, workers[i].times.back().second);
    }
    std::cout << operations << " "
              << std::chrono::duration_cast<std::chrono::nanoseconds>(ended - began).count()
              << std::endl;
  }
}
