//! Colours and styles. A pane draws with the styles of [`style`], which have meanings in place of
//! colours. A [`Theme`] holds the colour of each meaning, and colours a whole frame at once.
//!
//! The colours come from a base16 [`Scheme`] or are the terminal's own; a theme holds only colours
//! that the terminal can show ([`ColorDepth`]).

mod appearance;
mod catalogue;
mod color_depth;
mod palette;
mod rgb;
mod scheme;
pub mod style;
#[cfg(test)]
mod tests;

pub use appearance::{Appearance, AppearanceChoice};
pub use catalogue::{Catalogue, ThemeEntry, is_path, parse_scheme_file, scheme_file_error};
pub use color_depth::{ColorDepth, detect_color_depth, parse_color_depth};
pub use rgb::Rgb;
pub use scheme::{MAX_SCHEME_BYTES, Scheme, Variant};
pub use style::DiffRole;

use ratatui::prelude::*;
use std::ops::RangeInclusive;
use style::{GROUNDS, Ground, IN_SELECTED_ROW, INKS, Ink};

const NONE: Modifier = Modifier::empty();

/// What tells an ink apart where there are no colours, in the order of [`Ink`].
const INK_WEIGHTS: [Modifier; INKS] = {
    let mut weights = [NONE; INKS];
    weights[Ink::Quiet as usize] = Modifier::DIM;
    weights[Ink::Keyword as usize] = Modifier::BOLD;
    weights[Ink::Brown as usize] = Modifier::BOLD;
    weights
};

/// What takes the place of a ground without a colour, in the order of [`Ground`].
const GROUND_WEIGHTS: [Modifier; GROUNDS] = {
    let mut weights = [NONE; GROUNDS];
    weights[Ground::AddedPart as usize] = Modifier::UNDERLINED;
    weights[Ground::RemovedPart as usize] = Modifier::UNDERLINED;
    let mut reversed = Ground::Selection as usize;
    while reversed <= Ground::Warn as usize {
        weights[reversed] = Modifier::REVERSED;
        reversed += 1;
    }
    weights
};

/// The grounds that are blocks of colour, with text of its own colour.
const BLOCKS: RangeInclusive<usize> = Ground::Good as usize..=Ground::Warn as usize;

/// The colour of each meaning, as the terminal can show it. `None` leaves the terminal's own
/// colour; then bold, faint, underlined or reversed carries the meaning.
///
/// ```
/// use lab_tui::theme::style::{BAD, GOOD, QUIET, STRONG};
/// use lab_tui::theme::{ColorDepth, Theme};
///
/// let theme = Theme::choose(Some("lab-dark"), ColorDepth::Rgb).unwrap();
/// assert_ne!(theme.shown(GOOD).fg, theme.shown(BAD).fg);
/// // Without colours the weight of the letters carries the meaning.
/// assert!(!Theme::plain().is_colored());
/// assert_ne!(Theme::plain().shown(STRONG), Theme::plain().shown(QUIET));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// By [`Ink`].
    inks: [Option<Color>; INKS],
    /// By [`Ground`].
    grounds: [Option<Color>; GROUNDS],
    /// Text on a block of good, bad or warn.
    on_block: Option<Color>,
}

impl Theme {
    /// No colours: bold, faint, underlined and reversed only.
    pub fn plain() -> Self {
        Theme::default()
    }

    /// The built-in theme of this name, with the terminal's own background; without a name the
    /// terminal's own colours. Fails where no built-in theme has this name.
    pub fn choose(name: Option<&str>, depth: ColorDepth) -> Result<Self, String> {
        let catalogue = Catalogue::built_in();
        Ok(catalogue
            .find(name.unwrap_or(catalogue::TERMINAL))?
            .theme(depth, false))
    }

    /// Whether the theme uses colours at all.
    pub fn is_colored(&self) -> bool {
        self.ink(Ink::Good).is_some()
    }

    fn ink(&self, ink: Ink) -> Option<Color> {
        self.inks[ink as usize]
    }

    fn ground(&self, ground: Ground) -> Option<Color> {
        self.grounds[ground as usize]
    }

    /// Replaces the marks of a frame by the theme's colours.
    pub fn paint(&self, buffer: &mut Buffer) {
        for cell in &mut buffer.content {
            let shown = self.shown(cell.style());
            cell.fg = shown.fg.unwrap_or(Color::Reset);
            cell.bg = shown.bg.unwrap_or(Color::Reset);
            cell.modifier = shown.add_modifier;
        }
    }

    /// A style of [`style`] in the theme's colours.
    pub fn shown(&self, style: Style) -> Style {
        let mark = |color| match color {
            Some(Color::Indexed(mark)) => Some(mark),
            _ => None,
        };
        let mut shown = Style {
            fg: None,
            bg: None,
            ..style
        };
        if let Some(ink) = mark(style.fg).map(usize::from) {
            shown.fg = self.inks[ink].or(self.ink(Ink::Text));
            if !self.is_colored() {
                shown.add_modifier |= INK_WEIGHTS[ink];
            }
        }
        let Some(mark) = mark(style.bg) else {
            return shown;
        };
        let ground = usize::from(mark & !IN_SELECTED_ROW);
        shown.bg = self.grounds[ground].or(self.ground(Ground::Screen));
        if mark & IN_SELECTED_ROW != 0 && self.ground(Ground::Selection).is_none() {
            // Reversed, each span in a colour of its own would be a block of that colour.
            shown.fg = self.ink(Ink::Text);
            shown.bg = self.ground(Ground::Screen);
            shown.add_modifier.remove(Modifier::DIM);
            shown.add_modifier |= GROUND_WEIGHTS[ground] | Modifier::REVERSED;
        } else if self.grounds[ground].is_none() {
            shown.add_modifier |= GROUND_WEIGHTS[ground];
        } else if BLOCKS.contains(&ground) {
            shown.fg = self.on_block;
        }
        shown
    }
}
