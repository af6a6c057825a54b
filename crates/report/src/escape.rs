//! Escapes every value that a template prints. Characters that nobody sees, or that reorder a line,
//! are written as their number: `\u{202e}`.

use askama::filters::Escaper;
use lab_protocol::text::escape_invisible;
use std::fmt::{self, Write};

/// For HTML and SVG.
#[derive(Clone, Copy, Debug)]
pub struct Markup;

impl Escaper for Markup {
    fn write_escaped_str<W: Write>(&self, dest: W, string: &str) -> fmt::Result {
        askama::filters::Html.write_escaped_str(dest, &escape_invisible(string))
    }
}

/// For GitHub's Markdown. A name behind `@` is not notified, a number behind `#` is no link.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Escaper for Markdown {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        for c in escape_invisible(string).chars() {
            match c {
                '@' | '#' => write!(dest, "{c}<!-- -->")?,
                '&' => dest.write_str("&amp;")?,
                '<' => dest.write_str("&lt;")?,
                '>' => dest.write_str("&gt;")?,
                '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                    write!(dest, "\\{c}")?;
                }
                _ => dest.write_char(c)?,
            }
        }
        Ok(())
    }
}
