//! The dialogs on top of the panes: a stack, whose topmost entry hears the keys.

use crate::draft::Draft;
use crate::keymap::Action;
use crate::request::Change;
use crate::views::Pane;
use lab_board::Source;
use lab_history::kernels::ListedKernel;
use lab_project::trust::TrustRequest;
use lab_protocol::report::all_cells::CellsRead;
use lab_run::RunId;
use ratatui::crossterm::event::KeyEvent;
use tui_input::Input;

/// A line to type, and the chosen row of the list below it.
#[derive(Clone, Debug, Default)]
pub struct PickList {
    pub input: Input,
    pub at: usize,
    /// Keys that were pressed before there was a row: they act once the list is there.
    pub held: Vec<KeyEvent>,
}

/// How far the user has read a question that may be longer than the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The row that is to be the first visible one.
    pub scroll: usize,
    /// So many rows from the first one on were shown, without a gap.
    pub read: usize,
    /// How the question was drawn; the rows differ where the screen has another width.
    pub drawn: Option<QuestionFit>,
}

/// How a question was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionFit {
    /// The first visible row.
    pub first: usize,
    /// Visible rows.
    pub rows: usize,
    /// All rows.
    pub total: usize,
    /// Columns of the text.
    pub columns: usize,
}

impl Reading {
    /// Takes note of what was drawn.
    pub fn take(&mut self, fit: QuestionFit) {
        if self
            .drawn
            .is_none_or(|before| (before.total, before.columns) != (fit.total, fit.columns))
        {
            self.read = 0;
        }
        if fit.first <= self.read {
            self.read = self.read.max(fit.first + fit.rows);
        }
        (self.scroll, self.drawn) = (fit.first, Some(fit));
    }

    /// Whether every row was shown.
    pub fn is_all_read(&self) -> bool {
        self.drawn.is_some_and(|fit| self.read >= fit.total)
    }

    /// Scrolls to a row, and never past rows that were not shown.
    pub fn scroll_to(&mut self, row: usize) {
        self.scroll = row.min(self.read);
    }
}

/// The help: the first visible row, and the words that its rows must have.
#[derive(Clone, Debug, Default)]
pub struct Help {
    pub scroll: usize,
    pub search: Input,
    /// The words are being typed.
    pub typing: bool,
}

/// A place in the outputs that a run got wrong, and the cells around it.
#[derive(Clone, Debug)]
pub struct WrongCells {
    pub run: RunId,
    /// The workload in which each output is wrong.
    pub workloads: Vec<String>,
    /// Each output, with its rows and columns.
    pub tensors: Vec<(String, [usize; 2])>,
    /// The output that is shown.
    pub at: usize,
    /// The place in that output.
    pub cell: [usize; 2],
    /// The first row and column that are shown.
    pub top: [usize; 2],
    /// What was read last, of which output, and why nothing was read since.
    pub shown: (usize, CellsRead),
    pub problem: Option<String>,
}

/// What a question is about.
#[derive(Clone, Debug)]
pub enum About {
    /// Is each run to be decided by rule?
    Rule,
    /// Is this change to be made?
    Change(Change),
    /// Is the screen to close, although a decision is not made yet?
    Quit,
}

/// What a list offers.
#[derive(Clone, Debug)]
pub enum PickFrom {
    Actions,
    /// Every theme. The screen shows the selected one.
    Themes,
    /// Every kernel of the repository; `None` while they are looked for.
    Kernels(Option<Vec<ListedKernel>>),
    /// The records behind a decision: the id of the evidence, and what it is.
    Evidence(Vec<(String, String)>),
}

/// What a typed line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOf {
    /// Another description of the experiment of this commit.
    Description(String),
    /// A note, tags or another trailer for the experiment of this commit. `beside` is the other line
    /// of the two, note and tags.
    Trailer { commit: String, beside: String },
    /// The decision that this record is to be evidence of; without one the newest bench.
    Decision(Option<Source>),
}

