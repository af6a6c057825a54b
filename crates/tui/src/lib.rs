//! The screen of `lab`: a model, a pure update and a view. No git, no process, no file, no clock.
//!
//! ```text
//! worker or terminal ──Event──> update(&mut Model, Event, now) ──Effect──> executor
//!                                   │ Model
//!                                   v
//!                               view(&Model, &mut Frame) ──FrameGeometry──> Event::Drawn
//! ```
//! From the bottom up: [`views`] (which panes there are), [`state`] (what the screen knows), [`widgets`], [`panes`],
//! [`model`], [`mod@update`] and [`draw`].
#![forbid(unsafe_code)]

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod chart;
pub mod diff;
pub mod draft;
pub mod draw;
pub mod effect;
pub mod event;
pub mod format;
pub mod geometry;
pub mod highlight;
pub mod keymap;
pub mod layout;
pub mod line_layout;
pub mod log;
pub mod model;
pub mod overlay;
pub mod palette;
pub mod panes;
pub mod reply;
pub mod request;
pub mod search_highlight;
pub mod settings;
pub mod source;
pub mod state;
pub mod status;
pub mod table;
pub mod text;
pub mod theme;
pub mod update;
pub mod views;
pub mod widgets;

pub use draw::view;
pub use update::{open, update};
