//! The dialogs on top of the panes: questions, notices, lines to type.

use super::dialog::{Dialog, ListRows};
use super::{help, listing, message_dialog, pick_list};
use crate::keymap::Action;
use crate::overlay::Overlay;
use crate::text::{printable, wrap};
use crate::theme::Theme;
use crate::widgets::input::draw_input;
use crate::widgets::window::{self, draw_window};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tui_input::Input;

impl Dialog<'_> {
    /// Draws the topmost overlay. Returns the first visible row of the help or of a listing.
    pub(super) fn draw(&self, frame: &mut Frame, area: Rect, overlay: &Overlay) -> Option<usize> {
        let question = |frame: &mut Frame, title: &str, text: &String| {
            self.draw_question(frame, area, title, std::slice::from_ref(text));
        };
        match overlay {
            Overlay::Help(state) => return Some(help::draw(self, frame, area, state)),
            Overlay::Keep { draft } => {
                message_dialog::draw(self, frame, area, "Keep", &self.keep_question(), draft);
            }
            Overlay::Discard { draft, .. } => {
                let ask = format!(
                    "What did you try? Left empty: \"{}\".",
                    self.default_description
                );
                message_dialog::draw(self, frame, area, "Discard", &ask, draft);
            }
            Overlay::DiscardNewer { text, .. } => {
                let title = match self.runs.present {
                    Some(Err(_)) => "Discard?",
                    _ => "Discard newer bytes?",
                };
                question(frame, title, text);
            }
            Overlay::Undo { text, .. } => question(frame, "Undo?", text),
            Overlay::Describe {
                commit,
                input,
                problem,
            } => {
                self.draw_description(frame, area, commit, input, problem.as_deref());
            }
            Overlay::Restore { text, .. } => question(frame, "Restore?", text),
            Overlay::Refused { title, text } => self.draw_notice(frame, area, title, text),
            Overlay::Listing {
                title,
                rows,
                scroll,
            } => {
                let rows = wrapped(rows, listing::columns(area));
                return Some(listing::draw(self, frame, area, (title, &rows), *scroll));
            }
            Overlay::Palette(pick) => {
                if let ListRows::Palette(rows) = &self.list {
                    pick_list::draw_palette(self, frame, area, pick, rows);
                }
            }
            Overlay::Themes { pick, .. } => {
                if let ListRows::Themes(fitting) = &self.list {
                    pick_list::draw_themes(self, frame, area, pick, fitting);
                }
            }
            Overlay::Kernels { pick, .. } => {
                if let ListRows::Kernels(fitting) = &self.list {
                    pick_list::draw_kernels(self, frame, area, pick, fitting.as_deref());
                }
            }
            // The pane that is searched or filtered draws its line.
            Overlay::Search { .. } | Overlay::Filter { .. } => {}
            // It tells the next update how much of it is visible, so it is drawn by itself.
            Overlay::Trust { .. } => {}
        }
        None
    }

    fn draw_question(&self, frame: &mut Frame, area: Rect, title: &str, texts: &[String]) {
        let keys = self.keys(&[(Action::Yes, "yes"), (Action::No, "no")]);
        draw_text(frame, area, title, texts, keys, self.theme());
    }

    fn draw_notice(&self, frame: &mut Frame, area: Rect, title: &str, text: &str) {
        let text = printable(text).into_owned();
        let keys = self.keys(&[(Action::Accept, "go back")]);
        draw_text(
            frame,
            area,
            title,
            std::slice::from_ref(&text),
            keys,
            self.theme(),
        );
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
        let mut lines: Vec<Line> = wrap(ask, columns)
            .into_iter()
            .map(|l| Line::styled(l, theme.quiet()))
            .collect();
        // The line that is typed into and its keys stay visible on a small screen.
        lines.truncate(usize::from(area.height).saturating_sub(6));
        let at = lines.len();
        lines.push(Line::default());
        let problem = wrap(problem.unwrap_or_default(), columns);
        lines.extend(
            problem
                .into_iter()
                .map(|l| Line::styled(format!("✗ {l}"), theme.bad())),
        );
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
    texts: &[String],
    keys: Vec<Span>,
    theme: &Theme,
) {
    let columns = usize::from(area.width.saturating_sub(8)).min(80);
    let mut text = wrapped(texts, columns);
    // The keys stay visible, however long the text is.
    text.truncate(usize::from(area.height).saturating_sub(4));
    let inner = draw_window(frame, area, title, (window::COLUMNS, text.len() + 2), theme);
    let mut lines: Vec<Line> = text.into_iter().map(Line::from).collect();
    lines.push(Line::default());
    lines.push(Line::from(keys));
    frame.render_widget(Paragraph::new(lines), inner);
}
