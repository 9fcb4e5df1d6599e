package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBCursor;
import com.mongodb.DBObject;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Finds of DBCollection from 2.12 to 3.3, which have no collations. */
final class Finds {
  static final List<String> EXTRAS = List.of("sort", "hint", "max_time");

  private final DBObject sort;
  private final long maxTimeMs;

  Finds(Operation operation) {
    sort = operation.sort == null ? null : (DBObject) operation.sort.fixed;
    maxTimeMs = operation.maxTimeMs;
  }

  DBCursor limited(DBCursor find) {
    return maxTimeMs > 0 ? find.maxTime(maxTimeMs, TimeUnit.MILLISECONDS) : find;
  }

  DBObject findAndModify(DBCollection items, Given given) {
    DBObject filter = (DBObject) given.filter;
    DBObject update = (DBObject) given.update;
    return items.findAndModify(
        filter, null, sort, false, update, false, false, maxTimeMs, TimeUnit.MILLISECONDS);
  }
}
