//! Properties of every theme at every colour depth.

use super::style::{
    ACCENT, BAD, GOOD, KEY, MATCH, QUIET, SCREEN, SELECTED, STRONG, TEXT, WARN, diagnostic,
    diagnostic_underline, diff, diff_background, gutter, rule, syntax, title, verdict,
    verdict_block,
};
use super::*;
use crate::highlight::SyntaxRole;
use ::palette::{Srgb, color_difference::Wcag21RelativeContrast};
use lab_protocol::report::Severity;
use lab_run::verdict::Outcome;

const DEPTHS: [ColorDepth; 4] = [
    ColorDepth::None,
    ColorDepth::Ansi16,
    ColorDepth::Ansi256,
    ColorDepth::Rgb,
];

/// The colour that a terminal shows. The colour must not be one of the terminal's own sixteen.
fn shown(color: Option<Color>) -> Srgb<f32> {
    let (r, g, b) = match color {
        Some(Color::Rgb(r, g, b)) => (r, g, b),
        Some(Color::Indexed(index)) => {
            let xterm = anstyle_lossy::palette::VGA;
            let rgb = anstyle_lossy::xterm_to_rgb(anstyle::Ansi256Color(index), xterm);
            (rgb.0, rgb.1, rgb.2)
        }
        other => panic!("{other:?} is the terminal's own"),
    };
    Srgb::new(r, g, b).into_format()
}

/// WCAG 2.1's contrast ratio, 1 to 21.
fn contrast(a: Option<Color>, b: Option<Color>) -> f32 {
    shown(a).relative_contrast(shown(b))
}

#[test]
fn signals_and_text_have_enough_contrast() {
    for entry in Catalogue::built_in()
        .entries
        .iter()
        .filter(|entry| entry.scheme.is_some())
    {
        for depth in [ColorDepth::Ansi256, ColorDepth::Rgb] {
            let theme = entry.theme(depth, true);
            let color = |style| theme.shown(style).fg;
            let background = theme.shown(SCREEN).bg;
            // The minimum contrast of text and of signals. It is lower at 256 colours, where the
            // nearest colour may have less contrast than the scheme's: there is no dark amber among
            // them.
            let (text, signal) = match (entry.name.starts_with("lab-contrast"), depth) {
                (true, ColorDepth::Rgb) => (7.0, 7.0),
                (true, _) => (7.0, 6.5),
                (false, ColorDepth::Rgb) => (4.5, 3.0),
                (false, _) => (4.5, 2.5),
            };
            assert!(
                contrast(color(TEXT), background) >= text,
                "{} text {depth}",
                entry.name
            );
            for signal_color in [GOOD, BAD, WARN, ACCENT].map(color) {
                for (where_, behind) in [
                    ("on its background", background),
                    ("on a block", color(MATCH)),
                ] {
                    let found = contrast(signal_color, behind);
                    assert!(
                        found >= signal,
                        "{} {signal_color:?} {where_}: {found}",
                        entry.name
                    );
                }
            }
            let quiet = contrast(color(QUIET), background);
            assert!(quiet >= signal, "{} quiet: {quiet}", entry.name);
            if entry.name.starts_with("lab-contrast") {
                for role in SyntaxRole::ALL {
                    let color = color(syntax(*role));
                    let found = contrast(color, background);
                    assert!(found >= signal, "{} {color:?}: {found}", entry.name);
                }
            }
        }
    }
}

/// Every style that a pane can ask for.
fn styles(theme: &Theme) -> Vec<Style> {
    let mut styles = vec![
        TEXT,
        SCREEN,
        STRONG,
        QUIET,
        GOOD,
        BAD,
        WARN,
        ACCENT,
        title(true),
        rule(true),
        KEY,
        SELECTED,
        MATCH,
    ];
    for outcome in [
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Crash,
        Outcome::Void,
        Outcome::NotJudged,
    ] {
        styles.extend([verdict(outcome), verdict_block(outcome)]);
    }
    styles.extend(SyntaxRole::ALL.iter().copied().map(syntax));
    use DiffRole::{Added, AddedPart, Hunk, Removed, RemovedPart, Same};
    for role in [Same, Added, Removed, AddedPart, RemovedPart, Hunk] {
        styles.extend([diff(role), diff_background(role)]);
    }
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        styles.extend([diagnostic(severity), diagnostic_underline(severity)]);
    }
    styles.extend([gutter(true), gutter(false)]);
    styles.into_iter().map(|style| theme.shown(style)).collect()
}

