//! Carries effects out: runs through the runner, disk and git through the desk. Nothing here blocks.

use crate::screen::highlighter::HighlightWorker;
use crate::screen::repository_worker::{Desk, Opening};
use crate::screen::settings_worker::{Cupboard, Drawer};
use crate::screen::telemetry_monitor::Monitor;
use crate::screen::view_loader::Reader;
use lab_core::project::Project;
use lab_core::runner::Runner;
use lab_tui::effect::Effect;
use lab_tui::event::Event;
use lab_tui::request::Request;
use lab_tui::source::Which;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Dropping it ends the run that goes on and finishes a decision that is being carried out.
pub struct Executor {
    runner: Runner,
    desk: Desk,
    reader: Reader,
    monitor: Monitor,
    drawer: Drawer,
    colours: HighlightWorker<Which>,
}

impl Executor {
    pub fn start(
        project: &Arc<Project>,
        opening: Opening,
        cupboard: Cupboard,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let sink = events.clone();
        let runner =
            Runner::new(Arc::clone(project), Arc::new(move |event| drop(sink.send(Event::Run(event)))))?;
        let desk = Desk::start(Arc::clone(project), opening, events.clone())?;
        let reader = Reader::start(Arc::clone(project), events.clone())?;
        let sink = events.clone();
        let colours = HighlightWorker::start(move |which, text, found| {
            drop(sink.send(Event::Coloured(which, text, found)));
        })?;
        let monitor = Monitor::start(events.clone())?;
        let drawer = Drawer::start(cupboard, events.clone())?;
        Ok(Executor { runner, desk, reader, monitor, drawer, colours })
    }

    /// Further runs are of this project: lab.toml changed.
    pub fn adopt(&self, project: &Arc<Project>) {
        self.runner.set_project(Arc::clone(project));
        self.reader.adopt(project);
    }

    /// Effects on the terminal are the loop's; it hands them back.
    pub fn carry_out(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::StartRun(reason) => self.runner.start(reason),
            Effect::KillRun => self.runner.kill(),
            Effect::Ask(request) => self.desk.ask(request),
            Effect::StopKeep => self.desk.stop_keep(),
            Effect::Refresh => {
                self.runner.look();
                self.desk.ask(Request::Look);
            }
            Effect::LookAt(uuid) => self.monitor.look(uuid),
            Effect::Colour(which, text) => self.colours.ask(which, text.into()),
            Effect::Read(wish) => self.reader.ask(wish),
            Effect::Remember(layout) => self.drawer.remember(*layout),
            Effect::ReloadConfig => self.drawer.reload(),
            Effect::ListThemes => self.drawer.list_themes(),
            Effect::Copy(_)
            | Effect::Call(..)
            | Effect::OpenEditor(_)
            | Effect::Suspend
            | Effect::Repaint
            | Effect::Quit => {
                return Some(effect);
            }
        }
        None
    }
}
