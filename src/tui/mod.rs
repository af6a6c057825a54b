//! The screen: state and a pure update ([`app`]), panes that draw it ([`panes`]), a loop that owns
//! the terminal ([`screen`]), and threads that carry out what the update wants ([`executor`]).

pub mod app;
pub mod chart;
pub mod desk;
pub mod diff;
pub mod draft;
pub mod drawer;
pub mod editor;
pub mod effect;
pub mod event;
pub mod executor;
pub mod format;
pub mod found;
pub mod highlight;
pub mod input;
pub mod keymap;
pub mod lay;
pub mod layout;
pub mod log;
pub mod monitor;
pub mod overlay;
pub mod palette;
pub mod panes;
pub mod reader;
pub mod screen;
pub mod signals;
pub mod source;
pub mod status;
pub mod table;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod views;
mod watchdog;
