//! The dialogs on top of the panes: help, questions, notices, lines to type.

use super::{message_dialog, pick_list};
use crate::format;
use crate::keymap::{Action, Binding, Place, TABLE};
use crate::model::Model;
use crate::overlay::Overlay;
use crate::state::{Appearance, Repository, Runs, Setup};
use crate::text::{fit, pad, printable, width, wrap};
use crate::theme::Theme;
use crate::widgets::input::draw_input;
use crate::widgets::window::{self, draw_window};
use lab_core::run::RunId;
use lab_core::run::verdict::Outcome;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tui_input::Input;

/// Columns of the help, where the screen has them: keys and their sentences are long.
const HELP_COLUMNS: u16 = 104;

/// What the dialogs show besides their own text.
pub(super) struct Dialog<'a> {
    pub(super) appearance: &'a Appearance,
    setup: &'a Setup,
    runs: &'a Runs,
    repository: &'a Repository,
    /// Lists below a line that is typed into.
    model: &'a Model,
}

impl<'a> Dialog<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        Dialog {
            appearance: &model.appearance,
            setup: &model.setup,
            runs: &model.runs,
            repository: &model.repository,
            model,
        }
    }

    pub(super) fn theme(&self) -> &'a Theme {
        &self.appearance.theme
    }

    /// Draws the topmost overlay. Returns the first visible row of the help.
    pub(super) fn draw(&self, frame: &mut Frame, area: Rect, overlay: &Overlay) -> Option<usize> {
        let question = |frame: &mut Frame, title: &str, text: &String| {
            self.draw_question(frame, area, title, std::slice::from_ref(text));
        };
        match overlay {
            Overlay::Help { scroll } => return Some(self.draw_help(frame, area, *scroll)),
            Overlay::Keep { draft } => {
                let ask = match self.head_holds_last() {
                    // The description goes into the row and the record.
                    true => {
                        "What did you try? HEAD holds these bytes already: a row is written, and no commit is made."
                    }
                    false => "What did you try? This becomes the commit's subject.",
                };
                message_dialog::draw(self, frame, area, "Keep", ask, draft);
            }
            Overlay::Discard { draft, .. } => {
                let ask = format!("What did you try? Left empty: \"{}\".", self.model.default_description());
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
            Overlay::Describe { commit, input, problem } => {
                self.draw_description(frame, area, commit, input, problem.as_deref());
            }
            Overlay::Restore { text, .. } => question(frame, "Put it back?", text),
            Overlay::Refused { title, text } => self.draw_notice(frame, area, title, text),
            Overlay::Trust { command } => {
                let text = [
                    "This lab.toml wants to run a command that you have not trusted yet:".to_owned(),
                    String::new(),
                    format!("    {}", printable(command)),
                    String::new(),
                    "It runs with your rights at every save. Run it?".to_owned(),
                ];
                self.draw_question(frame, area, "Trust this harness?", &text);
            }
            Overlay::Palette(pick) => {
                let rows = self.model.palette_rows(pick.input.value());
                pick_list::draw_palette(self, frame, area, pick, &rows, self.model.panes.view);
            }
            Overlay::Themes { pick, .. } => {
                let names = self.model.fitting_themes(pick.input.value());
                pick_list::draw_themes(self, frame, area, pick, &names);
            }
            // The pane that is searched or filtered draws its line.
            Overlay::Search { .. } | Overlay::Filter { .. } => {}
        }
        None
    }

    /// HEAD holds the bytes of the last verdict: a keep makes no commit.
    fn head_holds_last(&self) -> bool {
        let incumbent = self.repository.status.as_ref().and_then(|status| status.snapshot.incumbent.as_ref());
        self.runs.last.as_ref().is_some_and(|last| incumbent == Some(&last.start.blob))
    }

    /// Keys, each with a word.
    fn keys(&self, words: &[(Action, &str)]) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for (action, word) in words {
            spans.push(Span::styled(self.appearance.keymap.key(*action), self.theme().key()));
            spans.push(Span::raw(format!(" {word}    ")));
        }
        spans
    }

    fn draw_question(&self, frame: &mut Frame, area: Rect, title: &str, texts: &[String]) {
        let keys = self.keys(&[(Action::Yes, "yes"), (Action::No, "no")]);
        draw_text(frame, area, title, texts, keys, self.theme());
    }

    fn draw_notice(&self, frame: &mut Frame, area: Rect, title: &str, text: &str) {
        let text = printable(text).into_owned();
        let keys = self.keys(&[(Action::Accept, "go back")]);
        draw_text(frame, area, title, std::slice::from_ref(&text), keys, self.theme());
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
        let ask =
            "The row of the experiment and its record are put in these words; its commit keeps its message.";
        let mut lines: Vec<Line> =
            wrap(ask, columns).into_iter().map(|l| Line::styled(l, theme.quiet())).collect();
        // The line that is typed into and its keys stay visible on a small screen.
        lines.truncate(usize::from(area.height).saturating_sub(6));
        let at = lines.len();
        lines.push(Line::default());
        let problem = wrap(problem.unwrap_or_default(), columns);
        lines.extend(problem.into_iter().map(|l| Line::styled(format!("✗ {l}"), theme.bad())));
        lines.push(Line::default());
        lines.push(Line::from(self.keys(&[(Action::Accept, "write"), (Action::Abandon, "go back")])));
        let title = format!("Describe {}", printable(commit));
        let inner = draw_window(frame, area, &title, (window::COLUMNS, lines.len()), theme);
        frame.render_widget(Paragraph::new(lines), inner);
        let row = inner.y + at as u16;
        if row < inner.bottom() {
            draw_input(frame, Rect { y: row, height: 1, ..inner }, "› ", input, theme);
        }
    }

    /// What the decision is about: the verdict and its figure.
    pub(super) fn verdict_line(&self, run: RunId) -> Line<'static> {
        let theme = self.theme();
        let Some(last) = self.runs.last_if(run) else {
            return Line::styled("a newer run has ended meanwhile", theme.warn());
        };
        let verdict = &last.verdict;
        let mut spans = vec![Span::styled(
            format!("{} {}", verdict.sign(), verdict.word()),
            theme.verdict(verdict.outcome),
        )];
        if verdict.outcome == Outcome::Pass {
            if let Some(measure) = verdict.objective {
                let unit = format::unit(&self.setup.objective);
                spans
                    .push(Span::styled(format!("  {} {unit}", format::count(measure.value)), theme.strong()));
            }
            if verdict.emulated {
                spans.push(Span::styled("  emulated", theme.warn()));
            }
            if let Some(change) = verdict.change {
                spans.push(Span::raw(format!("  {} vs {}", change.words(), change.against())));
            }
        } else {
            spans.push(Span::raw(format!("  {}", printable(&verdict.why))));
        }
        Line::from(spans)
    }

    /// Returns the first visible row.
    fn draw_help(&self, frame: &mut Frame, area: Rect, scroll: usize) -> usize {
        let (theme, keymap) = (self.theme(), &self.appearance.keymap);
        let labels = |binding: &Binding| match keymap.keys(binding.action) {
            none if none.is_empty() => keymap.way(binding.action),
            keys => keys,
        };
        let mut lines = Vec::new();
        let key_columns = TABLE.iter().map(|b| width(&labels(b))).max().unwrap_or(0);
        let columns = usize::from(area.width.saturating_sub(8).min(HELP_COLUMNS - 4));
        for place in Place::ALL {
            if TABLE.iter().all(|b| b.place != place) {
                continue;
            }
            lines.push(Line::styled(place.heading(), theme.strong()));
            for binding in TABLE.iter().filter(|b| b.place == place) {
                let rows = wrap(binding.doc, columns.saturating_sub(key_columns + 4));
                for (row, text) in rows.into_iter().enumerate() {
                    let keys = if row == 0 { labels(binding) } else { String::new() };
                    lines.push(Line::from(vec![
                        Span::styled(format!("  {}  ", pad(&keys, key_columns)), theme.key()),
                        Span::raw(text),
                    ]));
                }
            }
            lines.push(Line::default());
        }
        lines.pop();
        let rows = lines.len();
        let inner = draw_window(frame, area, "Keys", (HELP_COLUMNS, rows), theme);
        let last = rows.saturating_sub(usize::from(inner.height));
        let first = scroll.min(last);
        let shown: Vec<Line> = lines.into_iter().skip(first).collect();
        frame.render_widget(Paragraph::new(shown), inner);
        let mut hint = format!(" {} closes ", keymap.way(Action::Close));
        if last > first {
            hint = format!(" {} for more ·{hint}", keymap.way(Action::Down));
        }
        let place = Rect { y: inner.bottom(), height: 1, ..inner };
        if place.y < area.bottom() {
            let hint = fit(&hint, usize::from(inner.width)).into_owned();
            frame.render_widget(Line::styled(hint, theme.quiet()).right_aligned(), place);
        }
        first
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
fn draw_text(frame: &mut Frame, area: Rect, title: &str, texts: &[String], keys: Vec<Span>, theme: &Theme) {
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
