//! The pane Edit: what the command of the loop changes in the incumbent, as it is now.

use crate::diff::{ContextLines, DiffView};
use crate::prelude::*;
use lab_auto::{LoopView, Phase};

#[derive(Clone, Debug, Default)]
pub struct EditState {
    /// The difference as it was read, to know whether it changed.
    hunks: String,
    diff: DiffView,
}

impl EditState {
    /// Shows a difference. The topmost visible row stays on top.
    pub fn show(&mut self, hunks: &str, text: &mut ScrolledText) {
        if self.hunks != hunks {
            let diff = DiffView::of_text(hunks);
            text.follow(&self.diff, &diff);
            (self.hunks, self.diff) = (hunks.to_owned(), diff);
        }
    }

    pub fn document(&self) -> Document<'_> {
        Document::of(Body::Diff(&self.diff))
    }

    pub fn note(&self, data: ScreenData, around: ContextLines) -> String {
        let diff = &self.diff.diff;
        let tally = if diff.is_empty() {
            String::new()
        } else {
            diff.tally()
        };
        let whose = data.loops.view().map(whose).unwrap_or_default();
        joined([&*whose, &tally, around.note()])
    }
}

/// Which turn's edit it is.
fn whose(view: &LoopView) -> String {
    match &view.state {
        Some(state) if view.running && state.phase == Phase::Editing => {
            format!("turn {} so far", state.turn)
        }
        Some(state) if state.turn > 0 => format!("turn {}", state.turn),
        _ => String::new(),
    }
}

pub fn nothing(data: ScreenData, columns: usize) -> Lines {
    let view = data.loops.view();
    if let Some(why) = view.and_then(|view| view.edit.as_ref().err()) {
        return paragraph(why, columns, BAD);
    }
    let text = match view.and_then(|view| view.state.as_ref()) {
        Some(state) if state.phase == Phase::Editing => "the kernel is the incumbent so far",
        Some(_) => "no difference to the incumbent",
        None => "the edit of the loop's command is shown here while it is made",
    };
    paragraph(text, columns, QUIET)
}
