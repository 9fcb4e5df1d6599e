//! Installs the arms' environments side by side: a download waits while another one builds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};

use crate::arms::{Arm, number_twins};
use crate::live_block::{LiveBlock, ticking};
use crate::progress::duration;
use crate::stop::Requests;
use crate::system::named;
use adapter::adapter_process::AdapterProcess;
use adapter::driver_choice::DriverSelection;
use adapter::environment::Environment;
use adapter::installation::{Installation, News};
use adapter::manifest::Manifest;
use adapter::protocol::Capabilities;
use base::clock::Epoch;
use base::error::{Error, Exit, Result};
use base::{live, say};
use record::records::{DriverShare, Unavailable};
use record::unavailable::not_measured;
use workload::plan::Plan;

/// Characters of an installer's last line that the live line shows.
const SAID_CHARACTERS: usize = 48;

#[derive(Debug, Clone)]
pub struct Installed {
    /// Arms by id, without the A/A arm; the first is the baseline.
    pub arms: Vec<(String, Environment)>,
    /// Their words after `-d`.
    pub words: Vec<String>,
    /// Reads the messages of phases with a consumer: the one asked for, then the one chosen.
    pub consumer: Option<(String, Environment)>,
}

impl Installed {
    /// Leaves the arms whose ids are kept.
    pub fn retain(&mut self, kept: impl Fn(&str) -> bool) {
        let arms = std::mem::take(&mut self.arms).into_iter().zip(std::mem::take(&mut self.words));
        (self.arms, self.words) = arms.filter(|((id, _), _)| kept(id)).unzip();
    }

    /// What some arms have to themselves, by their ids.
    pub fn shares(
        &self,
        by_driver: &BTreeMap<String, DriverShare>,
    ) -> BTreeMap<String, DriverShare> {
        let own = self.arms.iter().zip(&self.words);
        let own = own.filter_map(|((id, _), words)| Some((id.clone(), by_driver.get(words)?)));
        own.map(|(id, share)| (id, share.clone())).collect()
    }

    /// The adapter that reads the plan's messages: the one asked for; the arms' own, or where none
    /// of those reads them, another one that is installed. Of several, the one that needs the least
    /// time for each message. None where no arm has to.
    ///
    /// # Errors
    /// The one asked for cannot; none that is installed can.
    pub async fn choose_consumer(
        &self,
        manifests: &[Manifest],
        plan: &Plan,
    ) -> Result<Option<(String, Environment)>> {
        if !plan.phases.iter().any(|phase| phase.consumer) {
            return Ok(None);
        }
        let streams = plan.phases.iter().any(|phase| phase.change_stream);
        let what = if streams { "change streams" } else { "messages" };
        let hint = "name one that can with --consumer NAME";
        if let Some(asked) = &self.consumer {
            let able = fastest_reader(slice::from_ref(asked), streams).await;
            let message = format!("--consumer {}: its adapter cannot read {what}", asked.0);
            return able.map(Some).ok_or_else(|| Error::usage(message, hint));
        }
        if let Some(able) = fastest_reader(&self.arms, streams).await {
            return Ok(Some(able));
        }
        // The others are not installed for that: who reads would be known minutes later.
        let able = fastest_reader(&ready(manifests).await, streams).await;
        let message = format!("no adapter that is installed can read {what}");
        able.map(Some).ok_or_else(|| Error::usage(message, hint))
    }
}

/// The word of an adapter that reads change streams (SPEC section 9).
const STREAMS: &str = "change_stream";

/// None where none of them reads messages, or change streams.
async fn fastest_reader(
    candidates: &[(String, Environment)],
    streams: bool,
) -> Option<(String, Environment)> {
    let mut able = Vec::new();
    for (place, (_, environment)) in candidates.iter().enumerate() {
        let log = Path::new("/dev/null"); // what is wrong with it is said when it is measured
        let Ok(process) = AdapterProcess::start(environment, log, &Epoch::start()).await else {
            continue;
        };
        let declared = process.hello.as_ref().map(|hello| &hello.capabilities);
        let reads = |it: &&Capabilities| !streams || it.extras.iter().any(|it| it == STREAMS);
        let cost_ns = declared.filter(reads).and_then(|it| it.consumer_ns);
        able.extend(cost_ns.map(|cost_ns| (cost_ns, place)));
        let _ = process.close().await;
    }
    able.into_iter().min().map(|(_, place)| candidates[place].clone())
}

