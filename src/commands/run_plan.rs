//! What a `run` comes to by its command line, before anything is installed or started.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cli::RunArgs;
use crate::commands::limits::limits;
use crate::commands::settings::asked;
use adapter::manifest::Manifest;
use base::error::{Error, Result};
use base::secrets::mask_hosts;
use base::words::nearest;
use measure::arms::{self, Arm};
use measure::resume::Resumed;
use measure::selection::expand;
use measure::settings::{self, Estimate};
use measure::setup::Limits;
use measure::unacknowledged;
use record::records::{Settings, Unavailable};
use server::ServerChoice;
use server::uri::{self, with_arm_options, with_options};
use tap::link::LinkSpec;
use workload::plan::{Limit, Plan};
use workload::{Workload, builtin};

pub type Sets = BTreeMap<String, String>;

/// An experiment that a command line asks for.
pub struct RunPlan<'a> {
    /// With the hosts of the workload, where the command line names no server.
    pub args: RunArgs,
    /// Load and faults.
    pub absorber_words: Vec<String>,
    /// `--option`.
    pub options: Sets,
    pub workload: Workload,
    pub limits: Limits,
    pub arms: Vec<Arm<'a>>,
    pub unavailable: Vec<Unavailable>,
    /// Arms that repeat the baseline.
    pub twins: usize,
    pub settings: Settings,
    pub serverless: bool,
    pub estimate: Estimate,
}

impl<'a> RunPlan<'a> {
    /// `judged`: with an A/A arm and verdicts. What is gone on with, `was`, keeps its blocks.
    ///
    /// # Errors
    /// A slip of the keyboard; a workload or an arm that is wrong.
    pub fn new(
        args: &RunArgs,
        sets: &Sets,
        manifests: &'a [Manifest],
        judged: bool,
        was: Option<&Resumed>,
    ) -> Result<Self> {
        let absorber_words = absorber_words(args)?;
        args.link.as_deref().map(LinkSpec::parse).transpose()?;
        let options = uri_options(args)?;
        let seed = args.seed.unwrap_or_else(drawn_seed);
        let mut workload = builtin::open(&args.workload, sets, seed)?;
        // They are recorded; what they made of the documents stays.
        mask_hosts(workload.plan.parameters.values_mut().chain([&mut workload.plan.why]));
        let args = with_hosts(args, &workload);
        let limits = limits(&args)?;
        select_phases(&mut workload, &args)?;
        let drivers = expand(manifests, &args.drivers, args.registry.offline)?;
        let (arms, unavailable) = arms::choose(&drivers, manifests)?;
        workload.fit(arms::processes(&workload.plan, &arms));
        // The A/A arm repeats the baseline, and so does the arm that goes past the tap.
        let twins = if judged { 1 + usize::from(args.tap || args.link.is_some()) } else { 0 };
        let unanswered = unanswered(&args, &workload.plan, &arms)?;
        let (plan, all) = (&mut workload.plan, (&arms[..], twins));
        let settings = asked(&args, plan, all, &limits, seed, unanswered.as_deref(), was)?;
        let serverless = is_serverless(&args, &workload.plan)?;
        check_server(&args)?;
        let profiles: Vec<f64> = arms.iter().map(|arm| arm.manifest.warmup_s).collect();
        // The baseline is in each block.
        let again = settings.blocks.as_ref().map_or(0, |blocks| blocks.count as usize - 1);
        let profiles = [&profiles[..], &vec![profiles[0]; twins + again]].concat();
        let (plan, measured_s) = (&workload.plan, settings.measured_s);
        let interleave = &settings.interleave;
        let estimate = settings::estimate(plan, interleave, &profiles, args.quick, measured_s);
        Ok(Self {
            args,
            absorber_words,
            options,
            workload,
            limits,
            arms,
            unavailable,
            twins,
            settings,
            serverless,
            estimate,
        })
    }

    /// Time to the first look.
    pub fn until_look(&self) -> Duration {
        self.estimate.round * self.settings.looks.first_rounds()
    }

    /// Arms that live at one time, where they take turns.
    pub fn together(&self) -> usize {
        let blocks = self.settings.blocks.as_ref();
        blocks.map_or(self.arms.len() + self.twins, |blocks| blocks.arms_max as usize)
    }
}

