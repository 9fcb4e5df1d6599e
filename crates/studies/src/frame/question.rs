//! A question of a study: what it compares, and whether the cells answer it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cell::{Spread, StudyCell};
use super::cells::{Cells, SERVER, words_text};
use super::sheet::{Band, CellSelector, Coordinate, Names, QuestionRule, QuestionSheet, Settle};
use report::study::EvidenceView;
use stats::growth::{Law, VALUES_MIN, growth};

/// The arm of the original's figures, where they are of no arm that was measured.
const THE_ORIGINAL: &str = "the original";

/// The level of an exponent's interval.
const GROWTH_LEVEL: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StudyAnswer {
    Yes,
    No,
    NotShown,
}

impl StudyAnswer {
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::NotShown => "Not shown",
        }
    }

    /// What all of several say.
    pub fn agreed(each: impl IntoIterator<Item = Self>) -> Self {
        let mut each = each.into_iter();
        let first = each.next().unwrap_or(Self::NotShown);
        if each.all(|it| it == first) { first } else { Self::NotShown }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Stable name.
    pub id: String,
    /// Letter or number of the original's claim.
    pub claim: Option<String>,
    pub text: String,
    /// Bands of the number, in words; empty where a rule of the study decides.
    pub band: String,
    pub answer: StudyAnswer,
    /// The answer in words.
    pub sentence: String,
    /// The number that lies nearest to the limit, of all rows.
    pub number: Option<Spread>,
    /// Rows over all arms.
    pub rows: Vec<EvidenceRow>,
    /// Doubts, and conditions that are not met.
    pub remarks: Vec<String>,
}

/// The number of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceRow {
    pub part: String,
    pub phase: String,
    pub arm: String,
    pub unit: String,
    pub value: Option<Spread>,
    pub answer: StudyAnswer,
    /// The cells beside it.
    pub words: String,
    /// Whether it is the original's, which decides nothing.
    pub original: bool,
}

impl EvidenceRow {
    /// Makes the row of a rule that is the study's own.
    pub fn of(cell: &StudyCell, answer: StudyAnswer, words: String) -> Self {
        Self {
            part: cell.part.clone(),
            phase: cell.phase.clone(),
            arm: cell.arm.clone(),
            unit: cell.unit.clone(),
            value: cell.value,
            answer,
            words,
            original: cell.original,
        }
    }
}

/// Rows by the rule of `study.toml`.
pub fn rows(sheet: &QuestionSheet, cells: &Cells, remarks: &mut Vec<String>) -> Vec<EvidenceRow> {
    if sheet.rule == QuestionRule::Grows {
        return grown(sheet, cells);
    }
    let (mut rows, mut reasons) = (Vec::new(), Vec::new());
    for cell in cells.select(&sheet.of) {
        let (value, unit, mut words) = match sheet.rule {
            QuestionRule::Ratio => {
                let Some(base) = cells.beside(cell, &sheet.to) else { continue };
                let Some(value) = ratio(cell, base, sheet.paired) else {
                    reasons.extend([cell, base].map(|it| it.note.clone()));
                    continue;
                };
                let words = [cell, base].map(|it| cell_text(it, true)).join(" to ");
                (Some(value), "times", vec![words])
            }
            _ => (cell.value, cell.unit.as_str(), Vec::new()),
        };
        let Some(value) = value else {
            reasons.push(cell.note.clone());
            continue;
        };
        words.extend(sheet.words_beside(cell, cells));
        let needs = sheet.needs.iter().filter(|_| !cell.original);
        let unmet = needs.filter(|need| {
            let value = cells.beside(cell, &need.of).and_then(|it| it.value);
            value.is_none_or(|it| !need.within.holds(it.median, it.median))
        });
        let unmet: Vec<&String> = unmet.map(|need| &need.text).collect();
        let level = if cell.original { 0.0 } else { sheet.level };
        let answer =
            if unmet.is_empty() { judge(sheet, &value, level) } else { StudyAnswer::NotShown };
        for text in unmet {
            if !remarks.contains(text) {
                remarks.push(text.clone());
            }
        }
        let row = EvidenceRow::of(cell, answer, words.join("; "));
        rows.push(EvidenceRow { value: Some(value), unit: unit.to_owned(), ..row });
    }
    if rows.iter().all(|row| row.original) {
        remarks.extend(reasons.into_iter().flatten().collect::<BTreeSet<_>>());
    }
    rows
}

impl QuestionSheet {
    /// The cells that are named beside a judged one.
    pub fn words_beside(&self, cell: &StudyCell, cells: &Cells) -> Vec<String> {
        let named = |selector: &CellSelector| {
            let cell = cells.beside(cell, selector)?;
            cell.value.map(|_| cell_text(cell, selector.phase != Names::Any))
        };
        self.evidence.iter().filter_map(named).collect()
    }
}

