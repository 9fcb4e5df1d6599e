package mongodyno;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/** Reads messages and answers them: SPEC sections 1 to 3. */
final class Main {
  private static final int PROTOCOL = 2;
  private static final int MESSAGE_CHARACTERS = 4096;
  private static final Gson JSON =
      new GsonBuilder()
          .setFieldNamingStrategy(Message::wireName)
          .serializeNulls()
          .disableHtmlEscaping()
          .create();

  /** The end of stdin, among its lines. */
  private static final Object END = new Object();

  private final Driver driver = new Dialect();
  private final BlockingQueue<Object> events = new LinkedBlockingQueue<>();
  private final PrintStream answers = System.out;
  private List<Driver.Client> clients = List.of();
  private boolean dealsOperations;
  private Phase phase;
  private volatile Phase turning;
  private volatile boolean stopped;

  public static void main(String[] arguments) throws Exception {
    Warnings.toStderrAlone();
    new Main().converse();
  }

  private void converse() throws Exception {
    Thread reader = new Thread(this::read, "stdin");
    reader.setDaemon(true);
    reader.start();
    while (events.take() instanceof String line) {
      answer(line);
    }
    exit();
  }

  /** Reads ahead, so that a turn sees the end of stdin. */
  private void read() {
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try {
      for (String line; (line = lines.readLine()) != null; ) {
        events.add(line);
      }
    } catch (IOException unreadable) {
      // Treated as the end.
    }
    events.add(END);
  }

  /** Halts the JVM, because its exit code after SIGTERM would be 143. */
  private static void exit() {
    Runtime.getRuntime().halt(0);
  }

  /** Called on SIGTERM, in a separate thread. */
  private void stop() {
    stopped = true; // first: the turn may end meanwhile
    Phase current = turning;
    if (current == null) {
      exit();
    }
    current.stop();
    new Semaphore(0).acquireUninterruptibly(); // the turn ends as every turn does, then the process
  }

  private void answer(String line) {
    Map<String, Object> reply;
    try {
      reply = handle(parse(line));
    } catch (Exception fault) {
      if (!(fault instanceof Refusal)) {
        fault.printStackTrace();
      }
      String code = fault instanceof Refusal refusal ? refusal.code : "internal";
      reply = Fields.of("type", "error").and("code", code).and("message", told(fault));
    }
    answers.write(0x1e);
    answers.println(JSON.toJson(reply));
    answers.flush();
    if ("closed".equals(reply.get("type"))) {
      exit();
    }
  }

  private static Message parse(String line) throws Refusal {
    // Gson's method for strings accepts more than JSON.
    try (JsonReader reader = new JsonReader(new StringReader(line))) {
      Message message = JSON.getAdapter(Message.class).read(reader);
      if (message == null || reader.peek() != JsonToken.END_DOCUMENT) {
        throw new Refusal("protocol", "not a line with one JSON object");
      }
      return message;
    } catch (JsonParseException | IllegalStateException | IOException fault) {
      throw new Refusal("protocol", "not a line of JSON: " + fault.getMessage());
    }
  }

  private Map<String, Object> handle(Message message) throws Exception {
    switch (message.type == null ? "" : message.type) {
      case "hello":
        return hello(message);
      case "clock":
        return Fields.of("type", "clock").and("now_ns", Clock.now());
      case "open":
        return open(message);
      case "prepare":
        phase = new Phase(message, driver, clients, dealsOperations);
        return Fields.of("type", "ready");
      case "turn":
        return turn(message.untilNs);
      case "end":
        return phase.end();
      case "close":
        close(clients);
        return Fields.of("type", "closed");
      case "render":
        var template = new Reference(Pools.document(message.template), message.stamps);
        byte[] bson = driver.encode(template.make(driver, 0, message.input));
        return Fields.of("type", "rendered").and("bson", HexFormat.of().formatHex(bson));
      default:
        throw new Refusal("protocol", "unknown type " + message.type);
    }
  }

  private Map<String, Object> hello(Message message) throws Refusal {
    if (message.protocol != PROTOCOL) {
      throw new Refusal("protocol", "this adapter speaks protocol " + PROTOCOL);
    }
    Clock.epochNs = message.epochNs;
    Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "SIGTERM"));
    String[] jar = driver.jar();
    return Fields.of("type", "hello")
        .and("protocol", PROTOCOL)
        .and("adapter", "java")
        .and("driver", Fields.of("name", jar[0]).and("version", jar[1]).and("native", null))
        .and(
            "runtime",
            Fields.of("name", "java")
                .and("version", System.getProperty("java.version"))
                .and("flags", ManagementFactory.getRuntimeMXBean().getInputArguments()))
        .and("clock", Fields.of("source", "CLOCK_MONOTONIC").and("resolution_ns", 1))
        .and(
            "capabilities",
            Fields.of("operations", driver.operations())
                .and("pacing", Phase.PACINGS)
                .and("extras", driver.extras())
                .and("shapes", driver.shapes())
                .and("alters", List.of())
                .and("uri", driver.uri())
                .and("consumer_ns", null)
                .and(
                    "concurrency",
                    Fields.of("kind", "threads").and("max", null).and("threads", null)));
  }

  private Map<String, Object> open(Message message) throws Exception {
    List<Driver.Client> opened = new ArrayList<>();
    try {
      for (Message.Entry entry : message.clients) {
        Driver.Client client = Warnings.refused(() -> driver.client(entry, message.database));
        opened.add(client);
        client.ping();
      }
    } catch (LinkageError missing) {
      close(opened);
      throw new Refusal("unsupported", "an option wants a library that is missing: " + missing);
    } catch (Exception fault) {
      close(opened);
      throw fault instanceof Refusal ? fault : new Refusal(driver.refusal(fault), told(fault));
    }
    clients = opened;
    dealsOperations = message.deal.equals("operation");
    Driver.Client first = opened.get(0);
    return Fields.of("type", "opened")
        .and("acknowledged", first.acknowledged())
        .and("resolved", first.resolved());
  }

  private Map<String, Object> turn(long untilNs) throws Exception {
    turning = phase;
    if (stopped) {
      exit();
    }
    phase.begin(untilNs, events);
    if (events.take() == END) {
      exit();
    }
    turning = null;
    if (stopped) {
      exit(); // the samples are written; a stopped turn has no answer
    }
    return phase.done();
  }

  private static void close(List<Driver.Client> clients) {
    clients.forEach(Driver.Client::close);
  }

  static String told(Exception fault) {
    String text = String.valueOf(fault.getMessage());
    return text.substring(0, Math.min(text.length(), MESSAGE_CHARACTERS));
  }
}
