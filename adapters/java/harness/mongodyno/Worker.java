package mongodyno;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The work of a platform thread, which sleeps between turns. */
final class Worker {
  private static final int SAMPLE_BYTES = 32;
  private static final int SAMPLES_BUFFERED = 32_768;

  /** How long samples may wait in a turn that is longer. */
  private static final long WRITTEN_NS = 1_000_000_000;

  /**
   * Threads that outlive a phase, as an application's do. With new threads in each phase, the first
   * call took the branches of an empty thread-local, which compiled code does not have after a
   * warm-up. HotSpot then discarded that code and compiled it again in the measured phase.
   */
  private static final Executor THREADS =
      new ThreadPoolExecutor(
          0, Integer.MAX_VALUE, 1, TimeUnit.DAYS, new SynchronousQueue<>(), Worker::daemon);

  private final Phase phase;
  private final Schedule schedule;
  private final int place; // number in this process
  private final int producer;
  private final Flight[] flights;
  private final Semaphore turns = new Semaphore(0);
  private final Input input = new Input();

  /** Allocated outside of the heap, as the schedule is. */
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(SAMPLES_BUFFERED * SAMPLE_BYTES).order(ByteOrder.LITTLE_ENDIAN);

  final Schedule.Slice slice;
  boolean gaveUp;
  long documents;
  long sum;
  long retries;
  private int failures; // failures in a row
  private long lastNs; // the last reading of the clock
  private long dueNs; // when the next operation may begin
  private long writtenNs;
  private volatile Thread thread;

  Worker(Phase phase, int place, Schedule.Slice slice) {
    this.phase = phase;
    this.place = place;
    this.slice = slice;
    schedule = phase.schedule;
    producer = phase.firstWorker + place;
    input.producer = producer;
    input.live = true;
    flights = new Flight[Math.max(1, phase.windowSize)];
    for (int i = 0; i < flights.length; i++) {
      flights[i] = new Flight();
    }
  }

  /** An error, such as a lack of memory, ends the process: it cannot measure any more. */
  private static Thread daemon(Runnable run) {
    Thread thread = new Thread(run, "worker");
    thread.setDaemon(true);
    thread.setUncaughtExceptionHandler(
        (where, fault) -> {
          fault.printStackTrace();
          Runtime.getRuntime().halt(1);
        });
    return thread;
  }

  void start() {
    THREADS.execute(this::work);
    if (phase.windowSize > 0) {
      for (Flight flight : flights) {
        THREADS.execute(() -> keepFlying(flight));
      }
    }
  }

  void go() {
    turns.release();
    if (phase.ended) {
      for (Flight flight : flights) {
        flight.taken.release();
      }
    }
  }

  void wake() {
    LockSupport.unpark(thread);
  }

  private void work() {
    thread = Thread.currentThread();
    while (true) {
      turns.acquireUninterruptibly();
      if (phase.ended) {
        return;
      }
      lastNs = writtenNs = phase.beganNs;
      dueNs = 0;
      IOException failure = null;
      try {
        if (phase.windowSize > 0) {
          window();
        } else {
          for (Flight flight = flights[0]; take(flight); land(flight)) {
            flight.fly();
          }
        }
        write();
      } catch (IOException | Refusal failed) {
        failure = failed instanceof IOException io ? io : new IOException(failed);
      }
      phase.workerDone(failure);
    }
  }

  /** Keeps every slot in flight. Slots are a ring: the next operation takes the oldest's place. */
  private void window() throws IOException, Refusal {
    int begun = 0;
    for (Flight flight = flights[0]; take(flight); begun++, landOldest(flight)) {
      flight.flying = true;
      flight.taken.release();
      flight = flights[(begun + 1) % flights.length];
    }
    for (int i = 0; i < flights.length; i++) {
      landOldest(flights[(begun + i) % flights.length]);
    }
  }

  private void landOldest(Flight flight) throws IOException {
    if (flight.flying) {
      flight.landed.acquireUninterruptibly();
      flight.flying = false;
      land(flight);
    }
  }

  /** One of a window's threads: it only calls and waits. */
  private void keepFlying(Flight flight) {
    while (true) {
      flight.taken.acquireUninterruptibly();
      if (phase.ended) {
        return;
      }
      flight.fly();
      flight.landed.release();
    }
  }

  /** Gets the next operation ready to be called, unless this worker's turn has ended. */
  private boolean take(Flight flight) throws Refusal {
    long until = phase.untilNs;
    if (gaveUp || Math.max(lastNs, dueNs) >= until) {
      return false;
    }
    boolean rate = phase.mode.equals("rate");
    long number = slice.take(rate ? until - phase.t0Ns : Long.MAX_VALUE);
    if (number < 0) {
      return false;
    }
    flight.number = number;
    if (phase.shared) {
      flight.intendedNs = phase.t0Ns + (rate ? slice.intended(number) : 0);
      dueNs = flight.intendedNs;
    }
    if (dueNs > lastNs && !sleep()) {
      return false;
    }
    int record = slice.offsetOf(number);
    flight.index = schedule.file.get(record + 24);
    flight.operation = phase.operations[flight.index];
    flight.count = schedule.file.getInt(record + 20);
    Driver.Call[] calls = flight.operation.calls;
    long client = phase.dealsOperations ? number + (phase.shared ? 0 : place) : place;
    flight.call = calls[(int) (client % calls.length)];
    flight.given = give(flight.operation, record, slice.lap(number), number);
    return true;
  }

