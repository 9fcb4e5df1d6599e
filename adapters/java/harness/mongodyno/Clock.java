package mongodyno;

final class Clock {
  static long epochNs;

  private Clock() {}

  /** HotSpot reads CLOCK_MONOTONIC for nanoTime on Linux, without an offset. */
  static long now() {
    return System.nanoTime() - epochNs;
  }
}
