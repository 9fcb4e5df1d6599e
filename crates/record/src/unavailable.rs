//! Arms that could not take part, in one line.

/// `not measured here: c, cpp (`mongodyno adapters list` says what they lack)`. Rejected: the
/// reasons, which quote compilers and search paths. None where nothing is missing.
pub fn not_measured(names: &[&str]) -> Option<String> {
    let they = if names.len() == 1 { "it lacks" } else { "they lack" };
    let what = format!("(`mongodyno adapters list` says what {they})");
    (!names.is_empty()).then(|| format!("not measured here: {} {what}", names.join(", ")))
}
