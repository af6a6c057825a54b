//! What panes and dialogs draw with.

pub use crate::format;
pub use crate::keymap::Action;
pub use crate::state::ScreenData;
pub use crate::text::{fit, pad, pad_left, printable, widest, width, wrap, wrap_to};
pub use crate::theme::style::{
    self, ACCENT, BAD, GOOD, KEY, MATCH, Meaning, QUIET, SCREEN, SELECTED, STRONG, TEXT, WARN,
};
pub use crate::widgets::document::{Body, Section};
pub use crate::widgets::input::draw_input;
pub use crate::widgets::window::draw_window;
pub use crate::widgets::{
    Canvas, Document, Lines, ListState, ScrolledText, beside_commit, decided, draw_rows, figure,
    hanging, how_to_decide, joined, labelled, mark, paragraph, prefixed, row_of, time_beside,
};
pub use ratatui::prelude::*;
