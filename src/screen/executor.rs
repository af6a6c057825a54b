//! Carries out effects by passing each to the thread that does the work. Nothing here blocks.

use crate::confinement;
use crate::screen::highlighter::HighlightWorker;
use crate::screen::profiler::Profiler;
use crate::screen::repository_worker::{Opening, RepositoryWorker};
use crate::screen::settings_worker::{SettingsWorker, UserFiles};
use crate::screen::telemetry_monitor::TelemetryMonitor;
use crate::screen::view_loader::ViewLoader;
use lab_core::project::Project;
use lab_core::runner::Runner;
use lab_core::runner::spec::RunSpec;
use lab_tui::effect::Effect;
use lab_tui::event::Event;
use lab_tui::reply::HighlightReply;
use lab_tui::request::{HighlightRequest, RepositoryRequest, TelemetryRequest};
use lab_tui::source::SourceVersion;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Owns the threads. Dropping it ends the run in progress and waits for a decision in progress.
pub struct Executor {
    runner: Runner,
    profiler: Profiler,
    repository: RepositoryWorker,
    views: ViewLoader,
    telemetry: TelemetryMonitor,
    settings: SettingsWorker,
    highlighter: HighlightWorker<SourceVersion>,
}

impl Executor {
    pub fn start(
        project: &Arc<Project>,
        opening: Opening,
        files: UserFiles,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let sink = events.clone();
        let runner = Runner::new(
            Arc::clone(project),
            confinement::missing,
            Arc::new(move |event| drop(sink.send(Event::Run(event)))),
        )?;
        let repository = RepositoryWorker::start(Arc::clone(project), opening, events.clone())?;
        let views = ViewLoader::start(Arc::clone(project), events.clone())?;
        let sink = events.clone();
        let highlighter = HighlightWorker::start(move |which, text, colours| {
            drop(sink.send(Event::Highlighted(HighlightReply {
                which,
                text,
                colours,
            })));
        })?;
        let telemetry = TelemetryMonitor::start(events.clone())?;
        let settings = SettingsWorker::start(files, events.clone())?;
        let profiler = Profiler::new(Arc::clone(project), events.clone());
        Ok(Executor {
            runner,
            profiler,
            repository,
            views,
            telemetry,
            settings,
            highlighter,
        })
    }

    /// Uses this project from now on, because lab.toml changed.
    pub fn adopt(&self, project: &Arc<Project>) {
        self.runner.set_project(Arc::clone(project));
        self.views.adopt(project);
        self.profiler.adopt(project);
    }

    /// Carries out an effect. Effects on the terminal are returned: the main loop owns it.
    pub fn carry_out(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::StartRun(reason, inputs) => self.runner.start(RunSpec {
                inputs,
                ..RunSpec::new(reason)
            }),
            Effect::StartProfile => self.profiler.start(),
            Effect::StopProfile => self.profiler.stop(),
            Effect::KillRun => self.runner.kill(),
            Effect::Repository(request) => self.repository.ask(request),
            Effect::StopKeep => self.repository.stop_keep(),
            Effect::Refresh => {
                self.runner.check_standby();
                self.repository.ask(RepositoryRequest::Look);
            }
            Effect::Telemetry(TelemetryRequest::Watch(uuid)) => self.telemetry.look(Some(uuid)),
            Effect::Telemetry(TelemetryRequest::Stop) => self.telemetry.look(None),
            Effect::Highlight(HighlightRequest {
                which,
                language,
                text,
            }) => {
                self.highlighter.ask(which, language, text.into());
            }
            Effect::View(request) => self.views.ask(request),
            Effect::Settings(request) => self.settings.ask(request),
            Effect::Copy(_)
            | Effect::Notify(..)
            | Effect::OpenEditor(_)
            | Effect::OpenKernel(_)
            | Effect::Suspend
            | Effect::Repaint
            | Effect::Quit => {
                return Some(effect);
            }
        }
        None
    }
}