  /** Sleeps until the operation is due; false if the turn ends before. */
  private boolean sleep() {
    for (long left; (left = dueNs - Clock.now()) > 0; ) {
      if (dueNs >= phase.untilNs) {
        return false;
      }
      LockSupport.parkNanos(left);
    }
    return true;
  }

  /** What an application has ready when it calls the driver. */
  private Given give(Operation operation, int record, long lap, long sequence) throws Refusal {
    Driver driver = phase.driver;
    int document = schedule.file.getInt(record + 16);
    int count = schedule.file.getInt(record + 20);
    Given given = new Given();
    if (operation.kind.equals("bulk_write")) {
      given.models = new ArrayList<>(count);
      for (int j = 0; j < count; j++) {
        int part = schedule.offset(schedule.records + document + j);
        Operation kind = phase.operations[schedule.file.get(part + 24)];
        given.models.add(driver.model(kind, give(kind, part, lap, sequence + j)));
      }
      return given;
    }
    if (operation.kind.equals("transaction")) {
      given.parts = new ArrayList<>(count);
      for (int j = 0; j < count; j++) {
        int part = schedule.offset(schedule.records + document + j);
        int number = schedule.file.get(part + 24);
        Operation kind = phase.operations[number];
        given.parts.add(new Given.Part(number, kind, give(kind, part, lap, sequence + j)));
      }
      return given;
    }
    given.limit = count;
    given.sumField = operation.sumField;
    input.key = schedule.file.getLong(record + 8);
    input.shift = (schedule.file.get(record + 25) & 1) * lap * phase.lapStep;
    input.sequence = sequence;
    input.recordGuid = schedule.guid(record);
    given.filter = Reference.one(operation.filter, driver, input);
    given.projection = Reference.one(operation.projection, driver, input);
    given.update = Reference.one(operation.update, driver, input);
    given.command = Reference.one(operation.command, driver, input);
    if (operation.pipeline != null) {
      given.pipeline = Reference.one(operation.pipeline, driver, input).get("pipeline");
    }
    if (operation.documents != null && operation.takesSeveral) {
      given.documents = new ArrayList<>(count);
      for (int j = 0; j < count; j++) {
        given.documents.add(operation.documents.object(driver, document + j, input));
        input.sequence++;
        input.shift += phase.itemStep;
      }
    } else if (operation.documents != null) {
      given.document = operation.documents.object(driver, document, input);
    }
    return given;
  }

  /** Keeps the sample and the answer of an operation that has ended. */
  private void land(Flight flight) throws IOException {
    byte outcome = outcome(flight);
    failures = outcome == 0 ? 0 : failures + 1;
    gaveUp = gaveUp || failures == phase.errorsConsecutiveMax;
    buffer.putLong(phase.shared ? flight.intendedNs : flight.startNs);
    buffer.putLong(flight.startNs);
    buffer.putLong(flight.endNs - flight.startNs);
    buffer.putInt((int) flight.number);
    buffer.put((byte) flight.index);
    buffer.put(outcome);
    buffer.putShort((short) producer);
    lastNs = Math.max(lastNs, flight.endNs);
    if (phase.thinkNs > 0) {
      dueNs = flight.endNs + phase.thinkNs;
    }
    flight.given = null; // a batch is not kept while the worker sleeps
    if (!buffer.hasRemaining() || lastNs - writtenNs >= WRITTEN_NS) {
      write();
    }
  }

  private byte outcome(Flight flight) {
    retries += flight.given.retries;
    if (flight.fault != null && "duplicate".equals(flight.operation.expect)) {
      int known = phase.driver.duplicates(flight.fault);
      if (known >= 0) {
        documents += known;
        return 0;
      }
    }
    if (flight.fault != null) {
      Driver.Failure failure = phase.driver.failure(flight.fault);
      phase.note(failure.code(), failure.name(), Main.told(flight.fault));
      boolean timeout = failure.timeout() || failure.code() == 50 || failure.code() == 262;
      return (byte) (timeout ? 3 : 2);
    }
    Given told = flight.given;
    if (!flight.operation.isRight(told, flight.count)) {
      phase.note(
          0,
          "WrongAnswer",
          flight.operation.kind + ": " + told.found + " found, " + told.written + " written");
      return 1;
    }
    documents += told.found;
    sum += told.sum;
    return 0;
  }

  private void write() throws IOException {
    buffer.flip();
    synchronized (phase.samples) { // a write that is cut short continues after its own bytes
      while (buffer.hasRemaining()) {
        phase.samples.write(buffer);
      }
    }
    buffer.clear();
    writtenNs = lastNs;
  }
}
