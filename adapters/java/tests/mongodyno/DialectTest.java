package mongodyno;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.URI;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests the driver's options, types and errors, with the installed dialect. */
final class DialectTest {
  private static final String SERVER = System.getenv("MDYN_URI");

  private final Driver driver = new Dialect();

  @BeforeAll
  static void warningsAlone() {
    Warnings.toStderrAlone();
  }

  private Driver.Client client(String uri) throws Exception {
    Message.Entry entry = new Message.Entry();
    URI parsed = URI.create(uri);
    entry.uri = uri;
    entry.hosts = List.of(parsed.getAuthority().replaceAll(".*@", ""));
    entry.options = new LinkedHashMap<>();
    String query = parsed.getQuery();
    for (String pair : query == null ? new String[0] : query.split("&")) {
      entry.options.put(pair.split("=")[0], pair.split("=")[1]);
    }
    if (parsed.getUserInfo() != null) {
      entry.user = parsed.getUserInfo().split(":")[0];
    }
    return Warnings.refused(() -> driver.client(entry, "mdyn_java_test"));
  }

  private String refusal(String uri) {
    Exception fault = assertThrows(Exception.class, () -> client(uri));
    return fault instanceof Refusal refusal ? refusal.code : driver.refusal(fault);
  }

  private Driver.Client server() throws Exception {
    return server("w=1");
  }

  private Driver.Client server(String option) throws Exception {
    assumeTrue(SERVER != null, "MDYN_URI names no server");
    String end = SERVER.matches(".*//[^/]*") ? "/?" : SERVER.contains("?") ? "&" : "?";
    return client(SERVER + end + option);
  }

  private static Operation operation(String kind) {
    Operation operation = new Operation();
    operation.kind = kind;
    operation.collection = "items";
    return operation;
  }

  private Map<String, Object> document(String name, Object value) {
    Map<String, Object> document = driver.document();
    document.put(name, value);
    return document;
  }

  private Given run(Driver.Client client, String kind, Map<String, Object> filter)
      throws Exception {
    Given given = new Given();
    given.filter = filter;
    given.document = filter;
    given.update = document("$set", document("n", 7L));
    given.sumField = "n";
    client.bind(operation(kind)).run(given);
    return given;
  }

  @Test
  void anOptionWithoutEffectIsRefused() {
    assertEquals("unsupported", refusal("mongodb://127.0.0.1:1/?noSuchOption=1"));
  }

  @Test
  void aValueThatIsNoneIsRefused() {
    assertEquals("unsupported", refusal("mongodb://127.0.0.1:1/?maxPoolSize=many"));
  }

  @Test
  void thePoolIsAsItWasAskedFor() throws Exception {
    Driver.Client client = server("maxPoolSize=7");
    assertEquals(7, client.resolved().get("max_pool_size"));
    client.close();
  }

  @Test
  void noServerIsNoConnection() {
    String uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";
    // The oldest versions connect when they are created.
    Exception fault = assertThrows(Exception.class, () -> client(uri).ping());
    assertEquals("connect", driver.refusal(fault));
  }

  @Test
  void theJarTellsTheVersion() {
    assertTrue(driver.jar()[1].matches("\\d+\\.\\d+.*"), driver.jar()[1]);
  }

  @Test
  void binariesKeepTheirSubtypes() throws Exception {
    for (byte subtype : new byte[] {0, 4, 5}) {
      byte[] data = new byte[16];
      byte[] bson = driver.encode(document("b", driver.binary(subtype, data)));
      assertEquals(subtype, bson[4 + 1 + 2 + 4]); // after lengths, type and name
    }
  }

  @Test
  void typesAreThoseOfBson() throws Exception {
    Map<String, Object> document = document("i", 1);
    document.put("l", 1L);
    document.put("d", new Date(1));
    String bson = "22000000106900010000" + "00126c000100000000000000096400010000000000000000";
    assertArrayEquals(HexFormat.of().parseHex(bson), driver.encode(document));
  }

  @Test
  void whatIsToldOfAnErrorIsCut() {
    assertEquals(4096, Main.told(new Exception("x".repeat(5000))).length());
  }

  @Test
  void shapesAreMadeOfTheirFields() throws Exception {
    Map<String, Object> fields = document("_id", driver.objectId(new byte[12]));
    fields.put("No", 3);
    fields.put("Established", new Date(5));
    fields.put("DataBytes", driver.binary((byte) 0, new byte[4]));
    for (String shape : driver.shapes()) {
      Driver.Shaped made = (Driver.Shaped) driver.shaped(shape, fields);
      assertEquals(shape.equals("small_document") ? 3 : null, made.get("No"));
    }
  }

