package mongodyno;

import com.mongodb.MongoClientURI;

/** Up to 2.14 the limit of selecting a server is that of connecting. */
final class Connecting {
  private Connecting() {}

  static MongoClientURI uri(Message.Entry entry) {
    String uri = entry.plainUri();
    Integer selection = entry.selectionTimeoutMs();
    if (selection != null && !uri.toLowerCase().contains("connecttimeoutms")) {
      uri += (uri.contains("?") ? "&" : "?") + "connectTimeoutMS=" + selection;
    }
    return new MongoClientURI(uri);
  }
}
