package mongodyno;

import com.mongodb.client.FindIterable;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import java.util.List;

/** Finds of MongoCollection up to 3.3, which have no collations. */
final class Finds {
  static final List<String> EXTRAS = List.of("sort", "hint", "max_time");

  Finds(Operation operation) {}

  <T> FindIterable<T> collated(FindIterable<T> find) {
    return find;
  }

  FindOneAndUpdateOptions collated(FindOneAndUpdateOptions options) {
    return options;
  }
}
