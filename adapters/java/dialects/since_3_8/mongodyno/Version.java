package mongodyno;

import com.mongodb.MongoCommandException;
import com.mongodb.ReadConcern;
import com.mongodb.ReadConcernLevel;
import com.mongodb.WriteConcern;
import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.WriteModel;
import com.mongodb.client.result.UpdateResult;
import java.util.List;
import org.bson.conversions.Bson;

/** MongoCollection from 3.8 on. */
final class Version {
  static final List<String> EXTRAS =
      List.of(
          "write_concern",
          "read_concern",
          "read_preference",
          "unacknowledged",
          "unordered",
          "clients",
          "expect");

  /** The command that a count becomes. */
  static final String COUNT = "aggregate";

  private Version() {}

  static long count(MongoCollection<?> items, Bson filter) {
    return items.countDocuments(filter);
  }

  static long estimatedCount(MongoCollection<?> items) {
    return items.estimatedDocumentCount();
  }

  static <T> UpdateResult replaceOne(
      MongoCollection<T> items, Bson filter, T document, boolean upsert) {
    return items.replaceOne(filter, document, new ReplaceOptions().upsert(upsert));
  }

  static <T> WriteModel<T> replaceModel(Bson filter, T document, boolean upsert) {
    return new ReplaceOneModel<>(filter, document, new ReplaceOptions().upsert(upsert));
  }

  static void hint(FindIterable<?> find, Bson keys) {
    find.hint(keys);
  }

  static <T> MongoCollection<T> withReadConcern(MongoCollection<T> items, String level) {
    return items.withReadConcern(new ReadConcern(ReadConcernLevel.fromString(level)));
  }

  static String codeName(MongoCommandException fault, String otherwise) {
    String name = fault.getErrorCodeName();
    return name.isEmpty() ? otherwise : name;
  }

  static WriteConcern withJournal(WriteConcern concern, boolean journal) {
    return concern.withJournal(journal);
  }
}
