package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.WriteConcern;
import java.util.List;

/** DBCollection from 2.1 to 2.11: no bulks, and no pipelines that today's servers accept. */
final class Version {
  static final List<String> LACKS = List.of("bulk_write", "aggregate");
  static final List<String> EXTRAS = List.of("unacknowledged", "clients");

  private Version() {}

  static WriteConcern concern(int nodes, boolean journal) throws Refusal {
    throw unsupported();
  }

  static WriteConcern concern(String tag, boolean journal) throws Refusal {
    throw unsupported();
  }

  static int code(Exception fault, int code) {
    return code;
  }

  static Driver.Call bind(DBCollection items, Operation operation, WriteConcern concern)
      throws Refusal {
    throw unsupported();
  }

  static Object model(Operation part, Given given) throws Refusal {
    throw unsupported();
  }

  private static Refusal unsupported() {
    return new Refusal("unsupported", "not declared for mongo-java-driver before 2.12");
  }
}
