//! The settings worker: the thread that reads config.toml when it changes, lists the themes and
//! writes the layout. A home folder on a slow disk therefore delays no key and no look at the
//! repository.

use crate::screen::preferences::{prefer, themes};
use crate::screen::worker::{Requests, Worker};
use crate::screen::{layout_file, settings_files};
use lab_tui::event::Event;
use lab_tui::request::SettingsRequest;
use lab_tui::theme::AppearanceChoice;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// config.toml is read once it has not changed for this long.
const QUIET: Duration = Duration::from_millis(50);

/// The user's files.
pub struct UserFiles {
    /// The path of config.toml, which need not exist.
    pub config: Option<PathBuf>,
    pub layout: Option<PathBuf>,
    /// The path of what the user chose on the screen.
    pub chosen: Option<PathBuf>,
    /// What the command line and the environment ask for instead of config.toml.
    pub choice: AppearanceChoice,
}

/// The request of the watcher: config.toml changed.
const CHANGED: SettingsRequest = SettingsRequest::Reload { asked: false };

/// Starts the thread. The watcher of config.toml holds it, so it is to be dropped first. Dropping
/// the worker writes the layouts that still wait.
pub fn start(
    files: UserFiles,
    events: Sender<Event>,
) -> io::Result<(Option<RecommendedWatcher>, Worker<SettingsRequest>)> {
    let config = files.config.clone();
    let replaces = |_: &SettingsRequest, _: &SettingsRequest| false;
    let worker = Worker::start("settings", replaces, move |requests| {
        requests.answer(&events, |request, requests| {
            if request == CHANGED {
                settle(requests);
            }
            answer(&files, request)
        });
    })?;
    let watcher = config
        .zip(worker.sender())
        .and_then(|(file, tell)| watch(&file, tell));
    Ok((watcher, worker))
}

/// Watches the folder of config.toml, because editors replace the file. `None` if it cannot be
/// watched: then the action `reload-config` reads it.
fn watch(file: &Path, requests: Sender<SettingsRequest>) -> Option<RecommendedWatcher> {
    let folder = file.parent()?;
    let name = file.file_name()?.to_owned();
    let mut watcher = lab_watch::watcher(move |event| {
        let is_it = |event: &notify::Event| {
            !event.kind.is_access()
                && event
                    .paths
                    .iter()
                    .any(|path| path.file_name() == Some(&name))
        };
        if event.is_ok_and(|event| is_it(&event)) {
            let _ = requests.send(CHANGED);
        }
    })
    .ok()?;
    watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn answer(files: &UserFiles, request: SettingsRequest) -> Option<Event> {
    let (config, choice) = (files.config.as_deref(), files.choice.clone());
    match request {
        SettingsRequest::Reload { asked } => {
            let read = settings_files::read(config).and_then(|settings| prefer(settings, choice));
            let read = Box::new(read);
            Some(Event::Preferences { read, asked })
        }
        SettingsRequest::ListThemes => Some(Event::Themes(themes(config, choice))),
        SettingsRequest::SaveLayout(layout) => {
            // A layout that cannot be written is missing the next time the screen opens; it stops
            // nothing now.
            let _ = layout_file::write(&*layout, files.layout.as_deref()?);
            None
        }
        SettingsRequest::SaveChoice(choice) => {
            let _ = layout_file::write(&choice, files.chosen.as_deref()?);
            None
        }
    }
}

/// Waits until config.toml has not changed for [`QUIET`]. Another request that comes meanwhile ends
/// the wait, and is answered next.
fn settle(requests: &mut Requests<SettingsRequest>) {
    while let Ok(request) = requests.wait_within(QUIET) {
        if request != CHANGED {
            return requests.put_back(request);
        }
    }
}
