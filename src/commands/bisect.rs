//! `mongodyno bisect`: the first version of a driver with another speed.
//!
//! Few versions are measured all at once, and the steps of that scan are confirmed. Of many, three
//! are measured at a time, and the half that holds the step is searched on.

use std::path::{Path, PathBuf};

use crate::cli::{BisectArgs, ResumeArgs, RunArgs};
use crate::commands::resume::run_again;
use crate::commands::run::{drawn_seed, experiment};
use crate::commands::servers;
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use base::say;
use base::words::shell_quoted;
use judge::analysis::changed;
use judge::analysis::types::{AlsoRow, Analysis, ComparisonRow, Metric, SinceRow};
use measure::arms;
use measure::selection::expand;
use measure::setup::new_id;
use record::folder::Folder;
use serde::{Deserialize, Serialize};
use stats::bisect::{Bisect, Next};
use stats::verdict::Verdict;

/// A scan of more versions costs more than a search by halves (section 4.3 of the methodology).
const SCAN_MAX: usize = 30;
const SCAN_ROUNDS: u32 = 8;
/// Of the comparison that confirms a step, and of that of both ends.
const FRESH_ROUNDS: u32 = 20;

const ANSWER: &str = "bisect.json";
/// The first experiment, of few versions and of many.
const FIRST: [&str; 2] = ["00-scan", "00-ends"];

/// The request; it stands in the folder before the first experiment does.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Asked {
    metric: Metric,
    /// As `-d` takes them, in the order of their releases.
    versions: Vec<String>,
    /// `--seed`.
    seed: Option<u64>,
}

/// The answer.
#[derive(Serialize)]
struct Answer {
    schema_version: u32,
    /// Its experiments, in the order of their making.
    folder: String,
    /// None: the search is not at its end.
    phase: Option<String>,
    #[serde(flatten)]
    asked: Asked,
    steps: Vec<Step>,
    /// In words.
    sentence: String,
}

/// A step that fresh rounds were to confirm.
#[derive(Serialize)]
struct Step {
    before: String,
    after: String,
    confirmed: bool,
    /// The comparison on fresh rounds.
    comparison: ComparisonRow,
    /// The first version behind the step against the last version of all; None where it is that.
    until_last: Option<ComparisonRow>,
    /// The version whose step to the other side takes it back, by the scan.
    mended_at: Option<String>,
    /// Other changes between the two versions.
    also: Vec<AlsoRow>,
    sentence: String,
}

pub async fn run(args: BisectArgs) -> Result<()> {
    let json = args.run.json;
    let mut search = Search::new(args)?;
    search.begin()?;
    let folder = &search.folder.clone();
    let answer = search.answer().await.inspect_err(|_| {
        if FIRST.iter().any(|first| folder.join(first).exists()) {
            say!("to go on with the search: mongodyno resume {}", shell_quoted(&folder.display()));
        }
    })?;
    let written = search.write(&answer)?;
    if json {
        return super::print(&format!("{written}\n"));
    }
    let said = answer.steps.iter().map(|step| step.sentence.as_str()).chain([&*answer.sentence]);
    let said: Vec<&str> = said.filter(|sentence| !sentence.is_empty()).collect();
    super::print(&format!("{}\nexperiments: {}\n", said.join("\n"), answer.folder))
}

/// Versions on both sides of a step, and the one that took it back.
struct Pair {
    before: usize,
    after: usize,
    mended: Option<usize>,
}

/// Whether a folder is that of a search.
pub fn is_one(folder: &Path) -> bool {
    folder.join(ANSWER).exists()
}

/// Goes on with a search. Its folder is data, as that of an experiment is: versions are read as on
/// a command line, all else as `resume` reads the first experiment.
pub async fn resume(args: &ResumeArgs) -> Result<()> {
    let asked = asked(&args.folder)?;
    let first = FIRST.map(|first| args.folder.join(first));
    let Some(first) = first.into_iter().find(|it| it.join("experiment.json").exists()) else {
        let what = format!("{}: nothing is measured yet", args.folder.display());
        return Err(Error::usage(what, "give the same bisect command again"));
    };
    let (_, was) = Folder::open(&first)?;
    let run = run_again(&ResumeArgs { folder: first, ..args.clone() }, &was)?;
    let set = |(name, value): (&String, &String)| format!("{name}={value}");
    let run = RunArgs {
        drivers: asked.versions,
        seed: asked.seed,
        set: was.plan.parameters.iter().map(set).collect(),
        out: Some(args.folder.clone()),
        ..run
    };
    Box::pin(self::run(BisectArgs { run, metric: asked.metric })).await
}

