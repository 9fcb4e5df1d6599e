package mongodyno;

import java.util.LinkedHashMap;

/** A JSON object in the order in which it is written; values may be null. */
final class Fields extends LinkedHashMap<String, Object> {
  private static final long serialVersionUID = 1;

  static Fields of(String name, Object value) {
    return new Fields().and(name, value);
  }

  Fields and(String name, Object value) {
    put(name, value);
    return this;
  }
}
