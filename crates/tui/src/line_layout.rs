//! Lays out a line of source: the text of the line and the styles of its bytes become the visible
//! columns, with tabs expanded and control characters replaced.

use super::text::width;
use lab_protocol::text::is_visible;
use ratatui::prelude::*;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// The number of columns between two tab stops.
pub const TAB: usize = 4;

/// The style of some bytes of a line. A layer is a list of them, in order and without overlap.
pub type StyledRange = (Range<usize>, Style);

/// The columns `left..left + columns` of a line. The styles of `layers` are patched over `base`,
/// the last layer last. Tabs become blanks. Characters that a terminal would obey, and those that
/// hide or reorder text, are replaced by a visible symbol. If more than blanks follow, the last
/// column says so; what follows is not laid out.
pub fn layout_line(
    text: &str,
    base: Style,
    layers: &[&[StyledRange]],
    left: usize,
    columns: usize,
) -> Vec<Span<'static>> {
    let mut out = Builder {
        left,
        right: left.saturating_add(columns),
        spans: Vec::new(),
        column: 0,
    };
    let mut next = vec![0; layers.len()];
    for (at, letter) in text.char_indices() {
        if out.column >= out.right {
            out.end(&text[at..]);
            break;
        }
        let mut style = base;
        for (layer, next) in layers.iter().zip(&mut next) {
            while layer.get(*next).is_some_and(|(range, _)| range.end <= at) {
                *next += 1;
            }
            if let Some((_, look)) = layer.get(*next).filter(|(range, _)| range.contains(&at)) {
                style = style.patch(*look);
            }
        }
        out.put(letter, style);
        // The right edge halves a wide character.
        if out.column > out.right {
            out.end(&text[at..]);
        }
    }
    out.spans
}

/// The spans of the visible columns so far.
struct Builder {
    left: usize,
    right: usize,
    spans: Vec<Span<'static>>,
    column: usize,
}

impl Builder {
    fn put(&mut self, letter: char, style: Style) {
        if letter == '\t' {
            for _ in 0..TAB - self.column % TAB {
                self.letter(' ', 1, style);
            }
            return;
        }
        let letter = shown(letter);
        self.letter(letter, letter.width().unwrap_or(0), style);
    }

    fn letter(&mut self, letter: char, columns: usize, style: Style) {
        let (from, to) = (self.column, self.column + columns);
        self.column = to;
        if to > self.right || from >= self.right || (to <= self.left && from < self.left) {
            return;
        }
        if from < self.left {
            // The left edge halves a wide character: its visible columns are blank.
            for _ in self.left..to {
                self.push(' ', style);
            }
        } else {
            self.push(letter, style);
        }
    }

    /// Puts a mark into the last column if more than blanks follow there.
    fn end(&mut self, rest: &str) {
        let columns = self.right - self.left;
        if columns == 0 || rest.chars().all(char::is_whitespace) {
            return;
        }
        while spans_width(&self.spans) >= columns {
            let last = self.spans.last_mut();
            let is_empty = last.is_none_or(|last| last.content.to_mut().pop().is_none());
            if is_empty {
                self.spans.pop();
            }
        }
        let style = self.spans.last().map_or(Style::new(), |last| last.style);
        self.push('…', style);
    }

    fn push(&mut self, letter: char, style: Style) {
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push(letter),
            _ => self.spans.push(Span::styled(letter.to_string(), style)),
        }
    }
}

/// The character, or the visible symbol that replaces it.
fn shown(letter: char) -> char {
    match letter {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        _ if is_visible(letter) => letter,
        _ => '\u{fffd}',
    }
}

/// The width of spans, in columns.
pub fn spans_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::style::Modifier;

    fn text(line: &str, left: usize, columns: usize) -> String {
        layout_line(line, Style::new(), &[], left, columns)
            .iter()
            .map(|span| span.content.as_ref())
            .collect()
    }

    #[test]
    fn tabs_go_to_the_next_stop_and_wide_characters_are_never_halved() {
        assert_eq!(text("\ta\tb", 0, 80), "    a   b");
        assert_eq!(text("\ta\tb", 3, 6), " a   b");
        assert_eq!(text("漢字か", 1, 5), " 字か");
    }

    #[test]
    fn a_line_that_goes_on_beyond_the_border_has_a_mark() {
        assert_eq!(text("abcdef", 0, 6), "abcdef");
        assert_eq!(text("abcdef", 0, 5), "abcd…");
        assert_eq!(text("abcdef", 2, 3), "cd…");
        assert_eq!(text("abc   ", 0, 3), "abc");
        assert_eq!(text("\ta\tb", 3, 4), " a …");
        assert_eq!(text("漢字かな", 0, 5), "漢字…");
        assert_eq!(text("漢字かな", 1, 5), " 字…");
        assert_eq!(text("abc", 0, 0), "");
    }

    #[test]
    fn characters_that_a_terminal_obeys_or_hides_are_replaced() {
        assert_eq!(text("a\x1b[31m\u{202e}b\r", 0, 80), "a␛[31m\u{fffd}b␍");
    }

    #[test]
    fn the_last_layer_is_on_top() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let dim = Style::new().add_modifier(Modifier::DIM);
        let spans = layout_line(
            "abcde",
            Style::new(),
            &[&[(0..4, bold)], &[(2..3, dim)]],
            1,
            4,
        );
        let seen: Vec<(&str, Modifier)> = spans
            .iter()
            .map(|s| (s.content.as_ref(), s.style.add_modifier))
            .collect();
        let both = Modifier::BOLD | Modifier::DIM;
        assert_eq!(
            seen,
            [
                ("b", Modifier::BOLD),
                ("c", both),
                ("d", Modifier::BOLD),
                ("e", Modifier::empty())
            ]
        );
    }

    proptest! {
        #[test]
        fn a_line_never_takes_more_than_its_columns(line in "(\\PC|\t|\x1b|\r){0,60}", left in 0usize..40, columns in 0usize..40) {
            let spans = layout_line(&line, Style::new(), &[], left, columns);
            prop_assert!(spans_width(&spans) <= columns);
            prop_assert!(spans.iter().all(|span| span.content.chars().all(|c| !c.is_control())));
        }
    }
}
