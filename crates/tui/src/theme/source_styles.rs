//! The styles of source code, diffs and compiler messages.

use super::Theme;
use super::palette::Hue;
use crate::highlight::SyntaxRole;
use lab_protocol::report::Severity;
use ratatui::style::{Modifier, Style};

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

impl Theme {
    /// A piece of source: foreground colour and weight. The background is the pane's, or
    /// [`Theme::diff_background`]'s.
    pub fn syntax(&self, role: SyntaxRole) -> Style {
        let hue = |hue: Hue| self.foreground(self.palette.hue(hue));
        // Without colours the weight tells the roles apart: keywords and preprocessor lines are
        // bold, comments are faint.
        let weight = |style: Style, weight: Modifier| {
            if self.is_colored() {
                style
            } else {
                style.add_modifier(weight)
            }
        };
        match role {
            SyntaxRole::Plain | SyntaxRole::Operator => self.foreground(self.palette.text),
            SyntaxRole::Comment => self.quiet(),
            SyntaxRole::Keyword => weight(hue(Hue::Purple), Modifier::BOLD),
            SyntaxRole::Qualifier => hue(Hue::Purple).add_modifier(Modifier::BOLD),
            SyntaxRole::Type => hue(Hue::Yellow),
            SyntaxRole::Builtin => hue(Hue::Cyan),
            SyntaxRole::Text => hue(Hue::Green),
            SyntaxRole::Number => hue(Hue::Orange),
            SyntaxRole::Function => hue(Hue::Blue),
            SyntaxRole::Preprocessor => weight(hue(Hue::Brown), Modifier::BOLD),
        }
    }

    /// The sign of a diff's line, and its text where the source is not highlighted.
    pub fn diff(&self, role: DiffRole) -> Style {
        match role {
            DiffRole::Same => self.foreground(self.palette.text),
            DiffRole::Added => self.good(),
            DiffRole::Removed => self.foreground(self.palette.bad),
            DiffRole::AddedPart => self
                .good()
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            DiffRole::RemovedPart => self
                .foreground(self.palette.bad)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            DiffRole::Hunk => self.foreground(self.palette.hue(Hue::Purple)),
        }
    }

    /// The background of a diff's line whose source is highlighted: patch it over
    /// [`Theme::syntax`]. Where the terminal has no faint colours, only a changed part of a line is
    /// marked, by an underline; the sign in the gutter tells the rest.
    pub fn diff_background(&self, role: DiffRole) -> Style {
        let (background, is_part) = match role {
            DiffRole::Added => (self.palette.added[0], false),
            DiffRole::AddedPart => (self.palette.added[1], true),
            DiffRole::Removed => (self.palette.removed[0], false),
            DiffRole::RemovedPart => (self.palette.removed[1], true),
            DiffRole::Same | DiffRole::Hunk => (None, false),
        };
        match background {
            Some(background) => Style::new().bg(background),
            None if is_part => Style::new().add_modifier(Modifier::UNDERLINED),
            None => Style::new(),
        }
    }

    /// A line's number; `here` is true of the cursor's line.
    pub fn gutter(&self, here: bool) -> Style {
        if here { self.strong() } else { self.quiet() }
    }

    /// A compiler's message and its sign.
    pub fn diagnostic(&self, severity: Severity) -> Style {
        match severity {
            Severity::Error => self.bad(),
            Severity::Warning => self.warn(),
            Severity::Note => self.accent(),
        }
    }

    /// The piece of source that a compiler message names: patch it over [`Theme::syntax`].
    pub fn diagnostic_underline(&self, severity: Severity) -> Style {
        Style {
            fg: self.diagnostic(severity).fg,
            ..Style::new()
        }
        .add_modifier(Modifier::UNDERLINED)
    }
}
