//! The work of tool calls as jobs in three lanes: runs, decisions, and what only reads. The jobs of
//! a lane wait for one another.
//!
//! A job outlives the call that started it, so that a call can be answered before the job has
//! ended.

use super::answer::Answer;
use anyhow::{Result, ensure};
use lab_run::RunId;
use lab_runner::process::Control;
use lab_system::threads;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::watch;

/// Most runs and decisions that have not ended. A further one is refused. Reads do not count: they
/// are short, and a client that waits for its runs needs them.
pub const MOST_JOBS: usize = 16;

/// Jobs that have ended and whose results are kept: so many reads, and so many others.
const KEPT_JOBS: usize = 32;

/// Jobs that wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Runs,
    Decisions,
    Reads,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Queued,
    Running,
    Ended,
}

impl Phase {
    pub fn word(self) -> &'static str {
        match self {
            Phase::Queued => "queued",
            Phase::Running => "running",
            Phase::Ended => "ended",
        }
    }
}

/// What is known of a job.
#[derive(Clone, Default)]
pub struct State {
    pub phase: Phase,
    pub run: Option<RunId>,
    /// The last line that the run printed, clean.
    pub line: String,
    /// The result. A job may give it before it has ended.
    pub answer: Option<Answer>,
}

/// What is told of a job that has not ended.
#[derive(JsonSchema, Serialize)]
pub struct OpenJob<'a> {
    pub tool: &'static str,
    pub state: &'static str,
    pub run: Option<RunId>,
    pub seconds: u64,
    pub last_line: &'a str,
}

/// The work of one tool call.
pub struct Job {
    pub id: u64,
    is_read: bool,
    /// The tool that started it.
    pub tool: &'static str,
    pub started: Instant,
    /// Ends the job: a run's process group, the check before a keep, or a job that is still queued.
    pub control: Control,
    state: watch::Sender<State>,
}

impl Job {
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    fn is_open(&self) -> bool {
        self.state.borrow().phase != Phase::Ended
    }

    pub fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
    }

    /// Gives the job its result before it has ended. A later result does not replace it.
    pub fn tell(&self, answer: Answer) {
        self.change(|state| {
            state.answer.get_or_insert(answer);
        });
    }

    /// Waits for the job's end.
    pub async fn wait(&self) {
        let mut state = self.state.subscribe();
        // The sender is in this job, so the wait cannot fail while `self` is there.
        let _ = state.wait_for(|state| state.phase == Phase::Ended).await;
    }

    fn carry_out(&self, work: impl FnOnce(&Job) -> Answer) {
        let tool = self.tool;
        let answer = if self.control.is_ended() {
            Answer::error(
                &format!("{tool} was ended before it began: nothing was done"),
                "Call the tool again if it is still wanted.",
            )
        } else {
            self.change(|state| state.phase = Phase::Running);
            // The panic hook reports a panic on stderr; the server goes on.
            catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
                Answer::error(
                    &format!("{tool} failed: an error of lab itself, told on the server's stderr"),
                    "Call `history` to see what stands, and report the error.",
                )
            })
        };
        self.tell(answer);
        self.change(|state| state.phase = Phase::Ended);
    }
}

/// A job, and its work.
type Queued = (Arc<Job>, Box<dyn FnOnce(&Job) -> Answer + Send>);

/// The jobs of a server.
pub struct Jobs {
    /// The newest last, with the number of the newest.
    jobs: Mutex<(u64, VecDeque<Arc<Job>>)>,
    /// The queue of each lane's thread.
    lanes: [Sender<Queued>; 3],
    closing: watch::Sender<bool>,
}

