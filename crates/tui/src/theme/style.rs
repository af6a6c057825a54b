//! Styles by meaning: a pane draws text as [`GOOD`], never as green.
//!
//! These styles hold marks in place of colours: an `Ink` for the letters, a `Ground` behind
//! them. [`super::Theme::paint`] replaces the marks of a frame by the theme's colours.

use crate::highlight::SyntaxRole;
use lab_protocol::report::{Severity, Speed};
use lab_run::experiment::Status;
use lab_run::verdict::Outcome;
use ratatui::prelude::*;
use ratatui::style::Styled;

/// What letters mean. The colours of source code are base16's (base09 to base0F).
#[derive(Clone, Copy)]
pub(super) enum Ink {
    Text,
    Quiet,
    Accent,
    Good,
    Bad,
    Warn,
    Orange,
    Yellow,
    Green,
    Cyan,
    Blue,
    Purple,
    Brown,
    /// Purple; bold where there are no colours.
    Keyword,
}

/// What lies behind letters.
#[derive(Clone, Copy)]
pub(super) enum Ground {
    Screen,
    Selection,
    /// A block in the colour of [`Ink::Good`], [`Ink::Bad`] or [`Ink::Warn`].
    Good,
    Bad,
    Warn,
    /// A line of a diff, and the part of the line that differs.
    Added,
    AddedPart,
    Removed,
    RemovedPart,
}

pub(super) const INKS: usize = Ink::Keyword as usize + 1;
pub(super) const GROUNDS: usize = Ground::RemovedPart as usize + 1;

/// Added to the mark of a ground in a selected row.
pub(super) const IN_SELECTED_ROW: u8 = 0x80;

const fn letters(ink: Ink) -> Style {
    Style::new().fg(Color::Indexed(ink as u8))
}

const fn behind(ground: Ground) -> Style {
    Style::new().bg(Color::Indexed(ground as u8))
}

const fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD)
}

/// Plain text.
pub const TEXT: Style = letters(Ink::Text);
/// Plain text and the background of the screen.
pub const SCREEN: Style = TEXT.bg(Color::Indexed(Ground::Screen as u8));
/// Text that stands out: headings, the chosen value.
pub const STRONG: Style = bold(TEXT);
/// Text of less importance: labels, units, rules.
pub const QUIET: Style = letters(Ink::Quiet);
/// A good result: a pass, a faster kernel.
pub const GOOD: Style = letters(Ink::Good);
/// A bad result or an error.
pub const BAD: Style = bold(letters(Ink::Bad));
/// A warning or a caveat.
pub const WARN: Style = letters(Ink::Warn);
/// The focused pane, the cursor, the keys in hints.
pub const ACCENT: Style = letters(Ink::Accent);
/// A key's name in a hint; the title of what has the focus.
pub const KEY: Style = bold(ACCENT);
/// The background of the selected row or point.
pub const SELECTED: Style = behind(Ground::Selection);
/// Text that matches the search.
pub const MATCH: Style = bold(behind(Ground::Warn));

/// A text as a span with a meaning: `"168 registers".quiet()`.
pub trait Meaning: Styled + Sized {
    fn strong(self) -> Self::Item {
        self.set_style(STRONG)
    }

    fn quiet(self) -> Self::Item {
        self.set_style(QUIET)
    }

    fn good(self) -> Self::Item {
        self.set_style(GOOD)
    }

    fn bad(self) -> Self::Item {
        self.set_style(BAD)
    }

    fn warn(self) -> Self::Item {
        self.set_style(WARN)
    }

    fn accent(self) -> Self::Item {
        self.set_style(ACCENT)
    }

    fn key(self) -> Self::Item {
        self.set_style(KEY)
    }
}

impl<T: Styled> Meaning for T {}

/// The word of a verdict.
pub fn verdict(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Pass => bold(GOOD),
        Outcome::Fail | Outcome::Crash => BAD,
        Outcome::Void | Outcome::NotJudged => bold(WARN),
    }
}

/// The verdict as a filled block, which is readable from a distance.
pub fn verdict_block(outcome: Outcome) -> Style {
    bold(behind(match outcome {
        Outcome::Pass => Ground::Good,
        Outcome::Fail | Outcome::Crash => Ground::Bad,
        Outcome::Void | Outcome::NotJudged => Ground::Warn,
    }))
}

