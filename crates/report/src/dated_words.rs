//! Experiments over time in words.

use base::say::clean;
use judge::over_time::{FigureLine, LineStep, OnMachine, RequestOverTime};
use stats::line_steps::EXPERIMENTS_MIN;

/// What every reader of lines over time has to know.
pub const CAUTION: &str = "Days differ, and the machine with them: a step says since when a figure \
    is another, not why. Run both versions in one experiment for a verdict on a version.";

/// `crud, 15 experiments from 2026-11-01 to 2026-11-15`.
pub fn title(request: &RequestOverTime) -> String {
    let dates = || request.machines.iter().flat_map(|it| &it.experiments).map(|it| &it.started_at);
    let count = dates().count();
    let day = |at: Option<&String>| at.map_or("", |at| at.get(..10).unwrap_or(at)).to_owned();
    let (first, last) = (day(dates().min()), day(dates().max()));
    clean(&format!(
        "{}, {} from {first} to {last}",
        request.workload,
        format::counted(count as u64, "experiment")
    ))
}

/// What to know of a request before its lines.
pub fn cautions(request: &RequestOverTime) -> Vec<String> {
    let mut cautions = Vec::new();
    if !request.differs_in.is_empty() {
        cautions.push(format!(
            "another request than the first one of this history: it differs in {}",
            request.differs_in.join(", ")
        ));
    }
    let moves = request.moves.iter().map(|it| {
        format!(
            "{}: another machine or kernel ({} -> {}); no verdict is given across it",
            it.date, it.before, it.after
        )
    });
    cautions.extend(moves);
    cautions.push(CAUTION.to_owned());
    cautions.iter().map(|it| clean(it)).collect()
}

/// `python, insert_one: throughput`.
pub fn name(line: &FigureLine) -> String {
    let mut place = format!("{}, {}", line.arm, line.phase);
    if line.operation != line.phase && line.metric.is_of_operation() {
        place = format!("{place}, {}", line.operation);
    }
    clean(&format!("{place}: {}", line.metric.definition().label))
}

/// The steps of a line, a sentence each.
pub fn sentences(line: &FigureLine, on: &OnMachine) -> Vec<String> {
    line.steps.iter().map(|step| clean(&sentence(line, step, on))).collect()
}

/// `since 2026-11-14: 6 % slower against go (6 experiments compared with 9 before; p =
/// 0.0004), together with driver 6.4.0 -> 6.5.0`.
fn sentence(line: &FigureLine, step: &LineStep, on: &OnMachine) -> String {
    let date = &on.experiments[step.at].date;
    let slower = step.change_percent > 0.0;
    let side = match (line.metric.is_amount(), slower) {
        (true, true) => "more",
        (true, false) => "less",
        (false, true) => "slower",
        (false, false) => "faster",
    };
    let size = format::fixed(step.change_percent.abs(), 0);
    let against = line.relative_to.as_ref().map(|it| format!(" against {it}"));
    let against = against.unwrap_or_default();
    if let Some((who, by)) = &step.moved_as_well {
        return format!(
            "NO VERDICT since {date}: {size} % {side}{against}, but {who} moved by {} % as well",
            format::signed(*by, 0)
        );
    }
    let (before, behind) = step.experiments;
    let together: Vec<String> = step
        .together_with
        .iter()
        .map(|it| format!("{} {} -> {}", it.what, it.before, it.after))
        .collect();
    let together = match &together[..] {
        [] => "; nothing else that is recorded changed".to_owned(),
        all => format!(", together with {}", all.join(", ")),
    };
    let back = step.taken_back_at.map(|at| &on.experiments[at].date);
    let back = back.map(|date| format!("; taken back since {date}"));
    format!(
        "since {date}: {size} % {side}{against} ({} compared with {before} before; p = \
         {}){together}{}",
        format::counted(behind as u64, "experiment"),
        format::trimmed(step.p_value, 4),
        back.unwrap_or_default()
    )
}

/// Lines without a step: those with the same figures in a sentence, with the step that would be
/// one.
pub fn quiet(on: &OnMachine) -> Vec<String> {
    let mut lines: Vec<(String, usize, Vec<String>)> = Vec::new();
    for line in on.lines.iter().filter(|line| line.steps.is_empty()) {
        let about = clean(&format!("{}, {}", line.arm, line.phase));
        let threshold = format::threshold(line.threshold_percent);
        let metric = format!("{} ({threshold} %)", line.metric.definition().label);
        let count = line.count();
        match lines
            .iter_mut()
            .find(|(known, of, _)| (known.as_str(), *of) == (about.as_str(), count))
        {
            Some((.., metrics)) if metrics.contains(&metric) => {}
            Some((.., metrics)) => metrics.push(metric),
            None => lines.push((about, count, vec![metric])),
        }
    }
    let mut sentences: Vec<(String, Vec<String>)> = Vec::new();
    for (about, count, metrics) in lines {
        let sentence = if count < EXPERIMENTS_MIN {
            format!("NO ANSWER from {count} experiments, it takes {EXPERIMENTS_MIN}")
        } else {
            format!("no step in {} over {count} experiments", metrics.join(", "))
        };
        match sentences.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, about_all)) => about_all.push(about),
            None => sentences.push((sentence, vec![about])),
        }
    }
    let joined =
        |(sentence, about): (String, Vec<String>)| format!("{sentence}: {}", about.join("; "));
    sentences.into_iter().map(joined).collect()
}
