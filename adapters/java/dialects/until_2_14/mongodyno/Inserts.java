package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBObject;
import com.mongodb.WriteConcern;
import java.util.List;

/** Batches of DBCollection from 2.12 to 2.14: the concern says whether an error ends one. */
final class Inserts {
  private final WriteConcern concern;

  Inserts(WriteConcern concern, boolean ordered) {
    this.concern = concern.continueOnErrorForInsert(!ordered);
  }

  void insert(DBCollection items, List<DBObject> documents) {
    items.insert(documents, concern);
  }
}
