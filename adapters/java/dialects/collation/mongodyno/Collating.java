package mongodyno;

import com.mongodb.client.model.Collation;
import com.mongodb.client.model.CollationAlternate;
import com.mongodb.client.model.CollationCaseFirst;
import com.mongodb.client.model.CollationMaxVariable;
import com.mongodb.client.model.CollationStrength;
import java.util.Map;

/** Makes the driver's collations, from 3.4 on. */
final class Collating {
  private Collating() {}

  /** Reads the server's names; null if an operation has no collation. */
  static Collation of(Reference asked) {
    if (asked == null) {
      return null;
    }
    Collation.Builder made = Collation.builder();
    for (Map.Entry<String, Object> part : asked.fixed.entrySet()) {
      Object value = part.getValue();
      switch (part.getKey()) {
        case "locale" -> made.locale((String) value);
        case "strength" ->
            made.collationStrength(CollationStrength.fromInt(((Number) value).intValue()));
        case "caseLevel" -> made.caseLevel((Boolean) value);
        case "caseFirst" -> made.collationCaseFirst(CollationCaseFirst.fromString((String) value));
        case "numericOrdering" -> made.numericOrdering((Boolean) value);
        case "alternate" -> made.collationAlternate(CollationAlternate.fromString((String) value));
        case "maxVariable" ->
            made.collationMaxVariable(CollationMaxVariable.fromString((String) value));
        case "normalization" -> made.normalization((Boolean) value);
        default -> made.backwards((Boolean) value);
      }
    }
    return made.build();
  }
}
