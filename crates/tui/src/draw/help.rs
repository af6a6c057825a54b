//! The help: the keys of the present view, the words that stand on the screen, then all other keys
//! and words. It can be searched.

use super::dialog::Dialog;
use crate::keymap::{Action, Binding, KeyScope, TABLE};
use crate::overlay::Help;
use crate::search_highlight;
use crate::text::{fit, pad, width, wrap};
use crate::theme::Theme;
use crate::widgets::input::draw_input;
use crate::widgets::window::draw_window;
use crate::words::{WORDS, Word};
use ratatui::prelude::*;
use ratatui::widgets::Paragraph;

/// Columns of the help, where the screen has them: keys and their sentences are long.
const HELP_COLUMNS: u16 = 104;

/// Entries below one heading: each has a label and a sentence.
struct Section {
    heading: String,
    entries: Vec<Entry>,
}

struct Entry {
    label: String,
    style: Style,
    text: String,
    /// What a search finds besides label and sentence.
    also: String,
}

impl Entry {
    /// Whether each of these words, in small letters, stands in it.
    fn has(&self, words: &[String]) -> bool {
        let all = format!("{} {} {}", self.label, self.text, self.also).to_lowercase();
        words.iter().all(|word| all.contains(word))
    }
}

/// Draws the help from its first row on, or from the last row that fills the window. Returns the
/// first visible row.
pub(super) fn draw(dialog: &Dialog, frame: &mut Frame, area: Rect, help: &Help) -> usize {
    let (theme, keymap) = (dialog.theme(), &dialog.model.appearance.keymap);
    let typed = help.search.value();
    let columns = usize::from(area.width.saturating_sub(8).min(HELP_COLUMNS - 4));
    let all = sections(dialog, &text_of(frame.buffer_mut()));
    // The window keeps its size while words are typed.
    let rows = lines(&all, "", columns, theme).len();
    let lines = lines(&all, typed, columns, theme);
    let mut inner = draw_window(frame, area, "Keys and words", (HELP_COLUMNS, rows), theme);
    let hints = Rect {
        y: inner.bottom(),
        height: 1,
        ..inner
    };
    if help.typing || !typed.is_empty() {
        let line = Rect {
            height: inner.height.min(1),
            ..inner
        };
        inner = Rect {
            y: inner.y + line.height,
            height: inner.height - line.height,
            ..inner
        };
        match help.typing {
            true => draw_input(frame, line, "/ ", &help.search, theme),
            false => frame.render_widget(Line::styled(format!("/ {typed}"), theme.key()), line),
        }
    }
    let last = lines.len().saturating_sub(usize::from(inner.height));
    let first = help.scroll.min(last);
    let shown: Vec<Line> = lines.into_iter().skip(first).collect();
    frame.render_widget(Paragraph::new(shown), inner);
    let mut parts = Vec::new();
    if last > first {
        parts.push(format!(
            "{} for more",
            keymap.way(if help.typing {
                Action::NextChoice
            } else {
                Action::Down
            })
        ));
    }
    if !help.typing {
        parts.push(format!("{} searches", keymap.way(Action::Search)));
    }
    let closes = if help.typing || !typed.is_empty() {
        "ends the search"
    } else {
        "closes"
    };
    parts.push(format!("{} {closes}", keymap.way(Action::Close)));
    if hints.y < area.bottom() {
        let hint = format!(" {} ", parts.join(" · "));
        let hint = fit(&hint, usize::from(hints.width));
        frame.render_widget(Line::styled(hint, theme.quiet()).right_aligned(), hints);
    }
    first
}

/// What stands on the screen below the help.
fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let row = |y: u16| {
        (area.left()..area.right())
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    (area.top()..area.bottom())
        .map(row)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The keys of the present view, the words on the screen, the keys that work everywhere, and all
/// others.
fn sections(dialog: &Dialog, screen: &str) -> Vec<Section> {
    let theme = dialog.theme();
    let here = KeyScope::In(dialog.model.panes.view);
    let keys = |scope: KeyScope| Section {
        heading: scope.heading(),
        entries: TABLE
            .iter()
            .filter(|b| b.scope == scope)
            .map(|b| key_entry(dialog, b))
            .collect(),
    };
    let words = |heading: &str, on_screen: bool| Section {
        heading: heading.to_owned(),
        entries: WORDS
            .iter()
            .filter(|word| word.is_in(screen) == on_screen)
            .map(|word| word_entry(word, theme))
            .collect(),
    };
    let mut all = vec![
        keys(here),
        words("Words on this screen", true),
        keys(KeyScope::Screen),
    ];
    all.extend(
        KeyScope::ALL
            .into_iter()
            .filter(|scope| *scope != here && *scope != KeyScope::Screen)
            .map(keys),
    );
    all.push(words("Other words", false));
    all
}

fn key_entry(dialog: &Dialog, binding: &Binding) -> Entry {
    let keymap = &dialog.model.appearance.keymap;
    let label = match keymap.keys(binding.action) {
        none if none.is_empty() => keymap.way(binding.action),
        keys => keys,
    };
    Entry {
        label,
        style: dialog.theme().key(),
        text: binding.doc.to_owned(),
        also: binding.name.to_owned(),
    }
}

fn word_entry(word: &Word, theme: &Theme) -> Entry {
    let also = word.forms.join(" ");
    Entry {
        label: word.name().to_owned(),
        style: theme.strong(),
        text: word.meaning.to_owned(),
        also,
    }
}

/// The rows of the entries that have each of the typed words.
fn lines(sections: &[Section], typed: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let typed = typed.to_lowercase();
    let words: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
    let labels = sections
        .iter()
        .flat_map(|section| &section.entries)
        .map(|entry| width(&entry.label));
    let label_columns = labels.max().unwrap_or(0);
    let mut out = Vec::new();
    for section in sections {
        let entries: Vec<&Entry> = section
            .entries
            .iter()
            .filter(|entry| entry.has(&words))
            .collect();
        if entries.is_empty() {
            continue;
        }
        out.push(Line::styled(section.heading.clone(), theme.strong()));
        for entry in entries {
            let rows = wrap(&entry.text, columns.saturating_sub(label_columns + 4));
            for (row, text) in rows.into_iter().enumerate() {
                let label = if row == 0 { entry.label.as_str() } else { "" };
                let line = Line::from(vec![
                    Span::styled(format!("  {}  ", pad(label, label_columns)), entry.style),
                    Span::raw(text),
                ]);
                out.push(
                    words
                        .iter()
                        .fold(line, |line, word| search_highlight::mark(line, word, theme)),
                );
            }
        }
        out.push(Line::default());
    }
    out.pop();
    if out.is_empty() {
        out.push(Line::styled("no key and no word has this", theme.quiet()));
    }
    out
}
