//! `mongodyno bisect`: the first version of a driver with another speed.
//!
//! Few versions are measured all at once, and the steps of that scan are confirmed. Of many, three
//! are measured at a time, and the half that holds the step is searched on.

mod kept;
mod search_experiment;
mod unconfirmed_steps;
mod versions;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ask::Ask;
use crate::cli::{BisectArgs, ResumeArgs};
use crate::commands::request_again::{ask_again, programs_again};
use crate::commands::run::experiment;
use crate::commands::run_plan::drawn_seed;
use crate::commands::several_servers;
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use base::paths::new_or_empty;
use base::say;
use base::strings::shell_quoted;
use judge::analysis::changed;
use judge::analysis::types::{AlsoRow, Analysis, ComparisonRow, Metric, SinceRow};
pub use kept::is_one;
use kept::{Answer, BisectRequest, Step};
use measure::arms;
use measure::install::install;
use measure::selection::expand;
use measure::setup::new_id;
use measure::stop::Requests;
use record::folder::Folder;
use record::words::Words;
use report::history;
use search_experiment::{Entry, SearchExperiment, nothing};
use stats::bisection::{Bisect, Next};
use stats::verdict::Verdict;
use unconfirmed_steps::{Pair, pairs};

/// A scan of more versions costs more than a search by halves (section 3.6 of the methodology).
const SCAN_MAX: usize = 30;
const SCAN_ROUNDS: u32 = 8;
/// So few versions are no series: neighbours are compared with each other.
const NEIGHBOURS_MAX: usize = 3;
/// Rounds of the comparison that confirms a step, and of the one of both ends.
const FRESH_ROUNDS: u32 = 20;
/// So many in a row that cannot be measured are no matter of versions.
const IN_A_ROW_MAX: u32 = 10;

/// The first experiment, of few versions and of many.
const FIRST: [&str; 2] = ["00-scan", "00-ends"];

pub async fn run(args: BisectArgs) -> Result<()> {
    search(args.run.ask()?, args.metric).await
}

async fn search(ask: Ask, metric: Metric) -> Result<()> {
    let json = ask.here.json;
    let mut search = Search::new(ask, metric)?;
    search.begin()?;
    let folder = &search.folder.clone();
    let answer = search.answer().await.inspect_err(|_| {
        if FIRST.iter().any(|first| folder.join(first).exists()) {
            say!("to go on with the search: mongodyno resume {}", shell_quoted(&folder.display()));
        }
    })?;
    let written = kept::write(folder, &answer)?;
    if json {
        return super::print(&format!("{written}\n"));
    }
    let said = answer.steps.iter().map(|step| step.sentence.as_str()).chain([&*answer.sentence]);
    let said = said.filter(|sentence| !sentence.is_empty());
    let lines: Vec<&str> = search.bars.iter().map(String::as_str).chain(said).collect();
    super::print(&format!("{}\nexperiments: {}\n", lines.join("\n"), answer.folder))
}

/// Goes on with a search. Its folder is data, as that of an experiment is: versions are read as on
/// a command line, all else as `resume` reads the first experiment.
pub async fn resume(args: &ResumeArgs) -> Result<()> {
    let asked = kept::read(&args.folder)?.asked;
    programs_again(args, &asked.versions)?;
    let first = FIRST.map(|first| args.folder.join(first));
    let Some(first) = first.into_iter().find(|it| it.join("experiment.json").exists()) else {
        let what = format!("{}: nothing is measured yet", args.folder.display());
        return Err(Error::usage(what, "give the same bisect command again"));
    };
    let (_, was) = Folder::open(&first)?;
    let mut ask = ask_again(&ResumeArgs { folder: first, ..args.clone() }, &was)?;
    ask.request.drivers = asked.versions.into_iter().map(Words::new).collect();
    ask.request.seed = asked.seed;
    ask.here.out = Some(args.folder.clone());
    Box::pin(search(ask, asked.metric)).await
}

struct Search {
    ask: Ask,
    metric: Metric,
    folder: PathBuf,
    /// Versions of the [`BisectRequest`], in the order of their releases.
    versions: Vec<String>,
    /// Places of those that cannot be measured.
    lost: BTreeSet<usize>,
    /// Lost versions that never had a round.
    unavailable: Vec<String>,
    /// How many of those were the last ones that were tried.
    in_a_row: u32,
    /// Place of the last version that can be measured.
    last: usize,
    /// The series of the scan, for the terminal.
    bars: Vec<String>,
    /// Experiments made.
    made: u32,
}

