//! Every action of the table by its own key, in a real terminal: what is seen after it and was not seen before.
//! An action without a line here fails [`every_action_has_a_story`].

use super::bench::{Bench, Lab};
use lab::tui::keymap::{Keymap, TABLE};

/// What a story needs around it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Around {
    /// A kernel that was judged and is HEAD's.
    Judged,
    /// The same with newer bytes, which passed and can be decided.
    Undecided,
    /// A run that goes on without end.
    Running,
    /// Another test of this folder tells it: of processes that stop, end, or get the terminal.
    Elsewhere,
}
use Around::{Elsewhere, Judged, Running, Undecided};

/// The action; what it needs; what is typed before it; what is seen then, or `!` and what is gone then; what is
/// typed after it to be as before.
type Story = (&'static str, Around, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const STORIES: &[Story] = &[
    ("show-source", Judged, "", "▸2 Source", ""),
    ("show-results", Judged, "", "▸3 Results", ""),
    ("show-git", Judged, "", "▸4 Git", ""),
    ("show-device", Judged, "", "▸5 Device", ""),
    ("show-bench", Judged, "", "▸1 Bench", ""),
    ("next-pane", Judged, "", "━ Throughput", ""),
    ("previous-pane", Judged, "", "━ Correctness", ""),
    ("zoom", Judged, "", "z unzoom", "z"),
    ("open", Judged, "", "z unzoom", "z"),
    ("pause", Judged, "", "p watch", "p"),
    ("rerun", Judged, "", "rerun", ""),
    ("check", Judged, "", "needs the built-in harness", ""),
    ("help", Judged, "", "In a question", "\u{1b}"),
    ("palette", Judged, "", "Actions", "\u{1b}"),
    ("theme", Judged, "", "Themes", "\u{1b}"),
    ("copy", Judged, "", "copied run", ""),
    ("mouse", Judged, "", "the mouse is heard", ""),
    ("reload-config", Judged, "", "config.toml says nothing new", ""),
    ("border-left", Judged, "", "col 66", ""),
    ("border-right", Judged, "", "col 70", ""),
    ("border-down", Judged, "", "row 26", ""),
    ("border-up", Judged, "", "row 24", ""),
    ("reset-borders", Judged, "\u{1b}[1;5D", "col 70", ""),
];
