package mongodyno;

import com.mongodb.MongoClientOptions;
import com.mongodb.MongoClientURI;

/** From 3.0 on selecting a server has a limit, which the builder takes before URIs do. */
final class Connecting {
  private Connecting() {}

  static MongoClientURI uri(Message.Entry entry) {
    MongoClientOptions.Builder options = MongoClientOptions.builder();
    Integer selection = entry.selectionTimeoutMs();
    if (selection != null) {
      options.serverSelectionTimeout(selection);
    }
    return new MongoClientURI(entry.plainUri(), options);
  }
}
