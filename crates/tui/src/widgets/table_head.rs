//! The head of a table: the names of its columns, and by which of them the rows are sorted.

use crate::text::{pad, pad_left, width};
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns of cells before the first column of the table: the signs of the selected and of a marked
/// row.
pub const GUTTER: usize = 2;

/// Between two columns.
pub const GAP: &str = "  ";

/// The heading of a column.
pub struct Heading<C> {
    pub column: C,
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

/// Draws the head into one row. Returns the area of each heading, without the gaps between them.
pub fn draw<C: Copy>(
    frame: &mut Frame,
    area: Rect,
    headings: &[Heading<C>],
    theme: &Theme,
) -> Vec<(Rect, C)> {
    let mut spans = vec![Span::raw(" ".repeat(GUTTER))];
    let mut places = Vec::with_capacity(headings.len());
    let mut from = GUTTER;
    for (at, heading) in headings.iter().enumerate() {
        spans.push(Span::raw(if at > 0 { GAP } else { "" }));
        let style = if heading.descending.is_some() {
            theme.strong()
        } else {
            theme.quiet()
        };
        spans.push(Span::styled(text(heading), style));
        let place = Rect {
            x: area.x.saturating_add(from as u16),
            width: heading.width as u16,
            ..area
        };
        places.push((place.intersection(area), heading.column));
        from += heading.width + GAP.len();
    }
    frame.render_widget(Line::from(spans), area);
    places
}

fn text<C>(heading: &Heading<C>) -> String {
    let Heading {
        name,
        width: columns,
        is_figure,
        descending,
        ..
    } = heading;
    let name = match descending {
        // A column that is too narrow for its heading holds a sign, which needs none.
        _ if width(name) > *columns => String::new(),
        Some(descending) if width(name) < *columns => format!("{name}{}", arrow(*descending)),
        _ => name.clone(),
    };
    if *is_figure {
        pad_left(&name, *columns)
    } else {
        pad(&name, *columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_fits_its_column_and_shows_the_order_where_there_is_room() {
        let of = |name: &str, width, is_figure, descending| {
            text(&Heading {
                column: (),
                name: name.to_owned(),
                width,
                is_figure,
                descending,
            })
        };
        assert_eq!(of("speed", 8, false, None), "speed   ");
        assert_eq!(of("speed", 8, true, Some(true)), "  speed▼");
        assert_eq!(of("speed", 5, false, Some(false)), "speed");
        assert_eq!(of("status", 3, false, Some(false)), "   ");
    }
}
