//! The experiments of the study: a star, each part one axis.

use crate::definition::{Asked, Definition};
use crate::study::Part;
use base::error::Result;

/// Documents that a driver can be given at once.
const AT_ONCE_MAX: u64 = 500_000;
/// The original loaded 5,200,000 documents in batches of 1,000,000: the last one was short.
const LOADED: u64 = 52;
const THRESHOLD: u64 = 10;
/// Batches of a fixed size, by the phases of the workload.
const BATCHES: [u64; 4] = [1_000, 10_000, 50_000, 100_000];
pub const THREADS: [u32; 4] = [1, 3, 4, 15];
pub const CONCERNS: [&str; 4] = ["w0", "w1", "majority", "journaled"];
pub const NAME_LENGTHS: [u32; 4] = [1, 8, 16, 32];
const SIZES: [u32; 3] = [320, 643, 665];

pub const FORMS: &str = "forms";
pub const BY_THREADS: &str = "threads";
pub const BY_CONCERN: &str = "concerns";
pub const BY_NAMES: &str = "names";
const BY_SIZE: &str = "sizes";

/// What a part is, for its table.
pub fn about(part: &str) -> &'static str {
    match part {
        FORMS => "One thread: one by one, all at once, in batches. The last batch may be short.",
        BY_THREADS => "Each thread loads its own contiguous share, in batches of 1,000.",
        BY_CONCERN => "Batches of 1,000, and documents one by one, by write concern.",
        BY_NAMES => "One document whose field names have 1, 8, 16 and 32 characters.",
        BY_SIZE => "Documents of 25 fields, 10 fields and 30 fields, in batches of 1,000.",
        _ => "",
    }
}

/// The parts of a study that was asked for.
///
/// # Errors
/// A scale that makes no experiment.
pub fn parts(definition: &Definition, asked: &Asked) -> Result<Vec<Part>> {
    let (_, documents) = definition.scale(asked)?;
    let few = (documents / 50).clamp(50, 10_000);
    let sets = [
        ("documents", documents),
        ("at_once", documents.min(AT_ONCE_MAX)),
        ("threshold", (documents * THRESHOLD / LOADED).max(1)),
        ("few", few),
    ];
    let mut loads: Vec<String> = sets.iter().map(|(name, it)| format!("{name}={it}")).collect();
    loads.extend(asked.sets.iter().map(|(name, it)| format!("{name}={it}")));
    let names = vec![format!("documents={documents}")];
    let drivers = definition.arms(&asked.drivers).into_iter().map(|it| it.driver).collect();
    let star = Star { drivers, rounds: definition.rounds(asked, documents) };
    let batches = BATCHES.iter().filter(|batch| **batch <= documents);
    let mut forms = vec!["one_by_one".to_owned(), "all_at_once".to_owned()];
    forms.extend(batches.map(|batch| format!("batch_{batch}")));
    forms.push("batch_threshold".to_owned());
    let concerns = CONCERNS.iter().flat_map(|it| [format!("batch_{it}"), format!("one_{it}")]);
    Ok(vec![
        star.part(FORMS, "bulk-load", &loads, forms),
        star.part(BY_THREADS, "bulk-load", &loads, THREADS.map(|it| format!("threads_{it}"))),
        star.part(BY_CONCERN, "bulk-load", &loads, concerns),
        star.part(BY_NAMES, "bulk-names", &names, NAME_LENGTHS.map(|it| format!("names_{it}"))),
        star.part(BY_SIZE, "bulk-load", &loads, SIZES.map(|it| format!("size_{it}"))),
    ])
}

/// What all parts share.
struct Star {
    drivers: Vec<String>,
    rounds: u32,
}

impl Star {
    fn part(
        &self,
        name: &str,
        workload: &str,
        sets: &[String],
        phases: impl IntoIterator<Item = String>,
    ) -> Part {
        let mut words = vec![workload.to_owned()];
        let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
        sets.iter().for_each(|set| flag("--set", set));
        phases.into_iter().for_each(|phase| flag("--phase", &phase));
        self.drivers.iter().for_each(|driver| flag("-d", driver));
        flag("--rounds", &self.rounds.to_string());
        // A load pauses for nobody: its tenths are told apart by the clock.
        flag("--interleave", "runs");
        Part { name: name.to_owned(), words, compares: false, needs: None }
    }
}
