package mongodyno;

import java.util.concurrent.Semaphore;

/** One operation between its record and its sample. */
final class Flight {
  long number;
  int index; // number of its entry of `operations`
  int count;
  Operation operation;
  Driver.Call call;
  Given given;
  long intendedNs;
  long startNs;
  long endNs;
  Exception fault;

  /** Whether it is in flight in a window, and how it and its thread wait for each other. */
  boolean flying;

  final Semaphore taken = new Semaphore(0);
  final Semaphore landed = new Semaphore(0);

  void fly() {
    Exception thrown = null;
    startNs = Clock.now();
    try {
      call.run(given);
    } catch (Exception failed) {
      thrown = failed;
    }
    endNs = Clock.now();
    fault = thrown;
  }
}
