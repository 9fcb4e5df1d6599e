package mongodyno;

import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoCommandException;
import com.mongodb.MongoException;
import com.mongodb.MongoIncompatibleDriverException;
import com.mongodb.MongoSecurityException;
import com.mongodb.MongoSocketReadTimeoutException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.MongoWriteException;
import com.mongodb.ReadPreference;
import com.mongodb.WriteConcern;
import com.mongodb.bulk.BulkWriteError;
import com.mongodb.bulk.BulkWriteResult;
import com.mongodb.client.AggregateIterable;
import com.mongodb.client.DistinctIterable;
import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.MongoIterable;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.InsertManyOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.UpdateOneModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.WriteModel;
import com.mongodb.client.result.DeleteResult;
import com.mongodb.client.result.UpdateResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bson.BsonBinaryWriter;
import org.bson.BsonNumber;
import org.bson.BsonValue;
import org.bson.Document;
import org.bson.codecs.DocumentCodec;
import org.bson.codecs.EncoderContext;
import org.bson.io.BasicOutputBuffer;
import org.bson.types.Binary;
import org.bson.types.ObjectId;

/** MongoCollection, in all drivers from 3.0 on; {@link Version} has what changed. */
abstract class Collections implements Driver {
  private static final int DUPLICATE_KEY = 11000;

  @Override
  public List<String> extras() {
    List<String> extras = new ArrayList<>(Version.EXTRAS);
    extras.addAll(Finds.EXTRAS);
    return extras;
  }

  @Override
  public Map<String, Object> document() {
    return new Document();
  }

  @Override
  public List<Object> array() {
    return new ArrayList<>();
  }

  @Override
  public Object binary(byte subtype, byte[] data) {
    return new Binary(subtype, data);
  }

  @Override
  public Object objectId(byte[] bytes) {
    return new ObjectId(bytes);
  }

  @Override
  public byte[] encode(Object document) {
    try (BasicOutputBuffer bson = new BasicOutputBuffer()) {
      EncoderContext context = EncoderContext.builder().build();
      new DocumentCodec().encode(new BsonBinaryWriter(bson), (Document) document, context);
      return bson.toByteArray();
    }
  }

  @Override
  public String refusal(Exception fault) {
    if (fault instanceof IllegalArgumentException) {
      return "unsupported"; // an option
    }
    if (fault instanceof MongoIncompatibleDriverException) {
      return "unsupported";
    }
    return fault instanceof MongoSecurityException ? "auth" : "connect";
  }

  @Override
  public Failure failure(Exception fault) {
    int code = fault instanceof MongoException told ? Math.max(0, told.getCode()) : 0;
    String name = fault.getClass().getSimpleName();
    if (fault instanceof MongoBulkWriteException bulk) {
      if (!bulk.getWriteErrors().isEmpty()) {
        code = bulk.getWriteErrors().get(0).getCode();
      } else if (bulk.getWriteConcernError() != null) {
        code = bulk.getWriteConcernError().getCode();
      }
    } else if (fault instanceof MongoCommandException command) {
      name = Version.codeName(command, name);
    }
    boolean timeout =
        fault instanceof MongoTimeoutException || fault instanceof MongoSocketReadTimeoutException;
    return new Failure(code, name, timeout);
  }

  @Override
  public int duplicates(Exception fault) {
    if (fault instanceof MongoWriteException one) {
      return one.getCode() == DUPLICATE_KEY ? 1 : -1;
    }
    if (fault instanceof MongoBulkWriteException bulk && bulk.getWriteConcernError() == null) {
      List<BulkWriteError> refused = bulk.getWriteErrors();
      boolean only = refused.stream().allMatch(error -> error.getCode() == DUPLICATE_KEY);
      return only ? refused.size() : -1;
    }
    return -1;
  }

  @Override
  public Object model(Operation part, Given given) throws Refusal {
    return switch (part.kind) {
      case "insert_one" -> new InsertOneModel<>(given.document);
      case "update_one" ->
          new UpdateOneModel<>(
              (Document) given.filter,
              (Document) given.update,
              new UpdateOptions().upsert(part.upsert));
      case "replace_one" ->
          Version.replaceModel((Document) given.filter, given.document, part.upsert);
      default -> new DeleteOneModel<>((Document) given.filter);
    };
  }