  @Test
  void shapesGoOutAndComeBack() throws Exception {
    Driver.Client client = server();
    client.bind(operation("drop")).run(new Given());
    for (String shape : driver.shapes()) {
      Map<String, Object> fields = document("_id", driver.objectId(new byte[12]));
      fields.put("No", 3);
      fields.put("Established", new Date(5));
      fields.put("DataBytes", driver.binary((byte) 0, new byte[4]));
      Operation insert = operation("insert_one");
      Operation find = operation("find_one");
      insert.collection = find.collection = insert.shape = find.shape = shape;
      Given given = new Given();
      given.document = driver.shaped(shape, fields);
      given.filter = driver.document();
      given.sumField = "No";
      Operation drop = operation("drop");
      drop.collection = shape;
      client.bind(drop).run(new Given());
      client.bind(insert).run(given);
      client.bind(find).run(given);
      assertEquals(1, given.found);
      assertEquals(shape.equals("small_document") ? 3 : 0, given.sum);
    }
    client.close();
  }

  @Test
  void whatAWriteIsAboutIsCounted() throws Exception {
    Driver.Client client = server();
    Map<String, Object> one = document("_id", 1L);
    client.bind(operation("drop")).run(new Given());
    assertEquals(1, run(client, "insert_one", one).written);
    assertEquals(1, run(client, "update_one", one).written);
    assertEquals(7, run(client, "find_one", one).sum);
    assertEquals(0, run(client, "update_one", document("_id", 2L)).written);
    assertEquals(0, run(client, "delete_one", document("_id", 2L)).written);
    assertEquals(1, run(client, "count", driver.document()).found);
    client.close();
  }

  private Reference option(Map<String, Object> document) {
    Reference option = new Reference();
    option.fixed = document;
    return option;
  }

  private static final List<String> FINDS = List.of("find_one", "find", "find_one_and_update");

  /** Finds by each call that takes the option; the code of each failure, or what was found. */
  private List<Long> finds(Map<String, Object> filter, List<String> kinds, Consumer<Operation> asks)
      throws Exception {
    Driver.Client client = server();
    client.bind(operation("drop")).run(new Given());
    run(client, "insert_one", document("_id", "A"));
    List<Long> found = new ArrayList<>();
    for (String kind : kinds) {
      Operation operation = operation(kind);
      asks.accept(operation);
      Given given = new Given();
      given.filter = filter;
      given.update = document("$set", document("n", 7L));
      try {
        client.bind(operation).run(given);
        found.add(given.found);
      } catch (Exception fault) {
        found.add((long) -driver.failure(fault).code());
      }
    }
    client.close();
    return found;
  }

  @Test
  void aHintIsSent() throws Exception {
    List<String> kinds = List.of("find_one", "find");
    Map<String, Object> hint = document("noSuchIndex", 1);
    List<Long> found = finds(document("_id", "A"), kinds, it -> it.hint = option(hint));
    assertTrue(found.stream().allMatch(code -> code < 0), found.toString());
  }

  @Test
  void aCollationIsSent() throws Exception {
    assumeTrue(driver.extras().contains("collation"), "the driver has no collations");
    Map<String, Object> collation = document("locale", "en");
    collation.put("strength", 2);
    List<Long> found = finds(document("_id", "a"), FINDS, it -> it.collation = option(collation));
    assertEquals(List.of(1L, 1L, 1L), found);
  }

  @Test
  void aLimitOfTimeIsSent() throws Exception {
    assumeTrue(driver.extras().contains("max_time"), "the driver has no limit of a find's time");
    Map<String, Object> slow = document("$where", "sleep(500) || true");
    assertEquals(List.of(-50L, -50L, -50L), finds(slow, FINDS, it -> it.maxTimeMs = 50));
  }

  @Test
  void theCodeOfABatchIsThatOfItsFirstError() throws Exception {
    Driver.Client client = server();
    client.bind(operation("drop")).run(new Given());
    Given given = new Given();
    given.documents = new ArrayList<>(List.of(document("_id", 1L), document("_id", 1L)));
    Driver.Call insert = client.bind(operation("insert_many"));
    Exception fault = assertThrows(Exception.class, () -> insert.run(given));
    assertEquals(11000, driver.failure(fault).code());
    client.close();
  }

  @Test
  void anUnknownCommandIsAnErrorOfTheServer() throws Exception {
    Driver.Client client = server();
    Given given = new Given();
    given.command = document("noSuchCommand", 1);
    Driver.Call command = client.bind(operation("command"));
    Exception fault = assertThrows(Exception.class, () -> command.run(given));
    assertEquals(59, driver.failure(fault).code());
    client.close();
  }
}
