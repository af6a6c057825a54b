//! That every mark and every text of a report can be told from what is behind it, in the light, in the
//! dark and on paper: 3 to 1 for marks and 4.5 to 1 for texts (WCAG 2.2, 1.4.11 and 1.4.3).
#![allow(clippy::unwrap_used)]

const CHART: &str = include_str!("../templates/chart.css");
const PAGE: &str = include_str!("../templates/style.css");

/// Where the colours of the light, of the dark and of paper begin.
const PALETTES: [(&str, &str); 3] = [
    (CHART, ":root{color-scheme:light dark"),
    (CHART, "(prefers-color-scheme:dark){:root{"),
    (PAGE, "@media print{\n:root{"),
];

/// Red, green and blue from 0 to 1.
type Colour = [f64; 3];

/// A colour of a palette by its name.
fn colour(palette: (&str, &str), name: &str) -> Option<Colour> {
    let (css, begin) = palette;
    let colours = css.split_once(begin)?.1.split('}').next()?;
    let hex = colours.split(&format!("{name}:#")).nth(1)?;
    let hex = hex.split([';', '}']).next()?;
    let [_, parts @ ..] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
    (hex.len() == 6).then(|| parts.map(|part| f64::from(part) / 255.0))
}

/// Relative luminance.
fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.map(|part| match part <= 0.03928 {
        true => part / 12.92,
        false => ((part + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(above: Colour, opacity: f64, below: Colour) -> f64 {
    let mixed = [0, 1, 2].map(|part| opacity * above[part] + (1.0 - opacity) * below[part]);
    let (a, b) = (luminance(mixed), luminance(below));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The value of a key in the declarations of a rule.
fn value<'a>(declarations: &'a str, key: &str) -> Option<&'a str> {
    let mut all = declarations.split(';').filter_map(|it| it.split_once(':'));
    all.find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value)
}

/// The rules of a style sheet: selectors, and declarations.
fn rules(css: &str) -> impl Iterator<Item = (&str, &str)> {
    let rules = css.split('}').filter_map(|rule| rule.rsplit_once('{'));
    rules.map(|(selectors, declarations)| (selectors.trim(), declarations))
}

fn name(value: &str) -> Option<&str> {
    value.strip_prefix("var(")?.strip_suffix(')')
}

#[test]
fn every_mark_and_every_text_can_be_told_from_what_is_behind_it() {
    let (mut marks, mut texts) = (0, 0);
    for palette in PALETTES {
        let of = |name: &str| {
            let own = colour(palette, name);
            own.unwrap_or_else(|| panic!("{name} of {}", palette.1))
        };
        for (selectors, declarations) in rules(CHART) {
            // The grid is no mark, and a halo is as its paper.
            let is_mark = selectors != ".chart path" && !selectors.contains("halo");
            let stroke = value(declarations, "stroke").and_then(name);
            if let Some(stroke) = stroke.filter(|_| is_mark) {
                let opacity =
                    value(declarations, "stroke-opacity").map_or(1.0, |it| it.parse().unwrap());
                let found = contrast(of(stroke), opacity, of("--paper"));
                assert!(found >= 3.0, "{selectors} {}: {found:.2}", palette.1);
                marks += 1;
            }
        }
        let all = rules(CHART).chain(rules(PAGE));
        for (selectors, declarations) in all {
            let key = if selectors == ".chart text" {
                "fill"
            } else {
                "color"
            };
            let Some(text) = value(declarations, key).and_then(name) else {
                continue;
            };
            for below in ["--paper", "--soft"] {
                let found = contrast(of(text), 1.0, of(below));
                assert!(
                    found >= 4.5,
                    "{selectors} {} on {below}: {found:.2}",
                    palette.1
                );
                texts += 1;
            }
        }
    }
    assert!(
        marks >= 3 * 14 && texts >= 6 * 12,
        "{marks} marks, {texts} texts"
    );
}
