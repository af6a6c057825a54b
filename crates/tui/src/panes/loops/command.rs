//! The pane Command: what the command of the loop says of its edit, and the end of its output.

use super::Data;
use crate::text::{fit, printable, wrap};
use crate::theme::Theme;
use crate::widgets::text_pane::draw_text;
use crate::widgets::{PaneSlot, ScrolledText};
use ratatui::Frame;
use ratatui::text::Line;

#[derive(Clone, Copy, Debug, Default)]
pub struct CommandState {
    text: ScrolledText,
    /// The user scrolled up: new lines do not move the text.
    is_held: bool,
}

impl CommandState {
    pub fn text(&self) -> &ScrolledText {
        &self.text
    }

    pub fn scroll(&mut self, by: isize) {
        self.text.scroll(by);
        self.is_held = true;
    }

    pub fn go_to(&mut self, row: usize) {
        self.text.go_to(row);
        self.is_held = true;
    }

    pub fn unmark(&mut self) {
        self.text.unmark();
    }
}

/// Returns the text as it fits into the pane: its end, unless the user scrolled up.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Data,
    state: CommandState,
    theme: &Theme,
) -> CommandState {
    let note = if state.is_held {
        "the newest lines are below"
    } else {
        ""
    };
    let inner = slot.draw_title(frame, note, theme);
    let rows = rows(data, usize::from(inner.width), theme);
    if rows.is_empty() {
        let hint = "the output of the loop's command is shown here";
        frame.render_widget(Line::styled(hint, theme.quiet()), inner);
        return CommandState::default();
    }
    let (count, height) = (rows.len(), usize::from(inner.height));
    let mut text = state.text;
    if !state.is_held {
        text.show(count);
    }
    let text = draw_text(frame, slot, inner, rows, text, theme);
    CommandState {
        text,
        is_held: text.marked().is_some() || text.first() + height < count,
    }
}

/// All rows, in so many columns.
pub fn rows(data: Data, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(view) = data.loops.view() else {
        return Vec::new();
    };
    let lines = view
        .output
        .iter()
        .map(|line| Line::raw(fit(&printable(line), columns).into_owned()));
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
            .filter_map(|(name, text)| Some(format!("{name}{}", printable(text.as_deref()?))))
    });
    let said = said
        .flat_map(|text| wrap(&text, columns))
        .map(|row| Line::styled(row, theme.strong()));
    lines.chain(said).collect()
}