/// Load and faults, which only an absorber takes.
fn absorber_words(args: &RunArgs) -> Result<Vec<String>> {
    let words = [args.load.to_words(), args.faults.to_words()].concat();
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    match words.first() {
        Some(word) if args.server() != "absorber" || args.at.uri.is_some() => Err(Error::usage(
            format!("{}: only an absorber can be told how to behave", name(word)),
            "add --server absorber",
        )),
        _ => Ok(words),
    }
}

/// `--option`, which drivers would ignore where it is misspelt, or where the URI has it too.
fn uri_options(args: &RunArgs) -> Result<Sets> {
    let options = pairs(&args.options, "--option")?;
    for name in options.keys() {
        if let Err(near) = uri::check_option(name) {
            let hint = near.map_or_else(
                || "an adapter's own option stands behind its arm: -d NAME/KEY=VALUE".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            let message = format!("--option {name}: connection strings have no such option");
            return Err(Error::usage(message, hint));
        }
        if args.at.uri.as_ref().is_some_and(|uri| uri::has_option(uri, name)) {
            return Err(Error::usage(
                format!("--option {name}: the connection string sets it too, and would win"),
                "take it out of one of them",
            ));
        }
    }
    Ok(options)
}

/// With the hosts of the workload, where the command line names no server.
fn with_hosts(args: &RunArgs, workload: &Workload) -> RunArgs {
    let mut args = args.clone();
    if args.hosts.is_empty() && args.at.uri.is_none() && args.server.is_none() {
        args.hosts.clone_from(&workload.hosts);
    }
    args
}

/// The phases that were asked for; those of the quick form are fewer and shorter.
fn select_phases(workload: &mut Workload, args: &RunArgs) -> Result<()> {
    let plan = &mut workload.plan;
    let phases = &mut plan.phases;
    for name in &args.phases {
        if !phases.iter().any(|phase| &phase.name == name) {
            let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("name one of {}", names.join(", ")),
            };
            let message = format!("--phase {name}: the workload has no such phase");
            return Err(Error::usage(message, hint));
        }
    }
    if !args.phases.is_empty() {
        phases.retain(|phase| args.phases.contains(&phase.name));
    }
    if args.quick {
        // A story that is cut answers nothing.
        let last = phases.len().min(settings::QUICK_PHASES_MAX) - 1;
        let end = plan.story(last).end;
        plan.phases.truncate(end);
        for phase in &mut plan.phases {
            if let Limit::Duration { seconds: Some(seconds) } = &mut phase.limit {
                *seconds = seconds.min(settings::QUICK_MEASURED_S);
            }
        }
    }
    Ok(())
}

/// The first arm whose connection string asks for no answers to its writes.
fn unanswered(args: &RunArgs, plan: &Plan, arms: &[Arm<'_>]) -> Result<Option<String>> {
    let uri = args.at.uri.as_deref().unwrap_or("mongodb://localhost/");
    let mut options = plan.uri_options.clone();
    options.extend(pairs(&args.options, "--option")?);
    let uri = with_options(uri, &options);
    let first = arms
        .iter()
        .find(|arm| unacknowledged::by_options(&with_arm_options(&uri, &arm.asked.uri_options)));
    Ok(first.map(|arm| arm.words.clone()))
}

fn is_serverless(args: &RunArgs, plan: &Plan) -> Result<bool> {
    let serverless = args.server() == "none" && args.at.uri.is_none();
    if serverless && !plan.needs_no_server() {
        return Err(Error::usage(
            format!("--server none: the workload {} needs a server", plan.workload),
            "only `noop` phases run without a server: \
             `mongodyno run ping --phase noop --server none`",
        ));
    }
    Ok(serverless)
}

/// Refuses words for a server that name none, before anything is planned for it.
fn check_server(args: &RunArgs) -> Result<()> {
    if !args.hosts.is_empty() {
        return ServerChoice::hosts(&args.hosts).map(drop);
    }
    let mut servers = args.server().split(',').map(str::trim).filter(|it| *it != "none");
    servers.try_for_each(|it| ServerChoice::parse(it, args.at.uri.as_deref()).map(drop))
}

/// `NAME=VALUE` words of a flag.
pub fn pairs(words: &[String], flag: &str) -> Result<Sets> {
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Error::usage(format!("{flag} {word} has no `=`"), format!("write {flag} name=value"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

/// A seed that was not asked for.
pub fn drawn_seed() -> u64 {
    // The clock is enough: the seed has to be recorded, not to be secret. 32 bits are easily typed.
    base::clock::since_1970().as_nanos() as u64 & 0xffff_ffff
}
