//! Does it get faster? Every experiment as a mark, the best so far as a step line. Kept ones are
//! prominent, discarded ones faint, a crash is a sign on the ground line.

pub(super) mod bounds;
mod scale;

use super::super::app::App;
use super::super::format;
use super::super::text::{pad_left, printable};
use super::commits::mark;
use super::{Pane, titled};
use crate::config::Goal;
use crate::session::experiment::{Experiment, Status};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use scale::Scale;

/// Result lines that this pane shows, in words.
pub use bounds::KEYS as BOUNDS;

/// Columns of the figures at the axis.
const AXIS: u16 = 7;

/// Columns between two experiments, where there is room.
const STEP: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct HistoryState;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let experiments = app.comparable();
    let mut inner = titled(frame, area, app, Pane::History, &note(app, &experiments));
    // Below everything else, where that leaves room for a chart.
    if let Some(line) = bounds::line(app).filter(|_| inner.height >= 6) {
        inner.height -= 1;
        frame.render_widget(line, Rect { y: inner.bottom(), height: 1, ..inner });
    }
    if experiments.is_empty() {
        let text = if app.loaded { "no experiment yet: c keeps one, d discards one" } else { "reading …" };
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let chosen = app.chosen.as_ref();
    let selected = chosen.and_then(|key| experiments.iter().rposition(|e| e.is(key)));
    let [chart, detail] = [
        Rect { height: inner.height.saturating_sub(1), ..inner },
        Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner },
    ];
    if chart.height >= 3 && chart.width > AXIS + 8 {
        draw_chart(frame.buffer_mut(), chart, app, &experiments, selected);
    }
    let shown = experiments[selected.unwrap_or(experiments.len() - 1)];
    frame.render_widget(describe(shown, app, selected.is_some()), detail);
}

fn note(app: &App, experiments: &[&Experiment]) -> String {
    let unit = format::unit(&app.setup.objective);
    let count = experiments.len();
    let noun = if count == 1 { "experiment" } else { "experiments" };
    let emulated = if experiments.last().is_some_and(|e| e.emulated) { " · emulated times" } else { "" };
    match count {
        0 => unit.to_owned(),
        _ => format!("{unit} · {count} {noun}{emulated}"),
    }
}

/// A figure that counts: correct, and not of a crash.
fn figure(experiment: &Experiment) -> Option<f64> {
    let row = &experiment.row;
    let counts = row.status != Status::Crash && row.correctness == "pass" && row.throughput_sps.is_finite();
    counts.then_some(row.throughput_sps)
}

fn draw_chart(buffer: &mut Buffer, area: Rect, app: &App, all: &[&Experiment], selected: Option<usize>) {
    let theme = &app.theme;
    let ground = area.bottom() - 1;
    let plot = Rect { x: area.x + AXIS, width: area.width - AXIS, height: area.height - 1, ..area };
    // The newest that fit; or, where an older one is selected, those around it.
    let step = (usize::from(plot.width) / (all.len() + 1)).clamp(1, STEP);
    let fits = (usize::from(plot.width) / step).saturating_sub(1).max(1);
    let end = selected.map_or(all.len(), |at| all.len().min((at + fits / 2 + 1).max(fits)));
    let begin = end.saturating_sub(fits);
    let best = running_best(all, app.setup.goal);
    let shown = begin..end;
    let now = undecided(app).filter(|_| end == all.len());
    let mut values = values(all, &best, shown.clone());
    values.extend(now);
    let Some(scale) = Scale::of(&values, plot) else { return };
    draw_axis(buffer, area, &scale, theme.quiet());
    let column = |at: usize| plot.x + ((at - begin) * step) as u16;
    draw_best(buffer, &best, shown.clone(), column, &scale, plot, theme.good());
    for at in shown {
        let experiment = all[at];
        let status = experiment.row.status;
        let y = match figure(experiment) {
            Some(value) => scale.row(value),
            None => ground,
        };
        // Wrong results stand on the ground line too: their speed says nothing.
        let sign = if figure(experiment).is_none() && status != Status::Crash { "×" } else { mark(status) };
        let style = theme.experiment(status);
        let style = if selected == Some(at) { style.patch(theme.selected()) } else { style };
        buffer.set_string(column(at), y, sign, style);
        if selected == Some(at) {
            for y in plot.top()..ground {
                let cell = &mut buffer[(column(at), y)];
                if cell.symbol() == " " {
                    cell.set_symbol("┊").set_style(theme.quiet());
                }
            }
        }
    }
    if let Some(value) = now {
        buffer.set_string(column(end).min(plot.right() - 1), scale.row(value), "◆", theme.strong());
    }
}

