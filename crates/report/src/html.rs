//! One self-contained page: template, style and script of `page/` and the data, in one file.

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use super::format::{Format, Report};
use super::page;

const TEMPLATES: [(&str, &str); 4] = [
    ("page.html", include_str!("../page/page.html")),
    ("macros.html", include_str!("../page/macros.html")),
    ("index.html", include_str!("../page/index.html")),
    ("study.html", include_str!("../page/study.html")),
];
const STYLE: &str = include_str!("../page/style.css");
const SCRIPT: &str = include_str!("../page/report.js");

pub const FORMAT: Format = Format { name: "html", about: "One self-contained page", render };

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let data = serde_json::to_string(report.analysis)?;
    write("index.html", page::page(report.analysis), &data, out)
}

/// Writes a page of the template with this name.
pub(super) fn write(
    name: &str,
    page: impl Serialize,
    data: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(io::Error::other)?);
    for (name, template) in TEMPLATES {
        // The `.html` of the name turns escaping on.
        environment.add_template(name, template).map_err(io::Error::other)?;
    }
    let template = environment.get_template(name).map_err(io::Error::other)?;
    let text = template
        .render(context! {
            style => Value::from_safe_string(STYLE.to_owned()),
            script => Value::from_safe_string(SCRIPT.to_owned()),
            data => Value::from_safe_string(script_safe(data)),
            page => Value::from(Serde(page)),
        })
        .map_err(io::Error::other)?;
    out.write_all(text.as_bytes())?;
    writeln!(out)
}

/// JSON that cannot end its `<script>` element, open a comment there or break old parsers' lines.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::script_safe;

    #[test]
    fn data_cannot_leave_its_element() {
        let safe = script_safe(r#"{"a":"</script><!-- & "}"#);
        assert!(!safe.contains(['<', '>', '&']));
        let value: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(value["a"], "</script><!-- & ");
    }
}
