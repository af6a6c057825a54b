//! base16 and base24 colour schemes: named colours in a small YAML file, in the format of
//! tinted-theming (<https://github.com/tinted-theming/home/blob/main/builder.md>).

use super::rgb::Rgb;
use saphyr_parser::{Event, Parser};

/// The colours of a scheme. 0x00 to 0x07 run from background to foreground, 0x08 to 0x0F are red,
/// orange, yellow, green, cyan, blue, purple, brown. The further colours of a base24 scheme have no
/// use here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub author: String,
    pub variant: Variant,
    pub colors: [Rgb; 16],
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

/// A file with more bytes than this is not a scheme.
pub const MAX_SCHEME_BYTES: usize = 64 * 1024;

/// Parses a scheme: the form with a `palette:`, and the older flat form. The error names the line.
pub fn parse(text: &str) -> Result<Scheme, String> {
    if text.len() > MAX_SCHEME_BYTES {
        return Err("the file is too long for a colour scheme".to_owned());
    }
    let (mut author, mut variant) = (String::new(), None);
    let mut found = [None; 24];
    for Pair { key, value, line } in pairs(text)? {
        let fail = |what: String| at_line(line, &what);
        match key.as_str() {
            "author" => author = value,
            "variant" => variant = Some(parse_variant(&value).map_err(fail)?),
            "system" if !["base16", "base24"].contains(&value.as_str()) => {
                return Err(fail(format!(
                    "the system '{value}' is unknown: choose base16 or base24"
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
                let color = Rgb::parse(&value)
                    .ok_or_else(|| fail(format!("'{value}' is not a colour such as d3d8df")))?;
                if found[index].replace(color).is_some() {
                    return Err(fail(format!("{key} is stated twice")));
                }
            }
        }
    }
    let mut colors = [Rgb::default(); 16];
    for (index, (color, found)) in colors.iter_mut().zip(found).enumerate() {
        *color = found.ok_or_else(|| {
            format!("base{index:02X} is missing: a scheme states base00 to base0F, each as `base{index:02X}: \"d3d8df\"`")
        })?;
    }
    let is_light = colors[0].luminance() > colors[5].luminance();
    let derived = if is_light {
        Variant::Light
    } else {
        Variant::Dark
    };
    Ok(Scheme {
        author,
        variant: variant.unwrap_or(derived),
        colors,
    })
}

fn at_line(line: usize, what: &str) -> String {
    format!("line {line}: {what}")
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
fn pairs(text: &str) -> Result<Vec<Pair>, String> {
    // Each open YAML container: whether its pairs are wanted, and the key whose value comes next. A
    // list is like a mapping whose pairs are not wanted.
    let mut open: Vec<(bool, Option<String>)> = Vec::new();
    let mut pairs = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| {
            at_line(
                e.marker().line(),
                &format!("this is not YAML: {}", e.info()),
            )
        })?;
        let line = span.start.line();
        match (event, open.last_mut()) {
            (Event::MappingStart(..), None) => open.push((true, None)),
            (Event::MappingStart(..), Some((wanted, key))) => {
                let is_palette = key.take().is_some_and(|key| key == "palette");
                let wanted = *wanted && is_palette;
                open.push((wanted, None));
            }
            (Event::SequenceStart(..), Some((_, key))) => {
                key.take();
                open.push((false, None));
            }
            (Event::MappingEnd | Event::SequenceEnd, _) => drop(open.pop()),
            (Event::Scalar(scalar, ..), Some((wanted, key))) => {
                let value = scalar.into_owned();
                match key.take() {
                    None => *key = Some(value),
                    Some(key) if *wanted => pairs.push(Pair { key, value, line }),
                    Some(_) => {}
                }
            }
            (Event::Alias(_), Some(_)) => {
                let what = "this is a YAML reference; a scheme states each colour itself";
                return Err(at_line(line, what));
            }
            (Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_), None) => {
                return Err(at_line(line, "a scheme is a list of `name: value`"));
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
        assert_eq!(old.author, "b");
        assert_eq!(old.colors[15], Rgb(0, 0, 15));
    }

    #[test]
    fn the_further_colours_of_base24_are_read_and_not_needed() {
        let sixteen = parse(&flat()).expect("it is whole");
        let more = parse(&format!("{}base12: ff0000\n", flat())).expect("it is whole");
        assert_eq!(more, sixteen);
        let wrong = parse(&format!("{}base12: red\n", flat())).expect_err("it is no colour");
        assert_eq!(wrong, "line 17: 'red' is not a colour such as d3d8df");
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
        let error = |text: &str| parse(text).expect_err("it is wrong");
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
