package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBObject;
import com.mongodb.WriteConcern;
import java.util.List;

/** Batches of DBCollection up to 2.11, which an error ends. */
final class Inserts {
  private final WriteConcern concern;

  Inserts(WriteConcern concern, boolean ordered) throws Refusal {
    if (!ordered) {
      throw new Refusal("unsupported", "unordered inserts before 2.12");
    }
    this.concern = concern;
  }

  /** Up to 2.3 a list cannot have a concern; up to 2.11 the driver makes an array of it. */
  void insert(DBCollection items, List<DBObject> documents) {
    items.insert(documents.toArray(new DBObject[0]), concern);
  }
}
