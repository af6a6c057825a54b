//! Launches of a worker, and timed windows of launches.

use super::{BufferId, Launch, LaunchArg, Repeated, Replayed, Worker};
use crate::outcome::{Result, Stop};
use crate::worker::judge_memory::Share;
use crate::worker::link::Operation;
use crate::worker::messages::{LaunchedEach, ReplayedEach, Window, WorkerRequest};
use crate::worker::scratch_room::AskedScratch;
use lab_device::{POISONS, Submission};
use lab_system::memory;
use std::collections::{BTreeMap, HashSet};

impl Worker {
    /// Lets the judge's own worker, if it has the buffers, fill some and expect launches with these
    /// arguments. Returns what this worker has to fill.
    fn prepare(
        &self,
        fills: Vec<(BufferId, u32)>,
        given: Vec<LaunchArg>,
    ) -> Result<Vec<(BufferId, u32)>> {
        let Some(Share { memory, owner }) = &self.memory else {
            return Ok(fills);
        };
        let given = given.iter().filter_map(|arg| Some(arg.place()?.0));
        memory.prepare(*owner, fills, given.collect())?;
        Ok(Vec::new())
    }

    /// Runs the launch statements of launches on their own, once for an entry and dims: if one
    /// crashes or hangs, the kernel does not.
    fn state<'a>(&mut self, launches: impl IntoIterator<Item = &'a Launch>) -> Result {
        if !self.opened.has_statements {
            return Ok(());
        }
        let mut unknown: BTreeMap<&str, Vec<Launch>> = BTreeMap::new();
        let mut keys = HashSet::new();
        for launch in launches {
            let key = (launch.module, launch.entry.clone(), launch.dims.clone());
            if !self.stated.contains(&key) && keys.insert(key) {
                unknown
                    .entry(&launch.entry)
                    .or_default()
                    .push(launch.clone());
            }
        }
        for (entry, launches) in unknown {
            self.prepare(Vec::new(), Vec::new())?;
            let request = WorkerRequest::State(launches);
            let asked: Vec<(u64, u32)> = self.call(&request, Operation::Statement(entry), &[])?;
            for (bytes, line) in asked {
                self.check_scratch(AskedScratch { entry, line, bytes })?;
            }
        }
        self.stated.extend(keys);
        Ok(())
    }

    /// Refuses a scratch buffer for which the machine has no room.
    fn check_scratch(&mut self, asked: AskedScratch) -> Result {
        if let Some(machine) = memory::usable().filter(|_| self.opened.info.emulated) {
            asked.check(self.scratch_held, machine)?;
            self.scratch_held = self.scratch_held.max(asked.held());
        }
        Ok(())
    }

    /// Launches, waits for the end, and returns the seconds between the device events around the
    /// launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<f64> {
        self.launch_one(Vec::new(), launch, false)
    }

    /// [`Worker::poison_all`], and the same with shared memory, then [`Worker::launch`].
    pub fn poison_and_launch(&mut self, buffers: Vec<BufferId>, launch: &Launch) -> Result<f64> {
        self.launch_one(buffers, launch, true)
    }

    fn launch_one(&mut self, buffers: Vec<BufferId>, launch: &Launch, wiped: bool) -> Result<f64> {
        let launches = vec![vec![launch.clone()]];
        let (seconds, failure) = self.launch_each(buffers, launches, wiped)?;
        let failed = || {
            self.link
                .invalid_answer("neither a time of a launch nor why it failed")
        };
        let seconds = seconds.first().and_then(|group| group.first()).copied();
        failure.map_or_else(|| seconds.ok_or_else(failed), Err)
    }

    /// [`Worker::poison_and_launch`] for each launch of these groups. Returns the seconds of those
    /// that ended well, and why the next one did not.
    pub fn poison_and_launch_each(
        &mut self,
        buffers: Vec<BufferId>,
        groups: Vec<Vec<Launch>>,
    ) -> Result<(Vec<Vec<f64>>, Option<Stop>)> {
        self.launch_each(buffers, groups, true)
    }

    /// Fills these buffers, and makes the launches; with `wiped` each after wiping shared memory.
    fn launch_each(
        &mut self,
        buffers: Vec<BufferId>,
        groups: Vec<Vec<Launch>>,
        wiped: bool,
    ) -> Result<(Vec<Vec<f64>>, Option<Stop>)> {
        if groups.iter().all(Vec::is_empty) {
            return Ok((vec![Vec::new(); groups.len()], None));
        }
        self.state(groups.iter().flatten())?;
        let fills = self.chosen_patterns(buffers);
        let given = groups.iter().flatten();
        let given = given.flat_map(|launch| launch.args.clone()).collect();
        let mut fills = self.prepare(fills, given)?;
        let (mut each, mut failure) = (Vec::with_capacity(groups.len()), None);
        for mut launches in groups {
            // A kernel that hangs does so in the first launch mostly, and that is sooner known
            // alone.
            let rest = launches.split_off(launches.len().min(1));
            let mut seconds = Vec::with_capacity(rest.len() + 1);
            for part in [launches, rest] {
                if failure.is_none() && !part.is_empty() {
                    let (timed, failed) =
                        self.launch_group(std::mem::take(&mut fills), part, wiped)?;
                    seconds.extend(timed);
                    failure = failed;
                }
            }
            each.push(seconds);
        }
        Ok((each, failure))
    }

    /// Fills, then launches each of these. A worker that ended is a failure of the launches.
    fn launch_group(
        &mut self,
        fills: Vec<(BufferId, u32)>,
        launches: Vec<Launch>,
        wiped: bool,
    ) -> Result<(Vec<f64>, Option<Stop>)> {
        let count = launches.len();
        let request = WorkerRequest::Launch {
            fills,
            launches,
            wiped,
        };
        let operation = Operation::Launch(count as u32);
        let answered = self.call(&request, operation, &[]);
        let LaunchedEach {
            seconds,
            launched,
            failure,
        } = match answered {
            Err(stop @ Stop::Crash(_)) => return Ok((Vec::new(), Some(stop))),
            answered => answered?,
        };
        if seconds.len() + usize::from(failure.is_some()) > count {
            return Err(self
                .link
                .invalid_answer("more launches than were asked for"));
        }
        self.launched = launched.or(self.launched.take());
        let failure = failure.map(|stop| self.link.described(stop, operation));
        Ok((seconds, failure))
    }

    /// Launches these one after the other, with `graph` as one CUDA graph if the device has graphs:
    /// then without the host in between. All together may take as long as one launch. With `flush`,
    /// a buffer larger than the L2 cache is written just before: nothing that was in the cache is
    /// there when the first launch begins.
    pub fn replay(
        &mut self,
        launches: impl Into<Repeated>,
        flush: Option<BufferId>,
        graph: bool,
    ) -> Result<Replayed> {
        let window = Window {
            launches: launches.into(),
            fills: Vec::new(),
            read: Vec::new(),
            digested: Vec::new(),
        };
        let (mut replayed, failure) = self.replay_each(vec![window], (flush, graph), 0)?;
        match failure {
            Some(stop) => Err(stop),
            None => replayed
                .pop()
                .ok_or_else(|| self.link.invalid_answer("no time of a window")),
        }
    }

    /// [`Worker::replay`] for several windows, which together may take as long as one launch. The
    /// digests are under `key`. Returns the windows that ended well, and why the next one did not.
    pub fn replay_each(
        &mut self,
        windows: Vec<Window>,
        (flush, graph): (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>)> {
        self.state(windows.iter().map(|window| &window.launches.launch))?;
        // What surrounds the windows of Python is not left to its process, which runs the kernel
        // too.
        if self.is_python() {
            return self.replay_one_by_one(windows, (flush, graph), key);
        }
        let given = windows.iter().flat_map(|window| window.launches.args());
        let given = given.flatten().cloned().collect();
        self.prepare(Vec::new(), given)?;
        self.ask_replay(windows, (flush, graph), key)
    }

    fn replay_one_by_one(
        &mut self,
        windows: Vec<Window>,
        how: (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>)> {
        let mut all = Vec::with_capacity(windows.len());
        for window in windows {
            let given = window.launches.args().flatten().cloned().collect();
            self.prepare(window.fills, given)?;
            self.digests(window.read, key)?;
            let asked = vec![Window {
                fills: Vec::new(),
                read: Vec::new(),
                launches: window.launches,
                digested: Vec::new(),
            }];
            let (mut replayed, failure) = self.ask_replay(asked, how, 0)?;
            if failure.is_some() {
                return Ok((all, failure));
            }
            for replayed in &mut replayed {
                replayed.digests = self.digests(window.digested.clone(), key)?;
            }
            all.append(&mut replayed);
        }
        Ok((all, None))
    }

    fn ask_replay(
        &mut self,
        windows: Vec<Window>,
        (flush, graph): (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>)> {
        let asked = self.submission(graph);
        let count = windows.len();
        let request = WorkerRequest::Replay {
            windows,
            flush: flush.map(|buffer| (buffer, POISONS[0])),
            submission: asked,
            key,
        };
        // All windows may take as long as one launch.
        let together = Operation::Launch(1);
        let ReplayedEach {
            windows,
            uncaptured,
            failure,
        } = self.call(&request, together, &[])?;
        if windows.len() + usize::from(failure.is_some()) > count {
            return Err(self.link.invalid_answer("more windows than were asked for"));
        }
        let uncaptured = uncaptured.filter(|_| asked == Submission::Graph);
        let submission = match uncaptured {
            Some(_) => Submission::Plain,
            None => asked,
        };
        let has_all = windows.iter().all(|(seconds, _)| seconds.is_some());
        if failure.is_none() && !has_all {
            return Err(self.link.invalid_answer("no time of a window"));
        }
        let replayed = windows.into_iter().map(|(seconds, digests)| Replayed {
            seconds: seconds.unwrap_or(f64::NAN),
            digests,
            submission,
            uncaptured: uncaptured.clone(),
        });
        let failure = failure.map(|stop| self.link.described(stop, together));
        Ok((replayed.collect(), failure))
    }
}
