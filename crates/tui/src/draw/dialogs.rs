//! The dialogs on top of the panes: questions, notices, lines to type.

use super::dialog::Dialog;
use super::{help, listing, message_dialog, pick_list};
use crate::keymap::Action;
use crate::overlay::{About, Overlay};
use crate::text::{printable, wrap};
use crate::theme::Theme;
use crate::widgets::input::draw_input;
use crate::widgets::window::{self, draw_window};
use crate::widgets::{paragraph, prefixed};
use ratatui::prelude::*;
use ratatui::widgets::Paragraph;
use tui_input::Input;

impl Dialog<'_> {
    /// Draws the topmost overlay. Returns the first visible row of the help or of a listing.
    pub(super) fn draw(&self, frame: &mut Frame, area: Rect, overlay: &Overlay) -> Option<usize> {
        match overlay {
            Overlay::Help(state) => return Some(help::draw(self, frame, area, state)),
            Overlay::Message { draft, action, .. } => {
                let ask = match action {
                    Action::Keep => self.keep_question(),
                    _ => {
                        let default = self.model.default_description();
                        format!("What did you try? Left empty: \"{default}\".")
                    }
                };
                message_dialog::draw(self, frame, area, &action.title(), &ask, draft);
            }
            Overlay::Question { text, about } => {
                let title = match (about, &self.model.runs.present) {
                    (About::Change(change), _) => format!("{}?", change.action().title()),
                    (About::NewerBytes(_), Some(Err(_))) => "Discard?".to_owned(),
                    (About::NewerBytes(_), _) => "Discard newer bytes?".to_owned(),
                };
                let keys = self.keys(&[(Action::Yes, "yes"), (Action::No, "no")]);
                draw_text(frame, area, &title, text, keys, self.theme());
            }
            Overlay::Describe {
                commit,
                input,
                problem,
            } => {
                self.draw_description(frame, area, commit, input, problem.as_deref());
            }
            Overlay::Refused { title, text } => {
                let keys = self.keys(&[(Action::Accept, "go back")]);
                draw_text(frame, area, title, &printable(text), keys, self.theme());
            }
            Overlay::Listing {
                title,
                rows,
                scroll,
            } => {
                let rows = wrapped(rows, listing::columns(area));
                return Some(listing::draw(self, frame, area, (title, &rows), *scroll));
            }
            Overlay::Pick { pick, of } => pick_list::draw(self, frame, area, pick, of),
            Overlay::Search { .. } | Overlay::Filter { .. } => {}
            // It tells the next update how much of it is visible, so it is drawn by itself.
            Overlay::Trust { .. } => {}
        }
        None
    }

    /// Draws the line for another description of a commit's experiment.
    fn draw_description(
        &self,
        frame: &mut Frame,
        area: Rect,
        commit: &str,
        input: &Input,
        problem: Option<&str>,
    ) {
        let theme = self.theme();
        let columns = usize::from(area.width.saturating_sub(8)).min(80);
        let ask = "The row of the experiment and its record are put in these words; its commit keeps its message.";
        let mut lines = paragraph(ask, columns, theme.quiet());
        // The line that is typed into and its keys stay visible on a small screen.
        lines.truncate(usize::from(area.height).saturating_sub(6));
        let at = lines.len();
        lines.push(Line::default());
        let problem = problem.unwrap_or_default();
        lines.extend(prefixed("✗ ", problem, columns + 2, theme.bad()));
        lines.push(Line::default());
        lines.push(Line::from(
            self.keys(&[(Action::Accept, "write"), (Action::Abandon, "go back")]),
        ));
        let title = format!("Describe {}", printable(commit));
        let inner = draw_window(frame, area, &title, (window::COLUMNS, lines.len()), theme);
        frame.render_widget(Paragraph::new(lines), inner);
        let row = inner.y + at as u16;
        if row < inner.bottom() {
            draw_input(
                frame,
                Rect {
                    y: row,
                    height: 1,
                    ..inner
                },
                "› ",
                input,
                theme,
            );
        }
    }
}

fn wrapped(texts: &[String], columns: usize) -> Vec<String> {
    let mut out = Vec::new();
    for text in texts {
        let indent = text.len() - text.trim_start().len();
        let lines = wrap(text, columns.saturating_sub(indent));
        if lines.is_empty() {
            out.push(String::new());
        }
        out.extend(lines.into_iter().map(|line| " ".repeat(indent) + &line));
    }
    out
}

/// Draws a text, and below it the keys that answer.
fn draw_text(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    text: &str,
    keys: Vec<Span>,
    theme: &Theme,
) {
    let columns = usize::from(area.width.saturating_sub(8)).min(80);
    let mut lines = paragraph(text, columns, Style::new());
    lines.truncate(usize::from(area.height).saturating_sub(4));
    let inner = draw_window(
        frame,
        area,
        title,
        (window::COLUMNS, lines.len() + 2),
        theme,
    );
    lines.push(Line::default());
    lines.push(Line::from(keys));
    frame.render_widget(Paragraph::new(lines), inner);
}
