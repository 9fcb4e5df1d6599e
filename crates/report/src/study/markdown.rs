//! A study as GitHub Markdown: the answer, the tables, who took part.

use std::io::{self, Write};

use super::page::View;
use super::table::Table;
use crate::markup::{escape, list};

/// Writes the study without its pictures.
pub fn markdown(view: &View, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}\n\n{}\n", escape(&view.title), escape(&view.question))?;
    for (name, value) in &view.facts {
        writeln!(out, "- {name}: {}", escape(value))?;
    }
    for (title, lines) in &view.answers {
        list(out, &escape(title), lines)?;
    }
    for it in &view.evidence {
        list(out, &escape(&it.heading), &it.sentences)?;
    }
    list(out, "Before trusting these numbers", &view.warnings)?;
    for phase in &view.phases {
        writeln!(out, "\n## {}\n", escape(&phase.name))?;
        if !phase.about.is_empty() {
            writeln!(out, "{}\n", escape(&phase.about))?;
        }
        table(&phase.table, out)?;
    }
    writeln!(out, "\n## Who took part\n")?;
    table(&view.arms, out)?;
    list(out, "Lost messages", &view.lost)?;
    list(out, "How to read this", &view.notes)?;
    writeln!(out, "\nAgain: `{} --format md`", view.again)
}

fn table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let head = table.columns.iter().map(|it| match it.unit.as_str() {
        "" => format!(" {} |", escape(&it.name)),
        unit => format!(" {}, {unit} |", escape(&it.name)),
    });
    let ways = table.columns.iter().map(|it| if it.is_figure { " --: |" } else { " --- |" });
    writeln!(out, "| arm |{}", head.collect::<String>())?;
    writeln!(out, "| --- |{}", ways.collect::<String>())?;
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| format!(" {} |", escape(cell)));
        writeln!(out, "| {} |{}", escape(&row.arm), cells.collect::<String>())?;
    }
    writeln!(out, "\n{}", escape(&table.caption))
}
