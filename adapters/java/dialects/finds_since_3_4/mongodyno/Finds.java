package mongodyno;

import com.mongodb.client.FindIterable;
import com.mongodb.client.model.Collation;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import java.util.List;

/** Finds of MongoCollection from 3.4 on, which may have collations. */
final class Finds {
  static final List<String> EXTRAS = List.of("sort", "hint", "collation", "max_time");

  private final Collation collation;

  Finds(Operation operation) {
    collation = Collating.of(operation.collation);
  }

  <T> FindIterable<T> collated(FindIterable<T> find) {
    return collation == null ? find : find.collation(collation);
  }

  FindOneAndUpdateOptions collated(FindOneAndUpdateOptions options) {
    return options.collation(collation);
  }
}
