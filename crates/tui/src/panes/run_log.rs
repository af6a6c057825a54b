//! run.log: followed, scrolled, frozen, searched. Only the lines that are seen are looked at.

use super::super::app::App;
use super::super::keymap::Action;
use super::super::text::slice;
use super::super::theme::Theme;
use super::{Pane, titled};
use crate::search_highlight::find_all;
use lab_core::text::sanitise::LogLine;
use lab_protocol::report::{first_word, parse};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let inner = titled(frame, area, app, Pane::Log, &note(app));
    let rows = inner.height;
    app.log.height = usize::from(rows);
    let first = app.log.first();
    let marked = app.log.marked();
    let needle = app.needle(Pane::Log);
    for row in 0..rows {
        let at = first + usize::from(row);
        let Some(line) = app.log.log().line(at) else { break };
        let place = Rect { y: inner.y + row, height: 1, ..inner };
        let spans = paint(line, app.log.left, usize::from(inner.width), needle, &app.theme);
        let style = if marked == Some(at) { app.theme.selected() } else { Style::new() };
        frame.render_widget(Line::from(spans).style(style), place);
    }
}

fn note(app: &App) -> String {
    let log = app.log.log();
    let mut parts: Vec<String> = log.run.map(|run| format!("run {run}")).into_iter().collect();
    if !log.is_empty() {
        let last = (app.log.first() + app.log.height).min(log.len());
        parts.push(format!("{last}/{}", log.len()));
    }
    if app.log.is_frozen() {
        parts.push(format!("frozen: {} lets go", app.keymap.way(Action::Freeze)));
    } else if !app.log.follow {
        parts.push(format!("{} follows", app.keymap.way(Action::Bottom)));
    }
    parts.join(" · ")
}

/// One line's visible part: the key of a result line is quiet, what a search found stands out.
pub(super) fn paint<'a>(
    line: &'a LogLine,
    left: usize,
    columns: usize,
    needle: &str,
    theme: &Theme,
) -> Vec<Span<'a>> {
    let text = &line.text;
    let found = find_all(text, needle);
    if !found.is_empty() {
        let mut spans = Vec::new();
        let mut at = 0;
        for range in found {
            spans.push(Span::styled(&text[at..range.start], base(line, theme)));
            spans.push(Span::styled(&text[range.clone()], theme.search_match()));
            at = range.end;
        }
        spans.push(Span::styled(&text[at..], base(line, theme)));
        return cut(spans, left, columns);
    }
    if line.result
        && left == 0
        && let Some((key, value)) = text.split_once(':')
    {
        let value_style = value_style(text, theme);
        let room = columns.saturating_sub(key.len() + 1);
        return vec![
            Span::styled(slice(key, 0, columns), theme.quiet()),
            Span::styled(":", theme.quiet()),
            Span::styled(slice(value, 0, room), value_style),
        ];
    }
    vec![Span::styled(slice(text, left, columns), base(line, theme))]
}

fn base(line: &LogLine, theme: &Theme) -> Style {
    let text = line.text.as_str();
    if line.result {
        return theme.text();
    }
    if text.contains("error:") || text.contains(": error") {
        theme.bad()
    } else if text.contains("warning:") || text.contains(": warning") {
        theme.warn()
    } else if text.starts_with('|') || text.starts_with('…') {
        theme.quiet()
    } else {
        theme.text()
    }
}

fn value_style(text: &str, theme: &Theme) -> Style {
    match parse(text) {
        Some(entry) if entry.key == "stage" => theme.accent(),
        Some(entry) if entry.key == "correctness" && first_word(entry.value) == "pass" => theme.good(),
        Some(entry) if entry.key == "correctness" => theme.bad(),
        Some(entry) if entry.key == "caveat" => theme.warn(),
        _ => theme.text(),
    }
}

/// The columns `left..left + columns` of styled text.
fn cut(spans: Vec<Span<'_>>, mut left: usize, mut columns: usize) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    for span in spans {
        let width = span.width();
        if left >= width {
            left -= width;
            continue;
        }
        let part = slice(&span.content, left, columns).into_owned();
        left = 0;
        columns = columns.saturating_sub(super::super::text::width(&part));
        out.push(Span::styled(part, span.style));
        if columns == 0 {
            break;
        }
    }
    out
}

/// Where the cursor of an input stands.
pub(super) fn cursor(area: Rect, columns: usize) -> Position {
    let column = u16::try_from(columns).unwrap_or(u16::MAX);
    Position::new(area.x.saturating_add(column).min(area.right().saturating_sub(1)), area.y)
}
