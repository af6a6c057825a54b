//! Pieces that several panes draw alike. A pane never imports another pane: what two of them share
//! is here.

pub mod bounds;
pub mod evidence;
pub mod experiment;
pub mod input;
pub mod log_line;
pub mod scrolled_text;
pub mod slot;
pub mod table_head;
pub mod text_pane;
pub mod window;

pub use experiment::{FIGURE, figure, mark};
pub use scrolled_text::ScrolledText;
pub use slot::{ListArea, PaneSlot};
