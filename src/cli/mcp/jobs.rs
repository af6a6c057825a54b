//! The work of tool calls as jobs on three threads: one for runs, one for decisions, one for what
//! only reads.
//!
//! A job outlives the call that started it, so that a call can be answered before the job has
//! ended.

use super::answer::Answer;
use anyhow::{Context, Result, ensure};
use lab_core::run::RunId;
use lab_core::runner::process::Control;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// Most jobs that have not ended. A further call is refused.
pub const MOST_JOBS: usize = 16;

/// Jobs that have ended and whose results are kept.
const KEPT_JOBS: usize = 32;

/// The thread that does a job. Jobs of one thread wait for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Runs,
    Decisions,
    Reads,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
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

struct State {
    phase: Phase,
    run: Option<RunId>,
    /// The last line that the run printed, clean.
    line: String,
    answer: Option<Answer>,
}

/// The work of one tool call.
pub struct Job {
    pub id: u64,
    /// The tool that started it.
    pub tool: &'static str,
    pub started: Instant,
    /// Ends the job: a run's process group, the check before a keep, or a job that is still queued.
    pub control: Control,
    state: Mutex<State>,
    ended: watch::Sender<bool>,
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// The result; `None` until the job has ended.
    pub fn answer(&self) -> Option<Answer> {
        self.lock().answer.clone()
    }

    /// The run that the job started, and the last line that the run printed.
    pub fn progress(&self) -> (Option<RunId>, String) {
        let state = self.lock();
        (state.run, state.line.clone())
    }

    pub fn set_run(&self, run: RunId) {
        self.lock().run = Some(run);
    }

    pub fn set_line(&self, line: &str) {
        self.lock().line = line.to_owned();
    }

    /// Gives the job its result before its thread is done with it. A later result does not replace
    /// it.
    pub fn tell(&self, answer: Answer) {
        self.lock().answer.get_or_insert(answer);
    }

    /// Waits for the job's end.
    pub async fn wait(&self) {
        // The sender is in this job, so the wait cannot fail while `self` is there.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    fn carry_out(&self, work: impl FnOnce(&Job) -> Answer) {
        if self.control.is_ended() {
            self.end(Answer::error(
                &format!("{} was ended before it began: nothing was done", self.tool),
                "Call the tool again if it is still wanted.",
            ));
            return;
        }
        self.lock().phase = Phase::Running;
        // A panic is told on stderr; the server goes on.
        let answer = catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            Answer::error(
                &format!(
                    "{} failed: an error of lab itself, told on the server's stderr",
                    self.tool
                ),
                "Call `history` to see what stands, and report the error.",
            )
        });
        self.end(answer);
    }

    fn end(&self, answer: Answer) {
        self.tell(answer);
        self.lock().phase = Phase::Ended;
        self.ended.send_replace(true);
    }
}

type Task = Box<dyn FnOnce() + Send>;

const CLOSING: &str = "the server is ending";

/// The jobs of a server, and their threads.
pub struct Jobs {
    last: AtomicU64,
    jobs: Mutex<VecDeque<Arc<Job>>>,
    /// `None` once the server closes.
    lanes: Mutex<Option<[Sender<Task>; 3]>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    closing: watch::Sender<bool>,
}

impl Jobs {
    pub fn start() -> io::Result<Jobs> {
        let mut threads = Vec::new();
        let mut lane = |name: &str| -> io::Result<Sender<Task>> {
            let (send, tasks) = channel();
            threads.push(
                std::thread::Builder::new()
                    .name(name.into())
                    .spawn(move || carry_out(&tasks))?,
            );
            Ok(send)
        };
        let lanes = [lane("runs")?, lane("decisions")?, lane("reads")?];
        Ok(Jobs {
            last: AtomicU64::new(0),
            jobs: Mutex::default(),
            lanes: Mutex::new(Some(lanes)),
            threads: Mutex::new(threads),
            closing: watch::Sender::new(false),
        })
    }

