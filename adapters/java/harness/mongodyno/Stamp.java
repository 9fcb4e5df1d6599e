package mongodyno;

import java.nio.ByteBuffer;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Replaces one value of a document. */
final class Stamp {
  private String[] path;
  private String as;
  private String from = "key";
  private String prefix = "";
  private int width;
  private long add;
  private transient int head; // the prefix of an objectid

  /** Created in advance: the code that a warm-up compiles has no branch for creating it later. */
  void prepare() {
    head = as.equals("objectid") ? HexFormat.fromHexDigits(prefix) : 0;
  }

  @SuppressWarnings("unchecked") // a path leads through documents and arrays
  void put(Driver driver, Map<String, Object> document, Input input) {
    if (path.length == 1) {
      document.put(path[0], value(driver, input));
      return;
    }
    Object inner = document;
    for (int i = 0; i < path.length - 1; i++) {
      inner =
          inner instanceof List<?> array
              ? array.get(Integer.parseInt(path[i]))
              : ((Map<String, Object>) inner).get(path[i]);
    }
    String last = path[path.length - 1];
    if (inner instanceof List) {
      ((List<Object>) inner).set(Integer.parseInt(last), value(driver, input));
    } else {
      ((Map<String, Object>) inner).put(last, value(driver, input));
    }
  }

  private Object value(Driver driver, Input input) {
    return switch (as) {
      case "int32" -> (int) number(input);
      case "int64" -> number(input);
      case "double" -> (double) number(input);
      case "date" -> new Date(number(input));
      case "string" -> {
        String digits = Long.toString(number(input));
        yield prefix + "0".repeat(Math.max(0, width - digits.length())) + digits;
      }
      case "objectid" ->
          driver.objectId(ByteBuffer.allocate(12).putInt(head).putLong(number(input)).array());
      case "guid" -> driver.binary((byte) 4, input.shiftedGuid());
      default -> { // guid_string
        ByteBuffer guid = ByteBuffer.wrap(input.shiftedGuid());
        yield new UUID(guid.getLong(), guid.getLong()).toString();
      }
    };
  }

  private long number(Input input) {
    return input.number(from) + add;
  }
}