/// The figure of the verdict that waits to be kept or discarded.
fn undecided(app: &App) -> Option<f64> {
    let last = app.last.as_ref().filter(|last| last.decided.is_none() && !app.is_stale())?;
    let is_experiment = app.status.as_ref().is_none_or(|s| s.incumbent.as_ref() != Some(&last.start.blob));
    last.verdict.objective.filter(|_| is_experiment).map(|measure| measure.value)
}

/// The best passing and kept figure up to each experiment.
fn running_best(all: &[&Experiment], goal: Goal) -> Vec<Option<f64>> {
    let mut best: Option<f64> = None;
    all.iter()
        .map(|experiment| {
            if let Some(value) = figure(experiment).filter(|_| experiment.row.status == Status::Keep) {
                best = Some(match (best, goal) {
                    (None, _) => value,
                    (Some(best), Goal::Maximize) => best.max(value),
                    (Some(best), Goal::Minimize) => best.min(value),
                });
            }
            best
        })
        .collect()
}

/// What the y-axis has to show: kept figures and the best line. Discards beyond that are clamped
/// to the edge, so that one wild attempt does not flatten everything else.
fn values(all: &[&Experiment], best: &[Option<f64>], shown: std::ops::Range<usize>) -> Vec<f64> {
    let kept: Vec<f64> = shown
        .clone()
        .flat_map(|at| {
            let is_kept = all[at].row.status == Status::Keep;
            [best[at], figure(all[at]).filter(|_| is_kept)]
        })
        .flatten()
        .collect();
    let any = || shown.filter_map(|at| figure(all[at])).collect();
    if kept.is_empty() { any() } else { kept }
}

fn draw_axis(buffer: &mut Buffer, area: Rect, scale: &Scale, style: Style) {
    let x = area.x + AXIS - 2;
    for y in area.top()..area.bottom() - 1 {
        buffer.set_string(x, y, "│", style);
    }
    buffer.set_string(x, area.bottom() - 1, "└", style);
    for x in x + 1..area.right() {
        buffer.set_string(x, area.bottom() - 1, "─", style);
    }
    for (value, y) in scale.ticks() {
        buffer.set_string(area.x, y, pad_left(&format::short(value), usize::from(AXIS) - 2), style);
        buffer.set_string(x, y, "┤", style);
    }
}

fn draw_best(
    buffer: &mut Buffer,
    best: &[Option<f64>],
    shown: std::ops::Range<usize>,
    column: impl Fn(usize) -> u16,
    scale: &Scale,
    plot: Rect,
    style: Style,
) {
    let mut before: Option<u16> = None;
    for at in shown.clone() {
        let Some(y) = best[at].map(|value| scale.row(value)) else { continue };
        let x = column(at);
        if let Some(old) = before.filter(|old| *old != y) {
            let (from, corner) = if old > y { (old, "╯") } else { (old, "╮") };
            buffer.set_string(x, from, corner, style);
            for between in y.min(from) + 1..y.max(from) {
                buffer.set_string(x, between, "│", style);
            }
        }
        before = Some(y);
        let next = if at + 1 < shown.end { column(at + 1) } else { plot.right().min(x + STEP as u16 + 1) };
        let corner = if best.get(at.wrapping_sub(1)).is_none_or(|b| *b == best[at]) { "─" } else { "╭" };
        buffer.set_string(x, y, corner, style);
        for along in x + 1..next {
            buffer.set_string(along, y, "─", style);
        }
    }
}

/// One row about one experiment.
fn describe(experiment: &Experiment, app: &App, is_selected: bool) -> Line<'static> {
    let theme = &app.theme;
    let row = &experiment.row;
    let number = match figure(experiment) {
        Some(value) => format!("{} {}", format::count(value), format::unit(&app.setup.objective)),
        None => row.correctness.clone(),
    };
    let mut spans = vec![
        Span::styled(if is_selected { "▸ " } else { "  " }, theme.accent()),
        Span::styled(printable(&row.commit).into_owned(), theme.accent()),
        Span::styled(format!(" {} {}", mark(row.status), row.status.word()), theme.experiment(row.status)),
        Span::styled(format!("  {number}"), theme.strong()),
        Span::raw(format!("  {}", printable(&row.description))),
    ];
    if let Some(decided) = experiment.decided.filter(|_| is_selected) {
        spans.push(Span::styled(format!("  {}", format::date(decided, &app.zone)), theme.quiet()));
    }
    Line::from(spans)
}