/// The adapters that are installed, each in its default version.
async fn ready(manifests: &[Manifest]) -> Vec<(String, Environment)> {
    let asked = DriverSelection::default();
    let able = manifests.iter().filter(|it| it.probe().is_ok());
    let plans: Vec<Installation<'_>> = able
        .filter_map(|it| Installation::of(it, &asked).ok())
        .filter(Installation::is_ready)
        .collect();
    join_all(plans.iter().map(named)).await.into_iter().flatten().collect()
}

/// How environments are installed.
#[derive(Debug, Clone, Copy)]
pub struct How {
    pub wanted: Wanted,
    /// Nothing is installed.
    pub offline: bool,
}

/// Arms that have to work; others that fail are named and left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// Two, or the only one: less is no comparison. How searches and studies install.
    Compared,
    /// One at least, of those that were named: it is measured alone.
    Alone,
    /// One at least, of all that the machine can run.
    One,
}

impl Wanted {
    /// How searches and studies install.
    pub fn of(by_name: bool) -> Self {
        if by_name { Self::Compared } else { Self::One }
    }

    fn are_left(self, left: usize, asked: usize) -> bool {
        let least = match self {
            Self::All => asked,
            Self::Compared => asked.min(2),
            Self::Alone | Self::One => 1,
        };
        left >= least
    }

    /// Names the arms that are left out, and the baseline where it is another one now. `lost` has
    /// their places among the words that were asked for.
    ///
    /// # Errors
    /// Too few are left.
    pub fn leave_out(
        self,
        asked: &[&str],
        mut lost: Vec<(usize, Error)>,
        left: &[(String, Environment)],
        tell: impl Fn(&str),
    ) -> Result<Vec<Unavailable>> {
        if !self.are_left(left.len(), asked.len()) && !lost.is_empty() {
            // One error ends the verb. The others are told as well.
            for (place, error) in lost.drain(1..) {
                tell(&format!("{}: {error}", asked[place]));
            }
            return Err(lost.remove(0).1);
        }
        if let [(id, _)] = left
            && !lost.is_empty()
        {
            tell(&format!("{id} is measured alone: nothing else is left to compare it with"));
        }
        let first_lost = lost.first().is_some_and(|(place, _)| *place == 0);
        let mut unavailable = Vec::new();
        for (place, error) in lost {
            let unasked = self == Self::One && error.exit == Exit::Environment;
            if !unasked {
                tell(&format!("{}: left out, {error}", asked[place]));
            }
            let Error { message: reason, hint, .. } = error;
            let adapter = asked[place].to_owned();
            unavailable.push(Unavailable { adapter, reason, hint, unasked });
        }
        let unasked = unavailable.iter().filter(|it| it.unasked).map(|it| it.adapter.as_str());
        if let Some(line) = not_measured(&unasked.collect::<Vec<_>>()) {
            tell(&line);
        }
        if first_lost {
            tell(&format!("the baseline is {}", left[0].0));
        }
        Ok(unavailable)
    }
}

