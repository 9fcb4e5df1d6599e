//! Texts and lists that Markdown shows as they are.

use std::io::{self, Write};

use base::say::clean;

pub fn list(out: &mut dyn Write, title: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## {title}\n")?;
    for line in lines {
        writeln!(out, "- {}", escape(line))?;
    }
    Ok(())
}

/// Text that Markdown shows as it is: no markup, no HTML, no mention, no column break.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(escape("a|b `c` *d* <e>\n# f"), r"a\|b \`c\` \*d\* &lt;e&gt; \# f");
    }
}
