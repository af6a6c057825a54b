//! What things look like, by what they mean: a pane asks for `verdict(Outcome::Pass)`, never for
//! green.

mod catalogue;
mod depth;
mod looks;
mod palette;
mod rgb;
mod scheme;
mod source;
#[cfg(test)]
mod tests;

pub use catalogue::{Catalogue, Entry, Origin, is_path};
pub use depth::{ColorDepth, color_depth, said_depth};
pub use looks::{Looks, Wish};
pub use rgb::Rgb;
pub use scheme::{Scheme, SchemeError, Variant};
pub use source::DiffRole;

use lab_core::run::experiment::Status;
use lab_core::run::verdict::Outcome;
use palette::Palette;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    palette: Palette,
    colored: bool,
}

impl Theme {
    /// The terminal's own sixteen colours, on its own ground.
    pub fn ansi() -> Self {
        Theme { colored: true, palette: Palette::ansi() }
    }

    /// Bold, faint, underlined and reversed only.
    pub fn plain() -> Self {
        Theme { colored: false, palette: Palette::default() }
    }

    /// A scheme as a terminal of this depth shows it. The terminal's own ground stays unless `paint` is asked for.
    pub fn of(scheme: &Scheme, depth: ColorDepth, paint: bool) -> Self {
        Theme { colored: depth != ColorDepth::None, palette: Palette::of(scheme, depth, paint) }
    }

    /// What [`Catalogue::choose`] makes of a name of a built-in theme, nothing painted; without one the terminal's
    /// own colours.
    pub fn choose(name: Option<&str>, depth: ColorDepth) -> Result<Self, String> {
        Catalogue::built_in().choose(name.unwrap_or(catalogue::TERMINAL), depth, false)
    }

    fn ink(&self, color: Option<Color>) -> Style {
        Style { fg: color.or(self.palette.text), ..Style::default() }
    }

    fn signal(&self, outcome: Outcome) -> Option<Color> {
        match outcome {
            Outcome::Pass => self.palette.good,
            Outcome::Fail | Outcome::Crash => self.palette.bad,
            Outcome::Void => self.palette.warn,
        }
    }

    /// Plain text and its ground.
    pub fn text(&self) -> Style {
        Style { fg: self.palette.text, bg: self.palette.ground, ..Style::default() }
    }

    pub fn strong(&self) -> Style {
        self.ink(self.palette.text).add_modifier(Modifier::BOLD)
    }

    /// Beside the point: labels, units, rules.
    pub fn quiet(&self) -> Style {
        match self.palette.quiet {
            Some(color) => Style::new().fg(color),
            None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    pub fn good(&self) -> Style {
        self.ink(self.palette.good)
    }

    pub fn bad(&self) -> Style {
        self.ink(self.palette.bad).add_modifier(Modifier::BOLD)
    }

    pub fn warn(&self) -> Style {
        self.ink(self.palette.warn)
    }

    pub fn accent(&self) -> Style {
        self.ink(self.palette.accent)
    }

    pub fn verdict(&self, outcome: Outcome) -> Style {
        self.ink(self.signal(outcome)).add_modifier(Modifier::BOLD)
    }

    /// A block to be seen from across the room.
    pub fn verdict_block(&self, outcome: Outcome) -> Style {
        self.block(self.signal(outcome))
    }

    fn block(&self, color: Option<Color>) -> Style {
        match color {
            Some(color) => Style { bg: Some(color), fg: self.palette.on_block, ..Style::default() },
            None => Style::new().add_modifier(Modifier::REVERSED),
        }
        .add_modifier(Modifier::BOLD)
    }

    /// The line above a pane.
    pub fn title(&self, focused: bool) -> Style {
        if focused { self.accent().add_modifier(Modifier::BOLD) } else { self.ink(self.palette.text) }
    }

    pub fn rule(&self, focused: bool) -> Style {
        if focused { self.accent() } else { self.quiet() }
    }

    /// A key that a hint names.
    pub fn key(&self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    /// A row or a point that is selected.
    pub fn selected(&self) -> Style {
        match self.palette.selection {
            Some(color) => Style::new().bg(color),
            None => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// A whole row that is selected. Where that is said by turning colours round, the row's own are left out: turned
    /// round each would be a block of its own.
    pub fn select<'a>(&self, mut line: Line<'a>) -> Line<'a> {
        if self.palette.selection.is_none() {
            for span in &mut line.spans {
                span.style = Style { fg: None, bg: None, ..span.style }.remove_modifier(Modifier::DIM);
            }
        }
        line.style(self.selected())
    }

    /// Text that a search found.
    pub fn found(&self) -> Style {
        self.block(self.palette.warn)
    }

    /// An experiment's mark in the chart and the log.
    pub fn experiment(&self, status: Status) -> Style {
        match status {
            Status::Keep => self.good().add_modifier(Modifier::BOLD),
            Status::Discard => self.quiet(),
            Status::Crash => self.ink(self.palette.bad),
        }
    }

    pub fn is_colored(&self) -> bool {
        self.colored
    }
}
