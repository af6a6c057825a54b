//! base16 and base24 colour schemes: named colours in a small YAML file, in the format of
//! tinted-theming (<https://github.com/tinted-theming/home/blob/main/builder.md>).

use super::rgb::Rgb;
use saphyr_parser::{Event, Parser};
use std::fmt;

/// The colours of a scheme. 0x00 to 0x07 run from background to foreground, 0x08 to 0x0F are red,
/// orange, yellow, green, cyan, blue, purple, brown; 0x10 and 0x11 are darker backgrounds, 0x12 to
/// 0x17 bright red, yellow, green, cyan, blue, purple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub name: String,
    pub author: String,
    pub variant: Variant,
    pub colors: [Rgb; 24],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Dark,
    Light,
}

impl Variant {
    /// `dark` or `light`.
    pub fn word(self) -> &'static str {
        match self {
            Variant::Dark => "dark",
            Variant::Light => "light",
        }
    }
}

/// Why a text is not a scheme, and on which line (from 1).
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

/// The colours that replace base10 to base17 in a base16 scheme, by index: tinted-theming's
/// fallbacks (<https://github.com/tinted-theming/base24/blob/main/styling.md>).
const FALLBACKS: [usize; 8] = [0x00, 0x00, 0x08, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E];

/// A file with more bytes than this is not a scheme.
pub const MAX_SCHEME_BYTES: usize = 64 * 1024;

/// Parses a scheme: the form with a `palette:`, and the older flat form.
pub fn parse(text: &str) -> Result<Scheme, SchemeError> {
    if text.len() > MAX_SCHEME_BYTES {
        return Err(SchemeError {
            line: None,
            what: "the file is too long for a colour scheme".into(),
        });
    }
    let (mut name, mut author, mut variant) = (String::new(), String::new(), None);
    let mut found = [None; 24];
    for pair in pairs(text)? {
        let fail = |what: String| SchemeError {
            line: Some(pair.line),
            what,
        };
        match pair.key.as_str() {
            "scheme" | "name" => name = pair.value,
            "author" => author = pair.value,
            "variant" => variant = Some(parse_variant(&pair.value).map_err(fail)?),
            "system" if !["base16", "base24"].contains(&pair.value.as_str()) => {
                return Err(fail(format!(
                    "the system '{}' is unknown: choose base16 or base24",
                    pair.value
                )));
            }
            key => {
                let Some(digits) = key.strip_prefix("base") else {
                    continue;
                };
                let index = color_index(digits).ok_or_else(|| {
                    fail(format!(
                        "'{key}' is not one of a scheme's colours, base00 to base0F and base10 to base17"
                    ))
                })?;
                let color = Rgb::parse(&pair.value).ok_or_else(|| {
                    fail(format!("'{}' is not a colour such as d3d8df", pair.value))
                })?;
                if found[index].replace(color).is_some() {
                    return Err(fail(format!("{key} is stated twice")));
                }
            }
        }
    }
    let mut colors = [Rgb::default(); 24];
    for index in 0..24_usize {
        let fallback = index
            .checked_sub(0x10)
            .map(|above| colors[FALLBACKS[above]]);
        colors[index] = found[index].or(fallback).ok_or_else(|| SchemeError {
            line: None,
            what: format!("base{index:02X} is missing: a scheme states base00 to base0F, each as `base{index:02X}: \"d3d8df\"`"),
        })?;
    }
    let variant = variant.unwrap_or(if colors[0].luminance() > colors[5].luminance() {
        Variant::Light
    } else {
        Variant::Dark
    });
    Ok(Scheme {
        name,
        author,
        variant,
        colors,
    })
}

fn parse_variant(variant: &str) -> Result<Variant, String> {
    match variant {
        "dark" => Ok(Variant::Dark),
        "light" => Ok(Variant::Light),
        other => Err(format!("the variant '{other}' is neither dark nor light")),
    }
}

/// The index, 0 to 23, of the colour that the two hexadecimal digits after `base` name.
fn color_index(digits: &str) -> Option<usize> {
    if digits.len() != 2 {
        return None;
    }
    usize::from_str_radix(digits, 16)
        .ok()
        .filter(|index| *index < 24)
}

struct Pair {
    key: String,
    value: String,
    /// From 1.
    line: usize,
}

