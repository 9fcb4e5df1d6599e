package mongodyno;

import com.mongodb.DBCollection;
import com.mongodb.DBObject;
import com.mongodb.InsertOptions;
import com.mongodb.WriteConcern;
import java.util.List;

/** Batches of DBCollection from 3.0 on: an option says whether an error ends one. */
final class Inserts {
  private final InsertOptions options;

  Inserts(WriteConcern concern, boolean ordered) {
    options = new InsertOptions().writeConcern(concern).continueOnError(!ordered);
  }

  void insert(DBCollection items, List<DBObject> documents) {
    items.insert(documents, options);
  }
}
