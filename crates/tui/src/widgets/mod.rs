//! Pieces that several panes draw alike. A pane never imports another pane: what two of them share
//! is here.

pub mod bounds;
pub mod canvas;
pub mod document;
pub mod evidence;
pub mod experiment;
pub mod input;
pub mod list;
pub mod log_line;
pub mod paragraph;
pub mod scrolled_text;
pub mod window;

pub use canvas::{Canvas, draw_rows, row_of};
pub use document::Document;
pub use experiment::{beside_commit, decided, figure, how_to_decide, in_short, mark, time_beside};
pub use list::{ListArea, ListState};
pub use paragraph::{Lines, hanging, joined, labelled, paragraph, prefixed};
pub use scrolled_text::ScrolledText;
