//! The settings worker: the thread that reads config.toml when it changes, lists the themes and
//! writes the layout. A home folder on a slow disk therefore delays no key and no look at the
//! repository.

use crate::screen::layout_file;
use crate::screen::worker::{Requests, Worker};
use lab_tui::event::Event;
use lab_tui::reply::SettingsReply;
use lab_tui::request::{Preferences, SettingsRequest};
use lab_tui::theme::Theme;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// config.toml is read once it has not changed for this long.
const QUIET: Duration = Duration::from_millis(50);

/// The user's files and how they are read. The command line makes this value once.
pub struct UserFiles {
    /// The path of config.toml, which need not exist.
    pub config: Option<PathBuf>,
    pub layout: Option<PathBuf>,
    pub read: Box<dyn Fn() -> Result<Preferences, String> + Send>,
    /// Lists every theme by its name.
    pub themes: Box<dyn Fn() -> Vec<(String, Theme)> + Send>,
}

/// What the thread is told.
#[derive(Debug)]
enum SettingsCommand {
    /// config.toml changed.
    Changed,
    Request(SettingsRequest),
}

/// Dropping it writes the layouts that still wait.
pub struct SettingsWorker {
    /// Watches config.toml until the worker is dropped. Dropped first: it holds the thread.
    _watcher: Option<RecommendedWatcher>,
    worker: Worker<SettingsCommand>,
}

impl SettingsWorker {
    pub fn start(files: UserFiles, events: Sender<Event>) -> io::Result<Self> {
        let config = files.config.clone();
        let worker = Worker::start(
            "settings",
            |_, _| false,
            move |commands| {
                work(&files, &events, commands);
            },
        )?;
        let _watcher = config
            .zip(worker.sender())
            .and_then(|(file, tell)| watch(&file, tell));
        Ok(SettingsWorker { _watcher, worker })
    }

    pub fn ask(&self, request: SettingsRequest) {
        self.worker.ask(SettingsCommand::Request(request));
    }
}

/// Watches the folder of config.toml, because editors replace the file. `None` if it cannot be
/// watched: then the action `reload-config` reads it.
fn watch(file: &Path, commands: Sender<SettingsCommand>) -> Option<RecommendedWatcher> {
    let folder = file.parent()?;
    let name = file.file_name()?.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_it = |event: &notify::Event| {
            !event.kind.is_access()
                && event
                    .paths
                    .iter()
                    .any(|path| path.file_name() == Some(&name))
        };
        if event.is_ok_and(|event| is_it(&event)) {
            let _ = commands.send(SettingsCommand::Changed);
        }
    })
    .ok()?;
    watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn work(files: &UserFiles, events: &Sender<Event>, commands: &mut Requests<SettingsCommand>) {
    let mut waiting = None;
    while let Some(command) = waiting.take().or_else(|| commands.wait()) {
        let read = |asked| SettingsReply::Preferences {
            read: Box::new((files.read)()),
            asked,
        };
        let answer = match command {
            SettingsCommand::Changed => {
                // Another command that comes meanwhile waits: the config is read before it.
                waiting = settle(commands);
                read(false)
            }
            SettingsCommand::Request(SettingsRequest::Reload) => read(true),
            SettingsCommand::Request(SettingsRequest::ListThemes) => {
                SettingsReply::Themes((files.themes)())
            }
            SettingsCommand::Request(SettingsRequest::SaveLayout(layout)) => {
                // A layout that cannot be written is missing the next time the screen opens; it
                // stops nothing now.
                let _ = files
                    .layout
                    .as_ref()
                    .map(|file| layout_file::write(&layout, file));
                continue;
            }
        };
        if events.send(Event::Settings(answer)).is_err() {
            return;
        }
    }
}

/// Waits until config.toml has not changed for [`QUIET`]. Returns the other command that came
/// meanwhile, if any.
fn settle(commands: &mut Requests<SettingsCommand>) -> Option<SettingsCommand> {
    loop {
        match commands.wait_within(QUIET).ok()? {
            SettingsCommand::Changed => {}
            other @ SettingsCommand::Request(_) => return Some(other),
        }
    }
}
