//! The watcher's thread.

use super::Command;
use super::debounce::Debounce;
use super::event::{WatchEvent, WatchSink};
use super::folders::Folders;
use super::snapshot::RepositorySnapshot;
use lab_auto::LoopSnapshot;
use lab_project::Project;
use lab_project::config;
use lab_run::inputs::{self, InputFiles, Inputs};
use lab_run::record::InputFile;
use lab_store::RunStore;
use lab_sweep::SweepStore;
use lab_system::stamp::{self, Stamp, stamp};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between two looks that no event asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Least time between two looks at a loop: a command may print a line each millisecond.
const LOOP_EVERY: Duration = Duration::from_millis(100);

/// How long after the last news of a loop a change on disk may be its own.
const LOOP_LASTS: Duration = Duration::from_secs(2);

/// The stamp with the mode. `None` of a file that is not there. Where it is the same, the bytes are
/// taken to be the same.
type InputStamp = Option<(Stamp, u32)>;

pub struct Worker {
    project: Arc<Project>,
    sink: WatchSink,
    folders: Folders,
    debounce: Debounce,
    /// The inputs as they were read last.
    known: Vec<InputFile>,
    /// The inputs' paths, and their stamps at the last look.
    paths: Vec<PathBuf>,
    stamps: Vec<InputStamp>,
    repository: RepositorySnapshot,
    loops: LoopSnapshot,
    /// When a loop was seen to work last.
    loop_worked: Option<Instant>,
    /// Stamp of the file that each profile replaces.
    profiled: Option<Stamp>,
    swept: Option<Swept>,
    /// When to look at the loop again, because something happened in a watched folder.
    loop_due: Option<Instant>,
    /// The problem that was reported last and still holds.
    reported: Option<String>,
}

impl Worker {
    pub fn new(project: Arc<Project>, sink: WatchSink, folders: Folders) -> Self {
        let settings = &project.config.watch;
        let debounce = Debounce::new(
            Duration::from_millis(settings.quiet_ms),
            Duration::from_millis(settings.ceiling_ms),
        );
        let problem = folders.problem();
        let mut worker = Worker {
            repository: RepositorySnapshot::take(&project, None),
            // The first look tells of a loop that runs already.
            loops: LoopSnapshot::default(),
            loop_worked: None,
            profiled: profiled(&project),
            swept: swept(&project),
            loop_due: None,
            project,
            sink,
            folders,
            debounce,
            known: Vec::new(),
            paths: Vec::new(),
            stamps: Vec::new(),
            reported: None,
        };
        match inputs::read(&worker.project) {
            Ok(inputs) => worker.learn(&inputs),
            Err(_) => worker.watch_files(vec![worker.project.kernel.clone()]),
        }
        if let Some(problem) = problem {
            worker.report(WatchEvent::Problem, problem);
        }
        worker
    }

