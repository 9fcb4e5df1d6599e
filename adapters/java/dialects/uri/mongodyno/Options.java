package mongodyno;

import com.mongodb.MongoClientOptions;
import com.mongodb.WriteConcern;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Map;

/** Options of MongoClient, from 2.10 to 3.12. */
final class Options {
  private Options() {}

  static Map<String, Object> resolved(MongoClientOptions options, String count) {
    WriteConcern concern = options.getWriteConcern();
    Map<String, Object> resolved =
        Fields.of("max_pool_size", options.getConnectionsPerHost())
            .and(
                "write_concern",
                concern.callGetLastError()
                    ? Fields.of("w", concern.getWObject()).and("j", concern.getJ())
                    : Map.of())
            .and("read_preference", options.getReadPreference().getName())
            .and("commands", Map.of("count", count));
    // These came later, one by one.
    String[][] getters = {
      {"min_pool_size", "getMinConnectionsPerHost"},
      {"retry_writes", "getRetryWrites"},
      {"retry_reads", "getRetryReads"},
      {"tls", "isSslEnabled"}
    };
    for (String[] getter : getters) {
      Object told = told(options, getter[1]);
      if (told != null) {
        resolved.put(getter[0], told);
      }
    }
    if (told(options, "getCompressorList") instanceof List<?> compressors) {
      resolved.put("compressors", compressors.stream().map(it -> told(it, "getName")).toList());
    }
    Object readConcern = told(options, "getReadConcern");
    if (readConcern != null) {
      Object level = told(readConcern, "getLevel");
      resolved.put("read_concern", level == null ? null : told(level, "getValue"));
    }
    return resolved;
  }

  private static Object told(Object from, String getter) {
    try {
      return from.getClass().getMethod(getter).invoke(from);
    } catch (NoSuchMethodException older) {
      return null;
    } catch (IllegalAccessException | InvocationTargetException fault) {
      throw new IllegalStateException(fault);
    }
  }
}