/// The title in the line above a pane.
pub fn title(is_focused: bool) -> Style {
    if is_focused { KEY } else { TEXT }
}

/// The line above a pane, beside its title.
pub fn rule(is_focused: bool) -> Style {
    if is_focused { ACCENT } else { QUIET }
}

/// A whole selected row.
pub fn select(mut line: Line) -> Line {
    for span in &mut line.spans {
        if let Some(Color::Indexed(ground)) = &mut span.style.bg {
            *ground |= IN_SELECTED_ROW;
        }
    }
    line.style(Style::new().bg(Color::Indexed(Ground::Selection as u8 | IN_SELECTED_ROW)))
}

/// An experiment's mark in the chart and in the git log.
pub fn experiment(status: Status) -> Style {
    match status {
        Status::Keep => bold(GOOD),
        Status::Discard => QUIET,
        Status::Crash => letters(Ink::Bad),
        Status::Rules => WARN,
    }
}

/// A kernel's speed beside another's.
pub fn speed(speed: Speed) -> Style {
    match speed {
        Speed::Faster => GOOD,
        Speed::Slower => BAD,
        Speed::Same => QUIET,
        Speed::Undecided | Speed::Mixed => WARN,
    }
}

/// A piece of source: colour and weight. The background is the pane's, or [`diff_background`]'s.
pub fn syntax(role: SyntaxRole) -> Style {
    match role {
        SyntaxRole::Plain | SyntaxRole::Operator => TEXT,
        SyntaxRole::Comment => QUIET,
        SyntaxRole::Keyword => letters(Ink::Keyword),
        SyntaxRole::Qualifier => bold(letters(Ink::Purple)),
        SyntaxRole::Type => letters(Ink::Yellow),
        SyntaxRole::Builtin => letters(Ink::Cyan),
        SyntaxRole::Text => letters(Ink::Green),
        SyntaxRole::Number => letters(Ink::Orange),
        SyntaxRole::Function => letters(Ink::Blue),
        SyntaxRole::Preprocessor => letters(Ink::Brown),
    }
}

/// The role of a line of a diff, or of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffRole {
    Same,
    Added,
    Removed,
    /// The words of an added or removed line that differ from its counterpart.
    AddedPart,
    RemovedPart,
    /// `@@ -1,4 +1,5 @@`
    Hunk,
}

/// The sign of a diff's line, and its text where the source is not highlighted.
pub fn diff(role: DiffRole) -> Style {
    const PART: Modifier = Modifier::BOLD.union(Modifier::UNDERLINED);
    match role {
        DiffRole::Same => TEXT,
        DiffRole::Added => GOOD,
        DiffRole::Removed => letters(Ink::Bad),
        DiffRole::AddedPart => GOOD.add_modifier(PART),
        DiffRole::RemovedPart => BAD.add_modifier(PART),
        DiffRole::Hunk => letters(Ink::Purple),
    }
}

/// The background of a diff's line whose source is highlighted: patch it over [`syntax`]. Where the
/// terminal has no faint colours, only a changed part of a line is marked, by an underline; the
/// sign in the gutter tells the rest.
pub fn diff_background(role: DiffRole) -> Style {
    match role {
        DiffRole::Same | DiffRole::Hunk => Style::new(),
        DiffRole::Added => behind(Ground::Added),
        DiffRole::AddedPart => behind(Ground::AddedPart),
        DiffRole::Removed => behind(Ground::Removed),
        DiffRole::RemovedPart => behind(Ground::RemovedPart),
    }
}

/// A line's number; `is_here` is true of the cursor's line.
pub fn gutter(is_here: bool) -> Style {
    if is_here { STRONG } else { QUIET }
}

/// A compiler's message and its sign.
pub fn diagnostic(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
        Severity::Note => ACCENT,
    }
}

/// The piece of source that a compiler message names: patch it over [`syntax`].
pub fn diagnostic_underline(severity: Severity) -> Style {
    Style {
        fg: diagnostic(severity).fg,
        ..Style::new()
    }
    .add_modifier(Modifier::UNDERLINED)
}
