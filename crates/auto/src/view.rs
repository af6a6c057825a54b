//! What a screen shows of a loop: read from the loop's files, the records and git. Nothing here
//! changes anything.

use super::begin::incumbent;
use super::candidate::is_incumbent;
use super::files::{Files, read_state};
use super::lanes::{self, LaneView};
use super::requests::Request;
use super::state::{Phase, State};
use anyhow::{Context, Result};
use jiff::Timestamp;
use lab_git::Repo;
use lab_project::{Project, loop_claim};
use lab_protocol::report::Measure;
use lab_run::experiment::Status;
use lab_run::verdict::{Change, Outcome};
use lab_run::{RunId, inputs};
use lab_runner::follow::read_log;
use lab_store::{RunIndex, RunSummary};
use lab_system::root::{Access, Root, if_there};
use lab_system::stamp::{Stamp, stamp};
use std::path::PathBuf;

/// Lines of the command's output that are shown.
const OUTPUT_LINES: usize = 200;

/// Runs that are shown.
const RUNS: usize = 100;

/// One reading of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopView {
    /// When it was read.
    pub at: Timestamp,
    /// A loop works on the kernel now.
    pub running: bool,
    /// `None` if there was no loop yet.
    pub state: Option<State>,
    /// What a person asked for, and the loop has not done yet: after the present turn, and about
    /// the present turn.
    pub asked: Option<Request>,
    pub ends_turn: bool,
    /// What is in the kernel's file.
    pub on_disk: OnDisk,
    /// What the present edit, or the last one, changes in the incumbent: the hunks of a unified
    /// diff.
    pub edit: Result<String, String>,
    /// The end of the command's output, clean.
    pub output: Vec<String>,
    /// The run that made the incumbent; where no record of it is here, the newest of its bytes.
    pub incumbent: Option<LoopRun>,
    /// The newest runs of the kernel, the newest first: the loop's, and those of a person beside
    /// it.
    pub runs: Vec<LoopRun>,
    /// The newest run's device.
    pub device: Option<String>,
    /// The branch that the loop's keeps go to; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// How a command names this kernel, with a blank before it: `--kernel kernels/rmsnorm`. Empty
    /// where it need not.
    pub kernel_option: String,
    /// The lanes of the kernel, by name.
    pub lanes: Vec<LaneView>,
}

/// What is in the kernel's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    Incumbent,
    /// The kernel that the loop judges.
    Candidate,
    /// A person's.
    Other,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRun {
    pub id: RunId,
    /// `None` while the run is in progress.
    pub outcome: Option<Outcome>,
    /// `None` if the run is not decided.
    pub status: Option<Status>,
    pub description: String,
    pub change: Option<Change>,
    pub objective: Option<Measure>,
    pub emulated: bool,
}

impl LoopRun {
    fn of(run: &RunSummary) -> LoopRun {
        let measured = run.measured();
        LoopRun {
            id: run.id,
            outcome: run.outcome(),
            status: run.decision.as_ref().map(|decision| decision.status),
            description: run
                .decision
                .as_ref()
                .map(|decision| decision.description.clone())
                .unwrap_or_default(),
            change: measured.change,
            objective: measured.objective,
            emulated: run.emulated(),
        }
    }
}

