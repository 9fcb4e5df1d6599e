package mongodyno;

import com.mongodb.AggregationOptions;
import com.mongodb.BulkWriteException;
import com.mongodb.BulkWriteOperation;
import com.mongodb.BulkWriteRequestBuilder;
import com.mongodb.BulkWriteResult;
import com.mongodb.Cursor;
import com.mongodb.DBCollection;
import com.mongodb.DBObject;
import com.mongodb.WriteConcern;
import java.util.List;
import java.util.function.Consumer;

/** DBCollection from 2.12 on: bulks, and pipelines whose answers are cursors. */
final class Version {
  static final List<String> LACKS = List.of();
  static final List<String> EXTRAS =
      List.of("write_concern", "unacknowledged", "unordered", "clients");

  private Version() {}

  static WriteConcern concern(int nodes, boolean journal) {
    return new WriteConcern(nodes, 0, false, journal);
  }

  static WriteConcern concern(String tag, boolean journal) {
    return new WriteConcern(tag, 0, false, journal);
  }

  static int code(Exception fault, int code) {
    return fault instanceof BulkWriteException bulk && !bulk.getWriteErrors().isEmpty()
        ? bulk.getWriteErrors().get(0).getCode()
        : code;
  }

  @SuppressWarnings("unchecked") // the harness has made DBObjects, and model() the models
  static Driver.Call bind(DBCollection items, Operation operation, WriteConcern concern) {
    if (operation.kind.equals("aggregate")) {
      AggregationOptions.Builder options = AggregationOptions.builder();
      if (operation.batchSize > 0) {
        options.batchSize(operation.batchSize);
      }
      AggregationOptions cursor = options.outputMode(AggregationOptions.OutputMode.CURSOR).build();
      return given -> {
        try (Cursor found = items.aggregate((List<DBObject>) given.pipeline, cursor)) {
          while (found.hasNext()) {
            given.read(found.next());
          }
        }
      };
    }
    return given -> {
      BulkWriteOperation bulk =
          operation.ordered
              ? items.initializeOrderedBulkOperation()
              : items.initializeUnorderedBulkOperation();
      for (Object model : given.models) {
        ((Consumer<BulkWriteOperation>) model).accept(bulk);
      }
      BulkWriteResult result = bulk.execute(concern);
      given.written =
          result.isAcknowledged()
              ? result.getInsertedCount()
                  + result.getMatchedCount()
                  + result.getUpserts().size()
                  + result.getRemovedCount()
              : Given.UNKNOWN;
    };
  }

  static Object model(Operation part, Given given) {
    Consumer<BulkWriteOperation> model =
        bulk -> {
          if (part.kind.equals("insert_one")) {
            bulk.insert((DBObject) given.document);
            return;
          }
          BulkWriteRequestBuilder found = bulk.find((DBObject) given.filter);
          switch (part.kind) {
            case "update_one":
              if (part.upsert) {
                found.upsert().updateOne((DBObject) given.update);
              } else {
                found.updateOne((DBObject) given.update);
              }
              break;
            case "replace_one":
              if (part.upsert) {
                found.upsert().replaceOne((DBObject) given.document);
              } else {
                found.replaceOne((DBObject) given.document);
              }
              break;
            default:
              found.removeOne();
          }
        };
    return model;
  }
}
