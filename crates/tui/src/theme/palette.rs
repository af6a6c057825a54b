//! The few colours of a theme: a scheme's, or the terminal's own.

use super::color_depth::ColorDepth;
use super::rgb::Rgb;
use super::scheme::{Scheme, Variant};
use ratatui::style::Color;

/// The colours of a theme. `None` leaves the terminal's own colour; then bold, faint, underlined or
/// reversed carries the meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Palette {
    /// Painted over the whole screen.
    pub background: Option<Color>,
    pub text: Option<Color>,
    /// Labels, units, rules.
    pub quiet: Option<Color>,
    pub selection: Option<Color>,
    pub accent: Option<Color>,
    pub good: Option<Color>,
    pub bad: Option<Color>,
    pub warn: Option<Color>,
    /// Text on a block of good, bad or warn.
    pub on_block: Option<Color>,
    /// Backgrounds of a diff: of the line, and of the part of the line that differs.
    pub added: [Option<Color>; 2],
    pub removed: [Option<Color>; 2],
    /// Colours of source code: orange, yellow, green, cyan, blue, purple, brown (base09 to base0F).
    pub hues: [Option<Color>; 7],
}

/// An index into [`Palette::hues`].
#[derive(Clone, Copy)]
pub(super) enum Hue {
    Orange,
    Yellow,
    Green,
    Cyan,
    Blue,
    Purple,
    Brown,
}

impl Palette {
    pub fn hue(&self, hue: Hue) -> Option<Color> {
        self.hues[hue as usize]
    }

    /// The terminal's own sixteen colours, on its own background. Orange and brown become yellow,
    /// which is brown on many terminals. The bright colours are not used, because they are greys in
    /// Solarized terminals. Blue is not used as a text colour, because it is nearly black on most
    /// dark backgrounds.
    pub fn ansi() -> Self {
        use Color::{Black, Cyan, DarkGray, Green, Magenta, Red, Yellow};
        Palette {
            background: None,
            text: None,
            quiet: Some(DarkGray),
            selection: None,
            accent: Some(Cyan),
            good: Some(Green),
            bad: Some(Red),
            warn: Some(Yellow),
            on_block: Some(Black),
            added: [None; 2],
            removed: [None; 2],
            hues: [
                Some(Yellow),
                Some(Yellow),
                Some(Green),
                Some(Cyan),
                None,
                Some(Magenta),
                Some(Yellow),
            ],
        }
    }

    /// The same for a light scheme, without yellow and cyan: they are unreadable on white.
    fn ansi_light() -> Self {
        use Color::{Blue, Green, Magenta, Red, White};
        Palette {
            accent: Some(Blue),
            warn: Some(Magenta),
            on_block: Some(White),
            hues: [Red, Magenta, Green, Blue, Blue, Magenta, Red].map(Some),
            ..Palette::ansi()
        }
    }

    /// A scheme in the colours that a terminal of this depth can show. With `paint` its background
    /// is painted too.
    pub fn of(scheme: &Scheme, depth: ColorDepth, paint: bool) -> Self {
        let show = match depth {
            ColorDepth::None => return Palette::default(),
            ColorDepth::Ansi16 => return Palette::sixteen(scheme.variant, paint),
            ColorDepth::Ansi256 => |color: Rgb| Color::Indexed(color.indexed()),
            ColorDepth::Rgb => |color: Rgb| Color::Rgb(color.0, color.1, color.2),
        };
        let at = |index: usize| Some(show(scheme.colors[index]));
        let (added, removed) = diff_backgrounds(scheme, depth);
        Palette {
            background: at(0x0).filter(|_| paint),
            text: at(0x5),
            quiet: Some(show(quiet(scheme, depth))),
            selection: at(0x2),
            accent: at(0xD),
            good: at(0xB),
            bad: at(0x8),
            warn: at(0xA),
            on_block: at(0x0),
            added,
            removed,
            hues: [0x9, 0xA, 0xB, 0xC, 0xD, 0xE, 0xF].map(at),
        }
    }

    fn sixteen(variant: Variant, paint: bool) -> Self {
        let (palette, background, text) = match variant {
            Variant::Dark => (Palette::ansi(), Color::Black, Color::Gray),
            Variant::Light => (Palette::ansi_light(), Color::White, Color::Black),
        };
        if !paint {
            return palette;
        }
        Palette {
            background: Some(background),
            text: Some(text),
            ..palette
        }
    }
}

/// base03, mixed with the text colour until its contrast with the background is 3:1, WCAG 2.1's
/// minimum for large text. Schemes choose base03 for comments that a reader may skip; here labels
/// and units are written in it.
fn quiet(scheme: &Scheme, depth: ColorDepth) -> Rgb {
    let shown = |color: Rgb| {
        if depth == ColorDepth::Ansi256 {
            color.nearest()
        } else {
            color
        }
    };
    let (background, text) = (scheme.colors[0x0], scheme.colors[0x5]);
    (0..=10)
        .map(|tenths| text.over(scheme.colors[0x3], f64::from(tenths) / 10.0))
        .find(|color| shown(*color).contrast(shown(background)) >= 3.0)
        .unwrap_or(text)
}

/// The backgrounds of added and of removed lines: of the line, and of the part that differs.
fn diff_backgrounds(
    scheme: &Scheme,
    depth: ColorDepth,
) -> ([Option<Color>; 2], [Option<Color>; 2]) {
    if depth == ColorDepth::Ansi256 {
        // Among the 256 colours the nearest to a faint green is a grey; these are the faintest
        // greens and reds of the cube.
        return match scheme.variant {
            Variant::Dark => (
                [22, 28].map(Color::Indexed).map(Some),
                [52, 88].map(Color::Indexed).map(Some),
            ),
            Variant::Light => (
                [194, 157].map(Color::Indexed).map(Some),
                [224, 217].map(Color::Indexed).map(Some),
            ),
        };
    }
    let mixed = |index: usize| {
        [0.14, 0.32].map(|share| {
            let Rgb(r, g, b) = scheme.colors[index].over(scheme.colors[0], share);
            Some(Color::Rgb(r, g, b))
        })
    };
    (mixed(0xB), mixed(0x8))
}
