//! Which questions of a study its planned experiments can answer, before any of them runs.

use crate::frame::{Names, QuestionSheet};
use crate::study::Study;
use base::error::Result;
use record::study_folder::StudyPart;
use workload::builtin;
use workload::plan::{Count, Phase, Plan};

/// A question, and what the planned experiments lack to answer it; None: nothing.
#[derive(Debug)]
pub struct PlannedQuestion {
    pub id: String,
    pub claim: Option<String>,
    pub text: String,
    pub lacks: Option<String>,
}

/// The questions of a study, as far as these parts answer them.
///
/// # Errors
/// A workload that cannot be read.
pub fn answerable(study: &dyn Study, parts: &[&StudyPart]) -> Result<Vec<PlannedQuestion>> {
    let questions = study.definition().questions.into_iter();
    let asked = questions.filter(|sheet| study.asks(&sheet.id, parts));
    let planned = |sheet: QuestionSheet| {
        let lacks = lacks(&sheet, parts)?;
        let QuestionSheet { id, claim, text, .. } = sheet;
        Ok(PlannedQuestion { id, claim, text, lacks })
    };
    asked.map(planned).collect()
}

fn lacks(sheet: &QuestionSheet, parts: &[&StudyPart]) -> Result<Option<String>> {
    let basis = sheet.basis.iter().map(|name| Names::One(name.clone()));
    let of = [sheet.of.part.clone(), sheet.to.part.clone()].into_iter();
    let mut all: Vec<Names> = of.chain(basis).filter(|names| *names != Names::Any).collect();
    if all.is_empty() {
        all.push(Names::Any);
    }
    let mut judged: Vec<&StudyPart> = Vec::new();
    for names in all {
        let named = parts.iter().filter(|part| is_of(&names, &part.name));
        let before = judged.len();
        judged.extend(named);
        if judged.len() == before {
            return Ok(Some(format!("it takes the part {}", names.words())));
        }
    }
    let rounds = judged.iter().filter_map(|part| part.request.rounds).min();
    let least = rounds_least(sheet.level);
    if rounds.is_some_and(|rounds| rounds < least) {
        return Ok(Some(format!("it takes {least} rounds")));
    }
    for need in &sheet.needs {
        let own = &need.of.phase;
        let phase = if *own == Names::Any { &sheet.of.phase } else { own };
        for part in &judged {
            let value = match &need.of.metric {
                Names::One(metric) if metric == "course_rounds" => rounds.map(f64::from),
                Names::One(metric) => written(part, phase, metric)?,
                _ => None,
            };
            if value.is_some_and(|value| !need.within.holds(value, value)) {
                return Ok(Some(need.text.trim_end_matches('.').to_owned()));
            }
        }
    }
    Ok(None)
}

/// Whether a part is named, or is one of a series such as `one-way`.
fn is_of(names: &Names, part: &str) -> bool {
    let in_series = |name: &String| part.strip_prefix(name).is_some_and(|it| it.starts_with('-'));
    names.has(part)
        || match names {
            Names::Any => true,
            Names::One(name) => in_series(name),
            Names::Several(names) => names.iter().any(in_series),
        }
}

/// The fewest rounds whose interval has this level.
fn rounds_least(level: f64) -> u32 {
    let enough = (1..64).find(|rounds| 1.0 - 2.0 * 0.5_f64.powi(*rounds) >= level);
    enough.unwrap_or(i32::MAX).cast_unsigned()
}

/// Documents, or their bytes, that the first of these phases writes.
fn written(part: &StudyPart, phases: &Names, metric: &str) -> Result<Option<f64>> {
    let plan = builtin::open(part.request.workload.get()?, &part.request.parameters, 0)?.plan;
    let documents = |phase: &Phase| match phase.operations.first()?.count {
        Some(Count::Rest { documents, .. }) => Some(documents as f64),
        _ => Some(phase.limit.operations() as f64),
    };
    let bytes = |plan: &Plan, phase: &Phase| {
        Some(plan.collection(phase.operations.first()?)?.document_bytes_mean)
    };
    let Some(phase) = plan.phases.iter().find(|phase| phases.has(&phase.name)) else {
        return Ok(None);
    };
    Ok(match metric {
        "documents" => documents(phase),
        "written_bytes" => documents(phase).zip(bytes(&plan, phase)).map(|(all, each)| all * each),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asked, STUDIES, find, planned};
    use record::request::Request;

    fn open(study: &str, asked: &Asked) -> Vec<PlannedQuestion> {
        let study = find(study).expect(study);
        let parts = planned(study, asked).expect("a plan");
        let all = answerable(study, &parts.iter().collect::<Vec<_>>()).expect("questions");
        all.into_iter().filter(|it| it.lacks.is_some()).collect()
    }

    #[test]
    fn the_default_run_of_each_study_can_answer_the_originals_claims() {
        for study in STUDIES {
            let mut open = open(study.name(), &Asked::default());
            // Two cliffs that the original has not: the cache is a part for itself.
            open.retain(|it| !it.id.ends_with("-cache"));
            assert!(open.is_empty(), "{}: {open:?}", study.name());
        }
    }

    #[test]
    fn what_a_run_lacks_for_an_answer_is_said() {
        let asked = |parts: &[&str], rounds, quick| Asked {
            parts: parts.iter().map(|it| (*it).to_owned()).collect(),
            request: Request { rounds, quick, ..Request::default() },
            ..Asked::default()
        };
        let quick = open("write-cost", &asked(&[], None, true));
        let lacks = |open: &[PlannedQuestion], id: &str| {
            let question = open.iter().find(|it| it.id == id).expect(id);
            question.lacks.clone().expect("a reason")
        };
        assert!(lacks(&quick, "held").contains("256 MiB"), "{quick:?}");
        assert!(lacks(&quick, "proportional-to-count").contains("2,000 large"), "{quick:?}");
        let small = open("write-cost", &asked(&["small"], None, false));
        assert_eq!(lacks(&small, "held"), "it takes the part large");
        let few = open("crud-scale", &asked(&[], Some(2), false));
        assert_eq!(lacks(&few, "insert-fastest"), "it takes 5 rounds");
    }
}
