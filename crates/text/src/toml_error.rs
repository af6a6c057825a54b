//! Messages about a TOML file that a person wrote: the position, what is wrong, and what to write
//! instead.

use crate::suggest::nearest;

/// What is said of an unknown key beside the known ones: the file may be for a newer version.
const NEWER_KEY: &str = "; a newer lab may know more";

/// Returns `FILE:LINE:COLUMN: MESSAGE` for an error of the parser, in plainer words than the
/// parser's.
///
/// ```
/// let text = "a = 1\nb = True\n";
/// let error = text.parse::<toml::Table>().expect_err("no TOML");
/// let message = lab_text::toml_error::explain(text, "lab.toml", &error);
/// assert_eq!(message, "lab.toml:2:5: write true, not True");
/// ```
pub fn explain(text: &str, shown_as: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let rest = text.get(at..).unwrap_or_default();
    let message = no_value(rest, error.message()).unwrap_or_else(|| reword(error.message()));
    format!("{}: {message}", position(text, shown_as, at))
}

/// Returns `FILE:LINE:COLUMN` of a byte offset, as editors take it: both count from 1, and columns
/// count characters.
pub fn position(text: &str, shown_as: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
    format!("{shown_as}:{line}:{column}")
}

/// The message where `rest` of the file begins with something that is no TOML value. The parser
/// only guesses what it was meant to be.
fn no_value(rest: &str, message: &str) -> Option<String> {
    let guesses = [
        "string values must be quoted",
        "invalid float",
        "invalid boolean",
    ];
    if !guesses.iter().any(|guess| message.starts_with(guess)) {
        return None;
    }
    let word = rest
        .split(|c: char| c.is_whitespace() || ",]}#\"'".contains(c))
        .next()
        .unwrap_or_default();
    Some(match word.to_lowercase().as_str() {
        "" => "the value is missing".to_owned(),
        small @ ("true" | "false") => format!("write {small}, not {word}"),
        small if small.starts_with(|c: char| c.is_alphabetic() || "~./$".contains(c)) => {
            format!("put {word} in quotes: \"{word}\"")
        }
        _ => return None,
    })
}

/// Rewords the parser's messages about types and unknown names; returns all others unchanged.
fn reword(message: &str) -> String {
    if let Some((found, expected)) = message
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let expected = match expected {
            "a boolean" => "true or false",
            "a string" => "a text in quotes",
            "a sequence" => "a list",
            "f64" | "i64" | "u64" | "u32" | "usize" => "a number",
            other => other,
        };
        return format!("expected {expected}, found {}", found.replace('`', ""));
    }
    // As in: unknown field `a`, expected one of `b`, `c`
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|_| message.starts_with("unknown")) else {
        return message.to_owned();
    };
    let known: Vec<&str> = names.collect();
    let what = if message.starts_with("unknown variant") {
        "value"
    } else {
        "key"
    };
    match nearest(unknown, known.iter().copied()) {
        Some(name) => format!("unknown {what} '{unknown}' (did you mean '{name}'?)"),
        None => {
            let known = known.join(", ");
            let newer = if what == "key" { NEWER_KEY } else { "" };
            format!("unknown {what} '{unknown}': it is one of {known}{newer}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_lines_from_1() {
        assert_eq!(position("", "f", 0), "f:1:1");
        assert_eq!(position("é = 1\nß = 2", "f", 9), "f:2:2");
        assert_eq!(position("a\n", "f", 99), "f:2:1");
    }

    #[test]
    fn what_is_no_value_is_told_as_a_person_meant_it() {
        let said = |text: &str| {
            explain(
                text,
                "f",
                &text.parse::<toml::Table>().expect_err("no TOML"),
            )
        };
        assert_eq!(said("a = ~/x"), "f:1:5: put ~/x in quotes: \"~/x\"");
        assert_eq!(said("a = FALSE # no"), "f:1:5: write false, not FALSE");
        assert_eq!(said("a =\n"), "f:1:4: the value is missing");
    }
}
