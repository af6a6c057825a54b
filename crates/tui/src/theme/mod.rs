//! Styles by meaning: a pane asks for `verdict(Outcome::Pass)`, never for green.
//!
//! A [`Theme`] is a palette of a few colours and one method for each meaning. The palette comes
//! from a base16 [`Scheme`] or is the terminal's own; it holds only colours that the terminal can
//! show ([`ColorDepth`]).

mod appearance;
mod catalogue;
mod color_depth;
mod palette;
mod rgb;
mod scheme;
mod source_styles;
#[cfg(test)]
mod tests;

pub use appearance::{Appearance, AppearanceChoice};
pub use catalogue::{
    Catalogue, ThemeEntry, ThemeOrigin, is_path, parse_scheme_file, scheme_file_error,
};
pub use color_depth::{ColorDepth, detect_color_depth, parse_color_depth};
pub use rgb::Rgb;
pub use scheme::{MAX_SCHEME_BYTES, Scheme, SchemeError, Variant};
pub use source_styles::DiffRole;

use lab_run::experiment::Status;
use lab_run::verdict::Outcome;
use palette::Palette;
use ratatui::prelude::*;

/// The style of each meaning, in colours that the terminal can show.
///
/// ```
/// use lab_run::verdict::Outcome;
/// use lab_tui::theme::{ColorDepth, Theme};
///
/// let theme = Theme::choose(Some("lab-dark"), ColorDepth::Rgb).unwrap();
/// assert_ne!(theme.verdict(Outcome::Pass), theme.verdict(Outcome::Fail));
/// // Without colours the weight of the letters carries the meaning.
/// assert!(!Theme::plain().is_colored());
/// assert_ne!(Theme::plain().strong(), Theme::plain().quiet());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    palette: Palette,
    colored: bool,
}

impl Theme {
    /// The terminal's own sixteen colours, on its own background.
    pub fn ansi() -> Self {
        Theme {
            colored: true,
            palette: Palette::ansi(),
        }
    }

    /// No colours: bold, faint, underlined and reversed only.
    pub fn plain() -> Self {
        Theme {
            colored: false,
            palette: Palette::default(),
        }
    }

    /// A scheme in the colours that a terminal of this depth can show. The terminal's own
    /// background stays unless `paint` is true.
    pub fn of(scheme: &Scheme, depth: ColorDepth, paint: bool) -> Self {
        Theme {
            colored: depth != ColorDepth::None,
            palette: Palette::of(scheme, depth, paint),
        }
    }

    /// The built-in theme of this name, with the terminal's own background; without a name the
    /// terminal's own colours. Fails where no built-in theme has this name.
    pub fn choose(name: Option<&str>, depth: ColorDepth) -> Result<Self, String> {
        let catalogue = Catalogue::built_in();
        Ok(catalogue
            .find(name.unwrap_or(catalogue::TERMINAL))?
            .theme(depth, false))
    }

    fn foreground(&self, color: Option<Color>) -> Style {
        Style {
            fg: color.or(self.palette.text),
            ..Style::default()
        }
    }

    fn outcome_color(&self, outcome: Outcome) -> Option<Color> {
        match outcome {
            Outcome::Pass => self.palette.good,
            Outcome::Fail | Outcome::Crash => self.palette.bad,
            Outcome::Void | Outcome::NotJudged => self.palette.warn,
        }
    }

    /// Plain text and the background of the screen.
    pub fn text(&self) -> Style {
        Style {
            fg: self.palette.text,
            bg: self.palette.background,
            ..Style::default()
        }
    }

    /// Text that stands out: headings, the chosen value.
    pub fn strong(&self) -> Style {
        self.foreground(self.palette.text)
            .add_modifier(Modifier::BOLD)
    }

    /// Text of less importance: labels, units, rules.
    pub fn quiet(&self) -> Style {
        match self.palette.quiet {
            Some(color) => Style::new().fg(color),
            None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A good result: a pass, a faster kernel.
    pub fn good(&self) -> Style {
        self.foreground(self.palette.good)
    }

    /// A bad result or an error.
    pub fn bad(&self) -> Style {
        self.foreground(self.palette.bad)
            .add_modifier(Modifier::BOLD)
    }

    /// A warning or a caveat.
    pub fn warn(&self) -> Style {
        self.foreground(self.palette.warn)
    }

    /// The focused pane, the cursor, the keys in hints.
    pub fn accent(&self) -> Style {
        self.foreground(self.palette.accent)
    }

    /// The word of a verdict.
    pub fn verdict(&self, outcome: Outcome) -> Style {
        self.foreground(self.outcome_color(outcome))
            .add_modifier(Modifier::BOLD)
    }

    /// The verdict as a filled block, which is readable from a distance.
    pub fn verdict_block(&self, outcome: Outcome) -> Style {
        self.block(self.outcome_color(outcome))
    }

    fn block(&self, color: Option<Color>) -> Style {
        match color {
            Some(color) => Style {
                bg: Some(color),
                fg: self.palette.on_block,
                ..Style::default()
            },
            None => Style::new().add_modifier(Modifier::REVERSED),
        }
        .add_modifier(Modifier::BOLD)
    }

    /// The title in the line above a pane.
    pub fn title(&self, focused: bool) -> Style {
        if focused {
            self.accent().add_modifier(Modifier::BOLD)
        } else {
            self.foreground(self.palette.text)
        }
    }

    /// The line above a pane, beside its title.
    pub fn rule(&self, focused: bool) -> Style {
        if focused { self.accent() } else { self.quiet() }
    }

    /// A key's name in a hint.
    pub fn key(&self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    /// The background of the selected row or point.
    pub fn selected(&self) -> Style {
        match self.palette.selection {
            Some(color) => Style::new().bg(color),
            None => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// A whole selected row. Where the selection is shown by reversed colours, the row's own
    /// colours are removed: reversed, each span would be a block of a different colour.
    pub fn select<'a>(&self, mut line: Line<'a>) -> Line<'a> {
        for span in &mut line.spans {
            if self.palette.selection.is_none() {
                span.style = Style {
                    fg: None,
                    bg: None,
                    ..span.style
                }
                .remove_modifier(Modifier::DIM);
            } else if span.style.bg == self.palette.background {
                // A painted background would be a hole in the row.
                span.style.bg = None;
            }
        }
        line.style(self.selected())
    }

    /// Text that matches the search.
    pub fn search_match(&self) -> Style {
        self.block(self.palette.warn)
    }

    /// An experiment's mark in the chart and in the git log.
    pub fn experiment(&self, status: Status) -> Style {
        match status {
            Status::Keep => self.good().add_modifier(Modifier::BOLD),
            Status::Discard => self.quiet(),
            Status::Crash => self.foreground(self.palette.bad),
            Status::Rules => self.warn(),
        }
    }

    /// Whether the theme uses colours at all.
    pub fn is_colored(&self) -> bool {
        self.colored
    }
}
