package mongodyno;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decodes files of BSON documents. Not by the driver: generations 2 and 3 make a UUID of a binary
 * of subtype 4, and write that as subtype 3; the oldest have no decoder of bytes.
 */
final class Pools {
  /** A value whose class is the driver's own. */
  interface Special {
    Object natural(Driver driver);
  }

  private Pools() {}

  static Object[] read(String path) throws IOException, Refusal {
    ByteBuffer file = buffer(Files.readAllBytes(Path.of(path)));
    List<Object> documents = new ArrayList<>();
    while (file.hasRemaining()) {
      documents.add(document(file));
    }
    return documents.toArray();
  }

  static Object document(String hex) throws Refusal {
    return document(buffer(HexFormat.of().parseHex(hex)));
  }

  private static ByteBuffer buffer(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static Map<String, Object> document(ByteBuffer in) throws Refusal {
    Map<String, Object> document = new LinkedHashMap<>();
    in.getInt(); // its length
    for (byte type; (type = in.get()) != 0; ) {
      int end = in.position();
      while (in.get(end) != 0) {
        end++;
      }
      String name = text(in, end - in.position());
      document.put(name, value(type, in));
    }
    return document;
  }

  /** A text and the zero byte behind it. */
  private static String text(ByteBuffer in, int length) {
    byte[] bytes = bytes(in, length);
    in.get();
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(ByteBuffer in, int length) {
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static Object value(byte type, ByteBuffer in) throws Refusal {
    return switch (type) {
      case 1 -> in.getDouble();
      case 2 -> text(in, in.getInt() - 1);
      case 3 -> document(in);
      case 4 -> new ArrayList<>(document(in).values());
      case 5 -> {
        int length = in.getInt();
        byte subtype = in.get();
        byte[] data = bytes(in, length);
        yield (Special) driver -> driver.binary(subtype, data.clone());
      }
      case 7 -> {
        byte[] id = bytes(in, 12);
        yield (Special) driver -> driver.objectId(id);
      }
      case 8 -> in.get() != 0;
      case 9 -> new Date(in.getLong());
      case 10 -> null;
      case 16 -> in.getInt();
      case 18 -> in.getLong();
      default -> throw new Refusal("unsupported", "BSON type " + type + " in a pool");
    };
  }
}
