//! Properties of every theme at every colour depth.

use super::*;
use crate::highlight::SyntaxRole;
use ::palette::{Srgb, color_difference::Wcag21RelativeContrast};
use lab_protocol::report::Severity;

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
            let palette = entry.theme(depth, true).palette;
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
                contrast(palette.text, palette.background) >= text,
                "{} text {depth}",
                entry.name
            );
            for color in [palette.good, palette.bad, palette.warn, palette.accent] {
                for (where_, behind) in [
                    ("on its background", palette.background),
                    ("on a block", palette.on_block),
                ] {
                    let found = contrast(color, behind);
                    assert!(
                        found >= signal,
                        "{} {color:?} {where_}: {found}",
                        entry.name
                    );
                }
            }
            let quiet = contrast(palette.quiet, palette.background);
            assert!(quiet >= signal, "{} quiet: {quiet}", entry.name);
            if entry.name.starts_with("lab-contrast") {
                for color in palette.hues {
                    let found = contrast(color, palette.background);
                    assert!(found >= signal, "{} {color:?}: {found}", entry.name);
                }
            }
        }
    }
}

/// Every style that a pane can ask for.
fn styles(theme: &Theme) -> Vec<Style> {
    let mut styles = vec![
        theme.text(),
        theme.strong(),
        theme.quiet(),
        theme.good(),
        theme.bad(),
        theme.warn(),
        theme.accent(),
    ];
    styles.extend([
        theme.title(true),
        theme.rule(true),
        theme.key(),
        theme.selected(),
        theme.search_match(),
    ]);
    for outcome in [
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Crash,
        Outcome::Void,
        Outcome::NotJudged,
    ] {
        styles.extend([theme.verdict(outcome), theme.verdict_block(outcome)]);
    }
    styles.extend(SyntaxRole::ALL.map(|role| theme.syntax(role)));
    use DiffRole::{Added, AddedPart, Hunk, Removed, RemovedPart, Same};
    for role in [Same, Added, Removed, AddedPart, RemovedPart, Hunk] {
        styles.extend([theme.diff(role), theme.diff_background(role)]);
    }
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        styles.extend([
            theme.diagnostic(severity),
            theme.diagnostic_underline(severity),
        ]);
    }
    styles.extend([theme.gutter(true), theme.gutter(false)]);
    styles
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
            assert_eq!(
                entry.theme(depth, false).text().bg,
                None,
                "{} {depth}",
                entry.name
            );
            let painted = entry.theme(depth, true).text();
            assert!(
                painted.bg.is_some() && painted.fg.is_some(),
                "{} {depth}",
                entry.name
            );
            let selected = entry.theme(depth, false).selected();
            assert!(selected.bg.is_some() || selected.add_modifier.contains(Modifier::REVERSED));
            assert!(
                entry
                    .theme(depth, false)
                    .verdict_block(Outcome::Pass)
                    .bg
                    .is_some()
            );
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
        choose(Some("lab-dark"), ColorDepth::Rgb).good().fg,
        Some(Color::Rgb(0x7f, 0xc9, 0x8a))
    );
    assert_eq!(
        choose(Some("lab-dark"), ColorDepth::Ansi256).good().fg,
        Some(Color::Indexed(114))
    );
    let light = choose(Some("lab-light"), ColorDepth::Ansi16);
    assert!(
        ![light.warn().fg, light.accent().fg].contains(&Some(Color::Yellow)),
        "yellow is unreadable on white"
    );
}

#[test]
fn without_colours_the_weight_tells_roles_apart() {
    let theme = Theme::plain();
    assert!(
        theme
            .syntax(SyntaxRole::Keyword)
            .add_modifier
            .contains(Modifier::BOLD)
    );
    assert!(
        theme
            .syntax(SyntaxRole::Comment)
            .add_modifier
            .contains(Modifier::DIM)
    );
    assert_eq!(theme.syntax(SyntaxRole::Plain), Style::default());
    assert!(
        theme
            .diff_background(DiffRole::AddedPart)
            .add_modifier
            .contains(Modifier::UNDERLINED)
    );
}
