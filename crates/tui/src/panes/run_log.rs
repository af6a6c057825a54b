//! The pane run.log: followed, scrolled, frozen, searched.

use crate::log::LogView;
use crate::prelude::*;

/// `text`: the log as it fits into the pane.
pub fn note(view: &LogView, text: &ScrolledText, data: ScreenData) -> String {
    let log = view.log();
    let count = log.lines.len();
    let last = text.visible().end.min(count);
    let how = if view.is_frozen() {
        format!("frozen: {} unfreezes", data.way(Action::Freeze))
    } else if text.is_held {
        format!("{} follows", data.way(Action::Bottom))
    } else {
        String::new()
    };
    let run = log.run.map(|run| format!("run {run}"));
    let place = (count > 0).then(|| format!("{last}/{count}"));
    joined([run.unwrap_or_default(), place.unwrap_or_default(), how])
}
