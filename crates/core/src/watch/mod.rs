//! Hears of saves: the kernel, its local includes, problem.toml, reference.cu, lab.toml, extras.
//!
//! Folders are watched, not files: a watched file goes silent after the first save by rename. What
//! is heard is only a hint to look; whether something changed, the bytes say. A look every second
//! finds what nobody tells of (network file systems, bind mounts), cheaply: it reads only where a
//! file's time, size or inode is another. The lab's own writes start nothing, because none of its
//! files is an input, and because the bytes that it puts back are taken note of before
//! ([`Watcher::expect`]). The same look tells of what others do in git and in the lab's files.

pub mod debounce;
pub mod snapshot;

use crate::inputs::{self, Inputs};
use crate::project::Project;
use crate::run::record::InputFile;
use crate::watch::debounce::Debounce;
use crate::watch::snapshot::Surroundings;
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks, beside what is heard.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// The bytes that a verdict depends on changed and have settled.
    Changed {
        /// Repository-relative paths of what changed; none where what was gone is back as it was.
        files: Vec<String>,
        /// Everything that a verdict depends on, as the watcher read it. A run of this save judges these bytes.
        inputs: Arc<Inputs>,
        /// lab.toml is among them: open the project anew.
        config: bool,
    },
    /// HEAD, a lock, the ledger or the runs are others than before, whoever did it. Nothing is to be
    /// judged; what is shown of them is to be read anew.
    Surroundings,
    /// Only the slow look watches (no inotify left), or the kernel cannot be read: in words.
    /// Said once, until it is well again.
    Problem(String),
}

pub type Sink = Arc<dyn Fn(WatchEvent) + Send + Sync>;

enum Message {
    /// Something happened in a watched folder: these files were written and closed, or got their names.
    Hint(Vec<PathBuf>),
    /// The lab itself is about to put a kernel on disk.
    Expect(Act),
    Quit,
}

/// The bytes that were put on disk as the kernel; `None` where none were.
pub type Put = Option<Vec<u8>>;

/// Does something; what it put on disk, and what tells its result.
type Act = Box<dyn FnOnce() -> (Put, Box<dyn FnOnce()>) + Send>;

/// Watches until dropped.
pub struct Watcher {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Does `act` (a discard, a restore) and takes what it put on disk as known: no event comes of it. What
    /// somebody else saves meanwhile is news, also where `act` put nothing there. Waits for `act`.
    pub fn expect<T: Send + 'static>(&self, act: impl FnOnce() -> (T, Put) + Send + 'static) -> Option<T> {
        let (done, result) = channel();
        let act: Act = Box::new(move || {
            let (outcome, put) = act();
            (put, Box::new(move || drop(done.send(outcome))))
        });
        self.messages.send(Message::Expect(act)).ok()?;
        result.recv().ok()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts to watch. What the bytes are now is the start: only a change from here is an event.
pub fn start(project: Arc<Project>, sink: Sink) -> std::io::Result<Watcher> {
    let (messages, inbox) = channel();
    let hints = messages.clone();
    let ears = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let is_whole = |kind: &EventKind| {
            let written = AccessKind::Close(AccessMode::Write);
            let named = |mode: &RenameMode| matches!(mode, RenameMode::To | RenameMode::Both);
            match kind {
                EventKind::Access(access) => *access == written,
                EventKind::Modify(ModifyKind::Name(mode)) => named(mode),
                _ => false,
            }
        };
        let whole = match event {
            Ok(event) if is_whole(&event.kind) => event.paths,
            // Reading is no change, and the lab itself reads.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            _ => Vec::new(),
        };
        let _ = hints.send(Message::Hint(whole));
    });
    let (ears, deaf) = match ears {
        Ok(ears) => (Some(ears), None),
        Err(error) => (None, Some(error)),
    };
    let mut watch = Watch::new(project, sink, ears);
    if let Some(error) = deaf {
        watch.problem(format!("saves are noticed up to a second late: {error}; `lab doctor` says more"));
    }
    let thread = std::thread::Builder::new().name("watch".into()).spawn(move || watch.work(&inbox))?;
    Ok(Watcher { messages, thread: Some(thread) })
}

struct Watch {
    project: Arc<Project>,
    sink: Sink,
    ears: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    debounce: Debounce,
    known: Vec<InputFile>,
    /// The paths that were looked at, and what their metadata was.
    paths: Vec<PathBuf>,
    stamps: Vec<Stamp>,
    surroundings: Surroundings,
    said: Option<String>,
}

/// Where this is the same, the bytes are taken for the same.
type Stamp = Option<(u64, u64, i64, i64, u64)>;

impl Watch {
    fn new(project: Arc<Project>, sink: Sink, ears: Option<RecommendedWatcher>) -> Self {
        let settings = &project.config.watch;
        let debounce = Debounce::new(
            Duration::from_millis(settings.quiet_ms),
            Duration::from_millis(settings.ceiling_ms),
        );
        let mut watch = Watch {
            surroundings: Surroundings::look(&project, None),
            project,
            sink,
            ears,
            folders: BTreeSet::new(),
            debounce,
            known: Vec::new(),
            paths: Vec::new(),
            stamps: Vec::new(),
            said: None,
        };
        watch.stamps = watch.look();
        watch.take_note();
        watch
    }

