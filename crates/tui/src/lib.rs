//! The screen of `lab`: a model, a pure update and a view. No git, no process, no file, no clock.
//!
//! ```text
//! worker or terminal ──Event──> update(&mut Model, Event, now) ──Effect──> main loop
//!                                   │ Model
//!                                   v
//!                               view(&Model, &mut Frame) ──FrameGeometry──> Event::Drawn
//! ```
//! A screen without a terminal, for a test:
//! ```
//! use jiff::tz::TimeZone;
//! use lab_project::{config::AutoConfig, objective::{Goal, Objective}};
//! use lab_tui::effect::{Effect, Redraw};
//! use lab_tui::{event::Event, geometry::FrameGeometry, model::Model, state::Setup, theme::Theme};
//! use ratatui::crossterm::event::{KeyCode, KeyEvent};
//! use ratatui::{Terminal, backend::TestBackend};
//! use std::time::Duration;
//!
//! let setup = Setup {
//!     name: "rmsnorm".into(),
//!     kernel: "kernels/rmsnorm/kernel.cu".into(),
//!     objective: Objective::default(),
//!     goal: Goal::Maximize,
//!     external: None,
//!     auto: AutoConfig::default(),
//! };
//! let mut model = Model::new(setup, Theme::plain(), TimeZone::UTC);
//! let mut terminal = Terminal::new(TestBackend::new(80, 24))?;
//! let mut geometry = FrameGeometry::default();
//! terminal.draw(|frame| geometry = lab_tui::view(&model, frame))?;
//! let drawn = lab_tui::update(&mut model, Event::Drawn(Box::new(geometry)), Duration::ZERO);
//! assert_eq!(drawn.redraw, Redraw::No);
//!
//! let q = KeyEvent::from(KeyCode::Char('q'));
//! let pressed = lab_tui::update(&mut model, q.into(), Duration::ZERO);
//! assert!(pressed.effects.contains(&Effect::Quit));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the bottom up: [`views`] (which panes there are), [`state`] (what the screen knows),
//! [`widgets`], [`panes`], [`model`], [`mod@update`] and [`draw`].
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
mod prelude;
pub mod profile;
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
pub mod words;

pub use draw::view;
pub use update::{Places, open, update};
