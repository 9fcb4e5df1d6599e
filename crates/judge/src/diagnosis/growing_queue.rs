//! A queue grows, or latency does for another reason (methodology 8.2), and where it waits (8.3).

use super::case::{Case, whole};
use crate::analysis::types::Finding;
use format::{figure, time};
use stats::overload::{Growth, Overload};

pub const GROWS: &str = "queue-grows";
pub const GROWS_OTHERWISE: &str = "latency-grows";

/// A part with this share of the growth is the queue's place.
const MOST: f64 = 0.5;
/// A pool is full when so much of it is in use on average.
const POOL_FULL: f64 = 0.9;
/// Service time rises with depth when its growth is at least this share of its median.
const SERVICE_RISES: f64 = 0.2;

/// Medians over rounds.
struct Medians {
    growth: Growth,
    arrivals_per_s: f64,
    completions_per_s: f64,
    slope_us: f64,
    slope_low_us: f64,
    slope_high_us: f64,
    growth_us: f64,
    service_slope_us: f64,
    service_growth_low_us: f64,
    wait_p50_us: f64,
    depth_peak: f64,
    drain_s: f64,
}

impl Medians {
    fn of(case: &Case<'_>) -> Option<Self> {
        Some(Self {
            growth: Growth {
                growth_low_us: case.queue(|it| Some(it.growth_low_us))?,
                service_p50_us: case.queue(|it| Some(it.service_p50_us))?,
                depth_tau: case.queue(|it| it.depth_tau)?,
                depth_p: case.queue(|it| it.depth_p)?,
                capacity_per_s: case.queue(|it| it.capacity_per_s),
                busy_completions_per_s: case.queue(|it| it.busy_completions_per_s),
            },
            arrivals_per_s: case.queue(|it| it.arrivals_per_s)?,
            completions_per_s: case.queue(|it| Some(it.completions_per_s))?,
            slope_us: case.queue(|it| Some(it.slope_us_per_op))?,
            slope_low_us: case.queue(|it| Some(it.slope_low_us_per_op))?,
            slope_high_us: case.queue(|it| Some(it.slope_high_us_per_op))?,
            growth_us: case.queue(|it| Some(it.growth_us))?,
            service_slope_us: case.queue(|it| Some(it.service_slope_us_per_op))?,
            service_growth_low_us: case
                .queue(|it| Some(it.service_slope_low_us_per_op * it.operations as f64))?,
            wait_p50_us: case.queue(|it| Some(it.wait_p50_us))?,
            depth_peak: case.queue(|it| Some(it.depth_peak as f64))?,
            drain_s: case.queue(|it| Some(it.drain_s))?,
        })
    }

    fn service_rises(&self) -> bool {
        self.service_growth_low_us > SERVICE_RISES * self.growth.service_p50_us
    }

    /// Share of the response time's growth that is growth of the wait for a worker.
    fn wait_share(&self) -> f64 {
        1.0 - (self.service_slope_us / self.slope_us).clamp(0.0, 1.0)
    }
}

/// A queue grows. Only in open loops: in a burst everything waits from the start, and in a closed
/// loop nothing can.
pub fn grows(case: &Case<'_>) -> Option<Finding> {
    let medians = Medians::of(case).filter(|it| it.growth.judge() == Overload::QueueGrows)?;
    Some(finding(case, GROWS, &medians, grows_sentence(case, &medians)))
}

/// Latency grows for another reason, in open loops.
pub fn grows_otherwise(case: &Case<'_>) -> Option<Finding> {
    let medians = Medians::of(case).filter(|it| it.growth.judge() == Overload::Otherwise)?;
    Some(finding(case, GROWS_OTHERWISE, &medians, otherwise_sentence(case, &medians)))
}

pub fn grows_at_all(case: &Case<'_>) -> bool {
    Medians::of(case).is_some_and(|it| it.growth.judge() != Overload::None)
}

fn finding(case: &Case<'_>, name: &str, medians: &Medians, sentence: String) -> Finding {
    let growth = &medians.growth;
    let numbers = [
        ("slope_us_per_op", medians.slope_us),
        ("slope_low_us_per_op", medians.slope_low_us),
        ("slope_high_us_per_op", medians.slope_high_us),
        ("rounds", case.measured.len() as f64),
        ("growth_us", medians.growth_us),
        ("growth_low_us", growth.growth_low_us),
        ("arrivals_per_s", medians.arrivals_per_s),
        ("completions_per_s", medians.completions_per_s),
        ("busy_completions_per_s", growth.busy_completions_per_s.unwrap_or(f64::NAN)),
        ("capacity_per_s", growth.capacity_per_s.unwrap_or(f64::NAN)),
        ("service_p50_us", growth.service_p50_us),
        ("service_slope_us_per_op", medians.service_slope_us),
        ("wait_p50_us", medians.wait_p50_us),
        ("depth_peak", medians.depth_peak),
        ("depth_tau", growth.depth_tau),
        ("depth_p", growth.depth_p),
        ("drain_s", medians.drain_s),
    ];
    case.finding(name, sentence, &numbers)
}

