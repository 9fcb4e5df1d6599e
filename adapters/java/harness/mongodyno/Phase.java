package mongodyno;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;

/** The state from `prepare` to `end`. */
final class Phase {
  static final List<String> PACINGS = List.of("awaited", "think", "window", "rate", "burst");

  final Driver driver;
  final String mode;
  final long thinkNs;
  final int windowSize;
  final boolean shared; // one queue for all workers
  final boolean dealsOperations;
  final int firstWorker;
  final long lapStep;
  final long itemStep;
  final int errorsConsecutiveMax;
  final Operation[] operations;
  final Schedule schedule;
  final FileChannel samples;
  private final List<Worker> workers = new ArrayList<>();
  private final Map<String, Map<String, Object>> errors = new LinkedHashMap<>();
  private final AtomicInteger running = new AtomicInteger();
  private final long[] collected;
  private Queue<Object> events;

  long t0Ns;
  long beganNs;
  volatile long untilNs;
  volatile boolean ended;
  private volatile boolean stopped;
  private volatile IOException failure;

  Phase(Message message, Driver driver, List<Driver.Client> clients, boolean dealsOperations)
      throws Exception {
    this.driver = driver;
    this.dealsOperations = dealsOperations;
    mode = message.pacing.mode;
    if (!PACINGS.contains(mode)) {
      throw new Refusal("unsupported", "pacing " + mode);
    }
    thinkNs = message.pacing.thinkNs;
    windowSize = message.pacing.size;
    shared = mode.equals("rate") || mode.equals("burst");
    firstWorker = message.firstWorker;
    lapStep = message.lapStep;
    itemStep = message.itemStep;
    errorsConsecutiveMax = message.errorsConsecutiveMax;
    List<Object[]> pools = new ArrayList<>();
    for (String path : message.pools) {
      pools.add(Pools.read(path));
    }
    operations = message.operations.toArray(Operation[]::new);
    for (Operation operation : operations) {
      operation.all = operations;
      operation.prepare(driver, clients, pools);
    }
    schedule = new Schedule(message.schedule);
    Schedule.Slice[] slices = new Schedule.Slice[schedule.slices];
    for (int i = 0; i < slices.length; i++) {
      slices[i] = schedule.new Slice(i, message.limits == null ? null : message.limits[i]);
    }
    samples =
        FileChannel.open(
            Path.of(message.samples),
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE);
    for (int i = 0; i < message.workers; i++) {
      workers.add(new Worker(this, i, slices[i % slices.length]));
    }
    workers.forEach(Worker::start);
    collected = collected();
  }

  /** Releases the workers; the last one that stops says so. */
  void begin(long untilNs, Queue<Object> events) {
    this.events = events;
    this.untilNs = untilNs;
    if (stopped) {
      this.untilNs = 0;
    }
    running.set(workers.size());
    beganNs = Clock.now();
    if (t0Ns == 0) {
      t0Ns = beganNs;
    }
    workers.forEach(Worker::go);
  }

  void workerDone(IOException failed) {
    if (failed != null) {
      failure = failed;
    }
    if (running.decrementAndGet() == 0) {
      events.add(this);
    }
  }

  /** Begins nothing new, and wakes every sleeper. */
  void stop() {
    stopped = true;
    untilNs = 0;
    workers.forEach(Worker::wake);
  }

  Map<String, Object> done() throws IOException {
    if (failure != null) {
      throw failure;
    }
    boolean exhausted = workers.stream().allMatch(worker -> worker.slice.exhausted());
    boolean gaveUp = workers.stream().anyMatch(worker -> worker.gaveUp);
    return Fields.of("type", "turn_done")
        .and("began_ns", beganNs)
        .and("exhausted", exhausted)
        .and("gave_up", gaveUp);
  }

  Map<String, Object> end() throws IOException {
    ended = true;
    workers.forEach(Worker::go);
    samples.close();
    long[] now = collected();
    // No streams: drivers use them, and a new kind of them makes HotSpot discard what is compiled.
    long documents = 0;
    long sum = 0;
    long retries = 0;
    for (Worker worker : workers) {
      documents += worker.documents;
      sum += worker.sum;
      retries += worker.retries;
    }
    Fields totals = Fields.of("documents", documents).and("sum", sum);
    for (Operation operation : operations) {
      if (operation.kind.equals("transaction")) {
        totals.and("retries", retries);
      }
    }
    return Fields.of("type", "ended")
        .and("totals", totals)
        .and("errors", errors.values())
        .and(
            "runtime",
            Fields.of("gc_count", now[0] - collected[0]).and("gc_ns", now[1] - collected[1]));
  }

  /** Garbage collections so far, and the ns they took. */
  private static long[] collected() {
    long[] collected = new long[2];
    for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
      collected[0] += each.getCollectionCount();
      collected[1] += each.getCollectionTime() * 1_000_000;
    }
    return collected;
  }

  synchronized void note(int code, String name, String message) {
    Map<String, Object> error =
        errors.computeIfAbsent(
            code + name,
            key ->
                Fields.of("code", code).and("name", name).and("count", 0).and("message", message));
    error.merge("count", 1, (count, one) -> (int) count + (int) one);
  }
}
