package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBCursor;
import com.mongodb.DBObject;
import com.mongodb.client.model.Collation;
import com.mongodb.client.model.DBCollectionFindAndModifyOptions;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Finds of DBCollection from 3.4 on, which may have collations. */
final class Finds {
  static final List<String> EXTRAS = List.of("sort", "hint", "collation", "max_time");

  private final DBObject sort;
  private final long maxTimeMs;
  private final Collation collation;

  Finds(Operation operation) {
    sort = operation.sort == null ? null : (DBObject) operation.sort.fixed;
    maxTimeMs = operation.maxTimeMs;
    collation = Collating.of(operation.collation);
  }

  DBCursor limited(DBCursor find) {
    DBCursor limited = maxTimeMs > 0 ? find.maxTime(maxTimeMs, TimeUnit.MILLISECONDS) : find;
    return collation == null ? limited : limited.setCollation(collation);
  }

  DBObject findAndModify(DBCollection items, Given given) {
    return items.findAndModify(
        (DBObject) given.filter,
        new DBCollectionFindAndModifyOptions()
            .sort(sort)
            .maxTime(maxTimeMs, TimeUnit.MILLISECONDS)
            .collation(collation)
            .update((DBObject) given.update));
  }
}
