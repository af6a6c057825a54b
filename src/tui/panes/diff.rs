//! A unified diff, a line at a time.

use super::super::text::{printable, slice};
use super::super::theme::Theme;
use ratatui::text::{Line, Span};

/// The columns from `left` on; what was added and taken away by its sign, and by its colour too.
pub fn line(text: &str, left: usize, columns: usize, theme: &Theme) -> Line<'static> {
    let style = match text.as_bytes().first() {
        Some(b'+') if !text.starts_with("+++ ") => theme.good(),
        Some(b'-') if !text.starts_with("--- ") => theme.bad(),
        Some(b'@') => theme.accent(),
        Some(b' ') | None => theme.text(),
        _ => theme.quiet(),
    };
    // Tabs are as wide as the eye expects.
    let text = text.replace('\t', "    ");
    Line::from(Span::styled(slice(&printable(&text), left, columns).into_owned(), style))
}
