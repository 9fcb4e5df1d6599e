package mongodyno;

import java.util.List;

/** One entry of `operations`, and what is ready before the first turn. */
final class Operation {
  String kind;
  String collection;
  String shape;
  String sumField;
  Reference documents;
  Reference filter;
  Reference projection;
  Reference update;
  Reference pipeline;
  Reference command;
  Reference sort;
  Reference hint;
  Reference collation;
  String field;
  int skip;
  long maxTimeMs;
  boolean ordered = true;
  boolean upsert;
  boolean lazy;
  String expect;
  int batchSize;
  Message.Concern writeConcern;
  String readConcern;
  String readPreference;

  /** All operations of the phase: a transaction has some of them as parts. */
  transient Operation[] all;

  /** Targets, one for each client. */
  transient Driver.Call[] calls;

  transient boolean takesSeveral;

  void prepare(Driver driver, List<Driver.Client> clients, List<Object[]> pools) throws Refusal {
    if (!driver.operations().contains(kind) || shape != null && !driver.shapes().contains(shape)) {
      throw new Refusal("unsupported", "operation " + kind + " of shape " + shape);
    }
    takesSeveral = kind.equals("insert_many") || kind.equals("noop");
    for (Reference each :
        new Reference[] {documents, filter, projection, update, pipeline, command}) {
      if (each != null) {
        each.take(pools, each == documents ? shape : null);
      }
    }
    for (Reference each : new Reference[] {sort, hint, collation}) {
      if (each != null) {
        each.fix(pools, driver);
      }
    }
    calls = new Driver.Call[Math.max(1, clients.size())];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = kind.equals("noop") ? Operation::noop : bind(clients.get(i));
    }
  }

  boolean hasOptions() {
    return sort != null || hint != null || collation != null || skip > 0 || maxTimeMs > 0;
  }

  /** Reads the documents made for it as an answer's documents are read. */
  private static void noop(Given given) {
    if (given.documents != null) {
      given.documents.forEach(given::read);
    }
  }

  private Driver.Call bind(Driver.Client client) throws Refusal {
    if (!kind.equals("read_modify_write")) {
      return client.bind(this);
    }
    Driver.Call find = client.bind(as("find_one"));
    Driver.Call update = client.bind(as("update_one"));
    return given -> {
      find.run(given);
      if (given.found == 1) {
        update.run(given);
      }
    };
  }

  private Operation as(String kind) {
    Operation other = new Operation();
    other.kind = kind;
    other.collection = collection;
    other.shape = shape;
    other.projection = projection;
    other.upsert = upsert;
    other.writeConcern = writeConcern;
    other.readConcern = readConcern;
    other.readPreference = readPreference;
    return other;
  }

  boolean isRight(Given told, int count) {
    if ("missing".equals(expect)) {
      return told.found == 0 && wrote(told, 0);
    }
    return switch (kind) {
      case "find_one", "find_one_and_update" -> told.found == 1;
      case "read_modify_write" -> told.found == 1 && wrote(told, 1);
      case "insert_one", "update_one", "replace_one", "delete_one" -> wrote(told, 1);
      case "insert_many", "bulk_write" -> wrote(told, count);
      case "transaction" -> told.written == 1;
      default -> true;
    };
  }

  private static boolean wrote(Given told, int wanted) {
    return told.written == wanted || told.written == Given.UNKNOWN;
  }
}
