//! The place that a pane is drawn in: its area, its title rule, the rows of its list.

use crate::search_highlight;
use crate::text::printable;
use crate::theme::Theme;
use crate::views::Pane;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Where a pane is drawn.
#[derive(Clone, Copy, Debug)]
pub struct PaneSlot<'a> {
    pub pane: Pane,
    pub area: Rect,
    pub is_focused: bool,
    /// The text that the pane's rows were searched for; empty without a search.
    pub needle: &'a str,
}

impl PaneSlot<'_> {
    /// The area below the title, with a blank column at either side.
    pub fn body(&self) -> Rect {
        let area = self.area;
        Rect {
            x: area.x + 1,
            y: area.y + 1,
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(1),
        }
    }

    /// Draws the title in a rule, with `note` behind it. Returns [`PaneSlot::body`].
    pub fn draw_title(&self, frame: &mut Frame, note: &str, theme: &Theme) -> Rect {
        let rule = if self.is_focused { "━" } else { "─" };
        let style = theme.rule(self.is_focused);
        let row = Rect {
            height: 1,
            ..self.area
        };
        let mut title = vec![
            Span::styled(rule, style),
            Span::styled(
                format!(" {} ", self.pane.name()),
                theme.title(self.is_focused),
            ),
        ];
        let searched = (!self.needle.is_empty()).then(|| format!("/{}", printable(self.needle)));
        let notes: Vec<&str> = [note, searched.as_deref().unwrap_or("")]
            .into_iter()
            .filter(|n| !n.is_empty())
            .collect();
        if !notes.is_empty() {
            title.push(Span::styled(
                format!("{} ", notes.join(" · ")),
                theme.quiet(),
            ));
        }
        title.push(Span::styled(
            rule.repeat(usize::from(self.area.width)),
            style,
        ));
        frame.render_widget(Line::from(title), row);
        self.body()
    }

    /// A row of a text: search matches are highlighted, and so is the row that a search or a number
    /// went to.
    pub fn text_row<'l>(&self, line: Line<'l>, is_marked: bool, theme: &Theme) -> Line<'l> {
        let line = search_highlight::mark(line, self.needle, theme);
        if is_marked { theme.select(line) } else { line }
    }
}

/// The visible rows of a list, for clicks.
#[derive(Clone, Copy, Debug)]
pub struct ListArea {
    pub pane: Pane,
    pub rows: Rect,
    /// The selected row, counted from the first visible one.
    pub selected: usize,
}

impl ListArea {
    /// `area` has room for the list, which fills `count` rows of it.
    pub fn new(pane: Pane, area: Rect, count: usize, selected: usize) -> Self {
        let height = area.height.min(u16::try_from(count).unwrap_or(u16::MAX));
        ListArea {
            pane,
            rows: Rect { height, ..area },
            selected,
        }
    }
}