impl Search {
    fn new(mut ask: Ask, metric: Metric) -> Result<Self> {
        let Ask { request, here } = &mut ask;
        let others = [
            ("--plan", here.plan),
            ("--sweep", here.sweep.is_some()),
            ("--gate", !request.conduct.gates.is_empty()),
            ("--live", here.live),
        ];
        if let Some((flag, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(Error::usage(format!("bisect takes no {flag}"), "use `mongodyno run`"));
        }
        if several_servers::asked(request)?.len() > 1 {
            return Err(Error::usage(
                format!("--server {}: bisect searches on one server", request.server()?),
                "name one server, and bisect on each",
            ));
        }
        let manifests = discover(here.adapters_dir.as_deref())?;
        let drivers = expand(&manifests, &request.drivers()?, here.offline)?;
        let versions = versions::in_order(arms::choose(&drivers, &manifests)?.0)?;
        let new_folder = || PathBuf::from("mongodyno-results").join(new_id(drawn_seed()));
        let folder = here.out.take().unwrap_or_else(new_folder);
        // The experiments print nothing: their pages are in their folders.
        here.json = true;
        request.drivers = drivers.into_iter().map(Words::new).collect();
        Ok(Self {
            ask,
            metric,
            folder,
            last: versions.len() - 1,
            versions,
            lost: BTreeSet::new(),
            unavailable: Vec::new(),
            in_a_row: 0,
            bars: Vec::new(),
            made: 0,
        })
    }

    /// Writes down what is asked, or finds that it was asked before.
    fn begin(&mut self) -> Result<()> {
        let folder = &self.folder;
        if !is_one(folder) {
            new_or_empty(folder)?;
            fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, &error))?;
            return self.write_down();
        }
        let begun = kept::read(folder)?;
        if begun.asked != self.asked() {
            let what = format!("{} has another search", folder.display());
            return Err(Error::usage(what, "choose another --out"));
        }
        self.unavailable = begun.unavailable;
        let versions = self.versions.iter().enumerate();
        let lost = versions.filter(|(_, version)| self.unavailable.contains(version));
        self.lost = lost.map(|(at, _)| at).collect();
        Ok(())
    }

    fn asked(&self) -> BisectRequest {
        let (metric, versions) = (self.metric, self.versions.clone());
        BisectRequest { metric, versions, seed: self.ask.request.seed }
    }

    fn end(&self, phase: Option<String>, steps: Vec<Step>, sentence: String) -> Answer {
        let (folder, asked) = (self.folder.display().to_string(), self.asked());
        let unavailable = self.unavailable.clone();
        Answer { schema_version: 1, folder, phase, asked, unavailable, steps, sentence }
    }

    /// Before there is an answer.
    fn write_down(&self) -> Result<()> {
        kept::write(&self.folder, &self.end(None, Vec::new(), String::new())).map(drop)
    }

    async fn answer(&mut self) -> Result<Answer> {
        let (phase, pairs, mut sentence) = match self.versions.len() {
            ..=SCAN_MAX => self.scan().await?,
            _ => self.halves().await?,
        };
        let mut steps = Vec::new();
        for pair in pairs {
            steps.push(self.confirm(&phase, &pair).await?);
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

    /// All versions in the same rounds: the steps found, and neighbours that no series holds.
    async fn scan(&mut self) -> Result<(String, Vec<Pair>, String)> {
        let all: Vec<usize> = (0..self.versions.len()).collect();
        let rounds = self.ask.request.rounds.unwrap_or(SCAN_ROUNDS);
        let made = self.experiment("scan", &all, rounds).await?;
        let phase = made.first_phase()?;
        let figure = (phase.as_str(), self.metric);
        let mut entries = made.entries(&all, &self.versions, figure)?;
        entries.retain(Entry::is_measured);
        let (Some(last), 2..) = (entries.last(), entries.len()) else { return Err(too_few()) };
        self.last = last.at;
        self.lost.extend(all.iter().filter(|at| entries.iter().all(|it| it.at != **at)));
        let operation = made.comparison(figure)?.operation;
        let is_asked = |row: &&SinceRow| {
            row.phase == phase && row.metric == self.metric && row.operation == operation
        };
        let rows: Vec<&SinceRow> = made.analysis.since.iter().filter(is_asked).collect();
        let mut alike = entries.chunk_by(|one, next| one.label() == next.label());
        let has_row = |label: &str| rows.iter().any(|row| row.adapter == label);
        if alike.any(|own| own.len() > NEIGHBOURS_MAX && !has_row(&own[0].label())) {
            return Err(nothing("too few rounds have figures of all versions"));
        }
        for row in &rows {
            self.bars.extend(history::bars_of(&made.analysis, row));
            self.bars.push(String::new());
        }
        let said = rows.iter().map(|row| format!("{}: {}", row.adapter, row.sentence));
        let sentence = match rows[..] {
            [row] => row.sentence.clone(),
            _ => said.collect::<Vec<_>>().join(" "),
        };
        let pairs = pairs(&rows, &entries);
        Ok((phase, pairs, sentence))
    }

    /// Both ends, then halves.
    async fn halves(&mut self) -> Result<(String, Vec<Pair>, String)> {
        let (made, good, bad) = self.ends().await?;
        self.last = bad;
        let phase = made.first_phase()?;
        let ends = made.comparison((&phase, self.metric))?;
        if !is_step(&ends) {
            let shown = match ends.verdict {
                Verdict::Same => "The ends do not differ",
                _ => "It is not shown that the ends differ",
            };
            return Ok((phase, Vec::new(), format!("{shown}: {}", ends.sentence)));
        }
        let threshold = (ends.threshold_percent / 100.0).ln_1p();
        let mut search = Bisect::new((good, bad), ends.verdict == Verdict::Slower, threshold);
        loop {
            match search.next() {
                Next::Pair { before, after } => {
                    let pair = Pair { before, after, mended: None, is_found: true };
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
                    let middle = versions[1];
                    let mut costs = Vec::new();
                    if self.installs(middle).await? {
                        let name = format!("step-{}", self.made);
                        let made = self.experiment(&name, &versions, rounds).await?;
                        costs = made.costs(versions, &self.versions, (&phase, self.metric))?;
                    }
                    if costs.is_empty() {
                        self.lose(middle);
                        search.skip(middle);
                    } else {
                        search.add(costs);
                    }
                }
            }
        }
    }

    /// The first and the last version that can be measured, compared with each other.
    async fn ends(&mut self) -> Result<(SearchExperiment, usize, usize)> {
        loop {
            let mut left = (0..self.versions.len()).filter(|at| !self.lost.contains(at));
            let (Some(good), Some(bad)) = (left.next(), left.next_back()) else {
                return Err(too_few());
            };
            let out = self.out("ends");
            let is_new = !out.exists();
            let made = match self.experiment("ends", &[good, bad], FRESH_ROUNDS).await {
                Err(error) if is_new && may_be_of_a_version(&error, &out) => {
                    if self.works(good).await? && self.works(bad).await? {
                        return Err(error);
                    }
                    let _ = fs::remove_dir_all(&out); // of its logs, for the next ends
                    continue;
                }
                made => made?,
            };
            let phase = made.first_phase()?;
            let mut entries = made.entries(&[good, bad], &self.versions, (&phase, self.metric))?;
            entries.retain(|it| !it.is_measured());
            if entries.is_empty() {
                return Ok((made, good, bad));
            }
            for it in &entries {
                self.lose(it.at);
            }
        }
    }

    /// Whether an end can be measured at all, without the other one.
    async fn works(&mut self, at: usize) -> Result<bool> {
        if self.lost.contains(&at) {
            return Ok(false);
        }
        let out = self.out(&format!("try-{at}"));
        say::tell(&format!("trying {}", self.versions[at]));
        let tried = self.make(&out, &[at], 1).await.map(drop);
        self.is_left(at, tried)
    }

    async fn installs(&mut self, at: usize) -> Result<bool> {
        if self.lost.contains(&at) {
            return Ok(false);
        }
        let manifests = discover(self.ask.here.adapters_dir.as_deref())?;
        let arm = arms::parse(&manifests, &self.versions[at])?;
        let mut requests = Requests::watch();
        // On the heap: this future holds the whole installation.
        let made = Box::pin(install(&arm, self.ask.here.offline, &mut requests)).await;
        self.is_left(at, made.map(drop))
    }

    /// Whether a version is left after a try. One that is not is written down: a search that is
    /// resumed takes the same way.
    fn is_left(&mut self, at: usize, tried: Result<()>) -> Result<bool> {
        let Err(error) = tried else { return Ok(true) };
        if error.exit == Exit::Interrupted {
            return Err(error);
        }
        self.unavailable.push(self.versions[at].clone());
        self.write_down()?;
        self.in_a_row += 1;
        if self.in_a_row > IN_A_ROW_MAX {
            return Err(error);
        }
        say!("{}: {error}", self.versions[at]);
        self.lose(at);
        Ok(false)
    }

    fn lose(&mut self, at: usize) {
        if self.lost.insert(at) {
            say!("{} cannot be measured: the search goes on without it", self.versions[at]);
        }
    }

    /// Fresh rounds of both sides of a step, and of its far side against the last version.
    async fn confirm(&mut self, phase: &str, pair: &Pair) -> Result<Step> {
        let (before, after) = (pair.before, pair.after);
        let name = |at: usize| self.versions[at].clone();
        let [name_before, name_after] = [before, after].map(name);
        let gap: Vec<String> =
            (before + 1..after).filter(|at| self.lost.contains(at)).map(name).collect();
        let mended_at = pair.mended.map(name);
        let made = self.experiment("confirm", &[before, after], FRESH_ROUNDS).await?;
        let comparison = made.comparison((phase, self.metric))?;
        let confirmed = is_step(&comparison);
        let (mut until_last, mut also) = (None, Vec::new());
        let unconfirmed = if pair.is_found {
            format!("POSSIBLE CHANGE at {name_after}: not confirmed on fresh rounds.")
        } else {
            format!("No step is shown at {name_after}:")
        };
        let mut sentence = format!("{unconfirmed} {}", comparison.sentence);
        if confirmed {
            let rest = comparison.sentence.split_once(": ").map_or("", |(_, rest)| rest);
            let word = comparison.verdict.word();
            sentence = if gap.is_empty() {
                format!("{word} SINCE {name_after}: {rest}")
            } else {
                format!(
                    "{word} SINCE {name_after} AT THE LATEST: {rest} It began after {name_before} \
                     and no later than {name_after}; {}.",
                    versions::not_measured(&gap)
                )
            };
            if after < self.last {
                let pair = [after, self.last];
                let last = self.experiment("until-last", &pair, FRESH_ROUNDS).await?;
                let row = last.comparison((phase, self.metric))?;
                sentence = format!("{sentence} Up to the last version: {}", row.sentence);
                until_last = Some(row);
            }
            also = made.also((phase, self.metric))?;
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
            not_measured: gap,
            confirmed,
            comparison,
            until_last,
            mended_at,
            also,
            sentence: sentence.trim_end().to_owned(),
        })
    }

    /// The other changes that a short experiment through the tap shows. Nothing where all went
    /// through it anyway, and where the server cannot have one.
    async fn tapped(&mut self, phase: &str, versions: [usize; 2]) -> Result<Vec<AlsoRow>> {
        let plain = self.ask.request.clone();
        if plain.goes_through_the_tap() || plain.server()? == "none" {
            return Ok(Vec::new());
        }
        (self.ask.request.tap, self.ask.request.quick) = (true, true);
        let made = self.experiment("tap", &versions, 0).await;
        self.ask.request = plain;
        match made {
            Ok(made) => made.also((phase, self.metric)),
            Err(error) if error.exit == Exit::Usage => {
                say!("without the tap: {error}");
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    async fn experiment(
        &mut self,
        name: &str,
        versions: &[usize],
        rounds: u32,
    ) -> Result<SearchExperiment> {
        let names: Vec<&str> = versions.iter().map(|at| self.versions[*at].as_str()).collect();
        say::tell(&format!("── {name}: {} ──", names.join(", ")));
        let out = self.out(name);
        let analysis = self.make(&out, versions, rounds).await?;
        // One that could not begin leaves its number to the next.
        self.made += 1;
        self.in_a_row = 0;
        SearchExperiment::open(&out, analysis)
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{:02}-{name}", self.made))
    }

    async fn make(&self, out: &Path, versions: &[usize], rounds: u32) -> Result<Analysis> {
        let mut ask = self.ask.clone();
        let request = &mut ask.request;
        request.drivers = versions.iter().map(|at| Words::new(&self.versions[*at])).collect();
        request.rounds = if request.quick { request.rounds } else { Some(rounds) };
        // On the heap: this future holds the whole experiment.
        let analysis = Box::pin(experiment(&ask, out)).await?;
        Ok(analysis.expect("no plan is asked for"))
    }
}

/// Whether an experiment could not begin because of one of its versions, maybe.
fn may_be_of_a_version(error: &Error, out: &Path) -> bool {
    let exit = matches!(error.exit, Exit::Environment | Exit::RunInvalid);
    exit && !out.join("experiment.json").exists()
}

fn is_step(row: &ComparisonRow) -> bool {
    matches!(row.verdict, Verdict::Slower | Verdict::Faster)
}

fn too_few() -> Error {
    nothing("fewer than two versions could be measured")
}
