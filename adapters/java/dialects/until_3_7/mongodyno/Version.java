package mongodyno;

import com.mongodb.MongoCommandException;
import com.mongodb.WriteConcern;
import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.WriteModel;
import com.mongodb.client.result.UpdateResult;
import java.util.List;
import org.bson.Document;
import org.bson.conversions.Bson;

/** MongoCollection up to 3.7. It has read concerns since 3.2, which are left out for 3.0. */
final class Version {
  static final List<String> EXTRAS =
      List.of("write_concern", "read_preference", "unacknowledged", "unordered", "clients");

  /** The command that a count becomes. */
  static final String COUNT = "count";

  private Version() {}

  static long count(MongoCollection<?> items, Bson filter) {
    return items.count(filter);
  }

  static long estimatedCount(MongoCollection<?> items) {
    return items.count();
  }

  static <T> UpdateResult replaceOne(
      MongoCollection<T> items, Bson filter, T document, boolean upsert) {
    return items.replaceOne(filter, document, new UpdateOptions().upsert(upsert));
  }

  static <T> WriteModel<T> replaceModel(Bson filter, T document, boolean upsert) {
    return new ReplaceOneModel<>(filter, document, new UpdateOptions().upsert(upsert));
  }

  /** Up to 3.5 there is no other way. */
  static void hint(FindIterable<?> find, Bson keys) {
    find.modifiers(new Document("$hint", keys));
  }

  static <T> MongoCollection<T> withReadConcern(MongoCollection<T> items, String level)
      throws Refusal {
    throw new Refusal("unsupported", "read concerns on operations");
  }

  static String codeName(MongoCommandException fault, String otherwise) {
    return otherwise;
  }

  static WriteConcern withJournal(WriteConcern concern, boolean journal) {
    return concern.withJ(journal);
  }
}
