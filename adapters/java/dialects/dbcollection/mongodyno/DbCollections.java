package mongodyno;

import com.mongodb.BasicDBList;
import com.mongodb.BasicDBObject;
import com.mongodb.DB;
import com.mongodb.DBCollection;
import com.mongodb.DBCursor;
import com.mongodb.DBObject;
import com.mongodb.MongoException;
import com.mongodb.WriteConcern;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bson.BSON;
import org.bson.types.Binary;
import org.bson.types.ObjectId;

/** DB and DBCollection; {@link Version} has what changed. */
abstract class DbCollections implements Driver {
  @Override
  public List<String> operations() {
    return OPERATIONS.stream().filter(kind -> !Version.LACKS.contains(kind)).toList();
  }

  @Override
  public List<String> extras() {
    List<String> extras = new ArrayList<>(Version.EXTRAS);
    extras.addAll(Finds.EXTRAS);
    return extras;
  }

  @Override
  public Map<String, Object> document() {
    return new BasicDBObject();
  }

  @Override
  public List<Object> array() {
    return new BasicDBList();
  }

  /** Binary, because the oldest versions write plain bytes as subtype 2. */
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
    return BSON.encode((BasicDBObject) document);
  }

  @Override
  public String uri() {
    return "plain";
  }

  @Override
  public String refusal(Exception fault) {
    if (fault instanceof IllegalArgumentException) {
      return "unsupported"; // an option
    }
    return failure(fault).code() == 18 ? "auth" : "connect"; // AuthenticationFailed
  }

  @Override
  public Failure failure(Exception fault) {
    int code = fault instanceof MongoException told ? Math.max(0, told.getCode()) : 0;
    String name = fault.getClass().getSimpleName();
    boolean timeout =
        name.equals("MongoTimeoutException")
            || name.equals("ConnectionWaitTimeOut")
            || fault.getCause() instanceof SocketTimeoutException;
    return new Failure(Version.code(fault, code), name, timeout);
  }

  @Override
  public Object model(Operation part, Given given) throws Refusal {
    return Version.model(part, given);
  }

  static WriteConcern concern(Message.Concern asked) throws Refusal {
    boolean journal = asked.j != null && asked.j;
    if (asked.w instanceof String tag) {
      return Version.concern(tag, journal);
    }
    int nodes = asked.w instanceof Number number ? number.intValue() : 1;
    return Version.concern(nodes, journal);
  }

  @SuppressWarnings("unchecked") // the harness has made DBObjects
  static Driver.Call bind(DB database, Operation operation) throws Refusal {
    if (operation.kind.equals("command")) {
      return given -> database.command((DBObject) given.command).throwOnError();
    }
    if (operation.readConcern != null || operation.readPreference != null) {
      throw new Refusal("unsupported", "read concern or read preference on an operation");
    }
    DBCollection items = database.getCollection(operation.collection);
    WriteConcern concern =
        operation.writeConcern == null ? items.getWriteConcern() : concern(operation.writeConcern);
    boolean answered = concern.callGetLastError();
    boolean upsert = operation.upsert;
    Finds finds = new Finds(operation);
    switch (operation.kind) {
      case "insert_one":
        return given -> {
          items.insert((DBObject) given.document, concern);
          given.written = 1;
        };
      case "insert_many":
        Inserts inserts = new Inserts(concern, operation.ordered);
        return given -> {
          List<?> documents = given.documents;
          inserts.insert(items, (List<DBObject>) documents);
          given.written = given.documents.size();
        };
      case "find_one":
        if (operation.hasOptions()) {
          return given -> {
            DBCursor found = find(items, operation, finds, given).limit(-1);
            given.read(found.hasNext() ? found.next() : null);
          };
        }
        return given ->
            given.read(items.findOne((DBObject) given.filter, (DBObject) given.projection));
      case "find":
        return given -> {
          DBCursor found =
              find(items, operation, finds, given)
                  .limit(given.limit)
                  .batchSize(operation.batchSize);
          while (found.hasNext()) {
            given.read(found.next());
          }
        };
      case "update_one":
        return given -> {
          var result =
              items.update(
                  (DBObject) given.filter, (DBObject) given.update, upsert, false, concern);
          given.written = answered ? result.getN() : Given.UNKNOWN;
        };
      case "replace_one":
        return given -> {
          var result =
              items.update(
                  (DBObject) given.filter, (DBObject) given.document, upsert, false, concern);
          given.written = answered ? result.getN() : Given.UNKNOWN;
        };
      case "delete_one":
        return given -> {
          var result = items.remove((DBObject) given.filter, concern);
          given.written = answered ? result.getN() : Given.UNKNOWN;
        };
      case "update_many":
        return given -> {
          var result =
              items.update((DBObject) given.filter, (DBObject) given.update, false, true, concern);
          given.found = answered ? result.getN() : 0;
        };
      case "delete_many":
        return given -> {
          var result = items.remove((DBObject) given.filter, concern);
          given.found = answered ? result.getN() : 0;
        };
      case "distinct":
        return given -> {
          for (Object value : items.distinct(operation.field, (DBObject) given.filter)) {
            given.readValue(value);
          }
        };
      case "find_one_and_update":
        return given -> given.read(finds.findAndModify(items, given));
      case "count":
        return given -> given.found = items.getCount((DBObject) given.filter);
      case "estimated_count":
        return given -> given.found = items.getCount();
      case "drop":
        return given -> items.drop();
      default:
        return Version.bind(items, operation, concern);
    }
  }

  private static DBCursor find(DBCollection items, Operation operation, Finds finds, Given given) {
    DBCursor find = items.find((DBObject) given.filter, (DBObject) given.projection);
    if (operation.sort != null) {
      find.sort((DBObject) operation.sort.fixed);
    }
    if (operation.skip > 0) {
      find.skip(operation.skip);
    }
    if (operation.hint != null) {
      find.hint((DBObject) operation.hint.fixed);
    }
    return finds.limited(find);
  }
}