  /** The calls of one operation on a collection of documents of one class. */
  @SuppressWarnings("unchecked") // the harness has made objects of that class
  static <T> Call bind(MongoDatabase database, Operation operation, Class<T> type) throws Refusal {
    if (operation.kind.equals("command")) {
      return given -> database.runCommand((Document) given.command);
    }
    MongoCollection<T> items = collection(database, operation, type);
    Finds finds = new Finds(operation);
    switch (operation.kind) {
      case "insert_one":
        return given -> {
          items.insertOne((T) given.document);
          given.written = 1;
        };
      case "insert_many":
        InsertManyOptions insertMany = new InsertManyOptions().ordered(operation.ordered);
        return given -> {
          items.insertMany((List<T>) given.documents, insertMany);
          given.written = given.documents.size();
        };
      case "find_one":
        return given ->
            given.read(
                asked(items.find((Document) given.filter), operation, finds)
                    .projection((Document) given.projection)
                    .first());
      case "find":
        return given -> {
          FindIterable<T> found =
              asked(items.find((Document) given.filter), operation, finds)
                  .projection((Document) given.projection)
                  .limit(given.limit);
          drain(operation.batchSize > 0 ? found.batchSize(operation.batchSize) : found, given);
        };
      case "update_one":
        UpdateOptions update = new UpdateOptions().upsert(operation.upsert);
        return given ->
            matched(
                items.updateOne((Document) given.filter, (Document) given.update, update), given);
      case "replace_one":
        return given ->
            matched(
                Version.replaceOne(
                    items, (Document) given.filter, (T) given.document, operation.upsert),
                given);
      case "delete_one":
        return given -> {
          DeleteResult result = items.deleteOne((Document) given.filter);
          given.written = result.wasAcknowledged() ? result.getDeletedCount() : Given.UNKNOWN;
        };
      case "update_many":
        return given -> {
          UpdateResult result = items.updateMany((Document) given.filter, (Document) given.update);
          given.found = result.wasAcknowledged() ? result.getMatchedCount() : 0;
        };
      case "delete_many":
        return given -> {
          DeleteResult result = items.deleteMany((Document) given.filter);
          given.found = result.wasAcknowledged() ? result.getDeletedCount() : 0;
        };
      case "distinct":
        return given -> {
          DistinctIterable<BsonValue> found = items.distinct(operation.field, BsonValue.class);
          try (MongoCursor<BsonValue> values = found.filter((Document) given.filter).iterator()) {
            while (values.hasNext()) {
              given.readValue(
                  values.next() instanceof BsonNumber number ? number.longValue() : null);
            }
          }
        };
      case "find_one_and_update":
        FindOneAndUpdateOptions change = findOneAndUpdate(operation, finds);
        return given ->
            given.read(
                items.findOneAndUpdate((Document) given.filter, (Document) given.update, change));
      case "bulk_write":
        BulkWriteOptions bulk = new BulkWriteOptions().ordered(operation.ordered);
        return given -> {
          List<?> models = given.models;
          BulkWriteResult result =
              items.bulkWrite((List<? extends WriteModel<? extends T>>) models, bulk);
          given.written =
              result.wasAcknowledged()
                  ? result.getInsertedCount()
                      + result.getMatchedCount()
                      + result.getUpserts().size()
                      + result.getDeletedCount()
                  : Given.UNKNOWN;
        };
      case "count":
        return given -> given.found = Version.count(items, (Document) given.filter);
      case "estimated_count":
        return given -> given.found = Version.estimatedCount(items);
      case "aggregate":
        return given -> {
          AggregateIterable<T> found = items.aggregate((List<Document>) given.pipeline);
          drain(operation.batchSize > 0 ? found.batchSize(operation.batchSize) : found, given);
        };
      default: // drop
        return given -> items.drop();
    }
  }

  private static <T> MongoCollection<T> collection(
      MongoDatabase database, Operation operation, Class<T> type) throws Refusal {
    MongoCollection<T> items = database.getCollection(operation.collection, type);
    if (operation.writeConcern != null) {
      items = items.withWriteConcern(concern(operation.writeConcern));
    }
    if (operation.readConcern != null) {
      items = Version.withReadConcern(items, operation.readConcern);
    }
    if (operation.readPreference != null) {
      items = items.withReadPreference(ReadPreference.valueOf(operation.readPreference));
    }
    return items;
  }

  static WriteConcern concern(Message.Concern asked) {
    WriteConcern concern = WriteConcern.ACKNOWLEDGED;
    if (asked.w instanceof Number nodes) {
      concern = concern.withW(nodes.intValue());
    } else if (asked.w instanceof String tag) {
      concern = concern.withW(tag);
    }
    return asked.j == null ? concern : Version.withJournal(concern, asked.j);
  }

  /** Gives a find what its operation asks for. */
  static <T> FindIterable<T> asked(FindIterable<T> find, Operation operation, Finds finds) {
    if (operation.sort != null) {
      find.sort((Document) operation.sort.fixed);
    }
    if (operation.skip > 0) {
      find.skip(operation.skip);
    }
    if (operation.hint != null) {
      Version.hint(find, (Document) operation.hint.fixed);
    }
    if (operation.maxTimeMs > 0) {
      find.maxTime(operation.maxTimeMs, TimeUnit.MILLISECONDS);
    }
    return finds.collated(find);
  }

  static FindOneAndUpdateOptions findOneAndUpdate(Operation operation, Finds finds) {
    FindOneAndUpdateOptions options =
        new FindOneAndUpdateOptions().maxTime(operation.maxTimeMs, TimeUnit.MILLISECONDS);
    return finds.collated(
        operation.sort == null ? options : options.sort((Document) operation.sort.fixed));
  }

  private static void drain(MongoIterable<?> found, Given given) {
    try (MongoCursor<?> cursor = found.iterator()) {
      while (cursor.hasNext()) {
        given.read(cursor.next());
      }
    }
  }

  static void matched(UpdateResult result, Given given) {
    given.written =
        result.wasAcknowledged()
            ? result.getMatchedCount() + (result.getUpsertedId() == null ? 0 : 1)
            : Given.UNKNOWN;
  }
}
