//! Watches the files that a verdict depends on (the kernel, its local includes, problem.toml,
//! reference.cu, lab.toml, extras) and what others do in git and in the lab's files.
//!
//! The watcher listens to folders, not to files: a watched file goes silent after the first save by
//! rename. An event of a folder is only a reason to look. Whether something changed is decided by
//! the bytes. A look every second also finds saves that cause no event (network file systems, bind
//! mounts). Such a look is cheap: it reads a file only where the file's metadata changed.
//!
//! The lab's own writes start no run: none of its files is an input, and it tells the watcher which
//! bytes it puts back as the kernel ([`Watcher::without_event`]).
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod debounce;
mod event;
mod folders;
mod snapshot;
mod worker;

pub use event::{WatchEvent, WatchSink};
pub use folders::watcher;
pub use snapshot::RepositorySnapshot;

use folders::Folders;
use lab_project::Project;
use lab_system::threads;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use worker::Worker;

/// A request to the watcher's thread.
enum Command {
    /// Something happened in a watched folder. These files were closed after writing, or got their
    /// names.
    FolderChanged(Vec<PathBuf>),
    /// The lab is about to put a kernel on disk.
    Write(Write),
    Quit,
}

/// The bytes that the lab put on disk as the kernel; `None` where it put none there.
pub type Written = Option<Vec<u8>>;

/// Puts a kernel on disk; returns its bytes, and a function that sends the result to the caller.
type Write = Box<dyn FnOnce() -> (Written, Box<dyn FnOnce()>) + Send>;

/// A thread that watches. Dropping it ends the thread.
pub struct Watcher {
    commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Runs `write` (a discard, a restore) on the watcher's thread and waits for it. The kernel
    /// that `write` put on disk causes no event. A save by somebody else meanwhile causes one, even
    /// if `write` put nothing there. `None` if the thread is gone.
    pub fn without_event<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> (T, Written) + Send + 'static,
    ) -> Option<T> {
        let (done, result) = channel();
        let write: Write = Box::new(move || {
            let (outcome, written) = write();
            (written, Box::new(move || drop(done.send(outcome))))
        });
        self.commands.send(Command::Write(write)).ok()?;
        result.recv().ok()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts to watch. Only changes from now on are events. Returns an error if the thread cannot
/// start.
pub fn start(project: Arc<Project>, sink: WatchSink) -> std::io::Result<Watcher> {
    let (commands, inbox) = channel();
    let to_worker = commands.clone();
    let folders =
        Folders::listen(move |closed| drop(to_worker.send(Command::FolderChanged(closed))));
    let mut worker = Worker::new(project, sink, folders);
    let thread = threads::start("watch", move || worker.run(&inbox))?;
    Ok(Watcher {
        commands,
        thread: Some(thread),
    })
}
