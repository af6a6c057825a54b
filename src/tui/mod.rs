//! The screen: state and a pure update ([`app`]), panes that draw ([`panes`]), threads that carry
//! out what the update wants ([`executor`]), and the guard of the terminal ([`terminal`]).

pub mod app;
pub mod effect;
pub mod event;
pub mod format;
pub mod keymap;
pub mod log;
pub mod overlay;
pub mod panes;
pub mod status;
pub mod text;
pub mod theme;

pub mod terminal;
pub mod input;
