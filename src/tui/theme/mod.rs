//! What things look like, by what they mean: a pane asks for `verdict(Outcome::Pass)`, never for
//! green.

mod depth;
mod scheme;

pub use depth::{ColorDepth, color_depth};
pub use scheme::{EMBEDDED, Scheme, SchemeError};

use crate::session::experiment::Status;
use crate::session::verdict::Outcome;
use ratatui::style::{Color, Modifier, Style};

/// The few colours that everything is made of. `None` leaves the terminal's own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Palette {
    ground: Option<Color>,
    text: Option<Color>,
    /// Beside the point.
    quiet: Option<Color>,
    selection: Option<Color>,
    accent: Option<Color>,
    good: Option<Color>,
    bad: Option<Color>,
    warn: Option<Color>,
    /// Text on a block of good, bad or warn.
    on_block: Option<Color>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    palette: Palette,
    colored: bool,
}

impl Theme {
    /// The terminal's own sixteen colours.
    pub fn ansi() -> Self {
        Theme {
            colored: true,
            palette: Palette {
                ground: None,
                text: None,
                quiet: Some(Color::DarkGray),
                selection: None,
                accent: Some(Color::Cyan),
                good: Some(Color::Green),
                bad: Some(Color::Red),
                warn: Some(Color::Yellow),
                on_block: Some(Color::Black),
            },
        }
    }

    /// Bold, faint and reversed only.
    pub fn plain() -> Self {
        let none = Palette {
            ground: None,
            text: None,
            quiet: None,
            selection: None,
            accent: None,
            good: None,
            bad: None,
            warn: None,
            on_block: None,
        };
        Theme { colored: false, palette: none }
    }

    /// The theme for a terminal of this depth; `name` asks for one of [`EMBEDDED`].
    pub fn choose(name: Option<&str>, depth: ColorDepth) -> Result<Self, String> {
        let scheme = match name {
            None | Some("ansi") => None,
            Some(name) => {
                let known = || EMBEDDED.map(|(n, _)| n).join(", ");
                let (_, text) = EMBEDDED
                    .into_iter()
                    .find(|(n, _)| *n == name)
                    .ok_or_else(|| format!("there is no theme '{name}': it is one of ansi, {}", known()))?;
                Some(scheme::parse(text).map_err(|e| format!("theme {name}: {e}"))?)
            }
        };
        Ok(match (scheme, depth) {
            (_, ColorDepth::None) => Theme::plain(),
            (None, _) | (_, ColorDepth::Ansi16) => Theme::ansi(),
            (Some(scheme), ColorDepth::Rgb) => Theme::of(&scheme, |(r, g, b)| Color::Rgb(r, g, b)),
            (Some(scheme), ColorDepth::Ansi256) => Theme::of(&scheme, |rgb| Color::Indexed(nearest(rgb))),
        })
    }

    fn of(scheme: &Scheme, color: impl Fn((u8, u8, u8)) -> Color) -> Self {
        let at = |place: usize| Some(color(scheme.colors[place]));
        Theme {
            colored: true,
            palette: Palette {
                ground: at(0x0),
                text: at(0x5),
                quiet: at(0x3),
                selection: at(0x2),
                accent: at(0xD),
                good: at(0xB),
                bad: at(0x8),
                warn: at(0xA),
                on_block: at(0x0),
            },
        }
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

    /// The same for a run that is going on.
    pub fn running_block(&self) -> Style {
        self.block(self.palette.accent)
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

/// The nearest of xterm's 6×6×6 cube and its 24 greys.
fn nearest((r, g, b): (u8, u8, u8)) -> u8 {
    const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |(x, y, z): (i32, i32, i32)| {
        (x - i32::from(r)).pow(2) + (y - i32::from(g)).pow(2) + (z - i32::from(b)).pow(2)
    };
    let step = |part: u8| (0..6).min_by_key(|i| (STEPS[*i] - i32::from(part)).abs()).unwrap_or(0);
    let (x, y, z) = (step(r), step(g), step(b));
    let cube = (STEPS[x], STEPS[y], STEPS[z]);
    let mean = (i32::from(r) + i32::from(g) + i32::from(b)) / 3;
    let grey = ((mean - 8).max(0) / 10).min(23);
    let level = 8 + 10 * grey;
    if distance((level, level, level)) < distance(cube) {
        232 + grey as u8
    } else {
        (16 + 36 * x + 6 * y + z) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_follows_the_terminal() {
        assert_eq!(Theme::choose(Some("lab-dark"), ColorDepth::None), Ok(Theme::plain()));
        assert_eq!(Theme::choose(None, ColorDepth::Rgb), Ok(Theme::ansi()));
        assert_eq!(Theme::choose(Some("lab-dark"), ColorDepth::Ansi16), Ok(Theme::ansi()));
        let rgb = Theme::choose(Some("lab-dark"), ColorDepth::Rgb).expect("it is embedded");
        assert_eq!(rgb.good().fg, Some(Color::Rgb(0x7f, 0xc9, 0x8a)));
        let said = Theme::choose(Some("solar"), ColorDepth::Rgb).expect_err("nobody made it");
        assert_eq!(said, "there is no theme 'solar': it is one of ansi, lab-dark, lab-light");
    }

    #[test]
    fn without_colour_no_style_has_one() {
        let theme = Theme::plain();
        for outcome in [Outcome::Pass, Outcome::Fail, Outcome::Crash, Outcome::Void] {
            for style in [theme.verdict(outcome), theme.verdict_block(outcome), theme.text(), theme.found()] {
                assert_eq!((style.fg, style.bg), (None, None));
            }
        }
    }

    #[test]
    fn near_colours_are_found_in_the_cube_and_among_the_greys() {
        assert_eq!(nearest((255, 0, 0)), 196);
        assert_eq!(nearest((0x80, 0x80, 0x80)), 244);
        assert_eq!(nearest((0, 0, 0)), 16);
    }
}
