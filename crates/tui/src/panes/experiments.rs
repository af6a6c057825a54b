//! Every experiment as a table: as many columns as the room allows, the rows that the filter lets through. What
//! its rows and their order are is in [`super::super::table`].

mod cells;
mod columns;

use super::super::app::App;
use super::super::keymap::Action;
use super::super::overlay::Overlay;
use super::super::table::{Column, FIELDS};
use super::super::text::{fit, pad, pad_left, printable, width, wrap_to};
use super::dialogs::draw_input;
use super::{Pane, titled};
use crate::search_highlight as found;
use columns::Shown;
use lab_core::run::experiment::Experiment;
use lab_core::text::figures::thousands;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns before the first: the chosen row's sign, and a mark's.
const GUTTER: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct ExperimentsState {
    /// The topmost row that is seen.
    first: usize,
}

impl ExperimentsState {
    /// Scrolls as little as keeps the row in sight.
    fn bring_into_view(&mut self, row: usize, rows: usize, count: usize) {
        let lowest = (row + 1).saturating_sub(rows);
        self.first = self.first.clamp(lowest, row.max(lowest)).min(count.saturating_sub(1));
    }
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let mut inner = titled(frame, area, app, Pane::Experiments, &note(app));
    draw_filter(frame, &mut inner, app);
    if app.table.is_empty() {
        let way = |action| app.keymap.way(action);
        let text = match (app.loaded, app.history.is_empty()) {
            (false, _) => "reading …".to_owned(),
            (true, true) => {
                format!(
                    "no experiment yet: {} keeps one, {} discards one",
                    way(Action::Keep),
                    way(Action::Discard)
                )
            }
            (true, false) => {
                format!("no experiment holds to the filter: {} takes it away", way(Action::Close))
            }
        };
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let shown = columns::choose(usize::from(inner.width).saturating_sub(GUTTER), app);
    if inner.height > 2 {
        let head = Rect { height: 1, ..inner };
        frame.render_widget(header(&shown, app), head);
        app.panes.heads = heads(&shown, head);
        inner = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    }
    let rows = usize::from(inner.height);
    let chosen = app.chosen_row();
    let state = &mut app.panes.experiments;
    state.bring_into_view(chosen.unwrap_or(0), rows, app.table.len());
    let first = state.first;
    let count = app.table.len().saturating_sub(first);
    app.panes.note_list(Pane::Experiments, inner, count, chosen.unwrap_or(0).saturating_sub(first));
    for (at, place) in app.table.order().iter().enumerate().skip(first).take(rows) {
        let Some(experiment) = app.history.get(*place) else { continue };
        // Where none is chosen the topmost stands for it, and is shown whole beside.
        let is_chosen = chosen.unwrap_or(0) == at;
        let line = row(&shown, experiment, *place, is_chosen, app);
        let mut line = found::mark(line, app.needle(Pane::Experiments), &app.theme);
        if is_chosen && chosen.is_some() {
            line = app.theme.select(line);
        }
        frame.render_widget(line, Rect { y: inner.y + (at - first) as u16, height: 1, ..inner });
    }
}

/// How many there are, and in which order.
fn note(app: &App) -> String {
    let [shown, all] = [app.table.len(), app.history.len()].map(|count| thousands(count as f64));
    let sort = app.table.sort();
    let arrow = arrow(sort.descending);
    let order = format!("by {} {arrow}", columns::name(sort.column, app));
    match app.table.filter() {
        filter if filter.is_empty() => format!("{all} · {order}"),
        filter => format!("{shown} of {all} · {} · {order}", printable(filter.text())),
    }
}

fn arrow(descending: bool) -> &'static str {
    if descending { "▼" } else { "▲" }
}

/// The line that is typed into, at the foot; below it what is wrong with it, or what can be typed.
fn draw_filter(frame: &mut Frame, inner: &mut Rect, app: &App) {
    let Some(Overlay::Filter { input, problem, .. }) = app.overlays.last() else { return };
    let theme = &app.theme;
    let hint = format!("words, {}:, >150k, <2M; ! before one: not", FIELDS.join(":, "));
    let (text, style) = match problem {
        Some(problem) => (format!("✗ {}", printable(problem)), theme.bad()),
        None => (hint, theme.quiet()),
    };
    let lines = wrap_to(&text, usize::from(inner.width), 2);
    let taken = (lines.len() as u16 + 1).min(inner.height);
    inner.height -= taken;
    let mut at = Rect { y: inner.bottom(), height: 1, ..*inner };
    draw_input(frame, at, "filter› ", input, theme);
    for line in lines.into_iter().take(usize::from(taken.saturating_sub(1))) {
        at.y += 1;
        frame.render_widget(Line::styled(line, style), at);
    }
}

/// Where the head of each column is, for a click: between two is nothing.
fn heads(shown: &[Shown], area: Rect) -> Vec<(Rect, Column)> {
    let mut from = GUTTER;
    let place = |&Shown { column, width }: &Shown| {
        let x = area.x.saturating_add(from as u16);
        from += width + columns::GAP.len();
        (Rect { x, width: width as u16, ..area }.intersection(area), column)
    };
    shown.iter().map(place).collect()
}

fn header(shown: &[Shown], app: &App) -> Line<'static> {
    let sort = app.table.sort();
    let mut spans = vec![Span::raw(" ".repeat(GUTTER))];
    for (at, &Shown { column, width }) in shown.iter().enumerate() {
        let is_sorted = sort.column == column;
        let mut name = columns::name(column, app);
        // A sign needs no heading.
        if self::width(&name) > width {
            name.clear();
        } else if is_sorted {
            name.push_str(arrow(sort.descending));
        }
        let name = if columns::is_figure(column) { pad_left(&name, width) } else { pad(&name, width) };
        let style = if is_sorted { app.theme.strong() } else { app.theme.quiet() };
        spans.push(Span::raw(if at > 0 { columns::GAP } else { "" }));
        spans.push(Span::styled(name, style));
    }
    Line::from(spans)
}

fn row(shown: &[Shown], experiment: &Experiment, place: usize, is_chosen: bool, app: &App) -> Line<'static> {
    let theme = &app.theme;
    let facts = app.table.facts(place).cloned().unwrap_or_default();
    let is_foreign = facts.of_another_kernel || facts.on_another_device;
    let mut spans = vec![
        Span::styled(if is_chosen { "▸" } else { " " }, theme.key()),
        Span::styled(if app.table.is_marked(&experiment.key()) { "◆" } else { " " }, theme.key()),
    ];
    let shows_device = shown.iter().any(|s| s.column == Column::Device);
    for (at, &Shown { column, width }) in shown.iter().enumerate() {
        let cell = match column {
            Column::Description => cells::description(experiment, &facts, shows_device),
            _ => cells::text(column, width, experiment, &facts, app),
        };
        let style = cells::style(column, experiment, is_foreign, app);
        let cell = match column {
            Column::Description => fit(&cell, width).into_owned(),
            _ if columns::is_figure(column) => pad_left(&cell, width),
            _ => pad(&cell, width),
        };
        spans.push(Span::raw(if at > 0 { columns::GAP } else { "" }));
        spans.push(Span::styled(cell, style));
    }
    Line::from(spans)
}
