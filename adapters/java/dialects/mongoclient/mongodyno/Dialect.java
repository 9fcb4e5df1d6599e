package mongodyno;

import com.mongodb.MongoClient;
import com.mongodb.MongoClientOptions;
import com.mongodb.MongoClientURI;
import com.mongodb.client.MongoDatabase;
import java.util.Map;
import org.bson.Document;

/** MongoClient and MongoCollection: mongo-java-driver 3. */
final class Dialect extends Collections {
  @Override
  public Class<?> loaded() {
    return MongoClient.class;
  }

  /** URIs have the option serverSelectionTimeoutMS since 3.2, the builder since 3.0. */
  @Override
  public String uri() {
    return "plain";
  }

  @Override
  public Client client(Message.Entry entry, String database) {
    MongoClientOptions.Builder options = MongoClientOptions.builder();
    Integer selection = entry.selectionTimeoutMs();
    if (selection != null) {
      options.serverSelectionTimeout(selection);
    }
    MongoClient client = new MongoClient(new MongoClientURI(entry.plainUri(), options));
    return new Opened(client, client.getDatabase(database));
  }

  private record Opened(MongoClient client, MongoDatabase database) implements Client {
    @Override
    public void ping() {
      client.getDatabase("admin").runCommand(new Document("ping", 1));
    }

    @Override
    public boolean acknowledged() {
      return database.getWriteConcern().isAcknowledged();
    }

    @Override
    public Map<String, Object> resolved() {
      return Options.resolved(client.getMongoClientOptions(), Version.COUNT);
    }

    @Override
    public Call bind(Operation operation) throws Refusal {
      return Collections.bind(database, operation, Document.class);
    }

    @Override
    public void close() {
      client.close();
    }
  }
}
