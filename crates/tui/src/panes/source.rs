//! kernel.cu: the file with the compilers' words at their lines, or what changed since the base.

mod file;
mod state;

pub use state::{Mode, SourceState};

use super::super::app::App;
use super::super::diff::{self, Side};
use super::super::highlight::Highlighted;
use super::super::source::{Source, Which};
use super::super::text::{printable, wrap};
use super::super::theme::Theme;
use super::{Pane, titled};
use crate::line_layout::Look;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    // The title says in which form the diff is, and that is a matter of room.
    app.panes.source.view.fit(area.width.saturating_sub(2), usize::from(area.height.saturating_sub(1)));
    let inner = titled(frame, area, app, Pane::Source, &note(app));
    let is_focused = app.panes.focus() == Pane::Source;
    let search = app.needle(Pane::Source).to_owned();
    let App { panes, theme, .. } = app;
    let state = &mut panes.source;
    if let Some(why) = missing(state) {
        say(frame, inner, &why, theme);
        return;
    }
    if state.mode == Mode::File {
        file::draw(frame, inner, state, theme, is_focused, &search);
        return;
    }
    let mut view = std::mem::take(&mut state.view);
    view.left = state.left;
    let ink = |side: Side, number: u32| {
        let which = if side == Side::Old { Which::Base } else { Which::Present };
        looks(state.colours(which), number as usize - 1, theme)
    };
    diff::draw(frame, inner, &mut view, theme, is_focused, &search, &ink);
    state.view = view;
}

/// How a line of source looks.
fn looks(colours: &Highlighted, line: usize, theme: &Theme) -> Vec<Look> {
    colours.line(line).iter().map(|span| (span.range.clone(), theme.syntax(span.role))).collect()
}

/// What is said in the place of a text.
fn missing(state: &SourceState) -> Option<String> {
    let Some(source) = state.source() else { return Some("reading …".to_owned()) };
    let of = |base: &Result<_, String>| match base {
        Err(why) => Some(format!("there is nothing to compare with: {why}")),
        Ok(_) if state.view.diff().is_empty() => Some("nothing changed".to_owned()),
        Ok(_) => None,
    };
    match (&source.present, state.mode) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), Mode::File) => None,
        (Ok(_), _) => of(&source.base.as_ref().map(drop).map_err(Clone::clone)),
    }
}

fn say(frame: &mut Frame, area: Rect, text: &str, theme: &Theme) {
    let rows = wrap(&printable(text), usize::from(area.width)).into_iter();
    for (row, y) in rows.zip(area.top()..area.bottom()) {
        frame.render_widget(Line::styled(row, theme.quiet()), Rect { y, height: 1, ..area });
    }
}

/// Messages first, then what it is compared with: the end is cut where there is no room.
fn note(app: &App) -> String {
    let state = &app.panes.source;
    let Some(source) = state.source() else { return String::new() };
    let mut parts = vec![state.messages.tally()];
    let mode = match (state.mode, state.view.shown()) {
        (Mode::File, _) => "",
        (Mode::Split, diff::Form::Split) => "side by side ",
        _ => "unified ",
    };
    parts.push(format!("{mode}{}", base(source)));
    if state.mode != Mode::File {
        parts.push(app.panes.around.note().to_owned());
    }
    if let (Mode::File, Some(text), Some(line)) = (state.mode, state.text(), state.line()) {
        parts.push(format!("{line}/{}", text.len()));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

fn base(source: &Source) -> String {
    match (&source.base, &source.present) {
        (Ok(base), Ok(_)) if source.diff.is_empty() => format!("same as {}", printable(&base.name)),
        (Ok(base), Ok(_)) => format!("{} against {}", source.diff.tally(), printable(&base.name)),
        (Ok(base), Err(_)) => format!("against {}", printable(&base.name)),
        (Err(_), _) => "no base".to_owned(),
    }
}
