// A phase: its schedule, its workers and their pacing, its samples. SPEC 4, 5, 7 and 8.
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "plan.hpp"

namespace {

class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  void post() { sem_post(&semaphore_); }
  void wait() {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_;
};

class Workers;

// One operation between its record and its sample, and what the thread that calls it uses.
struct Lane {
  std::vector<std::unique_ptr<Connection>> connections;  // one for each client
  std::vector<std::unique_ptr<Target>> targets;          // all operations', on each connection
  std::vector<std::uint8_t> bytes;
  Given given;
  Target* target = nullptr;
  Record record = {};
  std::uint64_t number = 0, lap = 0;
  std::int64_t intended_ns = 0, start_ns = 0, end_ns = 0;
  Answer answer;
  std::unique_ptr<Failure> failure;
  bool flying = false;
  Semaphore go, landed;
  std::thread thread;  // used in a window only

  void call() {
    failure.reset();
    start_ns = now_ns();
    try {
      answer = target->call(given);
      end_ns = now_ns();
    } catch (...) {
      end_ns = now_ns();
      failure.reset(new Failure(dialect::failure()));
    }
  }
};

struct Worker {
  explicit Worker(int fd) : samples(fd) {}
  std::uint32_t number = 0;  // number in this process
  std::vector<std::unique_ptr<Lane>> lanes;
  Samples samples;
  std::int64_t last_ns = 0, ready_ns = 0;  // ready: when the next operation may begin
  std::int64_t documents = 0, sum = 0, failures = 0;
  bool gave_up = false;
  Semaphore go;
  std::thread thread;
};

class Workers : public Phase {
 public:
  Workers(const std::string& message, Session& session);
  ~Workers() override;
  TurnDone turn(std::int64_t until_ns) override;
  std::string end() override;

 private:
  enum class Mode { AWAITED, WINDOW, RATE, BURST };

  static Mode mode_of(const std::string& word) {
    static const char* const WORDS[] = {"awaited", "window", "rate", "burst"};
    for (int i = 0; i < 4; i++) {
      if (word == WORDS[i]) return static_cast<Mode>(i);
    }
    throw Refusal("unsupported", "pacing " + word);
  }

  bool shared() const { return mode_ == Mode::RATE || mode_ == Mode::BURST; }
  std::unique_ptr<Lane> lane(Session& session);
  void measure();
  Input input(const Worker& worker, const Record& record, std::uint64_t lap) const;
  void make(const Worker& worker, Lane& lane);
  bool take(Worker& worker, Lane& lane);
  void land(Worker& worker, Lane& lane);
  void finish(Worker& worker, Lane& lane);
  void keep_flying(Worker& worker);
  void work(Worker& worker);

