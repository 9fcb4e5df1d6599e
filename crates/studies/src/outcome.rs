//! What a study has made: its experiments that have ended, and those that were left out.

use std::collections::BTreeMap;

use record::folder::Folder;
use record::records::{Experiment, Run};

/// A finished experiment, as far as a report may read it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// The experiment's part; empty for the one experiment of a study by an earlier version.
    pub part: &'a str,
    pub folder: &'a Folder,
    pub experiment: &'a Experiment,
    pub runs: &'a [Run],
}

/// The experiments that a study has made.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The experiments in the order of the plan.
    pub made: Vec<Made<'a>>,
    /// Reasons by part.
    pub left_out: BTreeMap<String, String>,
    /// How a user calls the study's folder.
    pub folder: String,
    /// The study's size, as a part of the original's; None for a study by an earlier version.
    pub scale: Option<f64>,
}

impl<'a> From<Made<'a>> for Outcome<'a> {
    fn from(only: Made<'a>) -> Self {
        let folder = only.folder.path().display().to_string();
        Self { made: vec![only], left_out: BTreeMap::new(), folder, scale: None }
    }
}

impl<'a> Outcome<'a> {
    /// The first, and of some studies the only one.
    pub fn only(&self) -> &Made<'a> {
        &self.made[0]
    }

    pub fn part(&self, name: &str) -> Option<&Made<'a>> {
        self.made.iter().find(|made| made.part == name)
    }

    /// Options that the names of all arms have.
    pub(crate) fn shared_options(&self) -> Option<String> {
        let arms = self.made.iter().flat_map(|it| &it.experiment.arms);
        let names = arms.filter(|it| !it.is_aa && !it.is_direct).map(|it| it.id.as_str());
        shared_options(&names.collect::<Vec<_>>())
    }
}

/// `/from=folder/runtime=mono`, where two names or more have these beside each other; None where
/// they share no option.
fn shared_options(names: &[&str]) -> Option<String> {
    let first = names.first()?;
    let options = first[first.find('/')?..].split_inclusive('/').skip(1);
    let each = options.map(|it| format!("/{}", it.trim_end_matches('/')));
    let has = |name: &str, option: &str| format!("{name}/").contains(&format!("{option}/"));
    let shared: String = each.filter(|it| names.iter().all(|name| has(name, it))).collect();
    let beside = names.len() > 1 && names.iter().all(|name| has(name, &shared));
    (beside && !shared.is_empty()).then_some(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_all_names_have_are_shared() {
        let of = ["a@1/x=1/y=2", "a@2/x=1/y=2", "a@2/api=old/x=1/y=2"];
        assert_eq!(shared_options(&of).as_deref(), Some("/x=1/y=2"));
        let within = ["a@1/x=1/y=2/w=0", "a@2/api=new/x=1/y=2/w=1", "a@3/x=1/y=2"];
        assert_eq!(shared_options(&within).as_deref(), Some("/x=1/y=2"));
        assert_eq!(shared_options(&of[..1]), None, "one arm has its whole name");
        assert_eq!(shared_options(&["a@1", "a@2/x=1"]), None);
        assert_eq!(shared_options(&["a@1/x=1", "a@2"]), None);
    }
}