fn asked(folder: &Path) -> Result<Asked> {
    let path = folder.join(ANSWER);
    let text = std::fs::read(&path).map_err(|error| Error::file("read", &path, &error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::usage(format!("{}: {error}", path.display()), "choose another --out")
    })
}

struct Search {
    run: RunArgs,
    metric: Metric,
    folder: PathBuf,
    /// As in [`Asked`].
    versions: Vec<String>,
    /// Experiments made.
    made: u32,
}

impl Search {
    fn new(args: BisectArgs) -> Result<Self> {
        let BisectArgs { mut run, metric } = args;
        if servers::asked(&run)?.len() > 1 {
            return Err(Error::usage(
                format!("--server {}: bisect searches on one server", run.server()),
                "name one server, and bisect on each",
            ));
        }
        let manifests = discover(run.adapters_dir.as_deref())?;
        run.drivers = expand(&manifests, &run.drivers, run.registry.offline)?;
        let (arms, _) = arms::choose(&run.drivers, &manifests)?;
        let versions: Vec<String> = arms.iter().map(|arm| arm.words.clone()).collect();
        let mut adapters: Vec<&str> = arms.iter().map(|arm| arm.manifest.name.as_str()).collect();
        adapters.dedup();
        if versions.len() < 2 || adapters.len() > 1 || run.drivers.is_empty() {
            return Err(Error::usage(
                "bisect needs several versions of one driver",
                "write -d NAME@GOOD..BAD, or -d NAME@VERSION for each",
            ));
        }
        let id = new_id(drawn_seed());
        let folder = run.out.take();
        let folder = folder.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(id));
        run.plan = false;
        // Its experiments print nothing: their pages are in their folders.
        run.json = true;
        Ok(Self { run, metric, folder, versions, made: 0 })
    }

    /// Writes down what is asked, or finds that it was asked before.
    fn begin(&self) -> Result<()> {
        if is_one(&self.folder) {
            if asked(&self.folder)? == self.asked() {
                return Ok(());
            }
            let what = format!("{} has another search", self.folder.display());
            return Err(Error::usage(what, "choose another --out"));
        }
        let folder = &self.folder;
        std::fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, &error))?;
        self.write(&self.end(None, Vec::new(), String::new())).map(|_| ())
    }

    fn asked(&self) -> Asked {
        let (metric, versions) = (self.metric, self.versions.clone());
        Asked { metric, versions, seed: self.run.seed }
    }

    fn end(&self, phase: Option<String>, steps: Vec<Step>, sentence: String) -> Answer {
        let (folder, asked) = (self.folder.display().to_string(), self.asked());
        Answer { schema_version: 1, folder, phase, asked, steps, sentence }
    }

    fn write(&self, answer: &Answer) -> Result<String> {
        let text = serde_json::to_string_pretty(answer).expect("answers serialise");
        let path = self.folder.join(ANSWER);
        std::fs::write(&path, &text).map_err(|error| Error::file("write", &path, &error))?;
        Ok(text)
    }

    async fn answer(&mut self) -> Result<Answer> {
        let (phase, pairs, mut sentence) = match self.versions.len() {
            ..=SCAN_MAX => self.scan().await?,
            _ => self.halves().await?,
        };
        let mut steps = Vec::new();
        for Pair { before, after, mended } in pairs {
            let mended = mended.map(|at| self.versions[at].clone());
            steps.push(Step { mended_at: mended, ..self.confirm(&phase, before, after).await? });
        }
        let fresh: Vec<String> =
            steps.iter().filter(|it| it.confirmed).map(|it| it.after.clone()).collect();
        for step in steps.iter_mut().filter(|step| step.confirmed) {
            let Some(version) = &step.mended_at else { continue };
            let alone = if fresh.contains(version) { "" } else { ", by the scan alone" };
            let slower = step.comparison.verdict == Verdict::Slower;
            let done = if slower { "Mended" } else { "Taken back" };
            step.sentence = format!("{} {done} at {version}{alone}.", step.sentence);
        }
        if steps.iter().any(|step| step.confirmed) {
            sentence.clear();
        }
        Ok(self.end(Some(phase), steps, sentence))
    }

    /// All versions in the same rounds; the places of the steps found.
    async fn scan(&mut self) -> Result<(String, Vec<Pair>, String)> {
        let all: Vec<usize> = (0..self.versions.len()).collect();
        let rounds = self.run.rounds.unwrap_or(SCAN_ROUNDS);
        let (_, analysis) = self.experiment("scan", &all, rounds).await?;
        let phase = first_phase(&analysis)?;
        if self.versions.len() == 2 {
            return Ok((phase, vec![Pair { before: 0, after: 1, mended: None }], String::new()));
        }
        let is_asked = |row: &&SinceRow| row.phase == phase && row.metric == self.metric;
        let Some(row) = analysis.since.iter().find(is_asked) else {
            return Err(nothing("the scan has too few versions with figures"));
        };
        // The series leaves out versions that failed, and names the others as drivers do.
        let place = |version: &str| {
            let arm = analysis.arms.iter().find(|arm| arm.version == version)?;
            all.iter().copied().find(|at| arm.id == self.versions[*at])
        };
        let pairs = row.changes.iter();
        let pairs = pairs.filter_map(|it| {
            let mended = it.mended_at.as_deref().and_then(place);
            Some(Pair { before: place(&it.before)?, after: place(&it.after)?, mended })
        });
        Ok((phase, pairs.collect(), row.sentence.clone()))
    }

    /// Both ends, then halves.
    async fn halves(&mut self) -> Result<(String, Vec<Pair>, String)> {
        let last = self.versions.len() - 1;
        let (_, analysis) = self.experiment("ends", &[0, last], FRESH_ROUNDS).await?;
        let phase = first_phase(&analysis)?;
        let ends = self.comparison(&analysis, &phase)?;
        if !matches!(ends.verdict, Verdict::Slower | Verdict::Faster) {
            let sentence = format!("The ends do not differ: {}", ends.sentence);
            return Ok((phase, Vec::new(), sentence));
        }
        let threshold = (ends.threshold_percent / 100.0).ln_1p();
        let mut search = Bisect::new((0, last), ends.verdict == Verdict::Slower, threshold);
        loop {
            match search.next() {
                Next::Pair { before, after } => {
                    let pair = Pair { before, after, mended: None };
                    return Ok((phase, vec![pair], String::new()));
                }
                Next::Outside { middle } => {
                    let sentence = format!(
                        "{} is outside of both ends: there is more than one step. Scan a part of \
                         the versions, at most {SCAN_MAX}.",
                        self.versions[middle]
                    );
                    return Ok((phase, Vec::new(), sentence));
                }
                Next::Measure { versions, rounds } => {
                    let name = format!("step-{}", self.made);
                    let (folder, _) = self.experiment(&name, &versions, rounds).await?;
                    search.add(self.costs(&folder, &phase)?);
                }
            }
        }
    }

    /// ln(cost) of good, middle and bad, by round.
    fn costs(&self, folder: &Folder, phase: &str) -> Result<Vec<[f64; 3]>> {
        let (_, record) = Folder::open(folder.path())?;
        let costs = judge::costs(folder, &record, phase, self.metric)?;
        let costs = costs.ok_or_else(|| nothing("the phase has no such figure"))?;
        let own = record.arms.iter().zip(&costs).filter(|(arm, _)| !arm.is_aa && !arm.is_direct);
        let own: Vec<&Vec<Option<f64>>> = own.map(|(_, costs)| costs).collect();
        let [good, middle, bad] = own[..] else {
            return Err(nothing("one of the three versions could not be measured"));
        };
        let rounds = good.iter().zip(middle).zip(bad);
        let whole: Vec<[f64; 3]> = rounds
            .filter_map(|((good, middle), bad)| Some([(*good)?, (*middle)?, (*bad)?]))
            .collect();
        if whole.is_empty() {
            return Err(nothing("no round has figures of all three versions"));
        }
        Ok(whole)
    }

    /// Fresh rounds of both sides of a step, and of its far side against the last version.
    async fn confirm(&mut self, phase: &str, before: usize, after: usize) -> Result<Step> {
        let [name_before, name_after] = [before, after].map(|it| self.versions[it].clone());
        let (folder, analysis) = self.experiment("confirm", &[before, after], FRESH_ROUNDS).await?;
        let comparison = self.comparison(&analysis, phase)?;
        let confirmed = matches!(comparison.verdict, Verdict::Slower | Verdict::Faster);
        let last = self.versions.len() - 1;
        let (mut until_last, mut also) = (None, Vec::new());
        let mut sentence = format!(
            "POSSIBLE CHANGE at {name_after}: not confirmed on fresh rounds. {}",
            comparison.sentence
        );
        if confirmed {
            sentence = format!(
                "{} SINCE {name_after}: {}",
                comparison.verdict.word(),
                comparison.sentence.split_once(": ").map_or("", |(_, rest)| rest)
            );
            if after < last {
                let (_, analysis) =
                    self.experiment("until-last", &[after, last], FRESH_ROUNDS).await?;
                let row = self.comparison(&analysis, phase)?;
                sentence = format!("{sentence} Up to the last version: {}", row.sentence);
                until_last = Some(row);
            }
            also = self.also(&folder, phase)?;
            for row in self.tapped(phase, [before, after]).await? {
                if also.iter().all(|known| known.what != row.what) {
                    also.push(row);
                }
            }
            sentence = format!("{sentence} {}", changed::sentence(&name_after, &also));
        }
        Ok(Step {
            before: name_before,
            after: name_after,
            confirmed,
            comparison,
            until_last,
            mended_at: None,
            also,
            sentence: sentence.trim_end().to_owned(),
        })
    }

    fn also(&self, folder: &Folder, phase: &str) -> Result<Vec<AlsoRow>> {
        let (_, record) = Folder::open(folder.path())?;
        judge::also(folder, &record, phase, self.metric)
    }

    /// The other changes that a short experiment through the tap shows. Nothing where all went
    /// through it anyway, and where none can stand before the server.
    async fn tapped(&mut self, phase: &str, versions: [usize; 2]) -> Result<Vec<AlsoRow>> {
        let plain = self.run.clone();
        if plain.tap || plain.link.is_some() || plain.server() == "none" {
            return Ok(Vec::new());
        }
        (self.run.tap, self.run.quick) = (true, true);
        let made = self.experiment("tap", &versions, 0).await;
        self.run = plain;
        match made {
            Ok((folder, _)) => self.also(&folder, phase),
            Err(error) if error.exit == Exit::Usage => {
                say!("without the tap: {error}");
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn comparison(&self, analysis: &Analysis, phase: &str) -> Result<ComparisonRow> {
        let is_asked =
            |row: &&ComparisonRow| !row.is_aa && row.phase == phase && row.metric == self.metric;
        let row = analysis.comparisons.iter().find(is_asked);
        row.cloned().ok_or_else(|| nothing("one of the two versions could not be measured"))
    }

    async fn experiment(
        &mut self,
        name: &str,
        versions: &[usize],
        rounds: u32,
    ) -> Result<(Folder, Analysis)> {
        let names: Vec<&str> = versions.iter().map(|at| self.versions[*at].as_str()).collect();
        say!("── {name}: {} ──", names.join(", "));
        let mut run = self.run.clone();
        run.drivers = names.into_iter().map(str::to_owned).collect();
        run.rounds = (!run.quick).then_some(rounds);
        let out = self.folder.join(format!("{:02}-{name}", self.made));
        self.made += 1;
        // On the heap: this future holds the whole experiment.
        let analysis = Box::pin(experiment(&run, &out)).await?.expect("no plan is asked for");
        Ok((Folder::open(&out)?.0, analysis))
    }
}

fn first_phase(analysis: &Analysis) -> Result<String> {
    let phase = analysis.phases.first().map(|phase| phase.phase.clone());
    phase.ok_or_else(|| nothing("no phase was measured"))
}

fn nothing(reason: &str) -> Error {
    Error::new(Exit::RunInvalid, reason, "the reasons stand in the experiments' pages")
}
