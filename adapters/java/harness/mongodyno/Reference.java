package mongodyno;

import java.util.List;
import java.util.Map;

/** A document of a pool or, as `documents`, all of them, with its stamps. */
final class Reference {
  int pool;
  int document;
  Stamp[] stamps;
  private transient Object[] from;
  private transient String shape;

  /** An option, which is the same document for all operations. */
  transient Map<String, Object> fixed;

  Reference() {}

  Reference(Object document, Stamp[] stamps) {
    from = new Object[] {document};
    this.stamps = stamps;
    prepare();
  }

  void take(List<Object[]> pools, String shape) {
    from = pools.get(pool);
    this.shape = shape;
    prepare();
  }

  void fix(List<Object[]> pools, Driver driver) {
    take(pools, null);
    fixed = make(driver, document, new Input());
  }

  private void prepare() {
    for (Stamp stamp : stamps) {
      stamp.prepare();
    }
  }

  /** A fresh, stamped copy, as an application would have made it; null if there is none. */
  static Map<String, Object> one(Reference reference, Driver driver, Input input) {
    return reference == null ? null : reference.make(driver, reference.document, input);
  }

  Object object(Driver driver, int number, Input input) {
    Map<String, Object> made = make(driver, number, input);
    return shape == null ? made : driver.shaped(shape, made);
  }

  @SuppressWarnings("unchecked") // pools consist of documents
  Map<String, Object> make(Driver driver, int number, Input input) {
    Object template = from[Integer.remainderUnsigned(number, from.length)];
    var made = (Map<String, Object>) Pools.Template.copy(template, driver);
    for (Stamp stamp : stamps) {
      stamp.put(driver, made, input);
    }
    return made;
  }
}
