//! base16 colour schemes: sixteen named colours in a small YAML file.
//!
//! Reads the flat form and the newer one with a `palette:`. That is all of YAML that a scheme uses,
//! so this is a reader for schemes and not for YAML.

use std::fmt;

/// Sixteen colours. 0 to 7 run from background to foreground, 8 to 15 are red, orange, yellow,
/// green, cyan, blue, purple, brown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub name: String,
    pub colors: [(u8, u8, u8); 16],
}

/// The schemes that come with the lab: the name to ask for and the file.
pub const EMBEDDED: [(&str, &str); 2] = [
    ("lab-dark", include_str!("../../../themes/lab-dark.yaml")),
    ("lab-light", include_str!("../../../themes/lab-light.yaml")),
];

/// What is wrong with a scheme, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeError {
    pub line: Option<usize>,
    pub what: String,
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for SchemeError {}

pub fn parse(text: &str) -> Result<Scheme, SchemeError> {
    let mut name = String::new();
    let mut colors = [None; 16];
    for (index, line) in text.lines().enumerate() {
        let fail = |what: String| SchemeError { line: Some(index + 1), what };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line == "---" {
            continue;
        }
        let (key, value) =
            line.split_once(':').ok_or_else(|| fail(format!("'{line}' is no `name: value`")))?;
        let value = unquote(value).map_err(fail)?;
        match key.trim() {
            "scheme" | "name" => name = value.to_owned(),
            "author" | "system" | "variant" | "slug" | "description" | "palette" => {}
            key => {
                let place = key
                    .strip_prefix("base0")
                    .and_then(|digit| usize::from_str_radix(digit, 16).ok())
                    .filter(|place| *place < 16)
                    .ok_or_else(|| fail(format!("'{key}' is none of a scheme's names, base00 to base0F")))?;
                let color =
                    hex(value).ok_or_else(|| fail(format!("'{value}' is no colour such as d3d8df")))?;
                colors[place] = Some(color);
            }
        }
    }
    let mut found = [(0, 0, 0); 16];
    for (place, color) in colors.into_iter().enumerate() {
        let missing = || SchemeError { line: None, what: format!("base0{place:X} is missing") };
        found[place] = color.ok_or_else(missing)?;
    }
    Ok(Scheme { name, colors: found })
}

/// A value without its quotes and without a comment behind it.
fn unquote(value: &str) -> Result<&str, String> {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest
                .split_once(quote)
                .map(|(inside, _)| inside)
                .ok_or_else(|| format!("the quote of {value} is not closed"));
        }
    }
    Ok(value.split(" #").next().unwrap_or(value).trim())
}

fn hex(text: &str) -> Option<(u8, u8, u8)> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_scheme_is_whole() {
        for (name, text) in EMBEDDED {
            let scheme = parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!scheme.name.is_empty(), "{name} says what it is called");
        }
    }

    #[test]
    fn both_forms_are_read() {
        let flat: String = (0..16).map(|i| format!("base0{i:X}: \"0000{i:02x}\"\n")).collect();
        let nested: String = flat.lines().map(|l| format!("  {l} # comment\n")).collect();
        let flat = parse(&format!("scheme: 'A'\n{flat}")).expect("the flat form");
        let nested =
            parse(&format!("system: \"base16\"\nname: A\npalette:\n{nested}")).expect("with a palette");
        assert_eq!(flat, nested);
        assert_eq!(flat.colors[15], (0, 0, 15));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let say = |text: &str| parse(text).expect_err("it is wrong").to_string();
        assert_eq!(say("scheme: x\nbase00: red\n"), "line 2: 'red' is no colour such as d3d8df");
        assert_eq!(say("base10: 000000\n"), "line 1: 'base10' is none of a scheme's names, base00 to base0F");
        assert_eq!(say("scheme: \"x\n"), "line 1: the quote of \"x is not closed");
        assert_eq!(say("scheme: x\n"), "base00 is missing");
    }
}