impl LoopView {
    /// Reads everything. `index` is refreshed; `context` is the number of unchanged lines around
    /// each change of the edit.
    pub fn read(project: &Project, index: &mut RunIndex, context: u32) -> Result<LoopView> {
        let files = Files::of(project)?;
        let running = loop_claim::is_running(project);
        index.refresh();
        let state = read_state(project)?.map(|state| state.follow(index));
        let repo = Repo::open(project)?;
        let blob = incumbent(&repo)?;
        let has_verdict = |run: &&RunSummary| run.judges(project) && run.verdict.is_some();
        // A rerun of the incumbent that nobody decided has another figure.
        let is_kept = |run: &&RunSummary| {
            let decision = run.decision.as_ref();
            decision.is_some_and(|decision| decision.status == Status::Keep)
        };
        let judged = || index.newest_of_blob(&blob).filter(has_verdict);
        let kept = judged().find(is_kept);
        let incumbent = kept.or_else(|| judged().next()).map(LoopRun::of);
        let of_kernel = || index.newest_of_kernel(&project.kernel_name, |_| true);
        let runs = of_kernel()
            .filter(|run| run.judges(project))
            .take(RUNS)
            .map(LoopRun::of)
            .collect();
        let device = of_kernel().find_map(|run| run.device.clone());
        let log = files.shown()[3].clone();
        let log = project
            .files()
            .open(&log, Access::Read)
            .and_then(|log| read_log(log, OUTPUT_LINES));
        let candidate = state.as_ref().and_then(|state| state.candidate.as_ref());
        let on_disk = match inputs::on_disk(project) {
            Ok(present) if candidate.is_some_and(|c| c.hash == inputs::hash_of(&present)) => {
                OnDisk::Candidate
            }
            _ if is_incumbent(project)? => OnDisk::Incumbent,
            _ => OnDisk::Other,
        };
        let turn = state.as_ref().map(|state| state.turn);
        Ok(LoopView {
            at: lab_run::now(),
            running,
            asked: files
                .request()
                .as_deref()
                .and_then(Request::parse)
                .filter(|_| running),
            ends_turn: running && turn.is_some_and(|turn| files.ends_turn(turn)),
            on_disk,
            edit: edit(project, &repo, &files, state.as_ref(), context)
                .map_err(|error| format!("{error:#}")),
            output: log
                .unwrap_or_default()
                .into_iter()
                .map(|line| line.text)
                .collect(),
            incumbent,
            runs,
            device,
            branch: lab_git::head(&repo)?.branch,
            kernel_option: match project.argument.as_str() {
                "" => String::new(),
                argument => format!(" --kernel{argument}"),
            },
            lanes: lanes::lanes(project, index),
            state,
        })
    }

    /// A loop works on the kernel now, here or in a lane.
    pub fn any_runs(&self) -> bool {
        self.running || self.lanes.iter().any(|lane| lane.running)
    }

    /// Whether the command edits or its kernel is judged, here or in a lane, so that the turn can
    /// be ended.
    pub fn is_in_turn(&self) -> bool {
        let phase = self.state.as_ref().map(|state| state.phase);
        self.running && matches!(phase, Some(Phase::Editing | Phase::Judging))
            || self.lanes.iter().any(LaneView::is_in_turn)
    }

    /// The loop waits, or will wait after this turn, until a person asks it to go on. Where only
    /// lanes run, all of them wait.
    pub fn is_pausing(&self) -> bool {
        let mut lanes = self.lanes.iter().filter(|lane| lane.running).peekable();
        if !self.running && lanes.peek().is_some() {
            return lanes.all(LaneView::is_paused);
        }
        let is_paused = self
            .state
            .as_ref()
            .is_some_and(|state| state.phase == Phase::Paused);
        self.running
            && match self.asked {
                Some(Request::Pause) => true,
                Some(Request::Resume) => false,
                _ => is_paused,
            }
    }

    /// Seconds of the budget that are spent at `now`.
    pub fn seconds(&self, now: Timestamp) -> f64 {
        self.state
            .as_ref()
            .map_or(0.0, |state| state.seconds(self.running, now))
    }

    /// Experiments an hour since the budget began. `None` before the first one.
    pub fn rate(&self, now: Timestamp) -> Option<f64> {
        self.state.as_ref()?.rate(self.running, now)
    }
}

