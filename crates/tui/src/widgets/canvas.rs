//! The place that a pane is drawn in, and what several panes draw alike: the title rule, a text, a
//! list, a table.

use super::document::{Document, Sheet};
use super::list::{ListArea, ListState};
use super::paragraph::fit_line;
use super::{ScrolledText, joined, paragraph};
use crate::keymap::Action;
use crate::search_highlight;
use crate::state::ScreenData;
use crate::text::{pad, pad_left, printable, width};
use crate::theme::style::{self, Meaning, QUIET, STRONG};
use crate::views::Pane;
use ratatui::prelude::*;

/// Columns of cells before the first column of a table: the signs of the selected and of a marked
/// row.
pub const GUTTER: usize = 2;
/// Between two columns.
pub const GAP: &str = "  ";

/// Where a pane is drawn, and what it may read.
pub struct Canvas<'a, 'f> {
    pub frame: &'a mut Frame<'f>,
    pub pane: Pane,
    pub area: Rect,
    pub is_focused: bool,
    /// The text that the pane's rows were searched for; empty without a search.
    pub needle: &'a str,
    pub data: ScreenData<'a>,
    /// The list that was drawn.
    pub list: Option<ListArea>,
    /// The headings of the table that was drawn: their places in the list of its columns.
    pub heads: Vec<(Rect, usize)>,
}

/// A column of a table as it is drawn.
#[derive(Clone, Debug)]
pub struct TableColumn<C> {
    pub column: C,
    /// Its place in the list of the table's columns.
    pub index: usize,
    pub name: String,
    /// In cells.
    pub width: usize,
    /// The column is aligned right.
    pub is_figure: bool,
    /// The rows are sorted by this column: whether the largest value comes first.
    pub descending: Option<bool>,
}

/// The sign of an order.
pub fn arrow(descending: bool) -> &'static str {
    if descending { "▼" } else { "▲" }
}

/// One row of an area.
pub fn row_of(area: Rect, y: u16) -> Rect {
    Rect {
        y,
        height: 1,
        ..area
    }
}

/// Draws lines one below the other, as far as there is room. A line that goes on beyond the border
/// ends with a mark.
pub fn draw_rows<'l>(frame: &mut Frame, area: Rect, lines: impl IntoIterator<Item = Line<'l>>) {
    for (mut line, row) in lines.into_iter().zip(area.rows()) {
        fit_line(&mut line, row.width.into());
        frame.render_widget(line, row);
    }
}

impl Canvas<'_, '_> {
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

    /// Draws the title in a rule, with `note` behind it. Returns [`Canvas::body`].
    pub fn draw_title(&mut self, note: &str) -> Rect {
        self.draw_titled(self.pane.name(), note)
    }

    /// Draws a title of this name.
    pub fn draw_titled(&mut self, name: &str, note: &str) -> Rect {
        let rule = if self.is_focused { "━" } else { "─" };
        let style = style::rule(self.is_focused);
        let name = format!(" {name} ");
        let mut title = vec![
            Span::styled(rule, style),
            Span::styled(name, style::title(self.is_focused)),
        ];
        let searched = match self.needle {
            "" => String::new(),
            needle => format!("/{}", printable(needle)),
        };
        let notes = joined([note, &searched]);
        if !notes.is_empty() {
            title.push(format!("{notes} ").quiet());
        }
        let mut title = Line::from(title);
        let left = usize::from(self.area.width).saturating_sub(title.width());
        title.push_span(Span::styled(rule.repeat(left), style));
        draw_rows(self.frame, self.area, [title]);
        self.body()
    }

    /// Says why a pane is empty, in an area of it.
    pub fn draw_hint(&mut self, area: Rect, text: &str) {
        let lines = paragraph(text, usize::from(area.width), QUIET);
        draw_rows(self.frame, area, lines);
    }

    /// Says why there is no commit.
    pub fn draw_no_commit(&mut self, area: Rect, is_loaded: bool) {
        let text = if is_loaded {
            format!(
                "no commit yet: {} makes the first",
                self.data.way(Action::Keep)
            )
        } else {
            "reading …".to_owned()
        };
        draw_rows(self.frame, area, [Line::styled(text, QUIET)]);
    }