fn grows_sentence(case: &Case<'_>, medians: &Medians) -> String {
    let growth = &medians.growth;
    let slope = medians.service_slope_us;
    let service = if !medians.service_rises() {
        // Growth whose interval contains 0 is written as 0.
        let flat = medians.service_growth_low_us <= 0.0 || slope <= 0.0;
        let slope = if flat { "0".to_owned() } else { time(slope) };
        format!(
            "; service time itself is flat ({}, slope {slope}). This is load, not per-op cost.",
            time(growth.service_p50_us)
        )
    } else if medians.wait_share() >= MOST {
        format!(
            ", and each op slows with depth (contention): service time rises {} per message. \
             Sweep the number of workers (--sweep) to see how far.",
            time(slope)
        )
    } else {
        // A queue inside the call lengthens the call; it does not show that an operation costs
        // more.
        format!("; the queue is inside the call: service time rises {} per message.", time(slope))
    };
    let capacity = growth.capacity_per_s.map_or_else(String::new, |capacity| {
        format!(
            " The capacity it implies is {}/s; the queue at the end takes {} to drain.",
            figure(capacity),
            time(medians.drain_s * 1e6)
        )
    });
    format!(
        "QUEUE GROWS: latency rises {} per message because {}/s arrive and {}/s \
         complete{service}{capacity} {}",
        time(medians.slope_us),
        figure(medians.arrivals_per_s),
        figure(medians.completions_per_s),
        place(case, medians)
    )
}

fn otherwise_sentence(case: &Case<'_>, medians: &Medians) -> String {
    let growth = &medians.growth;
    let per_s = |rate: Option<f64>| figure(rate.unwrap_or(f64::NAN));
    format!(
        "LATENCY GROWS, but not from one saturated consumer: it rises {} per message, which would \
         mean a capacity of {}/s, but {}/s complete while operations wait. {}",
        time(medians.slope_us),
        per_s(growth.capacity_per_s),
        per_s(growth.busy_completions_per_s),
        place(case, medians)
    )
}

/// The queue's place, as far as the records show it.
fn place(case: &Case<'_>, medians: &Medians) -> String {
    if medians.wait_share() >= MOST {
        let workers = match case.workers() {
            1.0 => "the only worker".to_owned(),
            workers => format!("one of {} workers", whole(workers)),
        };
        let wait = time(medians.wait_p50_us);
        let inside = tap_shares(case).map_or_else(String::new, |shares| {
            format!(" Of the service time, {} % is server and wire.", percent(shares.server))
        });
        return format!(
            "The queue is in the program before the driver: operations wait {wait} (p50) for \
             {workers}.{inside}"
        );
    }
    if let Some(pool) = case.pool().filter(|pool| *pool < case.workers())
        && let Some(in_flight) = case.tap(|tap| Some(tap.in_flight_mean))
        && in_flight >= POOL_FULL * pool
    {
        return format!(
            "The queue is in the driver's pool: {} workers share {} connections, and {} commands \
             are under way on average.",
            whole(case.workers()),
            whole(pool),
            figure(in_flight)
        );
    }
    match tap_shares(case) {
        None => "It waits inside the driver's call: in its pool, on the wire or in the server; \
                 --tap shows which."
            .to_owned(),
        Some(shares) if shares.link >= MOST => {
            format!("The queue is on the wire: {} % of service time.", percent(shares.link))
        }
        Some(shares) if shares.server >= MOST => format!(
            "The queue is in the server or the wire to it: {} % of service time.",
            percent(shares.server)
        ),
        Some(shares) => format!(
            "The queue is in the driver: {} % of service time is neither server nor wire.",
            percent(1.0 - shares.server - shares.link)
        ),
    }
}

fn percent(share: f64) -> String {
    format::fixed(100.0 * share, 0)
}

/// Shares of service time.
struct Shares {
    server: f64,
    link: f64,
}

fn tap_shares(case: &Case<'_>) -> Option<Shares> {
    let part = |pick: fn(&record::records::Tap) -> f64| {
        case.tap(|tap| {
            let whole = tap.driver_us_per_op? + tap.server_us_per_op + tap.link_us_per_op;
            (whole > 0.0).then(|| pick(tap) / whole)
        })
    };
    Some(Shares {
        server: part(|tap| tap.server_us_per_op)?,
        link: part(|tap| tap.link_us_per_op)?,
    })
}
