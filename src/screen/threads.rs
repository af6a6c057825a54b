//! The threads of the screen. The main loop passes each effect to the thread that does the work, so
//! that nothing blocks the loop.

use crate::confinement;
use crate::screen::inbox::Inbox;
use crate::screen::input::InputThread;
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::UserFiles;
use crate::screen::signals::SignalThread;
use crate::screen::view_loader::{RecordText, ViewAsked};
use crate::screen::worker::Worker;
use crate::screen::{
    highlighter, profiler, repository_worker, settings_worker, telemetry_monitor, view_loader,
};
use lab_project::Project;
use lab_runner::Runner;
use lab_tui::event::Event;
use lab_tui::request::{HighlightRequest, RepositoryRequest, SettingsRequest};
use notify::RecommendedWatcher;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Dropping it ends the run in progress and waits for a decision in progress.
pub struct Threads {
    pub runner: Runner,
    pub profiler: Worker<Arc<Project>>,
    pub repository: Worker<RepositoryRequest>,
    pub views: Worker<ViewAsked>,
    pub telemetry: Worker<Option<String>>,
    /// Watches config.toml. Dropped before the worker, whose thread it holds.
    _config: Option<RecommendedWatcher>,
    pub settings: Worker<SettingsRequest>,
    pub highlighter: Worker<HighlightRequest>,
    pub input: InputThread,
    pub signals: SignalThread,
    pub events: Sender<Event>,
}

impl Threads {
    pub fn start(
        project: &Arc<Project>,
        (opening, judges): (Opening, bool),
        (files, record): (UserFiles, RecordText),
        events: &Sender<Event>,
        inbox: &Inbox,
    ) -> io::Result<Self> {
        let signals = SignalThread::start(events.clone())?;
        let input = InputThread::start(inbox.keys())?;
        let sink = events.clone();
        let runner = Runner::new(
            Arc::clone(project),
            confinement::missing,
            judges,
            Arc::new(move |event| drop(sink.send(Event::Run(event)))),
        )?;
        let profiler = profiler::start(events.clone())?;
        let project = Arc::clone(project);
        let repository = repository_worker::start(project, opening, events.clone())?;
        let views = view_loader::start(events.clone(), record)?;
        let telemetry = telemetry_monitor::start(events.clone())?;
        let (_config, settings) = settings_worker::start(files, events.clone())?;
        Ok(Threads {
            runner,
            profiler,
            repository,
            views,
            telemetry,
            _config,
            settings,
            highlighter: highlighter::start(events.clone())?,
            input,
            signals,
            events: events.clone(),
        })
    }
}
