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
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Decodes files of BSON documents. Rejected: the driver's decoder. Generations 2 and 3 make a UUID
 * of a binary of subtype 4 and write that as subtype 3; the oldest cannot decode bytes.
 */
final class Pools {
  /**
   * A value that each copy makes anew. A class and not an interface, because each field is tested
   * for it, and that is fast only for classes.
   */
  abstract static class Template {
    abstract Object natural(Driver driver);

    static Object copy(Object value, Driver driver) {
      return value instanceof Template template ? template.natural(driver) : value;
    }
  }

  private static final class Document extends Template {
    private final List<String> names = new ArrayList<>();
    private final List<Object> values = new ArrayList<>();

    @Override
    Object natural(Driver driver) {
      Map<String, Object> document = driver.document();
      for (int i = 0; i < names.size(); i++) {
        document.put(names.get(i), copy(values.get(i), driver));
      }
      return document;
    }
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

  private static Document document(ByteBuffer in) throws Refusal {
    Document document = new Document();
    in.getInt(); // its length
    for (byte type; (type = in.get()) != 0; ) {
      int end = in.position();
      while (in.get(end) != 0) {
        end++;
      }
      document.names.add(text(in, end - in.position()));
      document.values.add(value(type, in));
    }
    return document;
  }

  /** A text and the zero byte after it. */
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
      case 4 -> {
        List<Object> items = document(in).values;
        yield new Anew(
            driver -> {
              List<Object> array = driver.array();
              items.forEach(item -> array.add(Template.copy(item, driver)));
              return array;
            });
      }
      case 5 -> {
        int length = in.getInt();
        byte subtype = in.get();
        byte[] data = bytes(in, length);
        yield new Anew(driver -> driver.binary(subtype, data.clone()));
      }
      case 7 -> {
        byte[] id = bytes(in, 12);
        yield new Anew(driver -> driver.objectId(id));
      }
      case 8 -> in.get() != 0;
      case 9 -> {
        long ms = in.getLong();
        yield new Anew(driver -> new Date(ms));
      }
      case 10 -> null;
      case 16 -> in.getInt();
      case 18 -> in.getLong();
      default -> throw new Refusal("unsupported", "BSON type " + type + " in a pool");
    };
  }

  private static final class Anew extends Template {
    private final Function<Driver, Object> make;

    Anew(Function<Driver, Object> make) {
      this.make = make;
    }

    @Override
    Object natural(Driver driver) {
      return make.apply(driver);
    }
  }
}
