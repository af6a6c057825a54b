//! What source, diffs, compiler messages and curves look like, out of the same scheme as the rest.

use super::Theme;
use super::palette::Hue;
use crate::highlight::SyntaxRole;
use lab_protocol::report::Severity;
use ratatui::style::{Modifier, Style};

/// What a line of a diff, or a part of it, is.
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
    /// A piece of source. Only ink and weight: what lies behind it is the pane's or [`Theme::diff_ground`]'s.
    pub fn syntax(&self, role: SyntaxRole) -> Style {
        let hue = |hue: Hue| self.ink(self.palette.hue(hue));
        // Without colours weight alone tells: what steers the compiler is bold, what it skips is faint.
        let weight = |style: Style, weight: Modifier| {
            if self.is_colored() { style } else { style.add_modifier(weight) }
        };
        match role {
            SyntaxRole::Plain | SyntaxRole::Operator => self.ink(self.palette.text),
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

    /// The sign and the text of a diff's line where the source itself is not coloured.
    pub fn diff(&self, role: DiffRole) -> Style {
        match role {
            DiffRole::Same => self.ink(self.palette.text),
            DiffRole::Added => self.good(),
            DiffRole::Removed => self.ink(self.palette.bad),
            DiffRole::AddedPart => self.good().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            DiffRole::RemovedPart => {
                self.ink(self.palette.bad).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
            }
            DiffRole::Hunk => self.ink(self.palette.hue(Hue::Purple)),
        }
    }

    /// What lies behind a diff's line whose source is coloured: patch it over [`Theme::syntax`]. Where the terminal
    /// has no faint colours only a changed part is marked, by a line under it; the sign in the gutter says the rest.
    pub fn diff_ground(&self, role: DiffRole) -> Style {
        let (ground, part) = match role {
            DiffRole::Added => (self.palette.added[0], false),
            DiffRole::AddedPart => (self.palette.added[1], true),
            DiffRole::Removed => (self.palette.removed[0], false),
            DiffRole::RemovedPart => (self.palette.removed[1], true),
            DiffRole::Same | DiffRole::Hunk => (None, false),
        };
        match ground {
            Some(ground) => Style::new().bg(ground),
            None if part => Style::new().add_modifier(Modifier::UNDERLINED),
            None => Style::new(),
        }
    }

    /// A line's number; `here` is the line of the cursor.
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

    /// The piece of source that a message is about: patch it over [`Theme::syntax`].
    pub fn diagnostic_ground(&self, severity: Severity) -> Style {
        Style { fg: self.diagnostic(severity).fg, ..Style::new() }.add_modifier(Modifier::UNDERLINED)
    }
}