/// Installs the arms and the consumer.
///
/// # Errors
/// The consumer or too many arms failed to install; interrupted.
pub async fn install_all(
    arms: &[Arm<'_>],
    consumer: Option<&Arm<'_>>,
    how: How,
    unavailable: &mut Vec<Unavailable>,
    requests: &mut Requests,
) -> Result<Installed> {
    let (planned, consumer) = plan_all(arms, consumer, how)?;
    let failed = side_by_side(planned.iter().flatten().chain(&consumer), requests).await?;
    let made = async |plan: &Installation<'_>| match failed.get(plan.folder()) {
        None => Box::pin(named(plan)).await, // a process of the adapter is in it
        Some(error) => Err(error.clone()),
    };
    let consumer = match &consumer {
        Some(plan) => Some(requests.or(made(plan)).await??),
        None => None,
    };
    let (mut installed, mut words) = (Vec::new(), Vec::new());
    let mut lost = Vec::new();
    for (place, (arm, plan)) in arms.iter().zip(planned).enumerate() {
        let one = match plan {
            Ok(plan) => requests.or(made(&plan)).await?,
            Err(error) => Err(error),
        };
        match one {
            Ok(named) => {
                installed.push(named);
                words.push(arm.words.clone());
            }
            Err(error) => lost.push((place, error)),
        }
    }
    let asked: Vec<&str> = arms.iter().map(|arm| arm.words.as_str()).collect();
    let left_out = how.wanted.leave_out(&asked, lost, &installed, |line| say!("{line}"))?;
    unavailable.extend(left_out);
    number_twins(installed.iter_mut().map(|(id, _)| id));
    Ok(Installed { arms: installed, words, consumer })
}

/// Says what is wrong with arms and consumer, as far as that is known before anything is installed.
///
/// # Errors
/// As [`install_all`] would have them.
pub fn check(arms: &[Arm<'_>], consumer: Option<&Arm<'_>>, how: How) -> Result<()> {
    plan_all(arms, consumer, how).map(drop)
}

type Planned<'a> = (Vec<Result<Installation<'a>>>, Option<Installation<'a>>);

fn plan_all<'a>(
    arms: &'a [Arm<'_>],
    consumer: Option<&'a Arm<'_>>,
    how: How,
) -> Result<Planned<'a>> {
    let consumer = consumer.map(plan).transpose()?;
    let mut planned = Vec::new();
    for arm in arms {
        match plan(arm) {
            Err(error) if how.wanted == Wanted::All => return Err(error),
            plan => planned.push(plan),
        }
    }
    let able = planned.iter().flatten().count();
    if how.wanted != Wanted::One && !how.wanted.are_left(able, arms.len()) {
        // Before minutes of installing the others.
        let error = planned.into_iter().find_map(Result::err);
        return Err(error.expect("one is not able"));
    }
    if how.offline {
        // Adapters that were not asked for by name are left out.
        for plan in planned.iter_mut().filter(|_| how.wanted == Wanted::One) {
            let missing = plan.as_ref().ok().and_then(|it| are_there(iter::once(it)).err());
            if let Some(missing) = missing {
                *plan = Err(missing);
            }
        }
        are_there(planned.iter().flatten().chain(&consumer))?;
    }
    Ok((planned, consumer))
}

fn plan<'a>(arm: &'a Arm<'_>) -> Result<Installation<'a>> {
    let plan = Installation::of(arm.manifest, &arm.asked)?;
    plan.say_unasked();
    Ok(plan)
}

pub async fn install(arm: &Arm<'_>, offline: bool, requests: &mut Requests) -> Result<Environment> {
    let arms = slice::from_ref(arm);
    let how = How { wanted: Wanted::All, offline };
    let mut installed = install_all(arms, None, how, &mut Vec::new(), requests).await?;
    Ok(installed.arms.remove(0).1)
}

/// Names all that would have to be installed with `--offline`.
fn are_there<'a>(planned: impl Iterator<Item = &'a Installation<'a>>) -> Result<()> {
    let mut missing: Vec<String> =
        planned.filter(|it| !it.is_ready()).map(Installation::id).collect();
    missing.dedup();
    let Some(first) = missing.first() else { return Ok(()) };
    let brings = if missing.len() == 1 { "it" } else { "the first of them" };
    Err(Error::environment(
        format!("--offline: {} not installed on this machine", missing.join(", ")),
        format!(
            "`mongodyno adapters install {first}` brings {brings}; a changed adapter or toolchain \
             wants that again"
        ),
    ))
}

/// Installations that run side by side on fewer cores: they wait for a network as well.
const TOGETHER_MIN: usize = 4;