/// Every `key: value` of the top level and of its `palette:`, in the file's order.
fn pairs(text: &str) -> Result<Vec<Pair>, SchemeError> {
    // An open YAML container: a mapping with the key whose value comes next, or a container that no
    // scheme has.
    enum Container {
        Mapping { wanted: bool, key: Option<String> },
        Other,
    }
    let mut open: Vec<Container> = Vec::new();
    let mut pairs = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| SchemeError {
            line: Some(e.marker().line()),
            what: format!("this is not YAML: {}", e.info()),
        })?;
        let outermost = open.is_empty();
        match event {
            Event::MappingStart(..) => {
                let wanted = match open.last_mut() {
                    None => true,
                    Some(Container::Mapping { wanted, key }) => {
                        key.take().is_some_and(|k| *wanted && k == "palette")
                    }
                    Some(Container::Other) => false,
                };
                open.push(Container::Mapping { wanted, key: None });
            }
            Event::SequenceStart(..) if !outermost => {
                if let Some(Container::Mapping { key, .. }) = open.last_mut() {
                    key.take();
                }
                open.push(Container::Other);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
            }
            Event::Scalar(scalar, ..) if !outermost => {
                if let Some(Container::Mapping { wanted, key }) = open.last_mut() {
                    match key.take() {
                        None => *key = Some(scalar.into_owned()),
                        Some(key) if *wanted => {
                            pairs.push(Pair {
                                key,
                                value: scalar.into_owned(),
                                line: span.start.line(),
                            });
                        }
                        Some(_) => {}
                    }
                }
            }
            Event::Alias(_) if !outermost => {
                let what =
                    "this is a YAML reference; a scheme states each colour itself".to_owned();
                return Err(SchemeError {
                    line: Some(span.start.line()),
                    what,
                });
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_) => {
                let what = "a scheme is a list of `name: value`".to_owned();
                return Err(SchemeError {
                    line: Some(span.start.line()),
                    what,
                });
            }
            _ => {}
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat() -> String {
        (0..16)
            .map(|i| format!("base{i:02X}: \"0000{i:02x}\"\n"))
            .collect()
    }

    #[test]
    fn both_forms_are_parsed() {
        let nested: String = flat()
            .lines()
            .map(|l| format!("  {l} # comment\n"))
            .collect();
        let old = parse(&format!("scheme: 'A'\nauthor: b\n{}", flat())).expect("the flat form");
        let new = parse(&format!(
            "system: \"base16\"\nname: A\nauthor: b\npalette:\n{nested}"
        ))
        .expect("a palette");
        assert_eq!(old, new);
        assert_eq!((old.name.as_str(), old.author.as_str()), ("A", "b"));
        assert_eq!(old.colors[15], Rgb(0, 0, 15));
    }

    #[test]
    fn a_base16_scheme_has_fallbacks_for_the_colours_of_base24() {
        let sixteen = parse(&flat()).expect("it is whole");
        assert_eq!(
            sixteen.colors[0x12], sixteen.colors[0x08],
            "bright red is red"
        );
        assert_eq!(
            sixteen.colors[0x13], sixteen.colors[0x0A],
            "bright yellow is yellow"
        );
        let more = parse(&format!("{}base12: ff0000\n", flat())).expect("it is whole");
        assert_eq!(more.colors[0x12], Rgb(255, 0, 0));
    }

    #[test]
    fn digits_without_quotes_are_a_colour_and_not_a_number() {
        let text = flat()
            .replace("\"000000\"", "000000")
            .replace("\"000001\"", "1e1234");
        assert_eq!(
            parse(&text).expect("it is whole").colors[..2],
            [Rgb(0, 0, 0), Rgb(0x1e, 0x12, 0x34)]
        );
    }

    #[test]
    fn the_variant_is_stated_or_derived_from_the_colours() {
        let light = flat().replace("base00: \"000000\"", "base00: \"ffffff\"");
        assert_eq!(parse(&light).map(|s| s.variant), Ok(Variant::Light));
        assert_eq!(parse(&flat()).map(|s| s.variant), Ok(Variant::Dark));
        assert_eq!(
            parse(&format!("variant: light\n{}", flat())).map(|s| s.variant),
            Ok(Variant::Light)
        );
    }

    #[test]
    fn an_error_names_its_line() {
        let error = |text: &str| parse(text).expect_err("it is wrong").to_string();
        assert_eq!(
            error("scheme: x\nbase00: red\n"),
            "line 2: 'red' is not a colour such as d3d8df"
        );
        assert_eq!(
            error("base18: 000000\n"),
            "line 1: 'base18' is not one of a scheme's colours, base00 to base0F and base10 to base17"
        );
        assert_eq!(
            error("variant: dim\n"),
            "line 1: the variant 'dim' is neither dark nor light"
        );
        assert_eq!(
            error("system: vim\n"),
            "line 1: the system 'vim' is unknown: choose base16 or base24"
        );
        assert_eq!(
            error("base00: 000000\nbase00: 000000\n"),
            "line 2: base00 is stated twice"
        );
        assert_eq!(
            error("- a\n"),
            "line 1: a scheme is a list of `name: value`"
        );
        assert!(error("scheme: \"x\n").contains("this is not YAML"));
        assert!(error("scheme: x\n").starts_with("base00 is missing: "));
    }
}