/// `one by one, time 151 µs (149 µs to 158 µs)`.
fn cell_text(cell: &StudyCell, with_phase: bool) -> String {
    // The figure has the sign of these.
    let suffix = match cell.unit.as_str() {
        "us" | "ms" | "bytes" | "per_s" => &format!("_{}", cell.unit),
        "percent" | "change_percent" => "_percent",
        _ => "",
    };
    let mut words = cell.metric.strip_suffix(suffix).unwrap_or(&cell.metric).replace('_', " ");
    if with_phase {
        words = format!("{} {words}", cell.phase.replace('_', " "));
    }
    if let Some(value) = cell.value {
        words = format!("{words} {}", value.text(|value| words_text(&cell.unit, value)));
    }
    cell.note.as_ref().map_or(words.clone(), |note| format!("{words} ({note})"))
}

fn ratio(of: &StudyCell, base: &StudyCell, paired: bool) -> Option<Spread> {
    // The original has no rounds.
    if !paired || of.original {
        return of.value?.to(&base.value?);
    }
    let each = of.by_round.iter().zip(&base.by_round);
    let each = each.filter_map(|(of, base)| Some((*of)? / (*base).filter(|it| *it > 0.0)?));
    Spread::over(&each.collect::<Vec<_>>())
}

fn judge(sheet: &QuestionSheet, value: &Spread, level: f64) -> StudyAnswer {
    let Some((low, high)) = value.sure(level) else { return StudyAnswer::NotShown };
    let no = sheet.no.map_or_else(|| sheet.yes.excludes(low, high), |no| no.holds(low, high));
    match () {
        () if sheet.yes.holds(low, high) => StudyAnswer::Yes,
        () if no => StudyAnswer::No,
        () => StudyAnswer::NotShown,
    }
}

/// A row for each series: exponents of the cells, or of the costs that they are the rates of.
fn grown(sheet: &QuestionSheet, cells: &Cells) -> Vec<EvidenceRow> {
    let mut series: Vec<(&StudyCell, Vec<&StudyCell>)> = Vec::new();
    let mut others = vec![Coordinate::Part, Coordinate::Phase, Coordinate::Arm];
    others.retain(|it| *it != sheet.over);
    for cell in cells.select(&sheet.of) {
        let same = |known: &&StudyCell| others.iter().all(|it| it.of(known) == it.of(cell));
        match series.iter_mut().find(|(known, _)| same(known)) {
            Some((_, all)) => all.push(cell),
            None => series.push((cell, vec![cell])),
        }
    }
    let row = |(first, all): (&StudyCell, Vec<&StudyCell>)| {
        let level = |cell: &&StudyCell| {
            let x = cells.median([&cell.part, &cell.phase, &cell.arm, &sheet.against])?;
            let each: Vec<f64> = match cell.value {
                Some(value) if cell.original => vec![value.median; VALUES_MIN],
                _ => cell.by_round.iter().flatten().copied().collect(),
            };
            let cost = |it: f64| if sheet.inverse { 1.0 / it } else { it };
            Some((x, each.into_iter().map(cost).collect::<Vec<f64>>()))
        };
        let found = growth(&all.iter().filter_map(level).collect::<Vec<_>>());
        let value = found.map(|it| Spread::interval(it.exponent, GROWTH_LEVEL, it.values));
        let answer = value.map_or(StudyAnswer::NotShown, |it| judge(sheet, &it, sheet.level));
        let law = found.and_then(|it| it.law).map_or("none named", Law::name);
        let words = found.map_or("too few sizes or rounds".to_owned(), |it| {
            format!("exponent over {} sizes; law: {law}", it.sizes)
        });
        let row = EvidenceRow::of(first, answer, words);
        EvidenceRow { value, unit: String::new(), ..row }
    };
    series.into_iter().map(row).collect()
}

impl Question {
    /// From its rows, in one sentence; None where none was asked for.
    pub fn of(
        sheet: &QuestionSheet,
        rows: Vec<EvidenceRow>,
        mut remarks: Vec<String>,
    ) -> Option<Self> {
        let own: Vec<&EvidenceRow> = rows.iter().filter(|row| !row.original).collect();
        if sheet.optional && own.is_empty() {
            return None;
        }
        let mut arms: Vec<&str> = own.iter().map(|row| row.arm.as_str()).collect();
        arms.sort_unstable();
        arms.dedup();
        let of_arm =
            |arm: &&str| settled(sheet.settle, own.iter().copied().filter(|row| row.arm == *arm));
        let answer = if sheet.together {
            settled(sheet.settle, own.iter().copied())
        } else {
            StudyAnswer::agreed(arms.iter().map(of_arm))
        };
        let nearest = nearest(sheet, &own);
        let sentence = match own[..] {
            [] => unmeasured(&std::mem::take(&mut remarks)),
            _ => sentence(sheet, &own, nearest),
        };
        Some(Self {
            id: sheet.id.clone(),
            claim: sheet.claim.clone(),
            text: sheet.text.clone(),
            band: bands(sheet, rows.first().map_or("", |row| &row.unit)),
            answer,
            sentence,
            number: nearest.and_then(|row| row.value),
            rows,
            remarks,
        })
    }

    fn number_text(&self) -> String {
        let row = self.rows.iter().find(|row| row.value.is_some() && row.value == self.number);
        row.and_then(|row| Some(row.value?.text(|value| words_text(&row.unit, value))))
            .unwrap_or_default()
    }

