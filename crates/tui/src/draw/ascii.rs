//! The screen in ASCII, for a terminal whose locale has nothing else: every sign of the frame that was
//! drawn is replaced by one that looks alike.

use lab_protocol::ascii;
use ratatui::buffer::{Buffer, Cell};

/// Replaces every cell that is not ASCII.
pub(super) fn replace(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for at in 0..buffer.content.len() {
        let symbol = buffer.content[at].symbol();
        if symbol.is_ascii() {
            continue;
        }
        let is_range = symbol == "…" && is_between_digits(&buffer.content, at, width);
        let (sign, behind) = if is_range { ('-', None) } else { like(symbol) };
        // A cut text ends with the dots.
        let is_cut = symbol == "…" && (at % width == 0 || !is_blank(&buffer.content, at - 1));
        buffer.content[at].set_char(sign);
        let row = &mut buffer.content[at + 1..at - at % width + width];
        if let Some(behind) = behind.filter(|_| make_room(row, is_cut)) {
            row[0].set_char(behind);
        }
    }
}

fn is_blank(cells: &[Cell], at: usize) -> bool {
    cells[at].symbol() == " "
}

/// `0…7` is a range: a dot would make it a number.
fn is_between_digits(cells: &[Cell], at: usize, width: usize) -> bool {
    let is_digit = |at: usize| cells[at].symbol().bytes().all(|b| b.is_ascii_digit());
    let column = at % width;
    column > 0 && column + 1 < width && is_digit(at - 1) && is_digit(at + 1)
}

/// Makes the first of these cells free for the second character of a likeness. A word behind a single
/// blank moves on by one cell, with what follows, if there are two blanks further on to take it from
/// and no line between. A `cut` text moves nothing: columns of a table follow.
fn make_room(row: &mut [Cell], is_cut: bool) -> bool {
    if row.first().is_none_or(|cell| cell.symbol() != " ") {
        return false;
    }
    if row.len() < 2 || is_blank(row, 1) {
        return true;
    }
    let is_line = |cell: &Cell| "│┃┆┊|".contains(cell.symbol());
    let end = (1..row.len()).find(|at| {
        is_line(&row[*at])
            || (is_blank(row, *at) && (*at + 1 == row.len() || is_blank(row, *at + 1)))
    });
    match end.filter(|end| !is_cut && is_blank(row, *end)) {
        Some(end) => {
            row[..=end].rotate_right(1);
            true
        }
        None => !is_cut,
    }
}

fn like(symbol: &str) -> (char, Option<char>) {
    let known = symbol.chars().next().and_then(ascii::like);
    let mut likeness = known.unwrap_or("?").chars();
    (likeness.next().unwrap_or('?'), likeness.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    /// The row as it reads in ASCII.
    fn ascii(text: &str) -> String {
        let width = text.chars().count() as u16;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        buffer.set_string(0, 0, text, Style::new());
        replace(&mut buffer);
        buffer.content.iter().map(Cell::symbol).collect()
    }

    #[test]
    fn figures_in_ascii_read_as_they_are_meant() {
        for (shown, wanted) in [
            ("rows 0…7 of 64", "rows 0-7 of 64"),
            ("✓ 0 ≤ 0  y_error", "v 0 <= 0 y_error"),
            ("0 ≤ 0", "0 <=0"),
            ("(+1.9 … +2.4)   x", "(+1.9 .. +2.4)  x"),
            ("a descripti… 12.3", "a descripti. 12.3"),
            ("a descripti…  12.3", "a descripti.. 12.3"),
            ("1 ± 2  ", "1 +- 2 "),
            ("1 ≤ 2│  ", "1 <=2|  "),
        ] {
            assert_eq!(ascii(shown), wanted, "{shown}");
        }
    }
}