  const std::string bytes_;  // parts of the message, whose names and stamps are read in place
  const Document message_;
  const Mode mode_;
  const std::int64_t think_ns_, lap_step_, item_step_, failures_max_;
  const std::uint32_t first_worker_;
  const std::uint64_t clients_;
  const bool by_operation_;
  std::vector<Pool> pools_;
  std::vector<Operation> operations_;
  Schedule schedule_;
  std::vector<Slice> slices_;
  std::size_t call_bytes_ = 1, call_documents_ = 2;  // the most that one call is given
  int samples_fd_, done_fd_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::size_t> running_{0};
  std::atomic<bool> ending_{false};
  std::int64_t origin_ns_ = 0, began_ns_ = 0, until_ns_ = 0;  // origin: T0
  Errors errors_;
};

Workers::Workers(const std::string& message, Session& session)
    : bytes_(message),
      message_(bytes_),
      mode_(mode_of(message_["pacing"].document()["mode"].text())),
      think_ns_(message_["pacing"].document()["think_ns"].integer()),
      lap_step_(message_["lap_step"].integer()),
      item_step_(message_["item_step"].integer()),
      failures_max_(message_["errors_consecutive_max"].integer()),
      first_worker_(static_cast<std::uint32_t>(message_["first_worker"].integer())),
      clients_(std::max<std::size_t>(session.clients.size(), 1)),
      by_operation_(session.by_operation),
      schedule_(message_["schedule"].text()),
      slices_(schedule_.slices) {
  message_["pools"].document().each([this](const Element& path) {
    pools_.push_back(Pool::read(path.text()));
    return true;
  });
  message_["operations"].document().each([this](const Element& operation) {
    operations_.emplace_back(operation.document(), pools_);
    return true;
  });
  std::size_t slice = 0;
  if (message_["limits"]) {
    message_["limits"].document().each([&](const Element& limit) {
      slices_.at(slice++).limit = static_cast<std::uint64_t>(limit.integer());
      return true;
    });
  }
  if (schedule_.records < schedule_.slices) {
    for (auto& each : slices_) each.limit = 0;
  }
  measure();
  samples_fd_ = create_samples(message_);
  done_fd_ = eventfd(0, EFD_CLOEXEC);
  auto size = mode_ == Mode::WINDOW ? message_["pacing"].document()["size"].integer() : 1;
  for (std::int64_t i = 0; i < message_["workers"].integer(); i++) {
    workers_.emplace_back(new Worker(samples_fd_));
    workers_.back()->number = static_cast<std::uint32_t>(i);
    while (workers_.back()->lanes.size() < static_cast<std::size_t>(size)) {
      workers_.back()->lanes.push_back(lane(session));
    }
  }
  // No worker begins before all are ready.
  for (auto& worker : workers_) {
    for (auto& lane : worker->lanes) {
      if (mode_ != Mode::WINDOW) break;
      lane->thread = std::thread([this, &lane] {
        for (lane->go.wait(); !ending_; lane->go.wait()) {
          lane->call();
          lane->landed.post();
        }
      });
    }
    worker->thread = std::thread([this, &worker] { work(*worker); });
  }
}

Workers::~Workers() {
  ending_ = true;
  for (auto& worker : workers_) {
    worker->go.post();
    if (worker->thread.joinable()) worker->thread.join();
    for (auto& lane : worker->lanes) {
      lane->go.post();
      if (lane->thread.joinable()) lane->thread.join();
    }
  }
  close(samples_fd_);
  close(done_fd_);
}

// The capacity that any call needs, over all records, so that no operation allocates.
void Workers::measure() {
  std::size_t part = 0;
  for (const auto& operation : operations_) part = std::max(part, operation.bytes());
  call_bytes_ = part + 1;
  for (std::uint32_t i = 0; i < schedule_.records; i++) {
    auto record = schedule_.at(i);
    const auto& operation = operations_.at(record.operation);
    if (operation.kind.gives == ONE) continue;
    auto bytes = operation.kind.gives == PARTS ? part : operation.bytes();
    call_bytes_ = std::max(call_bytes_, record.count * bytes);
    call_documents_ = std::max<std::size_t>(call_documents_, record.count);
  }
}

std::unique_ptr<Lane> Workers::lane(Session& session) {
  std::unique_ptr<Lane> made(new Lane);
  made->bytes.resize(call_bytes_);
  made->given.documents.reserve(call_documents_);
  for (std::size_t client = 0; client < clients_; client++) {
    if (!session.clients.empty()) {
      made->connections.push_back(session.clients[client]->connection());
    }
    for (const auto& operation : operations_) {
      if (std::strcmp(operation.kind.name, "noop") == 0) {
        made->targets.emplace_back(new Noop(operation.message));
      } else if (made->connections.empty()) {
        throw Refusal("internal", "no client is open");
      } else {
        auto& connection = *made->connections.back();
        made->targets.push_back(connection.bind(operation.message, operation.finds));
      }
    }
  }
  return made;
}

Input Workers::input(const Worker& worker, const Record& record, std::uint64_t lap) const {
  Input input;
  input.key = record.key;
  input.shift = (record.flags & 1) != 0 ? lap * static_cast<std::uint64_t>(lap_step_) : 0;
  std::memcpy(input.guid, record.guid, sizeof input.guid);
  input.producer = first_worker_ + worker.number;
  input.live = true;
  return input;
}

void Workers::make(const Worker& worker, Lane& lane) {
  const auto& operation = operations_[lane.record.operation];
  auto* to = lane.bytes.data();
  lane.given.documents.clear();
  lane.given.parts.clear();
  lane.given.count = lane.record.count;
  auto values = input(worker, lane.record, lane.lap);
  values.sequence = static_cast<std::int64_t>(lane.number);
  if (operation.kind.gives == ONE) {
    for (const auto& role : operation.given) {
      lane.given.documents.push_back(role.make(lane.record.document, values, to));
    }
  } else if (operation.kind.gives == MANY) {
    for (std::uint32_t i = 0; i < lane.record.count && !operation.given.empty(); i++) {
      lane.given.documents.push_back(operation.given[0].make(lane.record.document + i, values, to));
      values.shift += static_cast<std::uint64_t>(item_step_);
      values.sequence++;
    }
  } else {
    for (std::uint32_t i = 0; i < lane.record.count; i++) {
      auto place = std::uint64_t(schedule_.records) + lane.record.document + i;
      auto record = schedule_.at(place);
      const auto& part = operations_[record.operation];
      values = input(worker, record, lane.lap);
      values.sequence = static_cast<std::int64_t>(lane.number + i);
      auto first = part.given[0].make(record.document, values, to);
      auto second =
          part.given.size() > 1 ? part.given[1].make(record.document, values, to) : Document();
      lane.given.parts.push_back({part.message, first, second});
    }
  }
}

// Gets the next operation ready to be called, unless this worker's turn has ended.
bool Workers::take(Worker& worker, Lane& lane) {
  if (stopped || worker.gave_up || worker.ready_ns >= until_ns_) return false;
  std::uint64_t own = shared() ? 0 : worker.number;
  auto& slice = slices_[own];
  std::uint64_t number = slice.next, length = schedule_.records / schedule_.slices;
  do {
    if (number >= slice.limit) return false;
    lane.record = schedule_.at(own * length + number % length);
    lane.lap = number / length;
    lane.intended_ns = origin_ns_;
    if (mode_ == Mode::RATE) {
      lane.intended_ns +=
          lane.record.intended_ns + static_cast<std::int64_t>(lane.lap) * schedule_.lap_ns;
      if (lane.intended_ns >= until_ns_) return false;  // it waits there for the next turn
    }
  } while (!slice.next.compare_exchange_weak(number, number + 1));
  lane.number = number;
  auto due_ns = mode_ == Mode::RATE ? lane.intended_ns : worker.ready_ns;
  if (due_ns > worker.last_ns && !sleep_until(due_ns)) return false;
  auto client = (by_operation_ ? own + number : worker.number) % clients_;
  lane.target = lane.targets[client * operations_.size() + lane.record.operation].get();
  make(worker, lane);
  lane.target->ready(lane.given);
  return true;
}

void Workers::land(Worker& worker, Lane& lane) {
  Outcome outcome = RIGHT;
  if (lane.failure) {
    outcome = lane.failure->outcome;
    errors_.note(*lane.failure);
    worker.gave_up = ++worker.failures >= failures_max_ || worker.gave_up;
  } else {
    worker.documents += lane.answer.documents;
    worker.sum += lane.answer.sum;
    worker.failures = 0;
  }
  worker.last_ns = std::max(worker.last_ns, lane.end_ns);
  worker.ready_ns = worker.last_ns + think_ns_;
  worker.samples.add(shared() ? lane.intended_ns : lane.start_ns, lane.start_ns, lane.end_ns,
                     lane.number, lane.record.operation, outcome, first_worker_ + worker.number);
}

// A call blocks its thread, so each place of a window has one. The places are a ring: the next
// operation takes the place of the oldest.
void Workers::keep_flying(Worker& worker) {
  std::size_t next = 0, count = worker.lanes.size();
  auto finish = [&](Lane& lane) {
    if (!lane.flying) return;
    lane.landed.wait();
    lane.flying = false;
    land(worker, lane);
  };
  for (;; next = (next + 1) % count) {
    auto& lane = *worker.lanes[next];
    finish(lane);
    if (!take(worker, lane)) break;
    lane.flying = true;
    lane.go.post();
  }
  for (std::size_t i = 0; i < count; i++) finish(*worker.lanes[(next + i) % count]);
}

void Workers::work(Worker& worker) {
  for (worker.go.wait(); !ending_; worker.go.wait()) {
    worker.last_ns = worker.ready_ns = began_ns_;
    worker.samples.begin(began_ns_);
    auto& own = *worker.lanes.front();
    if (mode_ == Mode::WINDOW) {
      keep_flying(worker);
    } else {
      for (; take(worker, own); land(worker, own)) own.call();
    }
    worker.samples.flush();
    if (running_.fetch_sub(1) == 1) eventfd_write(done_fd_, 1);
  }
}

TurnDone Workers::turn(std::int64_t until_ns) {
  running_ = workers_.size();
  until_ns_ = until_ns;
  began_ns_ = now_ns();
  if (origin_ns_ == 0) origin_ns_ = began_ns_;
  for (auto& worker : workers_) worker->go.post();
  watch_stdin(done_fd_);
  auto exhausted = [](const Slice& slice) { return slice.next >= slice.limit; };
  auto gave_up = [](const std::unique_ptr<Worker>& worker) { return worker->gave_up; };
  return {began_ns_, std::all_of(slices_.begin(), slices_.end(), exhausted),
          std::any_of(workers_.begin(), workers_.end(), gave_up)};
}

std::string Workers::end() {
  std::int64_t documents = 0, sum = 0;
  for (const auto& worker : workers_) {
    documents += worker->documents;
    sum += worker->sum;
  }
  return "\"totals\":{\"documents\":" + std::to_string(documents) +
         ",\"sum\":" + std::to_string(sum) + "},\"errors\":" + errors_.json();
}

}  // namespace

std::unique_ptr<Phase> prepare_workers(const std::string& message, Session& session) {
  return std::unique_ptr<Phase>(new Workers(message, session));
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  names.reserve(KINDS.size());
  for (const auto& kind : KINDS) names.emplace_back(kind.name);
  return names;
}