    pub fn view(&self) -> EvidenceView {
        let claim = self.claim.as_ref().map_or(String::new(), |claim| format!("({claim}) "));
        let answer = format!("{}. {}", self.answer.word(), self.sentence);
        let all: Vec<&EvidenceRow> = self.rows.iter().collect();
        let rows = self.rows.iter().map(|row| row.text(&all));
        let sentences = [answer].into_iter().chain(self.remarks.iter().cloned()).chain(rows);
        EvidenceView {
            heading: claim + &self.text,
            sentences: sentences.collect(),
            answer: self.answer.word().to_owned(),
            number: self.number_text(),
        }
    }
}

impl EvidenceRow {
    /// `go, write: 12.3 (11.0 to 13.9); peak 80 MiB.`
    fn text(&self, among: &[&Self]) -> String {
        let number = self.value.map(|it| it.text(|value| words_text(&self.unit, value)));
        let said = number.into_iter().chain((!self.words.is_empty()).then(|| self.words.clone()));
        let said = said.collect::<Vec<_>>().join("; ");
        let said = said.trim_end_matches('.');
        // What all arms share is alone: the answer above it says whose it is.
        if self.arm == SERVER && among.len() == 1 {
            return format!("{said}.");
        }
        format!("{}: {said}.", self.name(among))
    }

    /// The arm, with what distinguishes its rows.
    fn name(&self, among: &[&Self]) -> String {
        let differ = |of: fn(&Self) -> &String| among.iter().any(|row| of(row) != of(self));
        let mut name = self.arm.clone();
        if self.original && !name.starts_with(THE_ORIGINAL) {
            name = format!("{name}, {THE_ORIGINAL}");
        }
        let names: [fn(&Self) -> &String; 2] = [|row| &row.part, |row| &row.phase];
        for of in names {
            if differ(of) {
                name = format!("{name}, {}", of(self).replace('_', " "));
            }
        }
        name
    }
}

fn settled<'a>(settle: Settle, rows: impl Iterator<Item = &'a EvidenceRow>) -> StudyAnswer {
    let each: Vec<StudyAnswer> = rows.map(|row| row.answer).collect();
    let has = |answer| each.contains(&answer);
    match settle {
        Settle::Any if has(StudyAnswer::Yes) => StudyAnswer::Yes,
        Settle::Every if has(StudyAnswer::No) => StudyAnswer::No,
        Settle::Any | Settle::Every if has(StudyAnswer::NotShown) => StudyAnswer::NotShown,
        _ => StudyAnswer::agreed(each),
    }
}

/// The row whose number is nearest to a limit of the band: the weakest of them.
fn nearest<'a>(sheet: &QuestionSheet, rows: &[&'a EvidenceRow]) -> Option<&'a EvidenceRow> {
    let limits: Vec<f64> = [sheet.yes.above, sheet.yes.below].into_iter().flatten().collect();
    let off = |row: &EvidenceRow| {
        let value = row.value.map_or(f64::INFINITY, |it| it.median);
        limits.iter().map(|limit| (value - limit).abs()).fold(f64::INFINITY, f64::min)
    };
    let valued = rows.iter().copied().filter(|row| row.value.is_some());
    valued.min_by(|a, b| off(a).total_cmp(&off(b)))
}

fn unmeasured(reasons: &[String]) -> String {
    let why: Vec<&str> = reasons.iter().map(|it| it.trim_end_matches('.')).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
    format!("Nothing was measured{why}.")
}

fn sentence(sheet: &QuestionSheet, rows: &[&EvidenceRow], nearest: Option<&EvidenceRow>) -> String {
    let number = nearest.and_then(|row| Some((row, row.value?)));
    let number = number.map(|(row, value)| value.text(|it| words_text(&row.unit, it)));
    let mut words = sheet.sentence.replace("{}", &number.unwrap_or_else(|| "not known".to_owned()));
    let several = rows.len() > 1;
    let first = nearest.unwrap_or(rows[0]);
    if first.arm != SERVER || several {
        words.extend([" with ", &first.name(rows)]);
    }
    let names = |answer| {
        let those = rows.iter().filter(|row| row.answer == answer);
        let mut names: Vec<String> = those.map(|row| row.name(rows)).collect();
        names.dedup();
        names.join(", ")
    };
    let kinds =
        [(StudyAnswer::Yes, "yes"), (StudyAnswer::No, "no"), (StudyAnswer::NotShown, "open")];
    for (answer, word) in kinds.into_iter().filter(|_| several) {
        let names = names(answer);
        if !names.is_empty() {
            words.extend(["; ", word, ": ", &names]);
        }
    }
    words + "."
}

/// `Yes: below 0.9; no: 0.9 or more`.
fn bands(sheet: &QuestionSheet, unit: &str) -> String {
    let text = |value| words_text(unit, value);
    let no = |no: Band| format!("; no: {}", no.words(text));
    match sheet.yes {
        Band { above: None, below: None } => String::new(),
        yes => format!("yes: {}{}", yes.words(text), sheet.no.map_or(String::new(), no)),
    }
}
