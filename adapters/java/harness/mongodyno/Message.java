package mongodyno;

import com.google.gson.FieldNamingPolicy;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;

/** The fields of all messages. */
final class Message {
  String type;
  int protocol;
  long epochNs;

  String deal;
  String database;
  List<Entry> clients;

  String samples;
  String schedule;
  List<String> pools;
  int workers;
  int firstWorker;
  Long[] limits;
  Pacing pacing;
  long lapStep;
  long itemStep;
  int errorsConsecutiveMax;
  List<Operation> operations;

  long untilNs;

  String template;
  Stamp[] stamps;
  Input input;

  static String wireName(Field field) {
    return FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES.translateName(field);
  }

  /** A client of `open`. */
  static final class Entry {
    String uri;
    List<String> hosts;
    String user;
    String password;
    Map<String, String> options;

    /** For drivers whose URIs do not know serverSelectionTimeoutMS. */
    String plainUri() {
      return uri.replaceAll("(?i)(?<=[?&])serverSelectionTimeoutMS=[^&]*(&|$)", "");
    }

    Integer selectionTimeoutMs() {
      for (Map.Entry<String, String> option : options.entrySet()) {
        if (option.getKey().equalsIgnoreCase("serverSelectionTimeoutMS")) {
          return Integer.valueOf(option.getValue());
        }
      }
      return null;
    }
  }

  static final class Pacing {
    String mode;
    long thinkNs;
    int size;
  }

  static final class Concern {
    Object w;
    Boolean j;
  }
}