    /// Starts a job. Returns at once.
    pub fn add(
        &self,
        lane: Lane,
        tool: &'static str,
        work: impl FnOnce(&Job) -> Answer + Send + 'static,
    ) -> Result<Arc<Job>> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let lanes = lanes.as_ref().context(CLOSING)?;
        let open = jobs
            .iter()
            .filter(|job| job.phase() != Phase::Ended)
            .count();
        ensure!(
            open < MOST_JOBS,
            "{open} jobs have not ended: wait for one of them, or end one"
        );
        let state = State {
            phase: Phase::Queued,
            run: None,
            line: String::new(),
            answer: None,
        };
        let job = Arc::new(Job {
            id: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            tool,
            started: Instant::now(),
            control: Control::new()?,
            state: Mutex::new(state),
            ended: watch::Sender::new(false),
        });
        let of_thread = Arc::clone(&job);
        let task: Task = Box::new(move || of_thread.carry_out(work));
        lanes[lane as usize].send(task).ok().context(CLOSING)?;
        jobs.push_back(Arc::clone(&job));
        forget_oldest(&mut jobs);
        Ok(job)
    }

    pub fn find(&self, id: u64) -> Option<Arc<Job>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find(|job| job.id == id).cloned()
    }

    /// The numbers of the jobs that have not ended.
    pub fn open(&self) -> Vec<u64> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter()
            .filter(|job| job.phase() != Phase::Ended)
            .map(|job| job.id)
            .collect()
    }

    /// Ends all jobs and takes no further ones. Returns at once. Calling it again changes nothing.
    pub fn close(&self) {
        drop(
            self.lanes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().for_each(|job| job.control.end());
        self.closing.send_replace(true);
    }

    /// Waits until [`Jobs::close`] is called.
    pub async fn closed(&self) {
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Waits for the threads, after [`Jobs::close`].
    pub fn join(&self) {
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn carry_out(tasks: &Receiver<Task>) {
    while let Ok(task) = tasks.recv() {
        task();
    }
}

fn forget_oldest(jobs: &mut VecDeque<Arc<Job>>) {
    let ended = |job: &Arc<Job>| job.phase() == Phase::Ended;
    while jobs.iter().filter(|job| ended(job)).count() > KEPT_JOBS {
        if let Some(at) = jobs.iter().position(ended) {
            jobs.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn wait(job: &Job) {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(job.wait());
    }

    #[test]
    fn jobs_of_one_lane_wait_for_one_another_and_a_queued_one_can_be_ended() {
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
        wait(&other);
        assert_eq!((second.phase(), jobs.open()), (Phase::Queued, vec![1, 2]));
        second.control.end();
        go.send(()).unwrap();
        wait(&second);
        assert_eq!(first.answer().unwrap().summary(), "first");
        assert_eq!(
            second.answer().unwrap().summary(),
            "judge was ended before it began: nothing was done"
        );
        jobs.close();
        jobs.join();
        assert!(
            jobs.add(Lane::Reads, "history", |_| Answer::error("", ""))
                .is_err()
        );
    }

    #[test]
    fn too_many_jobs_are_refused_and_a_panic_is_an_answer() {
        let jobs = Jobs::start().unwrap();
        let (go, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let gate = Arc::new(gate);
        for _ in 0..MOST_JOBS {
            let gate = Arc::clone(&gate);
            let work = move |_: &Job| {
                let _ = gate.lock().unwrap().recv();
                panic!("a defect");
            };
            jobs.add(Lane::Runs, "judge", work).unwrap();
        }
        assert!(
            jobs.add(Lane::Reads, "history", |_| Answer::error("", ""))
                .is_err()
        );
        drop(go);
        let last = jobs.find(MOST_JOBS as u64).unwrap();
        wait(&last);
        assert!(
            last.answer()
                .unwrap()
                .summary()
                .contains("an error of lab itself")
        );
        jobs.close();
        jobs.join();
    }
}