    /// Draws the visible rows of a text into an area that it was fitted to.
    pub fn draw_document(&mut self, area: Rect, document: &Document, text: &ScrolledText) {
        let sheet = Sheet {
            left: text.left,
            columns: usize::from(area.width),
            needle: self.needle,
        };
        let first = text.first;
        let lines = document.lines(first..first + usize::from(area.height), sheet);
        let select = |(at, line)| {
            if text.marked == Some(first + at) {
                style::select(line)
            } else {
                line
            }
        };
        draw_rows(self.frame, area, lines.into_iter().enumerate().map(select));
    }

    /// Draws the visible rows of a list. Returns the list as it fits. `shows_selection`: the
    /// selected row is highlighted.
    pub fn draw_list<'l>(
        &mut self,
        area: Rect,
        list: ListState,
        count: usize,
        shows_selection: bool,
        row: impl Fn(usize) -> Line<'l>,
    ) -> ListState {
        let rows = usize::from(area.height);
        let list = list.fit(rows, count);
        let needle = self.needle;
        let visible = list.first..count.min(list.first + rows);
        let height = visible.len() as u16;
        let line = |at| {
            let line = search_highlight::mark(row(at), needle);
            if shows_selection && at == list.selected {
                style::select(line)
            } else {
                line
            }
        };
        draw_rows(self.frame, area, visible.map(line));
        self.list = Some(ListArea {
            pane: self.pane,
            rows: Rect { height, ..area },
            selected: list.selected.saturating_sub(list.first),
        });
        list
    }

    /// Draws the head of a table into the first row of an area that has three. Returns the rest.
    pub fn draw_head<C>(&mut self, area: Rect, columns: &[TableColumn<C>]) -> Rect {
        if area.height <= 2 {
            return area;
        }
        let row = Rect { height: 1, ..area };
        let mut from = GUTTER;
        for column in columns {
            let place = Rect {
                x: area.x.saturating_add(from as u16),
                width: column.width as u16,
                ..row
            };
            self.heads.push((place.intersection(row), column.index));
            from += column.width + GAP.len();
        }
        let cells = columns.iter().map(|column| {
            let style = match column.descending {
                Some(_) => STRONG,
                None => QUIET,
            };
            (column.heading(), style)
        });
        let gutter = Span::raw(" ".repeat(GUTTER));
        self.frame
            .render_widget(table_row(vec![gutter], columns, cells), row);
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    }
}

/// A row of a table: the signs before it and its cells.
pub fn table_row<C>(
    mut spans: Vec<Span<'static>>,
    columns: &[TableColumn<C>],
    cells: impl Iterator<Item = (String, Style)>,
) -> Line<'static> {
    for (at, (column, (cell, style))) in columns.iter().zip(cells).enumerate() {
        spans.push(Span::raw(if at > 0 { GAP } else { "" }));
        let cell = if column.is_figure {
            pad_left(&cell, column.width)
        } else {
            pad(&cell, column.width)
        };
        spans.push(Span::styled(cell, style));
    }
    Line::from(spans)
}

impl<C> TableColumn<C> {
    /// The name, as far as the column has room, and the sign of the order.
    fn heading(&self) -> String {
        let name = width(&self.name);
        match self.descending {
            _ if name > self.width => String::new(),
            Some(descending) if name < self.width => format!("{}{}", self.name, arrow(descending)),
            _ => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_fits_its_column_and_shows_the_order_where_there_is_room() {
        let of = |name: &str, width, is_figure, descending| {
            let column = TableColumn {
                column: (),
                index: 0,
                name: name.to_owned(),
                width,
                is_figure,
                descending,
            };
            let cell = (column.heading(), Style::new());
            table_row(Vec::new(), &[column], [cell].into_iter()).to_string()
        };
        assert_eq!(of("speed", 8, false, None), "speed   ");
        assert_eq!(of("speed", 8, true, Some(true)), "  speed▼");
        assert_eq!(of("speed", 5, false, Some(false)), "speed");
        assert_eq!(of("status", 3, false, Some(false)), "   ");
    }
}
