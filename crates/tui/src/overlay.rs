//! The dialogs on top of the panes: a stack, whose topmost entry hears the keys.

use crate::draft::Draft;
use crate::theme::Theme;
use crate::views::Pane;
use lab_core::run::RunId;
use tui_input::Input;

/// A line to type, and the chosen row of the list below it.
#[derive(Clone, Debug, Default)]
pub struct PickList {
    pub input: Input,
    pub at: usize,
}

/// The help: the first visible row, and the words that its rows must have.
#[derive(Clone, Debug, Default)]
pub struct Help {
    pub scroll: usize,
    pub search: Input,
    /// The words are being typed.
    pub typing: bool,
}

#[derive(Clone, Debug)]
pub enum Overlay {
    Help(Help),
    /// Asks for the message of a keep.
    Keep {
        draft: Draft,
    },
    /// Asks for the message of a discard, which may stay empty.
    Discard {
        draft: Draft,
        confirmed: bool,
    },
    /// Asks whether bytes that are newer than the verdict may be discarded.
    DiscardNewer {
        run: RunId,
        text: String,
    },
    /// Asks whether the last decision is to be taken back.
    Undo {
        run: RunId,
        text: String,
    },
    /// Asks for another description of an experiment.
    Describe {
        commit: String,
        input: Input,
        problem: Option<String>,
    },
    /// Asks whether an experiment's kernel is to be put on disk.
    Restore {
        commit: String,
        text: String,
    },
    /// Why a keep or a discard is not possible. It is a dialog, so that text typed for the expected dialog does not act as
    /// keys.
    Refused {
        title: &'static str,
        text: String,
    },
    /// Asks whether a harness command may run.
    Trust {
        command: String,
    },
    /// The filter of the table. It applies while it is typed.
    Filter {
        input: Input,
        before: String,
        problem: Option<String>,
    },
    /// Every action.
    Palette(PickList),
    /// Every theme; `before` is the theme that Esc brings back.
    Themes {
        pick: PickList,
        before: Theme,
    },
    /// The search in a pane; `before` is the earlier one.
    Search {
        pane: Pane,
        input: Input,
        before: String,
    },
}

impl Overlay {
    /// Whether it asks a question, to which the answer is yes or no.
    pub fn is_question(&self) -> bool {
        matches!(
            self,
            Overlay::Trust { .. }
                | Overlay::DiscardNewer { .. }
                | Overlay::Restore { .. }
                | Overlay::Undo { .. }
        )
    }

    /// The message that is typed.
    pub fn draft(&mut self) -> Option<&mut Draft> {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => Some(draft),
            _ => None,
        }
    }

    /// The line that is typed into.
    pub fn input(&mut self) -> Option<&mut Input> {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => Some(draft.input()),
            Overlay::Describe { input, .. }
            | Overlay::Filter { input, .. }
            | Overlay::Search { input, .. } => Some(input),
            Overlay::Palette(pick) | Overlay::Themes { pick, .. } => Some(&mut pick.input),
            Overlay::Help(help) if help.typing => Some(&mut help.search),
            _ => None,
        }
    }

    /// Forgets the problem of a text that has changed.
    pub fn clear_problem(&mut self) {
        match self {
            Overlay::Keep { draft } | Overlay::Discard { draft, .. } => draft.problem = None,
            Overlay::Describe { problem, .. } => *problem = None,
            _ => {}
        }
    }

    /// The list below the line.
    pub fn pick(&mut self) -> Option<&mut PickList> {
        match self {
            Overlay::Palette(pick) | Overlay::Themes { pick, .. } => Some(pick),
            _ => None,
        }
    }
}
