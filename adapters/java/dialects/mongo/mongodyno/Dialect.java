package mongodyno;

import com.mongodb.BasicDBObject;
import com.mongodb.DB;
import com.mongodb.Mongo;
import com.mongodb.MongoOptions;
import com.mongodb.ServerAddress;
import com.mongodb.WriteConcern;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Mongo and DBCollection, whose writes are not answered: mongo-java-driver up to 2.14. */
final class Dialect extends DbCollections {
  /** Fields of MongoOptions; earlier versions have fewer. */
  private static final Map<String, String> FIELDS =
      Map.of(
          "maxpoolsize", "connectionsPerHost",
          "waitqueuemultiple", "threadsAllowedToBlockForConnectionMultiplier",
          "waitqueuetimeoutms", "maxWaitTime",
          "connecttimeoutms", "connectTimeout",
          "sockettimeoutms", "socketTimeout",
          "w", "w",
          "wtimeoutms", "wtimeout",
          "journal", "j",
          "slaveok", "slaveOk",
          "autoconnectretry", "autoConnectRetry");

  @Override
  public Class<?> loaded() {
    return Mongo.class;
  }

  @Override
  public Client client(Message.Entry entry, String database) throws Exception {
    if (entry.user != null) {
      throw new Refusal("unsupported", "Mongo has no way to log in that today's servers know");
    }
    MongoOptions options = new MongoOptions();
    if (entry.selectionTimeoutMs() != null) {
      options.connectTimeout = entry.selectionTimeoutMs();
    }
    for (Map.Entry<String, String> option : entry.options.entrySet()) {
      set(options, option.getKey().toLowerCase(), option.getValue(), entry.hosts.size());
    }
    List<ServerAddress> hosts = new ArrayList<>();
    for (String host : entry.hosts) {
      hosts.add(new ServerAddress(host));
    }
    // A list is a replica set, even with one member.
    Mongo mongo = hosts.size() == 1 ? new Mongo(hosts.get(0), options) : new Mongo(hosts, options);
    String nodes = entry.options.get("w");
    if (nodes != null && mongo.getWriteConcern().getW() != Integer.parseInt(nodes)) {
      mongo.setWriteConcern(new WriteConcern(Integer.parseInt(nodes))); // MongoOptions had no w yet
    }
    return new Opened(mongo, mongo.getDB(database), options);
  }

  private static void set(MongoOptions options, String name, String value, int hosts)
      throws ReflectiveOperationException, Refusal {
    boolean asItIs = name.equals("directconnection") && value.equals("true") && hosts == 1;
    if (asItIs || name.equals("serverselectiontimeoutms")) {
      return;
    }
    try {
      Field field = MongoOptions.class.getField(FIELDS.getOrDefault(name, ""));
      if (field.getType() == int.class) {
        field.setInt(options, Integer.parseInt(value));
      } else if (value.matches("true|false")) {
        field.setBoolean(options, value.equals("true"));
      } else {
        throw new Refusal("unsupported", "MongoOptions takes no " + name + "=" + value);
      }
    } catch (NoSuchFieldException missing) {
      if (name.equals("w")) {
        return;
      }
      throw new Refusal("unsupported", "MongoOptions of this version has no " + name);
    }
  }

  private record Opened(Mongo mongo, DB database, MongoOptions options) implements Client {
    @Override
    public void ping() {
      mongo.getDB("admin").command(new BasicDBObject("ping", 1)).throwOnError();
    }

    @Override
    public boolean acknowledged() {
      return database.getWriteConcern().callGetLastError();
    }

    @Override
    public Map<String, Object> resolved() {
      WriteConcern concern = database.getWriteConcern();
      return Fields.of("max_pool_size", options.connectionsPerHost)
          .and(
              "write_concern",
              concern.callGetLastError() ? Fields.of("w", concern.getW()) : Map.of())
          .and("retry_writes", false)
          .and("retry_reads", false)
          .and("tls", false)
          .and("commands", Map.of("count", "count"));
    }

    @Override
    public Call bind(Operation operation) throws Refusal {
      return DbCollections.bind(database, operation);
    }

    @Override
    public void close() {
      mongo.close();
    }
  }
}