#[test]
fn every_colour_of_a_style_can_be_shown_by_the_terminal() {
    for entry in Catalogue::built_in().entries {
        for (depth, paint) in DEPTHS
            .into_iter()
            .flat_map(|depth| [(depth, false), (depth, true)])
        {
            for style in styles(&entry.theme(depth, paint)) {
                for color in [style.fg, style.bg].into_iter().flatten() {
                    let can = match color {
                        Color::Rgb(..) => depth == ColorDepth::Rgb,
                        Color::Indexed(_) => depth == ColorDepth::Ansi256,
                        // The terminal's own theme is the same at every depth.
                        _ => {
                            depth != ColorDepth::None
                                && (depth == ColorDepth::Ansi16 || entry.scheme.is_none())
                        }
                    };
                    assert!(can, "{} at {depth}: {color:?}", entry.name);
                }
            }
        }
    }
}

#[test]
fn the_terminals_own_background_stays_unless_it_is_painted() {
    for entry in Catalogue::built_in()
        .entries
        .iter()
        .filter(|entry| entry.scheme.is_some())
    {
        for depth in [ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::Rgb] {
            let own = entry.theme(depth, false);
            assert_eq!(own.shown(SCREEN).bg, None, "{} {depth}", entry.name);
            let painted = entry.theme(depth, true).shown(SCREEN);
            assert!(
                painted.bg.is_some() && painted.fg.is_some(),
                "{} {depth}",
                entry.name
            );
            let selected = own.shown(SELECTED);
            assert!(selected.bg.is_some() || selected.add_modifier.contains(Modifier::REVERSED));
            assert!(own.shown(verdict_block(Outcome::Pass)).bg.is_some());
        }
    }
}

#[test]
fn a_theme_adapts_to_the_colour_depth() {
    let choose = |name, depth| Theme::choose(name, depth).expect("it is built in");
    assert_eq!(choose(Some("lab-dark"), ColorDepth::None), Theme::plain());
    assert_eq!(choose(None, ColorDepth::Rgb), Theme::ansi());
    assert_eq!(choose(Some("lab-dark"), ColorDepth::Ansi16), Theme::ansi());
    assert_eq!(
        choose(Some("lab-dark"), ColorDepth::Rgb).shown(GOOD).fg,
        Some(Color::Rgb(0x7f, 0xc9, 0x8a))
    );
    assert_eq!(
        choose(Some("lab-dark"), ColorDepth::Ansi256).shown(GOOD).fg,
        Some(Color::Indexed(114))
    );
    let light = choose(Some("lab-light"), ColorDepth::Ansi16);
    assert!(
        ![light.shown(WARN).fg, light.shown(ACCENT).fg].contains(&Some(Color::Yellow)),
        "yellow is unreadable on white"
    );
}

#[test]
fn without_colours_the_weight_tells_roles_apart() {
    let weight = |style| Theme::plain().shown(style).add_modifier;
    assert!(weight(syntax(SyntaxRole::Keyword)).contains(Modifier::BOLD));
    assert!(weight(syntax(SyntaxRole::Comment)).contains(Modifier::DIM));
    let plain = Theme::plain().shown(syntax(SyntaxRole::Plain));
    assert_eq!(plain, Style::default());
    let part = diff_background(DiffRole::AddedPart);
    assert!(weight(part).contains(Modifier::UNDERLINED));
}

#[test]
fn a_selected_row_is_reversed_where_it_has_no_colour() {
    let row = style::select(Line::from(vec![
        Span::styled("quiet", QUIET),
        Span::styled("found", MATCH),
        Span::styled("added", diff_background(DiffRole::Added)),
    ]));
    for theme in [Theme::plain(), Theme::ansi()] {
        for span in &row.spans {
            let shown = theme.shown(row.style.patch(span.style));
            assert_eq!((shown.fg, shown.bg), (None, None), "{}", span.content);
            assert!(shown.add_modifier.contains(Modifier::REVERSED));
            assert!(!shown.add_modifier.contains(Modifier::DIM));
        }
    }
    let nord = Theme::choose(Some("nord"), ColorDepth::Rgb).expect("it is built in");
    let grounds = row
        .spans
        .iter()
        .map(|span| nord.shown(row.style.patch(span.style)).bg);
    let grounds: Vec<_> = grounds.collect();
    assert_eq!(grounds[0], nord.shown(SELECTED).bg);
    assert_eq!(grounds[1], nord.shown(MATCH).bg);
}