/// The hunks of what the command changes in the incumbent: as it is in the work tree, or as it was
/// taken.
fn edit(
    project: &Project,
    repo: &Repo,
    files: &Files,
    state: Option<&State>,
    context: u32,
) -> Result<String> {
    let Some(state) = state else {
        return Ok(String::new());
    };
    let taken = state
        .candidate
        .as_ref()
        .and_then(|candidate| files.candidate(&candidate.hash));
    let edited = match taken {
        Some(bytes) => bytes,
        None => {
            let read = Root::new(&files.user).read(&files.edited(project), inputs::SIZE_LIMIT);
            let read = if_there(read)
                .context("the kernel in the work tree of the command cannot be read")?;
            let Some(bytes) = read else {
                return Ok(String::new());
            };
            bytes
        }
    };
    let head = lab_git::head(repo)?
        .commit
        .context("HEAD is on no commit")?;
    let incumbent = lab_git::bytes_of(repo, &head)?;
    let [old, new] = [&incumbent, &edited].map(|bytes| String::from_utf8_lossy(bytes));
    lab_git::text_diff(&old, &new, context)
}

/// What a watcher looks at, to know when [`LoopView`] would read something else. Two equal ones
/// show the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LoopSnapshot {
    pub running: bool,
    files: Vec<Option<Stamp>>,
    /// Of each lane whether its loop runs, and the stamp of its state.
    lanes: Vec<(bool, Option<Stamp>)>,
}

impl LoopSnapshot {
    /// Reads no file, and takes microseconds.
    pub fn take(project: &Project) -> LoopSnapshot {
        let Ok(files) = Files::of(project) else {
            return LoopSnapshot::default();
        };
        let root = project.files();
        let lanes = lanes::stamps(project);
        let mut stamps: Vec<Option<Stamp>> = files
            .shown()
            .iter()
            .map(|path| stamp(&root, path))
            .collect();
        if stamps[0].is_none() {
            // There was no loop yet in this work tree.
            return LoopSnapshot {
                lanes,
                ..LoopSnapshot::default()
            };
        }
        stamps.push(stamp(&Root::new(&files.user), &files.edited(project)));
        LoopSnapshot {
            running: loop_claim::is_running(project),
            files: stamps,
            lanes,
        }
    }

    /// There is a loop, or there was one.
    pub fn exists(&self) -> bool {
        !self.files.is_empty()
    }

    /// The file in whose folder a change is a reason to look again.
    pub fn watched(project: &Project) -> PathBuf {
        loop_claim::folder(project).join("state.json")
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Budget;
    use super::*;

    fn view(phase: Phase, asked: Option<Request>) -> LoopView {
        let state = State {
            phase,
            ..State::new("kernel.cu", Budget::default(), 3)
        };
        LoopView {
            at: state.since,
            running: true,
            state: Some(state),
            asked,
            ends_turn: false,
            on_disk: OnDisk::Incumbent,
            edit: Ok(String::new()),
            output: Vec::new(),
            incumbent: None,
            runs: Vec::new(),
            device: None,
            branch: None,
            kernel_option: String::new(),
            lanes: Vec::new(),
        }
    }

    #[test]
    fn a_pause_counts_from_its_request_to_the_request_to_go_on() {
        assert!(!view(Phase::Editing, None).is_pausing());
        assert!(view(Phase::Editing, Some(Request::Pause)).is_pausing());
        assert!(view(Phase::Paused, None).is_pausing());
        assert!(!view(Phase::Paused, Some(Request::Resume)).is_pausing());
        let killed = LoopView {
            running: false,
            ..view(Phase::Paused, None)
        };
        assert!(!killed.is_pausing() && !killed.is_in_turn());
    }

    #[test]
    fn the_rate_counts_the_time_of_the_loop() {
        let mut view = view(Phase::Editing, None);
        let now = view.at + jiff::SignedDuration::from_secs(600);
        assert_eq!(view.rate(now), None, "nothing was judged");
        let state = view.state.as_mut().expect("a state");
        (state.counts.experiments, state.counts.seconds) = (10, 1200.0);
        assert_eq!((view.seconds(now), view.rate(now)), (1800.0, Some(20.0)));
        view.running = false;
        assert_eq!(
            (view.seconds(now), view.rate(now)),
            (1200.0, Some(30.0)),
            "a loop that ended"
        );
    }
}
