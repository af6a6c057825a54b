//! The few colours that everything is made of: from a scheme, or the terminal's own.

use super::depth::ColorDepth;
use super::rgb::Rgb;
use super::scheme::{Scheme, Variant};
use ratatui::style::Color;

/// `None` leaves the terminal's own colour, and the meaning is said by bold, faint, underlined or reversed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Palette {
    /// What the whole screen is painted with.
    pub ground: Option<Color>,
    pub text: Option<Color>,
    /// Beside the point.
    pub quiet: Option<Color>,
    pub selection: Option<Color>,
    pub accent: Option<Color>,
    pub good: Option<Color>,
    pub bad: Option<Color>,
    pub warn: Option<Color>,
    /// Text on a block of good, bad or warn.
    pub on_block: Option<Color>,
    /// Behind a line of a diff, and behind the part of it that differs.
    pub added: [Option<Color>; 2],
    pub removed: [Option<Color>; 2],
    /// Orange, yellow, green, cyan, blue, purple, brown: base09 to base0F, for source.
    pub hues: [Option<Color>; 7],
}

/// A hue's place in [`Palette::hues`].
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

    /// The terminal's own sixteen colours, on its own ground. Yellow is also what orange and brown become:
    /// it is brown on many terminals. The bright colours are left alone, being greys in Solarized terminals, and
    /// blue ink too: it is all but black on most dark grounds.
    pub fn ansi() -> Self {
        use Color::{Black, Cyan, DarkGray, Green, Magenta, Red, Yellow};
        Palette {
            ground: None,
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
            hues: [Some(Yellow), Some(Yellow), Some(Green), Some(Cyan), None, Some(Magenta), Some(Yellow)],
        }
    }

    /// The same for a light scheme: yellow and cyan cannot be read on white.
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

    /// A scheme as a terminal of this depth shows it. `paint` has its ground painted too.
    pub fn of(scheme: &Scheme, depth: ColorDepth, paint: bool) -> Self {
        let show = match depth {
            ColorDepth::None => return Palette::default(),
            ColorDepth::Ansi16 => return Palette::sixteen(scheme.variant, paint),
            ColorDepth::Ansi256 => |color: Rgb| Color::Indexed(color.indexed()),
            ColorDepth::Rgb => |color: Rgb| Color::Rgb(color.0, color.1, color.2),
        };
        let at = |place: usize| Some(show(scheme.colors[place]));
        let (added, removed) = grounds(scheme, depth);
        Palette {
            ground: at(0x0).filter(|_| paint),
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
        let (palette, ground, text) = match variant {
            Variant::Dark => (Palette::ansi(), Color::Black, Color::Gray),
            Variant::Light => (Palette::ansi_light(), Color::White, Color::Black),
        };
        if !paint {
            return palette;
        }
        Palette { ground: Some(ground), text: Some(text), ..palette }
    }
}

/// base03, led towards the text until it stands out from the ground by 3:1 (WCAG 2.1's least for what is large or
/// no text): schemes make it for comments that may be skipped, and here labels and units are written in it.
fn quiet(scheme: &Scheme, depth: ColorDepth) -> Rgb {
    let shown = |color: Rgb| if depth == ColorDepth::Ansi256 { color.nearest() } else { color };
    let (ground, text) = (scheme.colors[0x0], scheme.colors[0x5]);
    (0..=10)
        .map(|tenths| text.over(scheme.colors[0x3], f64::from(tenths) / 10.0))
        .find(|color| shown(*color).contrast(shown(ground)) >= 3.0)
        .unwrap_or(text)
}

/// What lies behind added and removed lines, and behind the parts of them that differ.
fn grounds(scheme: &Scheme, depth: ColorDepth) -> ([Option<Color>; 2], [Option<Color>; 2]) {
    if depth == ColorDepth::Ansi256 {
        // A faint green is nearest to a grey among the 256; these are the cube's own faintest.
        return match scheme.variant {
            Variant::Dark => ([22, 28].map(Color::Indexed).map(Some), [52, 88].map(Color::Indexed).map(Some)),
            Variant::Light => {
                ([194, 157].map(Color::Indexed).map(Some), [224, 217].map(Color::Indexed).map(Some))
            }
        };
    }
    let mixed = |place: usize| {
        [0.14, 0.32].map(|share| {
            let Rgb(r, g, b) = scheme.colors[place].over(scheme.colors[0], share);
            Some(Color::Rgb(r, g, b))
        })
    };
    (mixed(0xB), mixed(0x8))
}
