//! kernel.cu.

use super::super::app::App;
use super::{Pane, titled};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub fn draw(frame: &mut Frame, area: Rect, app: &App) {
    let inner = titled(frame, area, app, Pane::Source, "");
    frame.render_widget(Line::styled("nothing to show yet", app.theme.quiet()), inner);
}
