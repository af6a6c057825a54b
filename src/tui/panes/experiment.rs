//! The chosen experiment whole.

use super::super::app::App;
use super::super::text::{fit, printable};
use super::{Pane, titled};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

#[derive(Clone, Debug, Default)]
pub struct ExperimentState {
    pub scroll: usize,
}

impl ExperimentState {
    pub fn scroll(&mut self, by: isize) {
        self.scroll = self.scroll.saturating_add_signed(by);
    }
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let note = app.chosen().map(|e| printable(&e.row.commit).into_owned()).unwrap_or_default();
    let inner = titled(frame, area, app, Pane::Experiment, &note);
    let lines = lines(app);
    let rows = usize::from(inner.height);
    let scroll = app.panes.experiment.scroll.min(lines.len().saturating_sub(rows));
    app.panes.experiment.scroll = scroll;
    for (row, line) in lines.into_iter().skip(scroll).take(rows).enumerate() {
        let line = fit(&line, usize::from(inner.width)).into_owned();
        frame.render_widget(Line::raw(line), Rect { y: inner.y + row as u16, height: 1, ..inner });
    }
}

fn lines(app: &App) -> Vec<String> {
    let Some(experiment) = app.chosen() else {
        return vec!["choose an experiment: ↑ and ↓ in the table".to_owned()];
    };
    let mut out = vec![printable(&experiment.row.description).into_owned(), String::new()];
    let Some(whole) = app.whole() else {
        out.push("reading …".to_owned());
        return out;
    };
    match &whole.diff {
        Ok(diff) => out.extend(diff.lines().map(|line| printable(line).into_owned())),
        Err(why) => out.push(why.clone()),
    }
    out
}