impl Jobs {
    /// Starts a thread for each lane. They are there before the first job, because Linux may refuse
    /// a thread later.
    pub fn start() -> io::Result<Jobs> {
        let lane = |name: &str| {
            let (queue, queued) = channel::<Queued>();
            let work = move || queued.iter().for_each(|(job, work)| job.carry_out(work));
            threads::start(name, work).map(|_| queue)
        };
        Ok(Jobs {
            jobs: Mutex::default(),
            lanes: [
                lane("mcp runs")?,
                lane("mcp decisions")?,
                lane("mcp reads")?,
            ],
            closing: watch::Sender::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, (u64, VecDeque<Arc<Job>>)> {
        threads::lock(&self.jobs)
    }

    /// Starts a job as soon as its lane is free. Returns at once.
    pub fn add(
        &self,
        lane: Lane,
        tool: &'static str,
        work: impl FnOnce(&Job) -> Answer + Send + 'static,
    ) -> Result<Arc<Job>> {
        let is_read = lane == Lane::Reads;
        let open = self.open().len();
        let (last, jobs) = &mut *self.lock();
        ensure!(!*self.closing.borrow(), "the server is ending");
        ensure!(
            is_read || open < MOST_JOBS,
            "{open} runs and decisions have not ended: wait for one of them, or end one"
        );
        *last += 1;
        let job = Arc::new(Job {
            id: *last,
            is_read,
            tool,
            started: Instant::now(),
            control: Control::new()?,
            state: watch::Sender::default(),
        });
        let queued: Queued = (Arc::clone(&job), Box::new(work));
        let lane = self.lanes[lane as usize].send(queued);
        ensure!(lane.is_ok(), "the server is ending");
        jobs.push_back(Arc::clone(&job));
        let is_old = |job: &Arc<Job>| job.is_read == is_read && !job.is_open();
        if jobs.iter().filter(|job| is_old(job)).count() > KEPT_JOBS
            && let Some(oldest) = jobs.iter().position(is_old)
        {
            jobs.remove(oldest);
        }
        Ok(job)
    }

    pub fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.lock().1.iter().find(|job| job.id == id).cloned()
    }

    /// The numbers of the runs and decisions that have not ended.
    pub fn open(&self) -> Vec<u64> {
        let jobs = self.lock();
        jobs.1
            .iter()
            .filter(|job| !job.is_read && job.is_open())
            .map(|job| job.id)
            .collect()
    }

    /// Ends all jobs and takes no further ones. Returns at once. Calling it again changes nothing.
    pub fn close(&self) {
        self.closing.send_replace(true);
        self.lock().1.iter().for_each(|job| job.control.end());
    }

    /// Waits for the jobs: runs write their records, and a decision takes its last steps.
    pub async fn ended(&self) {
        let jobs: Vec<Arc<Job>> = self.lock().1.iter().cloned().collect();
        for job in jobs {
            job.wait().await;
        }
    }

    /// Waits until [`Jobs::close`] is called.
    pub async fn closed(&self) {
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn summary(job: &Job) -> String {
        job.state().answer.unwrap().summary().to_owned()
    }

    #[tokio::test]
    async fn jobs_of_one_lane_wait_for_one_another_and_a_queued_one_can_be_ended() {
        let jobs = Jobs::start().unwrap();
        let (go, gate) = channel::<()>();
        let first = jobs
            .add(Lane::Runs, "judge", move |_| {
                let _ = gate.recv();
                Answer::error("first", "")
            })
            .unwrap();
        let second = jobs
            .add(Lane::Runs, "judge", |_| Answer::error("second", ""))
            .unwrap();
        let other = jobs
            .add(Lane::Reads, "history", |_| Answer::error("other", ""))
            .unwrap();
        other.wait().await;
        assert_eq!(
            (second.state().phase, jobs.open()),
            (Phase::Queued, vec![1, 2])
        );
        second.control.end();
        go.send(()).unwrap();
        second.wait().await;
        assert_eq!(summary(&first), "first");
        assert_eq!(
            summary(&second),
            "judge was ended before it began: nothing was done"
        );
        jobs.close();
        assert!(
            jobs.add(Lane::Reads, "history", |_| Answer::error("", ""))
                .is_err()
        );
    }

    #[tokio::test]
    async fn too_many_jobs_are_refused_and_a_panic_is_an_answer() {
        let jobs = Jobs::start().unwrap();
        let (go, gate) = channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        for _ in 0..MOST_JOBS {
            let gate = Arc::clone(&gate);
            let work = move |_: &Job| {
                let _ = threads::lock(&gate).recv();
                panic!("a defect");
            };
            jobs.add(Lane::Runs, "judge", work).unwrap();
        }
        assert!(
            jobs.add(Lane::Decisions, "discard", |_| Answer::error("", ""))
                .is_err()
        );
        // Reads go on, and their results replace none of a run.
        for _ in 0..=2 * KEPT_JOBS {
            let read = jobs.add(Lane::Reads, "history", |_| Answer::error("", ""));
            read.unwrap().wait().await;
        }
        drop(go);
        let last = jobs.find(MOST_JOBS as u64).unwrap();
        last.wait().await;
        assert!(summary(&last).contains("an error of lab itself"));
        assert!(jobs.find(1).is_some() && jobs.find(17).is_none());
        // So many results are kept, and one more makes room for the next.
        for _ in 0..=KEPT_JOBS {
            let run = jobs.add(Lane::Runs, "judge", |_| Answer::error("", ""));
            run.unwrap().wait().await;
        }
        assert!(jobs.find(1).is_none() && jobs.find(MOST_JOBS as u64).is_none());
    }
}
