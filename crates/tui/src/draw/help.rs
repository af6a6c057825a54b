//! The help: the keys of the present view, the words that stand on the screen, then all other keys
//! and words. It can be searched.

use crate::keymap::{Binding, KeyScope, TABLE};
use crate::model::Model;
use crate::overlay::Help;
use crate::prelude::*;
use crate::search_highlight;
use crate::widgets::window::{WIDE, draw_hints, draw_scrolled, text_columns};
use crate::words::{WORDS, Word};
use itertools::Itertools;
use ratatui::buffer::Cell;

/// A heading and the entries below it.
type Entries = (String, Vec<Entry>);

struct Entry {
    label: String,
    style: Style,
    text: String,
    /// What a search finds besides label and sentence.
    also: String,
}

impl Entry {
    /// Whether each of these words, in small letters, stands in it.
    fn has(&self, words: &[&str]) -> bool {
        let all = format!("{} {} {}", self.label, self.text, self.also).to_lowercase();
        words.iter().all(|word| all.contains(word))
    }
}

/// Draws the help from its first row on, or from the last row that fills the window. Returns the
/// first visible row.
pub(super) fn draw(model: &Model, frame: &mut Frame, area: Rect, help: &Help) -> usize {
    let keymap = &model.appearance.keymap;
    let typed = help.search.value();
    let columns = text_columns(area, WIDE);
    let all = sections(model, &text_of(frame.buffer_mut()));
    // The window keeps its size while words are typed.
    let rows = lines(&all, "", columns).len();
    let window = draw_window(frame, area, "Keys and words", (WIDE, rows));
    let is_searched = help.typing || !typed.is_empty();
    let search = Constraint::Length(u16::from(is_searched));
    let [search, inner] = Layout::vertical([search, Constraint::Fill(1)]).areas(window);
    if help.typing {
        draw_input(frame, search, "/ ", &help.search);
    } else if is_searched {
        frame.render_widget(Line::styled(format!("/ {typed}"), KEY), search);
    }
    let lines = lines(&all, typed, columns);
    let count = lines.len();
    let first = draw_scrolled(frame, inner, lines, help.scroll);
    let mut hints = Vec::new();
    if count > first + usize::from(inner.height) {
        let down = if help.typing {
            Action::NextChoice
        } else {
            Action::Down
        };
        hints.push(format!("{} for more", keymap.way(down)));
    }
    if !help.typing {
        hints.push(format!("{} searches", keymap.way(Action::Search)));
    }
    let closes = if is_searched {
        "ends the search"
    } else {
        "closes"
    };
    hints.push(format!("{} {closes}", keymap.way(Action::Close)));
    draw_hints(frame, area, window, hints);
    first
}

/// What stands on the screen below the help.
fn text_of(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width.max(1)));
    let mut rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
    rows.join("\n")
}

/// The keys of the present view, the words on the screen, the keys that work everywhere, and all
/// others.
fn sections(model: &Model, screen: &str) -> Vec<Entries> {
    let here = KeyScope::In(model.panes.view);
    let keys = |scope: KeyScope| {
        let own = TABLE.iter().filter(|binding| binding.scope == scope);
        // A key of the present view may hide one that works everywhere else.
        let place = match scope {
            KeyScope::Screen => Some(here),
            _ => None,
        };
        let entries = own.map(|b| key_entry(model, b, place));
        (scope.heading(), entries.collect())
    };
    let words = |heading: &str, on_screen: bool| {
        let own = WORDS.iter().filter(|word| word.is_in(screen) == on_screen);
        (heading.to_owned(), own.map(word_entry).collect())
    };
    let mut all = vec![
        keys(here),
        words("Words on this screen", true),
        keys(KeyScope::Screen),
    ];
    let is_other = |scope: &KeyScope| *scope != here && *scope != KeyScope::Screen;
    all.extend(KeyScope::all().filter(is_other).map(keys));
    all.push(words("Other words", false));
    all
}

/// An action with all its keys, or with those that work in a place.
fn key_entry(model: &Model, binding: &Binding, place: Option<KeyScope>) -> Entry {
    let keymap = &model.appearance.keymap;
    let action = binding.action;
    let keys = place.map_or_else(
        || keymap.keys(action),
        |place| keymap.keys_in(place, action),
    );
    let label = match keys {
        none if none.is_empty() => format!(":{}", binding.name),
        keys => keys,
    };
    Entry {
        label,
        style: KEY,
        text: binding.doc.to_owned(),
        also: binding.name.to_owned(),
    }
}

fn word_entry(word: &Word) -> Entry {
    Entry {
        label: word.name().to_owned(),
        style: STRONG,
        text: word.1.to_owned(),
        also: word.forms().join(" "),
    }
}

/// The rows of the entries that have each of the typed words.
fn lines(sections: &[Entries], typed: &str, columns: usize) -> Lines {
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let all = sections.iter().flat_map(|(_, entries)| entries);
    let label_columns = widest(all.map(|entry| &*entry.label));
    let rows = |entry: &Entry| {
        let head = format!("  {}  ", pad(&entry.label, label_columns));
        let text = wrap(&entry.text, columns.saturating_sub(label_columns + 4));
        hanging(Span::styled(head, entry.style), text, Style::new())
    };
    let mark = |line| {
        let words = words.iter();
        words.fold(line, |line, word| search_highlight::mark(line, word))
    };
    let mut out = Vec::new();
    for (heading, entries) in sections {
        let found = entries.iter().filter(|entry| entry.has(&words));
        let found: Lines = found.flat_map(rows).map(mark).collect();
        if !found.is_empty() {
            out.push(Line::styled(heading.clone(), STRONG));
            out.extend(found);
            out.push(Line::default());
        }
    }
    out.pop();
    if out.is_empty() {
        out.push(Line::styled("no key and no word has this", QUIET));
    }
    out
}