#[derive(Clone, Debug)]
pub enum Overlay {
    Help(Help),
    /// Asks for the message of a keep or a discard.
    Message {
        draft: Draft,
        /// Keep or Discard. The message of a discard may stay empty.
        action: Action,
    },
    /// A question is being read that this action asks. The keys that were typed behind it are held
    /// until the question is there.
    Preparing {
        action: Action,
        held: Vec<KeyEvent>,
    },
    /// Asks whether to do something.
    Question {
        text: String,
        about: About,
    },
    /// Asks for one line.
    Line {
        of: LineOf,
        input: Input,
        problem: Option<String>,
    },
    /// Why a change is not possible. It is a dialog, so that text typed for the expected dialog
    /// does not act as keys.
    Refused {
        title: String,
        text: String,
        /// Stands before the text: the verdict of a run that has ended since.
        newer: String,
    },
    /// The machine code of a profiled line.
    Listing {
        title: String,
        rows: Vec<String>,
        /// The first visible row.
        scroll: usize,
    },
    /// The cells of the outputs that a run got wrong.
    Cells(WrongCells),
    /// Asks whether a harness command may run, or kernels without a sandbox.
    Trust {
        request: Box<TrustRequest>,
        reading: Reading,
    },
    /// The filter of the table. It applies while it is typed.
    Filter {
        input: Input,
        before: String,
        problem: Option<String>,
    },
    /// A list to pick from.
    Pick {
        pick: PickList,
        of: PickFrom,
    },
    /// The search in a pane; `before` is the earlier one.
    Search {
        pane: Pane,
        input: Input,
        before: String,
    },
}

impl Overlay {
    /// Why an action is not possible now.
    pub fn refused(action: Action, text: String) -> Overlay {
        Overlay::Refused {
            title: format!("{}: not now", action.title()),
            text,
            newer: String::new(),
        }
    }

    /// The first visible row of a text that is only read.
    pub fn scroll(&mut self) -> Option<&mut usize> {
        match self {
            Overlay::Help(Help { scroll, .. }) | Overlay::Listing { scroll, .. } => Some(scroll),
            _ => None,
        }
    }

    /// Whether it asks before a discard.
    pub fn asks_discard(&self) -> bool {
        matches!(
            self,
            Overlay::Question {
                about: About::Change(Change::Discard { .. }),
                ..
            }
        )
    }

    /// The text that is typed.
    pub fn input(&mut self) -> Option<&mut Input> {
        match self {
            Overlay::Message { draft, .. } => Some(draft.input()),
            Overlay::Line { input, .. }
            | Overlay::Filter { input, .. }
            | Overlay::Search { input, .. } => Some(input),
            Overlay::Pick { pick, .. } => Some(&mut pick.input),
            Overlay::Help(help) if help.typing => Some(&mut help.search),
            _ => None,
        }
    }

    /// The text has changed: what was wrong with it may be right now.
    pub fn clear_problem(&mut self) {
        match self {
            Overlay::Message { draft, .. } => draft.problem = None,
            Overlay::Line { problem, .. } => *problem = None,
            _ => {}
        }
    }

    /// The list to pick from.
    pub fn pick(&mut self) -> Option<&mut PickList> {
        match self {
            Overlay::Pick { pick, .. } => Some(pick),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(first: usize, columns: usize) -> QuestionFit {
        QuestionFit {
            first,
            rows: 10,
            total: 25,
            columns,
        }
    }

    #[test]
    fn a_question_is_read_once_each_of_its_rows_was_drawn() {
        let mut reading = Reading::default();
        assert!(!reading.is_all_read(), "nothing was drawn");
        reading.take(fit(0, 80));
        reading.scroll_to(1000);
        assert_eq!(reading.scroll, 10, "no row is skipped");
        reading.take(fit(15, 80));
        assert!(!reading.is_all_read(), "rows 10 to 14 were not shown");
        reading.take(fit(10, 80));
        reading.take(fit(15, 80));
        assert!(reading.is_all_read());
        // On a screen of another width the rows are others.
        reading.take(fit(15, 60));
        assert!(!reading.is_all_read());
    }
}
