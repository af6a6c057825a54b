//! The pane Command: what the command of the loop says of its edit, and the end of its output.

use crate::prelude::*;

/// Returns the text as it fits into the pane: its end, unless the user scrolled up.
pub fn note(text: &ScrolledText) -> &'static str {
    match text.is_held() {
        true => "the newest lines are below",
        false => "",
    }
}

/// All rows, in so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let Some(view) = data.loops.view() else {
        return Vec::new();
    };
    let lines = view
        .output
        .iter()
        .map(|line| Line::raw(fit(&printable(line), columns)));
    let answer = view
        .state
        .as_ref()
        .and_then(|state| Some(&state.candidate.as_ref()?.answer));
    let said = answer.into_iter().flat_map(|answer| {
        let all = [
            ("", &answer.description),
            ("hypothesis: ", &answer.hypothesis),
            ("lesson: ", &answer.lesson),
        ];
        all.into_iter()
            .filter_map(|(name, text)| Some(format!("{name}{}", text.as_deref()?)))
    });
    let strong = STRONG;
    let said = said.flat_map(|text| paragraph(&text, columns, strong));
    lines.chain(said).collect()
}
