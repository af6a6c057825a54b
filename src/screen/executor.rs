//! Carries out effects by passing each to the thread that does the work. Nothing here blocks.

use crate::confinement;
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::{SettingsWorker, UserFiles};
use crate::screen::telemetry_monitor::Watched;
use crate::screen::view_loader::ViewAsked;
use crate::screen::worker::Worker;
use crate::screen::{highlighter, profiler, repository_worker, telemetry_monitor, view_loader};
use lab_project::Project;
use lab_runner::Runner;
use lab_runner::spec::RunSpec;
use lab_tui::effect::Effect;
use lab_tui::event::Event;
use lab_tui::reply::HighlightReply;
use lab_tui::request::{HighlightRequest, RepositoryRequest, TelemetryRequest};
use lab_tui::source::SourceVersion;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Owns the threads. Dropping it ends the run in progress and waits for a decision in progress.
pub struct Executor {
    project: RefCell<Arc<Project>>,
    runner: Runner,
    profiler: Worker<Arc<Project>>,
    repository: Worker<RepositoryRequest>,
    views: Worker<ViewAsked>,
    telemetry: Worker<Watched>,
    settings: SettingsWorker,
    highlighter: Worker<highlighter::Text<SourceVersion>>,
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
        let sink = events.clone();
        Ok(Executor {
            project: RefCell::new(Arc::clone(project)),
            runner,
            profiler: profiler::start(events.clone())?,
            repository: repository_worker::start(Arc::clone(project), opening, events.clone())?,
            views: view_loader::start(events.clone())?,
            telemetry: telemetry_monitor::start(events.clone())?,
            settings: SettingsWorker::start(files, events.clone())?,
            highlighter: highlighter::start(move |which, text, colours| {
                drop(sink.send(Event::Highlighted(HighlightReply {
                    which,
                    text,
                    colours,
                })));
            })?,
        })
    }

    /// Uses this project from now on, because lab.toml changed.
    pub fn adopt(&self, project: &Arc<Project>) {
        self.runner.set_project(Arc::clone(project));
        self.project.replace(Arc::clone(project));
    }

    /// Carries out an effect. Effects on the terminal are returned: the main loop owns it.
    pub fn carry_out(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::StartRun(reason, inputs) => self.runner.start(RunSpec {
                inputs,
                ..RunSpec::new(reason)
            }),
            Effect::StartProfile => {
                self.profiler.stop();
                self.profiler.ask(Arc::clone(&self.project.borrow()));
            }
            Effect::StopProfile => self.profiler.stop(),
            Effect::KillRun => self.runner.kill(),
            Effect::Repository(request) => self.repository.ask(request),
            Effect::StopKeep => self.repository.stop(),
            Effect::Refresh => {
                self.runner.check_standby();
                self.repository.ask(RepositoryRequest::Look);
            }
            Effect::Telemetry(TelemetryRequest::Watch(uuid)) => self.telemetry.ask(Some(uuid)),
            Effect::Telemetry(TelemetryRequest::Stop) => self.telemetry.ask(None),
            Effect::Highlight(HighlightRequest {
                which,
                language,
                text,
            }) => self.highlighter.ask((which, language, text.into())),
            Effect::View(request) => {
                self.views
                    .ask((Arc::clone(&self.project.borrow()), request));
            }
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
