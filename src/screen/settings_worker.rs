//! The settings worker: the thread that reads config.toml when it changes, lists the themes and
//! writes the layout. A home folder on a slow disk therefore delays no key and no look at the
//! repository.

use crate::screen::layout_file;
use lab_tui::event::Event;
use lab_tui::reply::SettingsReply;
use lab_tui::request::{Preferences, SettingsRequest};
use lab_tui::theme::Theme;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
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

#[derive(Debug)]
enum SettingsCommand {
    /// config.toml changed.
    Changed,
    Request(SettingsRequest),
    End,
}

pub struct SettingsWorker {
    commands: Sender<SettingsCommand>,
    thread: Option<JoinHandle<()>>,
    /// Watches config.toml until the worker is dropped.
    _watcher: Option<RecommendedWatcher>,
}

impl SettingsWorker {
    pub fn start(files: UserFiles, events: Sender<Event>) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let watcher = files
            .config
            .as_deref()
            .and_then(|file| watch(file, commands.clone()));
        let thread = thread::Builder::new()
            .name("settings".to_owned())
            .spawn(move || work(&files, &events, &inbox))?;
        Ok(SettingsWorker {
            commands,
            thread: Some(thread),
            _watcher: watcher,
        })
    }

    pub fn ask(&self, request: SettingsRequest) {
        let _ = self.commands.send(SettingsCommand::Request(request));
    }
}

impl Drop for SettingsWorker {
    /// Writes the layouts that still wait, then ends the thread.
    fn drop(&mut self) {
        let _ = self.commands.send(SettingsCommand::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
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

fn work(files: &UserFiles, events: &Sender<Event>, commands: &Receiver<SettingsCommand>) {
    let mut waiting = None;
    loop {
        let Some(command) = waiting.take().or_else(|| commands.recv().ok()) else {
            return;
        };
        let answer = match command {
            SettingsCommand::Changed => {
                match settle(commands) {
                    Some(SettingsCommand::Changed) | None => {}
                    // Another command, perhaps the last one. The config is read before it.
                    other => waiting = other,
                }
                SettingsReply::Preferences {
                    read: Box::new((files.read)()),
                    asked: false,
                }
            }
            SettingsCommand::Request(SettingsRequest::Reload) => SettingsReply::Preferences {
                read: Box::new((files.read)()),
                asked: true,
            },
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
            SettingsCommand::End => return,
        };
        if events.send(Event::Settings(answer)).is_err() {
            return;
        }
    }
}

/// Waits until config.toml has not changed for [`QUIET`]. Returns the other command that came
/// meanwhile, if any.
fn settle(commands: &Receiver<SettingsCommand>) -> Option<SettingsCommand> {
    loop {
        match commands.recv_timeout(QUIET) {
            Ok(SettingsCommand::Changed) => {}
            Ok(other) => return Some(other),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}
