//! The screen: state and a pure update ([`app`]), panes that draw it ([`panes`]), a loop that owns
//! the terminal ([`screen`]), and threads that carry out what the update wants ([`executor`]).

pub mod app;
pub mod chart;
pub mod diff;
pub mod draft;
pub mod effect;
pub mod event;
pub mod format;
pub mod highlight;
pub mod keymap;
pub mod layout;
pub mod line_layout;
pub mod log;
pub mod overlay;
pub mod palette;
pub mod panes;
pub mod request;
pub mod search_highlight;
pub mod settings;
pub mod source;
pub mod status;
pub mod table;
pub mod text;
pub mod theme;
pub mod view_id;
pub mod views;
