package mongodyno;

import java.util.Date;
import java.util.List;
import java.util.Map;

/** A document of a pool, or as `documents` all of them, with its stamps. */
final class Reference {
  int pool;
  int document;
  Stamp[] stamps;
  private transient Object[] from;
  private transient String shape;

  Reference() {}

  Reference(Object document, Stamp[] stamps) {
    from = new Object[] {document};
    this.stamps = stamps;
  }

  void take(List<Object[]> pools, String shape) {
    from = pools.get(pool);
    this.shape = shape;
  }

  /** A fresh, stamped copy, as an application would have made it; null where there is none. */
  static Map<String, Object> one(Reference reference, Driver driver, Input input) {
    return reference == null ? null : reference.make(driver, reference.document, input);
  }

  Object object(Driver driver, int number, Input input) {
    Map<String, Object> made = make(driver, number, input);
    return shape == null ? made : driver.shaped(shape, made);
  }

  @SuppressWarnings("unchecked") // pools hold documents
  Map<String, Object> make(Driver driver, int number, Input input) {
    var made =
        (Map<String, Object>) copy(driver, from[Integer.remainderUnsigned(number, from.length)]);
    for (Stamp stamp : stamps) {
      stamp.put(driver, made, input);
    }
    return made;
  }

  /** Strings and numbers are immutable in Java, and shared. */
  private static Object copy(Driver driver, Object value) {
    if (value instanceof Map<?, ?> document) {
      Map<String, Object> copy = driver.document();
      for (Map.Entry<?, ?> field : document.entrySet()) {
        copy.put((String) field.getKey(), copy(driver, field.getValue()));
      }
      return copy;
    }
    if (value instanceof List<?> array) {
      List<Object> copy = driver.array();
      for (Object item : array) {
        copy.add(copy(driver, item));
      }
      return copy;
    }
    if (value instanceof Pools.Special special) {
      return special.natural(driver);
    }
    return value instanceof Date date ? new Date(date.getTime()) : value;
  }
}
