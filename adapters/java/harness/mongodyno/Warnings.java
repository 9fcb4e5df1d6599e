package mongodyno;

import java.util.concurrent.Callable;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The driver's log: only warnings, to stderr. All generations end in java.util.logging. */
final class Warnings extends Handler {
  private static final Logger ROOT = Logger.getLogger("");

  private final Thread caller = Thread.currentThread();
  private String first;

  static void toStderrAlone() {
    ROOT.setLevel(Level.WARNING); // the root's own handler writes to stderr
  }

  /** Refuses what the driver warns of in this thread: an option that it ignores. */
  static <T> T refused(Callable<T> call) throws Exception {
    Warnings warnings = new Warnings();
    ROOT.addHandler(warnings);
    T made;
    try {
      made = call.call();
    } finally {
      ROOT.removeHandler(warnings);
    }
    if (warnings.first != null) {
      ((Driver.Client) made).close();
      throw new Refusal("unsupported", warnings.first);
    }
    return made;
  }

  @Override
  public void publish(LogRecord record) {
    boolean warns = record.getLevel().intValue() >= Level.WARNING.intValue();
    if (warns && Thread.currentThread() == caller && first == null) {
      first = record.getMessage();
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
