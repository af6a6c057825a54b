//! The pane Command: what the command of the loop says of its edit, and the end of its output.

use crate::prelude::*;

/// The pane shows the end of the text, unless the user scrolled up.
pub fn note(text: &ScrolledText) -> &'static str {
    if text.is_held {
        "the newest lines are below"
    } else {
        ""
    }
}

/// All rows, in so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let Some(view) = data.loops.view() else {
        return Vec::new();
    };
    let output = view
        .output
        .iter()
        .map(|line| fit(&printable(line), columns));
    let mut lines: Lines = output.map(Line::raw).collect();
    let candidate = view
        .state
        .as_ref()
        .and_then(|state| state.candidate.as_ref());
    if let Some(answer) = candidate.map(|candidate| &candidate.answer) {
        for (name, text) in [
            ("", &answer.description),
            ("hypothesis: ", &answer.hypothesis),
            ("lesson: ", &answer.lesson),
        ] {
            let said = text.iter().map(|text| format!("{name}{text}"));
            lines.extend(said.flat_map(|text| paragraph(&text, columns, STRONG)));
        }
    }
    lines
}
