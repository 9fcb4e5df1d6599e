package mongodyno;

/** An `error` with its own code; all other exceptions are `internal`. */
final class Refusal extends Exception {
  private static final long serialVersionUID = 1;
  final String code;

  Refusal(String code, String message) {
    super(message);
    this.code = code;
  }
}
