package mongodyno;

import com.mongodb.ReadConcern;
import com.mongodb.ReadConcernLevel;
import com.mongodb.TransactionOptions;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.UpdateOptions;
import org.bson.Document;

/** Transactions by the driver's own loop, which tries again what may be tried again. */
final class Transactions {
  /** A call within a session. */
  private interface PartCall {
    void run(ClientSession session, Given given);
  }

  /** What ends a transaction whose part is not right. */
  private static final class WrongPart extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private Transactions() {}

  static Driver.Call bind(MongoClient client, MongoDatabase database, Operation operation) {
    PartCall[] calls = new PartCall[operation.all.length];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = part(database, operation.all[i]);
    }
    TransactionOptions.Builder options = TransactionOptions.builder();
    if (operation.writeConcern != null) {
      options.writeConcern(Collections.concern(operation.writeConcern));
    }
    if (operation.readConcern != null) {
      options.readConcern(new ReadConcern(ReadConcernLevel.fromString(operation.readConcern)));
    }
    TransactionOptions concerns = options.build();
    return given -> {
      given.retries = -1;
      try (ClientSession session = client.startSession()) {
        session.withTransaction(
            () -> {
              attempt(session, calls, given);
              return given;
            },
            concerns);
        given.written = 1;
      } catch (WrongPart wrong) {
        given.written = 0;
      } finally {
        given.retries = Math.max(given.retries, 0);
      }
    };
  }

  private static void attempt(ClientSession session, PartCall[] calls, Given given) {
    given.retries++;
    given.found = given.sum = 0;
    for (Given.Part part : given.parts) {
      Given own = part.given();
      own.found = own.sum = own.written = 0;
      calls[part.number()].run(session, own);
      if (!part.operation().isRight(own, 1)) {
        throw new WrongPart();
      }
      given.found += own.found;
      given.sum += own.sum;
    }
  }

  private static PartCall part(MongoDatabase database, Operation operation) {
    String name = operation.collection;
    MongoCollection<Document> items = name == null ? null : database.getCollection(name);
    UpdateOptions update = new UpdateOptions().upsert(operation.upsert);
    Finds finds = new Finds(operation);
    FindOneAndUpdateOptions change = Collections.findOneAndUpdate(operation, finds);
    ReplaceOptions replace = new ReplaceOptions().upsert(operation.upsert);
    return switch (operation.kind) {
      case "insert_one" ->
          (session, given) -> {
            items.insertOne(session, (Document) given.document);
            given.written = 1;
          };
      case "find_one" ->
          (session, given) ->
              given.read(
                  Collections.asked(items.find(session, (Document) given.filter), operation, finds)
                      .projection((Document) given.projection)
                      .first());
      case "update_one" ->
          (session, given) ->
              Collections.matched(
                  items.updateOne(
                      session, (Document) given.filter, (Document) given.update, update),
                  given);
      case "replace_one" ->
          (session, given) ->
              Collections.matched(
                  items.replaceOne(
                      session, (Document) given.filter, (Document) given.document, replace),
                  given);
      case "delete_one" ->
          (session, given) ->
              given.written = items.deleteOne(session, (Document) given.filter).getDeletedCount();
      case "find_one_and_update" ->
          (session, given) ->
              given.read(
                  items.findOneAndUpdate(
                      session, (Document) given.filter, (Document) given.update, change));
      default -> null;
    };
  }
}
