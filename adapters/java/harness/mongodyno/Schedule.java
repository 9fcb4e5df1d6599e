package mongodyno;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/** A schedule file, mapped: on the heap it would make the collector run less often. */
final class Schedule {
  private static final int HEADER_BYTES = 32;

  final MappedByteBuffer file;
  final int records; // without the parts after them
  final int slices;
  private final int recordBytes;
  private final long lapNs;

  Schedule(String path) throws IOException {
    try (FileChannel channel = FileChannel.open(Path.of(path))) {
      file = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
    }
    file.order(ByteOrder.LITTLE_ENDIAN);
    file.load(); // page faults belong to `prepare`, not to the first lap
    recordBytes = file.getInt(8);
    records = file.getInt(12);
    slices = file.getInt(16);
    lapNs = file.getLong(24);
  }

  /** The place of a record or, after `records`, of a part. */
  int offset(int record) {
    return HEADER_BYTES + record * recordBytes;
  }

  byte[] guid(int offset) {
    if (recordBytes < 48) {
      return null;
    }
    byte[] guid = new byte[16];
    file.get(offset + 32, guid);
    return guid;
  }

  /** One slice, lap after lap, for its worker or for all of them. */
  final class Slice {
    private final AtomicLong next = new AtomicLong();
    private final int first;
    private final int length = records / slices;
    private final long limit;

    Slice(int place, Long limit) {
      first = place * length;
      this.limit = limit == null ? Long.MAX_VALUE : limit;
    }

    boolean exhausted() {
      return next.get() >= limit;
    }

    /** The next number; -1: none is left, or it is intended at or after `before` and waits. */
    long take(long before) {
      while (true) {
        long number = next.get();
        if (number >= limit || intended(number) >= before) {
          return -1;
        }
        if (next.compareAndSet(number, number + 1)) {
          return number;
        }
      }
    }

    int offsetOf(long number) {
      return offset(first + (int) (number % length));
    }

    long lap(long number) {
      return number / length;
    }

    long intended(long number) {
      return file.getLong(offsetOf(number)) + lap(number) * lapNs;
    }
  }
}
