//! The help: every key with its action.

use super::dialog::Dialog;
use crate::keymap::Action;
use crate::keymap::{Binding, KeyScope, TABLE};
use crate::text::{fit, pad, width, wrap};
use crate::widgets::window::draw_window;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Columns of the help, where the screen has them: keys and their sentences are long.
const HELP_COLUMNS: u16 = 104;

/// Draws the help from row `scroll` on, or from the last row that fills the window. Returns the first visible row.
pub(super) fn draw(dialog: &Dialog, frame: &mut Frame, area: Rect, scroll: usize) -> usize {
    let (theme, keymap) = (dialog.theme(), &dialog.appearance.keymap);
    let labels = |binding: &Binding| match keymap.keys(binding.action) {
        none if none.is_empty() => keymap.way(binding.action),
        keys => keys,
    };
    let mut lines = Vec::new();
    let key_columns = TABLE.iter().map(|b| width(&labels(b))).max().unwrap_or(0);
    let columns = usize::from(area.width.saturating_sub(8).min(HELP_COLUMNS - 4));
    for place in KeyScope::ALL {
        if TABLE.iter().all(|b| b.scope != place) {
            continue;
        }
        lines.push(Line::styled(place.heading(), theme.strong()));
        for binding in TABLE.iter().filter(|b| b.scope == place) {
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
