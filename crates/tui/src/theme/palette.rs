//! The colours of each theme: a scheme's, or the terminal's own.

use super::Theme;
use super::color_depth::ColorDepth;
use super::rgb::Rgb;
use super::scheme::{Scheme, Variant};
use super::style::{GROUNDS, Ground, INKS, Ink};
use ratatui::style::Color;

impl Theme {
    /// A theme whose selection and diffs have no colours. `inks` are the colours in the order of
    /// [`Ink`], except the last: keywords are purple.
    fn of_inks(inks: [Option<Color>; INKS - 1], on_block: Option<Color>) -> Self {
        let color = |ink: Ink| inks[ink as usize];
        let mut grounds = [None; GROUNDS];
        for (ground, ink) in [
            (Ground::Good, Ink::Good),
            (Ground::Bad, Ink::Bad),
            (Ground::Warn, Ink::Warn),
        ] {
            grounds[ground as usize] = color(ink);
        }
        let keyword = [color(Ink::Purple)];
        let inks = [&inks[..], &keyword].concat();
        Theme {
            inks: std::array::from_fn(|ink| inks[ink]),
            grounds,
            on_block,
        }
    }

    /// The terminal's own sixteen colours, on its own background. Orange and brown become yellow,
    /// which is brown on many terminals. The bright colours are not used, because they are greys in
    /// Solarized terminals. Blue is not used as a text colour, because it is nearly black on most
    /// dark backgrounds.
    pub fn ansi() -> Self {
        use Color::{Black, Cyan, DarkGray, Green, Magenta, Red, Reset, Yellow};
        let inks = [
            Reset, DarkGray, Cyan, Green, Red, Yellow, Yellow, Yellow, Green, Cyan, Reset, Magenta,
            Yellow,
        ];
        Theme::of_inks(inks.map(own), Some(Black))
    }

    /// The same for a light scheme, without yellow and cyan: they are unreadable on white.
    fn ansi_light() -> Self {
        use Color::{Blue, DarkGray, Green, Magenta, Red, Reset, White};
        let inks = [
            Reset, DarkGray, Blue, Green, Red, Magenta, Red, Magenta, Green, Blue, Blue, Magenta,
            Red,
        ];
        Theme::of_inks(inks.map(own), Some(White))
    }

    /// A scheme in the colours that a terminal of this depth can show. The terminal's own
    /// background stays unless `paint` is true.
    pub fn of(scheme: &Scheme, depth: ColorDepth, paint: bool) -> Self {
        let show = match depth {
            ColorDepth::None => return Theme::plain(),
            ColorDepth::Ansi16 => return Theme::sixteen(scheme.variant, paint),
            ColorDepth::Ansi256 => |color: Rgb| Color::Indexed(color.indexed()),
            ColorDepth::Rgb => |color: Rgb| Color::Rgb(color.0, color.1, color.2),
        };
        let at = |index: usize| Some(show(scheme.colors[index]));
        let inks = [
            at(0x5),
            Some(show(quiet(scheme, depth))),
            at(0xD),
            at(0xB),
            at(0x8),
            at(0xA),
            at(0x9),
            at(0xA),
            at(0xB),
            at(0xC),
            at(0xD),
            at(0xE),
            at(0xF),
        ];
        let mut theme = Theme::of_inks(inks, at(0x0));
        let [added, removed] = diff_backgrounds(scheme, depth);
        theme.set(Ground::Screen, at(0x0).filter(|_| paint));
        theme.set(Ground::Selection, at(0x2));
        theme.set(Ground::Added, Some(added[0]));
        theme.set(Ground::AddedPart, Some(added[1]));
        theme.set(Ground::Removed, Some(removed[0]));
        theme.set(Ground::RemovedPart, Some(removed[1]));
        theme
    }

    fn sixteen(variant: Variant, paint: bool) -> Self {
        let (mut theme, background, text) = match variant {
            Variant::Dark => (Theme::ansi(), Color::Black, Color::Gray),
            Variant::Light => (Theme::ansi_light(), Color::White, Color::Black),
        };
        if paint {
            theme.set(Ground::Screen, Some(background));
            theme.inks[Ink::Text as usize] = Some(text);
        }
        theme
    }

    fn set(&mut self, ground: Ground, color: Option<Color>) {
        self.grounds[ground as usize] = color;
    }
}

/// `Reset` leaves the terminal's own colour.
fn own(color: Color) -> Option<Color> {
    Some(color).filter(|color| *color != Color::Reset)
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
fn diff_backgrounds(scheme: &Scheme, depth: ColorDepth) -> [[Color; 2]; 2] {
    if depth == ColorDepth::Ansi256 {
        // Among the 256 colours the nearest to a faint green is a grey; these are the faintest
        // greens and reds of the cube.
        let indices = match scheme.variant {
            Variant::Dark => [[22, 28], [52, 88]],
            Variant::Light => [[194, 157], [224, 217]],
        };
        return indices.map(|indices| indices.map(Color::Indexed));
    }
    [0xB, 0x8].map(|index: usize| {
        [0.14, 0.32].map(|share| {
            let Rgb(r, g, b) = scheme.colors[index].over(scheme.colors[0], share);
            Color::Rgb(r, g, b)
        })
    })
}
