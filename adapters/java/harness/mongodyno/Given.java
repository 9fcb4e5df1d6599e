package mongodyno;

import java.util.List;
import java.util.Map;

/** What a call is given, made before the first reading of the clock, and what it returns. */
final class Given {
  /** Value of `written` for a write that is not answered. */
  static final long UNKNOWN = -1;

  Object document;
  List<Object> documents;
  Map<String, Object> filter;
  Map<String, Object> projection;
  Map<String, Object> update;
  Map<String, Object> command;
  Object pipeline;
  List<Object> models;
  List<Part> parts; // of a transaction
  int limit;
  String sumField;

  /** Documents that were inserted, matched, upserted or deleted. */
  long written;

  /** Documents that were read, or counted. */
  long found;

  long sum;

  /** Attempts of a transaction after its first. */
  long retries;

  /** A part of a transaction: an operation by its number, and what it is given. */
  record Part(int number, Operation operation, Given given) {}

  /** Consumes a document of an answer; null is none. */
  void read(Object document) {
    if (document == null) {
      return;
    }
    if (sumField == null) {
      found++;
    } else {
      readValue(
          document instanceof Driver.Shaped shaped
              ? shaped.get(sumField)
              : ((Map<?, ?>) document).get(sumField));
    }
  }

  /** Consumes a value of an answer, which is a document's field or one of a list. */
  void readValue(Object value) {
    found++;
    if (sumField != null && (value instanceof Integer || value instanceof Long)) {
      sum += ((Number) value).longValue();
    }
  }
}
