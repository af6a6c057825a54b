//! Listens to the system's events of the folders that hold inputs.

use lab_system::threads;
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Error, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A watcher of folders. The error says so where Linux starts no thread for it: notify would panic at
/// the first folder.
pub fn watcher(
    on_event: impl FnMut(notify::Result<Event>) + Send + 'static,
) -> notify::Result<RecommendedWatcher> {
    let started = threads::start("watch", || ()).map_err(Error::io)?;
    // It ends at once, and leaves its place to notify's thread.
    let _ = started.join();
    notify::recommended_watcher(on_event)
}

/// The folders that are listened to.
pub struct Folders {
    listener: notify::Result<RecommendedWatcher>,
    listened: BTreeSet<PathBuf>,
}

impl Folders {
    /// `on_event` gets the files that an event says are complete: closed after writing, or renamed
    /// to their names.
    pub fn listen(on_event: impl Fn(Vec<PathBuf>) + Send + 'static) -> Self {
        let listener = watcher(move |event| match event {
            Ok(event) if is_complete(event.kind) => on_event(event.paths),
            // Reading changes nothing, and the lab itself reads.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            _ => on_event(Vec::new()),
        });
        Folders {
            listener,
            listened: BTreeSet::new(),
        }
    }

    /// Why the system reports no events at all.
    pub fn problem(&self) -> Option<String> {
        let error = self.listener.as_ref().err()?;
        Some(format!(
            "saves are noticed up to a second late: {error}; `lab doctor` says more"
        ))
    }

    /// Listens to the folders of these files and to no others. Returns a message where the system
    /// refuses one. A folder that does not exist is left out: the look every second finds it.
    pub fn set(&mut self, files: &[PathBuf]) -> Option<String> {
        let Ok(listener) = &mut self.listener else {
            return None;
        };
        let folders: BTreeSet<PathBuf> = files
            .iter()
            .filter_map(|file| file.parent())
            .map(Path::to_path_buf)
            .collect();
        for old in self.listened.difference(&folders) {
            let _ = listener.unwatch(old);
        }
        let mut refused = None;
        for new in folders.difference(&self.listened) {
            if let Err(error) = listener.watch(new, RecursiveMode::NonRecursive)
                && new.is_dir()
            {
                refused = Some(format!(
                    "saves in {} are noticed up to a second late: {error}",
                    new.display()
                ));
            }
        }
        self.listened = folders;
        refused
    }
}

fn is_complete(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Name(mode)) => {
            matches!(mode, RenameMode::To | RenameMode::Both)
        }
        _ => false,
    }
}
