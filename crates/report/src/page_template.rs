//! Pages in one file: template, style and script of `page/`, and the data.

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde_json::Value as Json;

use crate::palette::{self, Palette};
use base::say::steers;

const TEMPLATES: [(&str, &str); 7] = [
    ("page.html", include_str!("../page/page.html")),
    ("macros.html", include_str!("../page/macros.html")),
    ("index.html", include_str!("../page/index.html")),
    ("study.html", include_str!("../page/study.html")),
    ("section.html", include_str!("../page/section.html")),
    ("live.html", include_str!("../page/live.html")),
    ("several.html", include_str!("../page/several.html")),
];
const STYLE: &str = include_str!("../page/style.css");
const SCRIPT: &str = include_str!("../page/report.js");
const LIVE_SCRIPT: &str = include_str!("../page/live.js");

/// Everything that a template places.
#[derive(Debug)]
pub struct PageParts {
    pub template: &'static str,
    pub page: Json,
    pub palette: Palette,
    /// JSON for programs; may be empty.
    pub data: String,
}

/// Writes a whole page.
pub fn write(parts: &PageParts, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(rendered(parts, "page.html", "")?.as_bytes())?;
    writeln!(out)
}

/// What a page shows below its head, for a page of several. Its ids begin with `at`.
pub fn main_part(parts: &PageParts, at: &str) -> io::Result<String> {
    rendered(parts, "section.html", at)
}

fn rendered(parts: &PageParts, layout: &str, at: &str) -> io::Result<String> {
    let environment = environment(&parts.palette, at)?;
    let template = environment.get_template(parts.template).map_err(io::Error::other)?;
    let values = context! {
        layout => layout,
        style => Value::from_safe_string(STYLE.to_owned() + &palette::style()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
        live_script => Value::from_safe_string(LIVE_SCRIPT.to_owned()),
        data => Value::from_safe_string(script_safe(&parts.data)),
        page => Value::from(Serde(&parts.page)),
    };
    template.render(values).map_err(io::Error::other)
}

fn environment(palette: &Palette, at: &str) -> io::Result<Environment<'static>> {
    let mut environment = Environment::new();
    let looks = palette.clone();
    environment
        .add_function("swatch", move |arm: &str| Value::from_safe_string(looks.look(arm).swatch()));
    environment.add_filter("trim_answer", |text: &str, answer: &str| {
        let rest = text.strip_prefix(answer).and_then(|rest| rest.strip_prefix(". "));
        rest.unwrap_or(text).to_owned()
    });
    let looks = palette.clone();
    environment.add_function("arm_class", move |arm: &str| looks.look(arm).class());
    environment.add_global("at", at);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(io::Error::other)?);
    for (name, template) in TEMPLATES {
        // The `.html` of the name turns escaping on.
        environment.add_template(name, template).map_err(io::Error::other)?;
    }
    Ok(environment)
}

/// JSON that cannot end its `<script>` element, open a comment there, break old parsers' lines or
/// steer the terminal in which somebody prints the page. JSON alone escapes some of that.
fn script_safe(json: &str) -> String {
    // All of these have four digits.
    let escaped = |c: char| format!("\\u{:04x}", u32::from(c));
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe += &escaped(c),
            c if steers(c) => safe += &escaped(c),
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

    #[test]
    fn data_cannot_steer_a_terminal() {
        let name = "\u{1b}[2J\u{7}\u{7f}\u{9b}31m\u{202e}\u{2028}\tend";
        let safe = script_safe(&serde_json::json!({ "phase": name }).to_string());
        assert!(safe.is_ascii() && !safe.contains(char::is_control), "{safe:?}");
        let value: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(value["phase"], name);
    }
}
