//! Every experiment as a table, the newest on top.

use super::super::app::App;
use super::super::format;
use super::super::keymap::Action;
use super::super::text::{fit, pad, pad_left, printable};
use super::commits::{figure, mark};
use super::{Pane, titled};
use crate::session::experiment::Experiment;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

#[derive(Clone, Debug, Default)]
pub struct ExperimentsState {
    first: usize,
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let note = format!("{}", app.history.len());
    let inner = titled(frame, area, app, Pane::Experiments, &note);
    if app.history.is_empty() {
        let way = |action| app.keymap.way(action);
        let none = format!(
            "no experiment yet: {} keeps one, {} discards one",
            way(Action::Keep),
            way(Action::Discard)
        );
        let text = if app.loaded { none } else { "reading …".to_owned() };
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let rows = usize::from(inner.height);
    let count = app.history.len();
    let key = app.chosen.as_ref();
    let chosen = key.and_then(|key| app.history.iter().rev().position(|e| e.is(key)));
    let lowest = (chosen.unwrap_or(0) + 1).saturating_sub(rows);
    let first = app.panes.experiments.first.clamp(lowest, chosen.unwrap_or(0).max(lowest));
    app.panes.experiments.first = first.min(count.saturating_sub(1));
    let selected = chosen.unwrap_or(0);
    if (first..first + rows).contains(&selected) {
        app.panes.mark_selected(Pane::Experiments, inner.y + (selected - first) as u16);
    }
    for (row, experiment) in app.history.iter().rev().skip(first).take(rows).enumerate() {
        let mut line = describe(experiment, app, usize::from(inner.width));
        if chosen == Some(first + row) {
            line = line.style(app.theme.selected());
        }
        frame.render_widget(line, Rect { y: inner.y + row as u16, height: 1, ..inner });
    }
}

fn describe(experiment: &Experiment, app: &App, columns: usize) -> Line<'static> {
    let theme = &app.theme;
    let row = &experiment.row;
    let when = experiment.decided.map(|at| format::date(at, &app.zone)).unwrap_or_default();
    let mut spans = vec![
        Span::styled(pad(&printable(&row.commit), 8), theme.accent()),
        Span::styled(format!("{} ", mark(row.status)), theme.experiment(row.status)),
        Span::styled(pad_left(&figure(experiment), 7), theme.strong()),
        Span::styled(format!("  {}  ", pad(&when, 16)), theme.quiet()),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(fit(&printable(&row.description), columns.saturating_sub(used)).into_owned()));
    Line::from(spans)
}