    fn work(&mut self, inbox: &Receiver<Message>) {
        let mut next_look = Instant::now() + LOOK_EVERY;
        loop {
            let until = self.debounce.due().map_or(next_look, |due| due.min(next_look));
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Hint(whole)) => {
                    self.hint();
                    if whole.iter().any(|path| self.paths.contains(path)) {
                        self.debounce.closed();
                    }
                }
                Ok(Message::Expect(act)) => {
                    let (put, tell) = act();
                    if let Some(put) = put {
                        self.take_note_of_kernel(&put);
                    }
                    tell();
                }
                Ok(Message::Quit) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK_EVERY;
                self.hint();
                self.look_around();
            }
            if self.debounce.take(now) {
                self.compare();
            }
        }
    }

    /// Other files in the folder change too; only the stamps of inputs count.
    fn hint(&mut self) {
        let stamps = self.look();
        if stamps != self.stamps {
            self.stamps = stamps;
            self.debounce.event(Instant::now());
        }
    }

    fn look_around(&mut self) {
        let surroundings = Surroundings::look(&self.project, Some(&self.surroundings));
        if surroundings != self.surroundings {
            self.surroundings = surroundings;
            (self.sink)(WatchEvent::Surroundings);
        }
    }

    fn look(&self) -> Vec<Stamp> {
        let stamp = |path: &PathBuf| {
            let m = std::fs::metadata(path).ok()?;
            Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec(), u64::from(m.mode())))
        };
        self.paths.iter().map(stamp).collect()
    }

    /// Reads the bytes; an event where they are others.
    fn compare(&mut self) {
        match inputs::read(&self.project) {
            Ok(inputs) => {
                // Bytes that are back as they were are news after it was said that they are gone.
                let is_well_again = self.said.take().is_some();
                let mut files = inputs::differences(&self.known, &inputs.files());
                self.learn(&inputs);
                // A lab.toml that was not there is no input of this project, but of the next.
                if self.project.config_file.is_none() && self.config_path().is_file() {
                    files.push(crate::config::FILE.to_owned());
                }
                if !files.is_empty() || is_well_again {
                    let config = self.project.relative(&self.config_path());
                    let config = config.is_some_and(|name| files.contains(&name));
                    (self.sink)(WatchEvent::Changed { files, inputs: Arc::new(inputs), config });
                }
            }
            Err(error) => self.problem(error.to_string()),
        }
    }

    fn take_note(&mut self) {
        match inputs::read(&self.project) {
            Ok(inputs) => self.learn(&inputs),
            Err(_) => self.attend(vec![self.project.kernel.clone()]),
        }
    }

    /// Takes this kernel as known where it is the one on disk, with what it includes; of every other file what was
    /// known before stands, so that a save in the same moment is not swallowed.
    fn take_note_of_kernel(&mut self, put: &[u8]) {
        // Looked at again when the moment has passed.
        self.debounce.event(Instant::now());
        let Some(inputs) = inputs::read(&self.project).ok().filter(|inputs| inputs.kernel() == put) else {
            return;
        };
        let known = std::mem::take(&mut self.known);
        self.learn(&inputs);
        for file in self.known.iter_mut().skip(1) {
            if let Some(before) = known.iter().find(|k| k.path == file.path) {
                file.clone_from(before);
            }
        }
    }

    fn learn(&mut self, inputs: &Inputs) {
        self.known = inputs.files();
        let mut paths: Vec<PathBuf> = inputs.sources.iter().map(|s| s.path.clone()).collect();
        // One that is not there yet may come.
        if self.project.config_file.is_none() {
            paths.push(self.config_path());
        }
        self.attend(paths);
    }

    /// Looks at these paths from now on, and listens to their folders.
    fn attend(&mut self, paths: Vec<PathBuf>) {
        if paths != self.paths {
            self.paths = paths;
            self.stamps = self.look();
        }
        let folders: BTreeSet<PathBuf> =
            self.paths.iter().filter_map(|p| p.parent()).map(|f| f.to_path_buf()).collect();
        let Some(ears) = &mut self.ears else { return };
        for gone in self.folders.difference(&folders) {
            let _ = ears.unwatch(gone);
        }
        let mut deaf = None;
        for new in folders.difference(&self.folders) {
            // A folder that is not there is looked for every second.
            if let Err(error) = ears.watch(new, RecursiveMode::NonRecursive)
                && new.is_dir()
            {
                deaf = Some(format!("saves in {} are noticed up to a second late: {error}", new.display()));
            }
        }
        self.folders = folders;
        if let Some(what) = deaf {
            self.problem(what);
        }
    }

    fn config_path(&self) -> PathBuf {
        let usual = || self.project.root.join(crate::config::FILE);
        self.project.config_file.clone().unwrap_or_else(usual)
    }

    fn problem(&mut self, what: String) {
        if self.said.as_ref() != Some(&what) {
            self.said = Some(what.clone());
            (self.sink)(WatchEvent::Problem(what));
        }
    }
}
