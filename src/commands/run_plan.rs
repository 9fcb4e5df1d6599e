//! What a request comes to, before anything is installed or started.

use std::collections::BTreeMap;

use crate::ask::Ask;
use crate::commands::requested_limits::limits;
use crate::commands::requested_settings::asked;
use adapter::manifest::Manifest;
use base::error::{Error, Result};
use base::secrets::mask_hosts;
use base::strings::nearest;
use measure::arms::{self, Arm};
use measure::resume::Resumed;
use measure::selection::expand;
use measure::settings;
use measure::setup::Planned;
use measure::unacknowledged;
use record::request::Request;
use record::words::Words;
use server::ServerChoice;
use server::connection_string::{self, with_arm_options, with_options};
use tap::link::LinkSpec;
use workload::plan::{Limit, Plan};
use workload::{Workload, builtin};

/// An experiment that is asked for.
pub struct RunPlan<'a> {
    /// The request, with the hosts of the workload where it names no server.
    pub ask: Ask,
    pub planned: Planned,
    pub arms: Vec<Arm<'a>>,
    /// Arms that repeat the baseline.
    pub twins: usize,
    pub serverless: bool,
}

impl<'a> RunPlan<'a> {
    /// What is gone on with, `was`, keeps its blocks.
    ///
    /// # Errors
    /// A slip of the keyboard; a workload or an arm that is wrong.
    pub fn new(ask: &Ask, manifests: &'a [Manifest], was: Option<&Resumed>) -> Result<Self> {
        check_absorber(&ask.request)?;
        ask.request.link.as_deref().map(LinkSpec::parse).transpose()?;
        let options = uri_options(&ask.request)?;
        let seed = ask.request.seed.unwrap_or_else(drawn_seed);
        let name = ask.request.workload.get()?;
        let mut workload = builtin::open(name, &ask.request.parameters, seed)?;
        // They are recorded; what they made of the documents stays.
        mask_hosts(workload.plan.parameters.values_mut().chain([&mut workload.plan.why]));
        let ask = with_hosts(ask, &workload);
        let request = &ask.request;
        let client_memory = limits(request)?;
        select_phases(&mut workload, request)?;
        let drivers = expand(manifests, &request.drivers()?, ask.here.offline)?;
        let (arms, unavailable) = arms::choose(&drivers, manifests)?;
        workload.fit(arms::processes(&workload.plan, &arms));
        // The A/A arm repeats the baseline, and so does the arm that goes past the tap.
        let twins = if request.conduct.figures_only {
            0
        } else {
            1 + usize::from(request.goes_through_the_tap())
        };
        let unanswered = unanswered(request, &options, &workload.plan, &arms)?;
        let (plan, all) = (&mut workload.plan, (&arms[..], twins));
        let (memory, unanswered) = (client_memory.as_ref(), unanswered.as_deref());
        let settings = asked(request, plan, all, memory, seed, unanswered, was)?;
        let serverless = is_serverless(request, &workload.plan)?;
        check_server(request)?;
        let profile = |arm: &Arm<'_>| {
            let share = request.by_driver.get(&arm.words);
            (arm.manifest.warmup_s, share.and_then(|share| share.phases.as_ref()))
        };
        let profiles: Vec<_> = arms.iter().map(profile).collect();
        // The baseline is in each block.
        let again = settings.blocks.as_ref().map_or(0, |blocks| blocks.count as usize - 1);
        let profiles = [&profiles[..], &vec![profiles[0]; twins + again]].concat();
        let (plan, measured_s) = (&workload.plan, settings.measured_s);
        let interleave = &settings.interleave;
        let estimate = settings::estimate(plan, interleave, &profiles, request.quick, measured_s);
        let planned = Planned { workload, settings, unavailable, client_memory, estimate };
        Ok(Self { ask, planned, arms, twins, serverless })
    }

    /// Arms that live at one time, where they take turns.
    pub fn together(&self) -> usize {
        let blocks = self.planned.settings.blocks.as_ref();
        blocks.map_or(self.arms.len() + self.twins, |blocks| blocks.arms_max as usize)
    }
}

/// Load and faults, which only an absorber takes.
fn check_absorber(request: &Request) -> Result<()> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    match request.absorber.first() {
        Some(word) if request.server()? != "absorber" || request.uri.is_some() => {
            Err(Error::usage(
                format!("{}: only an absorber has a load and faults", name(word)),
                "add --server absorber",
            ))
        }
        _ => Ok(()),
    }
}

/// `--option`, which drivers would ignore where it is misspelt, or where the URI has it too.
fn uri_options(request: &Request) -> Result<BTreeMap<String, String>> {
    let (options, uri) = (request.options()?, request.uri()?);
    for name in options.keys() {
        if let Err(near) = connection_string::check_option(name) {
            let hint = near.map_or_else(
                || "write an option of an adapter after its name: -d NAME/KEY=VALUE".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            let message = format!("--option {name}: connection strings have no such option");
            return Err(Error::usage(message, hint));
        }
        if uri.is_some_and(|uri| connection_string::has_option(uri, name)) {
            return Err(Error::usage(
                format!("--option {name}: the connection string sets it too, and would win"),
                "take it out of one of them",
            ));
        }
    }
    Ok(options)
}

/// The request, with the hosts of the workload where it names no server.
fn with_hosts(ask: &Ask, workload: &Workload) -> Ask {
    let mut ask = ask.clone();
    let request = &mut ask.request;
    if request.hosts.is_empty() && request.uri.is_none() && request.server.is_none() {
        request.hosts = workload.hosts.iter().map(Words::new).collect();
    }
    ask
}

/// The phases that were asked for; those of the quick form are fewer and shorter.
fn select_phases(workload: &mut Workload, request: &Request) -> Result<()> {
    let plan = &mut workload.plan;
    let phases = &mut plan.phases;
    for name in &request.phases {
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
    if !request.phases.is_empty() {
        phases.retain(|phase| request.phases.contains(&phase.name));
    }
    if request.quick {
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
fn unanswered(
    request: &Request,
    options: &BTreeMap<String, String>,
    plan: &Plan,
    arms: &[Arm<'_>],
) -> Result<Option<String>> {
    let uri = request.uri()?.unwrap_or("mongodb://localhost/");
    let mut all = plan.uri_options.clone();
    all.extend(options.clone());
    let uri = with_options(uri, &all);
    let first = arms
        .iter()
        .find(|arm| unacknowledged::by_options(&with_arm_options(&uri, &arm.asked.uri_options)));
    Ok(first.map(|arm| arm.words.clone()))
}

fn is_serverless(request: &Request, plan: &Plan) -> Result<bool> {
    let serverless = request.server()? == "none" && request.uri.is_none();
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
fn check_server(request: &Request) -> Result<()> {
    if !request.hosts.is_empty() {
        return ServerChoice::hosts(&request.hosts()?).map(drop);
    }
    let (server, uri) = (request.server()?, request.uri()?);
    let mut servers = server.split(',').map(str::trim).filter(|server| *server != "none");
    servers.try_for_each(|server| ServerChoice::parse(server, uri).map(drop))
}

/// A seed that was not asked for.
pub fn drawn_seed() -> u64 {
    // The clock is enough: the seed has to be recorded, not to be secret. 32 bits are easily typed.
    base::clock::since_1970().as_nanos() as u64 & 0xffff_ffff
}
