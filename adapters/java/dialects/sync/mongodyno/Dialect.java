package mongodyno;

import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoCompressor;
import com.mongodb.ReadConcernLevel;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bson.Document;
import org.bson.codecs.configuration.CodecRegistries;
import org.bson.codecs.pojo.PojoCodecProvider;
import org.bson.types.Binary;

/** MongoClients: mongodb-driver-sync. */
final class Dialect extends Collections {
  private static final Map<String, Class<?>> SHAPES =
      Map.of("small_document", SmallDocument.class, "large_document", LargeDocument.class);

  @Override
  public Class<?> loaded() {
    return MongoClients.class;
  }

  @Override
  public String uri() {
    return "standard";
  }

  @Override
  public List<String> operations() {
    List<String> operations = new ArrayList<>(OPERATIONS);
    operations.add("transaction");
    return operations;
  }

  @Override
  public List<String> shapes() {
    return List.copyOf(SHAPES.keySet());
  }

  @Override
  public Object shaped(String shape, Map<String, Object> fields) {
    Document from = (Document) fields;
    if (shape.equals("small_document")) {
      SmallDocument small = new SmallDocument();
      small.id = from.getObjectId("_id");
      small.number = from.getInteger("No");
      small.established = from.getDate("Established");
      return small;
    }
    LargeDocument large = new LargeDocument();
    large.id = from.getObjectId("_id");
    large.dataBytes = from.get("DataBytes", Binary.class).getData();
    large.established = from.getDate("Established");
    return large;
  }

  @Override
  public Client client(Message.Entry entry, String database) {
    MongoClientSettings settings =
        MongoClientSettings.builder()
            .applyConnectionString(new ConnectionString(entry.uri))
            .build();
    MongoClient client = MongoClients.create(settings);
    return new Opened(client, client.getDatabase(database), settings);
  }

  private record Opened(MongoClient client, MongoDatabase database, MongoClientSettings settings)
      implements Client {
    @Override
    public void ping() {
      client.getDatabase("admin").runCommand(new Document("ping", 1));
    }

    @Override
    public boolean acknowledged() {
      return settings.getWriteConcern().isAcknowledged();
    }

    @Override
    public Map<String, Object> resolved() {
      WriteConcern concern = settings.getWriteConcern();
      ReadConcernLevel level = settings.getReadConcern().getLevel();
      return Fields.of("max_pool_size", settings.getConnectionPoolSettings().getMaxSize())
          .and("min_pool_size", settings.getConnectionPoolSettings().getMinSize())
          .and(
              "write_concern",
              concern.isServerDefault()
                  ? Map.of()
                  : Fields.of("w", concern.getWObject()).and("j", concern.getJournal()))
          .and("read_concern", level == null ? null : level.getValue())
          .and("read_preference", settings.getReadPreference().getName())
          .and(
              "compressors",
              settings.getCompressorList().stream().map(MongoCompressor::getName).toList())
          .and("retry_writes", settings.getRetryWrites())
          .and("retry_reads", settings.getRetryReads())
          .and("tls", settings.getSslSettings().isEnabled())
          .and("commands", Map.of("count", Version.COUNT));
    }

    @Override
    public Call bind(Operation operation) throws Refusal {
      if (operation.kind.equals("transaction")) {
        return Transactions.bind(client, database, operation);
      }
      if (operation.shape == null) {
        return Collections.bind(database, operation, Document.class);
      }
      PojoCodecProvider mapped =
          PojoCodecProvider.builder().register(SHAPES.values().toArray(Class<?>[]::new)).build();
      MongoDatabase mapping =
          database.withCodecRegistry(
              CodecRegistries.fromRegistries(
                  MongoClientSettings.getDefaultCodecRegistry(),
                  CodecRegistries.fromProviders(mapped)));
      return Collections.bind(mapping, operation, SHAPES.get(operation.shape));
    }

    @Override
    public void close() {
      client.close();
    }
  }
}
