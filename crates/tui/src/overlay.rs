//! What may lie on top of the panes: a stack, of which the topmost hears the keys.

use super::draft::Draft;
use super::panes::Pane;
use super::theme::Theme;
use lab_core::run::RunId;
use tui_input::Input;

/// A line to type, and which row of what fits it is meant.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    pub input: Input,
    pub at: usize,
}

#[derive(Clone, Debug)]
pub enum Overlay {
    Help {
        scroll: usize,
    },
    /// Asks what was tried, before a keep.
    Keep {
        draft: Draft,
    },
    /// The same before a discard, where it may stay empty.
    Discard {
        draft: Draft,
        confirmed: bool,
    },
    /// The bytes on disk are newer than the verdict.
    DiscardNewer {
        run: RunId,
        text: String,
    },
    /// The last decision is to be taken back.
    Undo {
        run: RunId,
        text: String,
    },
    /// Another description for an experiment.
    Describe {
        commit: String,
        input: Input,
        problem: Option<String>,
    },
    /// An experiment's kernel is to be put on disk.
    Restore {
        commit: String,
        text: String,
    },
    /// Why a keep or a discard is not possible. A dialog, not a message: what was typed in the belief
    /// that the line to type is open must not act as keys.
    Refused {
        title: &'static str,
        text: String,
    },
    /// A harness command that this user has not trusted yet.
    Trust {
        command: String,
    },
    /// The line at the foot of the table: what is typed counts at once.
    Filter {
        input: Input,
        before: String,
        problem: Option<String>,
    },
    /// Every action.
    Palette(Pick),
    /// Every theme; `before` is the one to go back to.
    Themes {
        pick: Pick,
        before: Theme,
    },
    /// The line at the foot of the pane that is searched.
    Search {
        pane: Pane,
        input: Input,
        before: String,
    },
}

impl Overlay {
    /// The message that is typed, if any.
    pub fn draft(&mut self) -> Option<&mut Draft> {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => Some(draft),
            _ => None,
        }
    }

    /// The line that is typed into, if any.
    pub fn input(&mut self) -> Option<&mut Input> {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => Some(draft.input()),
            Overlay::Describe { input, .. }
            | Overlay::Filter { input, .. }
            | Overlay::Search { input, .. } => Some(input),
            Overlay::Palette(pick) | Overlay::Themes { pick, .. } => Some(&mut pick.input),
            _ => None,
        }
    }

    /// What was said against a message counts no longer, once it is another.
    pub fn forgive(&mut self) {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => draft.problem = None,
            Overlay::Describe { problem, .. } => *problem = None,
            _ => {}
        }
    }

    /// The list below the line, if there is one.
    pub fn pick(&mut self) -> Option<&mut Pick> {
        match self {
            Overlay::Palette(pick) | Overlay::Themes { pick, .. } => Some(pick),
            _ => None,
        }
    }
}
