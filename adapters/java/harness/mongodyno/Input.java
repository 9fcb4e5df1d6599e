package mongodyno;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;

/** Values that stamps may put into one document. */
final class Input {
  long key;
  long shift;
  long sequence;
  long producer;
  long madeNs;
  long timeMs;
  String guid = "00".repeat(16);

  /** In a phase the guid is a record's, and the clocks are read when a stamp needs them. */
  transient byte[] recordGuid;

  transient boolean live;

  long number(String from) {
    return switch (from) {
      case "key" -> key + shift;
      case "sequence" -> sequence;
      case "producer" -> producer;
      case "made_ns" -> live ? Clock.now() : madeNs;
      default -> live ? System.currentTimeMillis() : timeMs;
    };
  }

  byte[] shiftedGuid() {
    byte[] bytes = live ? recordGuid.clone() : HexFormat.of().parseHex(guid);
    ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    words.putInt(0, words.getInt(0) ^ (int) shift);
    words.putInt(12, words.getInt(12) ^ (int) (shift >>> 32));
    return bytes;
  }
}
