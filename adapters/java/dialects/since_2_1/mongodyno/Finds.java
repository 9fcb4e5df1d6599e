package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBCursor;
import com.mongodb.DBObject;
import java.util.List;

/** Finds of DBCollection up to 2.11: no limit of their time, and no collations. */
final class Finds {
  static final List<String> EXTRAS = List.of("sort", "hint");

  private final DBObject sort;

  Finds(Operation operation) {
    sort = operation.sort == null ? null : (DBObject) operation.sort.fixed;
  }

  DBCursor limited(DBCursor find) {
    return find;
  }

  DBObject findAndModify(DBCollection items, Given given) {
    return items.findAndModify(
        (DBObject) given.filter, null, sort, false, (DBObject) given.update, false, false);
  }
}
