//! Mistakes in a workload: where they are, and what to do.

use std::fmt;
use std::sync::Arc;

use base::strings::nearest;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// The text of a workload file, for messages.
pub type SourceText = Arc<NamedSource<String>>;

#[derive(Debug, Clone)]
pub struct Problem {
    pub message: String,
    /// Where: byte offset and length in the user's file.
    pub span: Option<(usize, usize)>,
    pub hint: Option<String>,
    source: Option<SourceText>,
}

/// One or more mistakes in a workload: exit code 3.
#[derive(Debug, Clone)]
pub struct WorkloadError {
    first: Problem,
    others: Vec<Problem>,
}

impl Problem {
    /// A mistake at a place of the file.
    pub fn new(message: impl Into<String>, span: Option<(usize, usize)>) -> Self {
        Self { message: message.into(), span, hint: None, source: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the way out, if there is one.
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Line and column, from 1.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let (offset, _) = self.span?;
        let text = self.source.as_ref()?.inner().get(..offset)?;
        let start = text.rfind('\n').map_or(0, |newline| newline + 1);
        Some((text.matches('\n').count() + 1, text[start..].chars().count() + 1))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| &**source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (offset, length) = self.span?;
        let label = LabeledSpan::new(Some("here".to_owned()), offset, length);
        Some(Box::new(std::iter::once(label)))
    }
}

impl WorkloadError {
    /// A mistake that lies in no file.
    pub fn plain(problem: Problem) -> Self {
        Self { first: problem, others: Vec::new() }
    }

    /// Several mistakes of one file, in its order; None where there are none.
    pub fn of(mut problems: Vec<Problem>, source: &SourceText) -> Option<Self> {
        problems.sort_by_key(|problem| problem.span);
        problems.dedup_by(|a, b| a.message == b.message && a.span == b.span);
        for problem in &mut problems {
            problem.source = Some(Arc::clone(source));
        }
        let mut problems = problems.into_iter();
        let first = problems.next()?;
        Some(Self { first, others: problems.collect() })
    }

    /// Mistakes of one file, of which there is at least one.
    pub(super) fn of_some(problems: Vec<Problem>, source: &SourceText) -> Self {
        let none = || Self::plain(Problem::new("the workload is wrong", None));
        Self::of(problems, source).unwrap_or_else(none)
    }

    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// Plain text: `file:line:column: what is wrong` and its hint, for each mistake.
impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)
    }
}

impl std::error::Error for WorkloadError {}

impl Diagnostic for WorkloadError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.first.help()
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.first.source_code()
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.first.labels()
    }
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        if self.others.is_empty() {
            return None;
        }
        Some(Box::new(self.others.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

/// "did you mean `x`?" for the nearest known word, else the list of known words.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if known.is_empty() => None,
        None => Some(format!("one of: {}", known.join(", "))),
    }
}

impl From<WorkloadError> for base::error::Error {
    /// Drawn with the lines of the file it is about.
    fn from(error: WorkloadError) -> Self {
        let report = miette::Report::new(error);
        Self::new(base::error::Exit::Workload, format!("{report:?}").trim_end(), "")
    }
}
