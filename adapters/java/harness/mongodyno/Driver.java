package mongodyno;

import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a dialect gives the harness: the driver's types, clients, calls and errors. */
interface Driver {
  List<String> OPERATIONS =
      List.of(
          ("noop insert_one insert_many find_one find update_one update_many delete_one"
                  + " delete_many count distinct estimated_count replace_one find_one_and_update"
                  + " read_modify_write bulk_write aggregate command drop")
              .split(" "));

  /** A class that belongs to the driver. */
  Class<?> loaded();

  /** Name and version of the driver's jar: what the driver reports differs between generations. */
  default String[] jar() {
    String path = loaded().getProtectionDomain().getCodeSource().getLocation().getPath();
    Matcher name = Pattern.compile("([^/]+?)-(\\d[^/]*)\\.jar$").matcher(path);
    return name.find() ? new String[] {name.group(1), name.group(2)} : new String[] {path, null};
  }

  default List<String> operations() {
    return OPERATIONS;
  }

  List<String> extras();

  default List<String> shapes() {
    return List.of();
  }

  /** `standard` or `plain`. */
  String uri();

  /** An empty document of the type that users write. */
  Map<String, Object> document();

  List<Object> array();

  Object binary(byte subtype, byte[] data);

  Object objectId(byte[] bytes);

  /** Encodes with the driver's own encoder. */
  byte[] encode(Object document) throws Exception;

  /** Makes an object of a mapped class from a document that was made for it. */
  default Object shaped(String shape, Map<String, Object> document) {
    throw new IllegalArgumentException(shape);
  }

  Client client(Message.Entry entry, String database) throws Exception;

  /** The code of the `error` with which `open` fails. */
  String refusal(Exception fault);

  Failure failure(Exception fault);

  /** Documents that were there already; -1: something else failed. */
  default int duplicates(Exception fault) {
    return -1;
  }

  /** A part of a bulk, made before the first reading of the clock. */
  Object model(Operation part, Given given) throws Refusal;

  record Failure(int code, String name, boolean timeout) {}

  /** A client with its database. */
  interface Client {
    void ping();

    boolean acknowledged();

    Map<String, Object> resolved();

    Call bind(Operation operation) throws Refusal;

    void close();
  }

  /** The measured part: the driver's call as its users write it, its answer consumed. */
  interface Call {
    void run(Given given) throws Exception;
  }

  /** A mapped document whose fields can be added up. */
  interface Shaped {
    Object get(String field);
  }
}