/// Makes incomplete environments, each folder once. Returns the reasons of failures.
async fn side_by_side<'a>(
    planned: impl Iterator<Item = &'a Installation<'a>>,
    requests: &mut Requests,
) -> Result<BTreeMap<PathBuf, Error>> {
    let missing: BTreeMap<&Path, &Installation<'_>> =
        planned.filter(|it| !it.is_ready()).map(|it| (it.folder(), it)).collect();
    if missing.is_empty() {
        return Ok(BTreeMap::new());
    }
    let board = Board::new(missing.values().map(|it| it.id()).collect());
    let make = async |number: usize, it: &Installation<'_>| {
        board.begins(number);
        let made = it.run(|news| board.hears(number, news)).await;
        board.ends(number, made.is_ok());
        made.err().map(|error| (it.folder().to_owned(), error))
    };
    // A compiler or a package manager each: all versions of a history at once take all memory.
    let most = std::thread::available_parallelism().map_or(1, usize::from).max(TOGETHER_MIN);
    let work = missing.values().enumerate().map(|(number, it)| make(number, it));
    let work = stream::iter(work).buffer_unordered(most);
    let work = ticking(work.collect::<Vec<_>>(), || board.show());
    let mut made = requests.or(work).await;
    if let Err(error) = &mut made {
        "the same command goes on with what is installed".clone_into(&mut error.hint);
    }
    made.map(|made| made.into_iter().flatten().collect())
}

/// Shows which adapters are being installed.
struct Board {
    block: LiveBlock,
    began: Instant,
    each: RefCell<Vec<Each>>,
}

struct Each {
    id: String,
    /// The last line of its installer.
    said: String,
    ended: bool,
}

impl Board {
    fn new(ids: Vec<String>) -> Self {
        let each = ids.into_iter().map(|id| Each { id, said: String::new(), ended: false });
        Self { block: LiveBlock::new(), began: Instant::now(), each: RefCell::new(each.collect()) }
    }

    fn begins(&self, number: usize) {
        if live::screen().is_none() {
            say::tell(&format!("installing {}", self.each.borrow()[number].id));
        }
        self.show();
    }

    fn hears(&self, number: usize, news: News<'_>) {
        match news {
            News::Waiting => {
                let id = &self.each.borrow()[number].id;
                say::tell(&format!("another mongodyno is installing {id}; waiting for it"));
            }
            News::Said(line) => {
                // A tool that counts on one line goes back to its beginning.
                let last = line.trim_end().rsplit('\r').next().unwrap_or_default().trim();
                if last.is_empty() {
                    return;
                }
                let last = last.chars().take(SAID_CHARACTERS).collect();
                self.each.borrow_mut()[number].said = last;
            }
        }
        self.show();
    }

    fn ends(&self, number: usize, made: bool) {
        self.each.borrow_mut()[number].ended = true;
        let each = self.each.borrow();
        let ended = each.iter().filter(|it| it.ended).count();
        say::tell(&format!(
            "{} {} after {} ({ended} of {})",
            each[number].id,
            if made { "is installed" } else { "could not be installed" },
            duration(self.began.elapsed()),
            each.len()
        ));
        if ended == each.len() { live::clear() } else { self.show() }
    }

    fn show(&self) {
        if live::screen().is_some() {
            let words = || words(&self.each.borrow(), self.began.elapsed());
            self.block.show(|_| vec![words()], words);
        }
    }
}

fn words(each: &[Each], after: Duration) -> String {
    let left: Vec<String> = each
        .iter()
        .filter(|it| !it.ended)
        .map(|it| match it.said.as_str() {
            "" => it.id.clone(),
            said => format!("{} ({said})", it.id),
        })
        .collect();
    format!(
        "installing, {} of {} done after {}: {}",
        each.len() - left.len(),
        each.len(),
        duration(after),
        left.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_says_who_is_left_and_how_far_each_is() {
        let each =
            |id: &str, said: &str, ended| Each { id: id.to_owned(), said: said.to_owned(), ended };
        let board = [
            each("go@2.9.3", "", false),
            each("python@4.20.0", "Successfully installed", true),
            each("rust@3.9.1", "Compiling mongodb v3.9.1", false),
        ];
        assert_eq!(
            words(&board, Duration::from_secs(20)),
            "installing, 1 of 3 done after 20 s: go@2.9.3, rust@3.9.1 (Compiling mongodb v3.9.1)"
        );
    }
}
