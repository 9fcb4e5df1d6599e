import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.bson.BsonBinaryReader;
import org.bson.Document;
import org.bson.codecs.DecoderContext;
import org.bson.codecs.DocumentCodec;
import org.bson.types.Binary;
import org.bson.types.ObjectId;

/**
 * The least code with which a Java program does the adapter's work, for comparison with it.
 *
 * <p>Loop URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
 * turn in ms; it answers with the operations done and the ns they took.
 */
final class Loop implements Runnable {
  private static final int LOADED = 20_000; // documents that there are to be found: keys 0 and up
  private static final int STRIDE =
      7_919; // coprime to LOADED: every key comes, in no cache's order
  private static final int PREFIX = 0x6955b900;

  private static long untilNs;

  private final MongoCollection<Document> items;
  private final List<Document> pool;
  private final boolean inserts;
  private final long workers;
  private long key;
  private long sum;
  private final List<long[]> times = new ArrayList<>();

  private Loop(
      MongoCollection<Document> items,
      List<Document> pool,
      boolean inserts,
      long key,
      long workers) {
    this.items = items;
    this.pool = pool;
    this.inserts = inserts;
    this.key = key;
    this.workers = workers;
  }

  private static ObjectId id(long key) {
    return new ObjectId(ByteBuffer.allocate(12).putInt(PREFIX).putLong(key).array());
  }

  @Override
  public void run() {
    times.clear();
    long now;
    do { // once at least: on a busy machine a thread may begin late
      long start = inserts ? insertOne() : findOne();
      now = System.nanoTime();
      times.add(new long[] {start, now});
    } while (now < untilNs);
  }

  private long insertOne() {
    Document document = new Document();
    // An application would have made each binary; the rest of a document can be shared.
    for (Map.Entry<String, Object> field : pool.get((int) (key % pool.size())).entrySet()) {
      Object value = field.getValue();
      document.put(
          field.getKey(),
          value instanceof Binary it ? new Binary(it.getType(), it.getData().clone()) : value);
    }
    document.put("_id", id(key));
    document.put("number", key);
    key += workers;
    long start = System.nanoTime();
    items.insertOne(document);
    return start;
  }

  private long findOne() {
    key = (key + STRIDE) % LOADED;
    Document filter = new Document("_id", id(key));
    long start = System.nanoTime();
    sum += items.find(filter).first().getLong("number");
    return start;
  }

  public static void main(String[] arguments) throws Exception {
    Logger.getLogger("").setLevel(Level.WARNING);
    MongoCollection<Document> items =
        MongoClients.create(arguments[0]).getDatabase(arguments[1]).getCollection(arguments[2]);
    List<Document> pool = new ArrayList<>();
    ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[5])));
    while (file.hasRemaining()) {
      byte[] bson = new byte[file.order(ByteOrder.LITTLE_ENDIAN).getInt(file.position())];
      file.get(bson);
      BsonBinaryReader reader = new BsonBinaryReader(ByteBuffer.wrap(bson));
      pool.add(new DocumentCodec().decode(reader, DecoderContext.builder().build()));
    }
    boolean inserts = arguments[3].equals("insert_one");
    int count = Integer.parseInt(arguments[4]);
    List<Loop> workers = new ArrayList<>();
    for (int place = 0; place < count; place++) {
      workers.add(new Loop(items, pool, inserts, place, count));
    }
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      long began = System.nanoTime();
      untilNs = began + Long.parseLong(line) * 1_000_000;
      List<Thread> turns = new ArrayList<>();
      for (Loop worker : workers) {
        Thread turn = new Thread(worker);
        turn.start();
        turns.add(turn);
      }
      for (Thread turn : turns) {
        turn.join();
      }
      int operations = 0;
      long ended = began;
      for (Loop worker : workers) {
        operations += worker.times.size();
        ended = Math.max(ended, worker.times.get(worker.times.size() - 1)[1]);
      }
      System.out.println(operations + " " + (ended - began));
    }
    System.exit(0); // the driver's own threads may go on
  }
}