    /// Works until a request to quit arrives or no sender is left.
    pub fn run(&mut self, inbox: &Receiver<Command>) {
        let mut next_look = Instant::now() + LOOK_EVERY;
        loop {
            let until = [self.debounce.due(), self.loop_due]
                .into_iter()
                .flatten()
                .min();
            let until = until.map_or(next_look, |due| due.min(next_look));
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Command::FolderChanged(closed)) => {
                    self.look_at_files();
                    if closed.iter().any(|path| self.paths.contains(path)) {
                        self.debounce.closed();
                    }
                    self.loop_due.get_or_insert(Instant::now() + LOOP_EVERY);
                }
                Ok(Command::Write(write)) => {
                    let (written, send_result) = write();
                    if let Some(kernel) = written {
                        self.learn_own_kernel(&kernel);
                    }
                    send_result();
                }
                Ok(Command::Quit) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if now >= next_look {
                next_look = now + LOOK_EVERY;
                self.look_at_files();
                self.look_at_repository();
                self.loop_due = Some(now);
            }
            if self.loop_due.take_if(|due| now >= *due).is_some() {
                self.look_at_loop();
            }
            if self.debounce.take(now) {
                self.compare();
            }
        }
    }

    /// Events come for every file of a folder; only the inputs' stamps count.
    fn look_at_files(&mut self) {
        let stamps = self.stamps_now();
        if stamps != self.stamps {
            self.stamps = stamps;
            self.debounce.event(Instant::now());
        }
    }

    fn look_at_repository(&mut self) {
        let now = RepositorySnapshot::take(&self.project, Some(&self.repository));
        if now != self.repository {
            self.repository = now;
            (self.sink)(WatchEvent::RepositoryChanged);
        }
        let profiled = profiled(&self.project);
        if profiled != self.profiled {
            self.profiled = profiled;
            (self.sink)(WatchEvent::Profiled);
        }
        let swept = swept(&self.project);
        if swept != self.swept {
            self.swept = swept;
            (self.sink)(WatchEvent::Swept);
        }
    }

    fn look_at_loop(&mut self) {
        let now = LoopSnapshot::take(&self.project);
        if now.running || self.loops.running {
            self.loop_worked = Some(Instant::now());
        }
        if now != self.loops {
            let is_new = now.exists() && !self.loops.exists();
            self.loops = now;
            if is_new {
                self.listen();
            }
            (self.sink)(WatchEvent::LoopChanged {
                running: self.loops.running,
            });
        }
    }

    fn stamps_now(&self) -> Vec<InputStamp> {
        let files = InputFiles::of(&self.project);
        let stamp = |path: &PathBuf| {
            let about = files.metadata(path).ok()?;
            Some((stamp::of(&about), about.mode()))
        };
        self.paths.iter().map(stamp).collect()
    }

    /// Reads the inputs and sends an event where their bytes changed.
    fn compare(&mut self) {
        let inputs = match inputs::read(&self.project) {
            Ok(inputs) => inputs,
            Err(error) => return self.report(WatchEvent::Unreadable, error.to_string()),
        };
        // After a report that the kernel is gone, its return is an event even if its bytes are the
        // same.
        let is_back = self.reported.take().is_some();
        let mut files = inputs::differences(&self.known, &inputs.files());
        self.learn(&inputs);
        // A lab.toml that is new is an input of the project that will be opened for it, and not of
        // this one.
        if self.project.config_file.is_none() && self.config_path().is_file() {
            files.push(config::FILE.to_owned());
        }
        if !files.is_empty() || is_back {
            let config = self.project.relative(&self.config_path());
            let config = config.is_some_and(|name| files.contains(&name));
            // A loop puts the incumbent back and ends.
            self.look_at_loop();
            let worked = |at: Instant| at.elapsed() < LOOP_LASTS;
            (self.sink)(WatchEvent::Changed {
                files,
                inputs: Arc::new(inputs),
                config,
                beside_loop: self.loop_worked.is_some_and(worked),
            });
        }
    }

    /// Takes this kernel, which the lab wrote, and its includes as known, if it is still the one on
    /// disk. Any other file stays as it was known, so that a save in the same moment is an event.
    fn learn_own_kernel(&mut self, kernel: &[u8]) {
        // Compare again after a moment: somebody may have saved over it.
        self.debounce.event(Instant::now());
        let Some(inputs) = inputs::read(&self.project)
            .ok()
            .filter(|inputs| inputs.kernel() == kernel)
        else {
            return;
        };
        let before = std::mem::take(&mut self.known);
        self.learn(&inputs);
        for file in self.known.iter_mut().skip(1) {
            if let Some(old) = before.iter().find(|old| old.path == file.path) {
                file.clone_from(old);
            }
        }
    }

    fn learn(&mut self, inputs: &Inputs) {
        self.known = inputs.files();
        let mut paths: Vec<PathBuf> = inputs
            .sources
            .iter()
            .map(|source| source.path.clone())
            .collect();
        // A lab.toml that does not exist may be created.
        if self.project.config_file.is_none() {
            paths.push(self.config_path());
        }
        self.watch_files(paths);
    }

    /// Watches these files from now on, and listens to their folders.
    fn watch_files(&mut self, paths: Vec<PathBuf>) {
        if paths != self.paths {
            self.paths = paths;
            self.stamps = self.stamps_now();
        }
        self.listen();
    }

    fn listen(&mut self) {
        let mut watched = self.paths.clone();
        // The folder of the loop exists once a loop has begun.
        watched.extend(
            self.loops
                .exists()
                .then(|| LoopSnapshot::watched(&self.project)),
        );
        if let Some(problem) = self.folders.set(&watched) {
            self.report(WatchEvent::Problem, problem);
        }
    }

    /// The project's lab.toml, or the path where one would be found.
    fn config_path(&self) -> PathBuf {
        let usual = || self.project.root.join(config::FILE);
        self.project.config_file.clone().unwrap_or_else(usual)
    }

    fn report(&mut self, event: fn(String) -> WatchEvent, problem: String) {
        if self.reported.as_ref() != Some(&problem) {
            self.reported = Some(problem.clone());
            (self.sink)(event(problem));
        }
    }
}

/// The newest sweep: its folder and its points as they are, and whether a process adds to them.
type Swept = ([Option<Stamp>; 2], bool);

fn swept(project: &Project) -> Option<Swept> {
    let store = SweepStore::of(project);
    let newest = store.ids().first().copied()?;
    let stamp = |path: PathBuf| stamp(&project.files(), &path);
    let files = [store.folder(newest), store.lines_file(newest)];
    Some((files.map(stamp), store.is_in_progress(newest)))
}

/// The stamp of the file that each profile replaces; `None` before the first one.
fn profiled(project: &Project) -> Option<Stamp> {
    stamp(&project.files(), &RunStore::of(project).profiled())
}
