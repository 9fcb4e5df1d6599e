package mongodyno;

import com.mongodb.BasicDBObject;
import com.mongodb.DB;
import com.mongodb.MongoClient;
import com.mongodb.MongoClientOptions;
import com.mongodb.MongoClientURI;
import java.util.Map;

/** MongoClient and DBCollection: mongo-java-driver 2.10 to 3. */
final class Dialect extends DbCollections {
  @Override
  public Class<?> loaded() {
    return MongoClient.class;
  }

  @Override
  public Client client(Message.Entry entry, String database) throws Exception {
    MongoClientURI parsed = Connecting.uri(entry);
    MongoClient client = new MongoClient(parsed);
    return new Opened(client, client.getDB(database), parsed.getOptions());
  }

  private record Opened(MongoClient client, DB database, MongoClientOptions options)
      implements Client {
    @Override
    public void ping() {
      client.getDB("admin").command(new BasicDBObject("ping", 1)).throwOnError();
    }

    @Override
    public boolean acknowledged() {
      return database.getWriteConcern().callGetLastError();
    }

    @Override
    public Map<String, Object> resolved() {
      return Options.resolved(options, "count");
    }

    @Override
    public Call bind(Operation operation) throws Refusal {
      return DbCollections.bind(database, operation);
    }

    @Override
    public void close() {
      client.close();
    }
  }
}
