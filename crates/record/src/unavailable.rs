//! Arms that could not take part, in one line.

use super::records::Unavailable;

impl Unavailable {
    /// `not measured here: c, cpp (`mongodyno adapters list` says what they lack)`. Rejected: the
    /// reasons, which quote compilers and search paths. None where nothing is missing.
    pub fn not_measured(each: &[Self]) -> Option<String> {
        let names: Vec<&str> = each.iter().map(|it| it.adapter.as_str()).collect();
        let they = if names.len() == 1 { "it lacks" } else { "they lack" };
        let what = format!("(`mongodyno adapters list` says what {they})");
        (!names.is_empty()).then(|| format!("not measured here: {} {what}", names.join(", ")))
    }
}
