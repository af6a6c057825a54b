//! A sweep on a cluster: its points are sent to Slurm as an array of tasks, and their records are
//! gathered from the files that the tasks write.

use crate::points::{Budget, Ended, SweepEvent};
use crate::record::{Array, SweepJobs, SweepPoint, SweepStart};
use crate::session::Session;
use crate::slurm::{self, Sent, TaskState};
use crate::store::{JOBS, SweepStore};
use crate::strategy::Chooser;
use crate::task::TaskFolder;
use crate::waiting::{AwaitedTask, all_failed, counted, what_was_lost};
use anyhow::{Context, Result};
use itertools::Itertools;
use lab_run::inputs::Inputs;
use lab_run::record::Origin;
use lab_runner::process::Control;
use lab_store::series::own_origin;
use lab_store::signature::Purpose;
use lab_system::failure::Failure;
use lab_text::shell::quote;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the files of the tasks are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Session<'_> {
    /// Measures points until all are measured or the budget is spent. An error says what the disk
    /// refused: the point that it names is not recorded.
    pub fn run(
        &mut self,
        control: &Control,
        tell: &mut (dyn FnMut(SweepEvent) + Send),
    ) -> Result<Ended> {
        match self.cluster {
            Some(_) => Head::new(self, tell).run(control),
            None => self.run_here(control, tell),
        }
    }
}

/// The process that gathers the records of a sweep.
struct Head<'s, 'a> {
    session: &'s mut Session<'a>,
    tell: &'s mut (dyn FnMut(SweepEvent) + Send),
    began: Instant,
    /// Seconds that earlier processes took.
    before: f64,
    jobs: SweepJobs,
    folder: PathBuf,
    tasks: Vec<AwaitedTask>,
    asked: Option<Instant>,
    /// Why Slurm did not answer then.
    unanswered: Option<String>,
}

impl<'s, 'a> Head<'s, 'a> {
    fn new(
        session: &'s mut Session<'a>,
        tell: &'s mut (dyn FnMut(SweepEvent) + Send),
    ) -> Head<'s, 'a> {
        Head {
            before: session.sweep.elapsed_s(),
            began: Instant::now(),
            jobs: SweepJobs::default(),
            folder: PathBuf::new(),
            tasks: Vec::new(),
            asked: None,
            unanswered: None,
            session,
            tell,
        }
    }

    /// Goes on with the array of an earlier process, and sends the points that are left, until all
    /// that are wanted are recorded.
    fn run(&mut self, control: &Control) -> Result<Ended> {
        let mut goes_on = self.take_up()?;
        while self.session.sweep.points.len() < self.session.wanted() {
            if !goes_on {
                if let Some(ended) = self.is_to_end(control) {
                    return Ok(ended);
                }
                if let Err(why) = self.send()? {
                    return Ok(Ended::NotJudged(why));
                }
            }
            goes_on = false;
            if let Some(ended) = self.follow(control)? {
                self.end()?;
                return Ok(ended);
            }
        }
        self.end()?;
        let is_complete = self.session.sweep.points.len() >= self.session.sweep.start.points;
        // What the tasks hold is recorded.
        let tasks = self.session.open.path("tasks");
        let _ = self.session.project.files().remove_dir_all(&tasks);
        Ok(if is_complete {
            Ended::Complete
        } else {
            Ended::BudgetSpent
        })
    }

    /// Whether the caller or the budget ends the sweep.
    fn is_to_end(&self, control: &Control) -> Option<Ended> {
        match self.session.budget {
            _ if control.is_ended() => Some(Ended::Interrupted),
            Budget::Time(most) if self.elapsed_s() >= most.as_secs_f64() => {
                Some(Ended::BudgetSpent)
            }
            _ => None,
        }
    }

    /// Finds the newest array of an earlier process, and gathers what it left. Returns whether Slurm
    /// may still have tasks of it.
    fn take_up(&mut self) -> Result<bool> {
        let files = self.session.project.files();
        let numbers = files.numbers(&self.session.open.path("tasks"));
        let newest = numbers.unwrap_or_default().first().copied();
        let Some(newest) = newest.and_then(|newest| u32::try_from(newest).ok()) else {
            cancel_others(self.session);
            return Ok(false);
        };
        let store = SweepStore::of(self.session.project);
        let id = self.session.sweep.start.sweep;
        let array = Array::read(&store, id, newest);
        let is_newest = |jobs: &SweepJobs| jobs.array == newest && jobs.origin == Origin::Own;
        let jobs = SweepJobs::read(&store, id).filter(is_newest);
        let Some((array, jobs)) = array.zip(jobs) else {
            // That process was killed before it noted the job.
            self.jobs.array = newest;
            let _ = slurm::cancel(&self.session.sweep.start.job_name(newest));
            return Ok(false);
        };
        let is_alive = jobs.is_alive();
        self.open_tasks(&array, jobs);
        self.gather()?;
        if is_alive {
            self.ask(true);
        }
        let goes_on =
            |task: &AwaitedTask| !task.is_done() && !matches!(task.state, TaskState::Ended(_));
        Ok(is_alive && self.tasks.iter().any(goes_on))
    }

    /// Sends the points that are left. The inner error is what Slurm said.
    fn send(&mut self) -> Result<Result<(), String>> {
        let array = self.array();
        let session = &*self.session;
        let (project, number) = (session.project, array.array);
        let folder = session.open.path(&Array::folder(number));
        let written = project.files().create_dir_all(&folder);
        let written = written.and_then(|()| session.inputs.write(project, &folder.join("tree")));
        written.cannot("write", &folder)?;
        let file = Array::file(number);
        session.open.write(&file, Purpose::SweepArray, &array)?;
        let tasks = array.tasks().count();
        let logs = folder.join("%a.log");
        let sent = Sent {
            name: &session.sweep.start.job_name(number),
            tasks,
            logs: &logs.to_string_lossy(),
            line: &self.command_line(number)?,
        };
        let options = session.cluster.as_ref().map_or(&[][..], |it| &it.options);
        let mut jobs = SweepJobs {
            origin: own_origin(),
            array: number,
            tasks,
            pending: tasks,
            ..SweepJobs::default()
        };
        (self.tell)(SweepEvent::Jobs(&jobs));
        match slurm::send(project, options, &sent) {
            Ok(job) => jobs.job = job,
            Err(why) => {
                // The next array may have this number.
                let _ = project.files().remove_dir_all(&folder);
                return Ok(Err(why));
            }
        }
        self.session.open.write(JOBS, Purpose::SweepJobs, &jobs)?;
        self.open_tasks(&array, jobs);
        self.asked = Some(Instant::now());
        Ok(Ok(()))
    }

    /// The next array: the points that are wanted and not recorded.
    fn array(&self) -> Array {
        let session = &*self.session;
        let (start, recorded) = (&session.sweep.start, &session.sweep.points);
        let mut chooser = Chooser::new(&session.space, session.strategy, start.seed, recorded);
        let left = session.wanted() - recorded.len();
        let points = std::iter::from_fn(|| chooser.next(&[])).take(left);
        let points: Vec<usize> = points.collect();
        let each = session.project.config.slurm.points_per_task;
        Array {
            sweep: start.sweep,
            fingerprint: start.fingerprint.clone(),
            array: self.jobs.array + 1,
            each: Array::size_of_tasks(each, points.len()),
            points,
            inputs: Inputs::clone(&session.inputs),
        }
    }

    /// The line for the shell of each task of an array.
    fn command_line(&self, array: u32) -> Result<String> {
        let session = &*self.session;
        let program = std::env::current_exe().context("cannot find the program of this process")?;
        let name = format!("{}/{array}", session.sweep.start.sweep);
        let mut words = vec![program.to_string_lossy().into_owned()];
        words.extend(["sweep", "--task", &name].map(str::to_owned));
        words.extend(session.cluster.iter().flat_map(|it| it.words.clone()));
        words.push(session.project.kernel.to_string_lossy().into_owned());
        let words = words.iter().map(|word| quote(word)).join(" ");
        Ok(format!("exec {words}"))
    }

    fn open_tasks(&mut self, array: &Array, jobs: SweepJobs) {
        self.folder = self.session.open.path(&Array::folder(array.array));
        let recorded = self.session.sweep.points.iter().map(|it| it.point);
        let recorded: HashSet<usize> = recorded.collect();
        let left = |points: &[usize]| {
            let left = points.iter().copied().filter(|it| !recorded.contains(it));
            left.collect()
        };
        let task = |(number, points)| {
            AwaitedTask::new(TaskFolder::new(&self.folder, number), left(points))
        };
        self.tasks = array.tasks().enumerate().map(task).collect();
        self.jobs = jobs;
        (self.tell)(SweepEvent::Jobs(&self.jobs));
    }

    /// Gathers records until there are as many as wanted, or the array ends: `None` if all of its
    /// points are recorded.
    fn follow(&mut self, control: &Control) -> Result<Option<Ended>> {
        let wanted = self.session.wanted();
        loop {
            self.gather()?;
            let is_done = self.tasks.iter().all(AwaitedTask::is_done);
            if is_done || self.session.sweep.points.len() >= wanted {
                return Ok(None);
            }
            if let Some(ended) = self.is_to_end(control) {
                return Ok(Some(ended));
            }
            let of_silent = Duration::from_secs(self.session.project.config.slurm.ask_s);
            let is_time = self.asked.is_none_or(|asked| asked.elapsed() >= of_silent);
            if is_time
                && self
                    .tasks
                    .iter()
                    .any(|it| !it.is_done() && it.news.elapsed() >= of_silent)
            {
                self.ask(false);
                self.gather()?;
            }
            self.note()?;
            let ended = |task: &AwaitedTask| task.is_done() || task.is_over;
            // A cluster that judges no point at all judges no further one.
            let is_useless = self.session.sweep.points.is_empty() && all_failed(&self.tasks);
            let is_incomplete = self.tasks.iter().any(AwaitedTask::is_lost);
            if is_useless || is_incomplete && self.tasks.iter().all(ended) {
                let files = self.session.project.files();
                let why = what_was_lost(&self.jobs.job, &self.tasks, &files);
                return Ok(Some(Ended::NotJudged(why)));
            }
            control.wait(LOOK_EVERY);
        }
    }

    /// Ends what Slurm still has of the array, and notes that.
    fn end(&mut self) -> Result<()> {
        self.note()?;
        if self.jobs.is_alive() {
            // Tasks that Slurm cannot end now end by themselves.
            let _ = slurm::cancel(&self.session.sweep.start.job_name(self.jobs.array));
            let ended = |task: &mut AwaitedTask| task.is_over = true;
            self.tasks.iter_mut().for_each(ended);
            self.note()?;
        }
        Ok(())
    }

    /// Records what the tasks have written since the last time.
    fn gather(&mut self) -> Result<()> {
        let files = self.session.project.files();
        for at in 0..self.tasks.len() {
            let task = &self.tasks[at];
            let about = (!task.is_done()).then(|| files.metadata(&task.folder.records()));
            let size = about
                .and_then(Result::ok)
                .map_or(task.size, |about| about.len());
            if size == task.size {
                continue;
            }
            let task = &mut self.tasks[at];
            let points = task.folder.points(&mut task.read);
            (task.size, task.news, task.is_over) = (size, Instant::now(), false);
            if !matches!(task.state, TaskState::Ended(_)) {
                task.state = TaskState::Running;
            }
            for point in points {
                self.record(at, point)?;
            }
        }
        Ok(())
    }

    /// Records a point of a task, unless it is recorded or of something else.
    fn record(&mut self, at: usize, point: SweepPoint) -> Result<()> {
        let (start, points) = (&self.session.sweep.start, &self.session.sweep.points);
        if point.fingerprint != start.fingerprint || !self.tasks[at].left.contains(&point.point) {
            return Ok(());
        }
        let number = points.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        let log = self.tasks[at].folder.log(point.number);
        let record = SweepPoint {
            origin: own_origin(),
            sweep: start.sweep,
            number,
            elapsed_s: self.elapsed_s(),
            ..point
        };
        let open = &self.session.open;
        if !record.outcome.is_correct() {
            // Without its log the record says why.
            let _ = self.session.project.files().rename(&log, &open.log(number));
        }
        open.append(&record, number)?;
        self.tasks[at].left.remove(&record.point);
        (self.tell)(SweepEvent::Recorded(&record));
        self.session.sweep.points.push(record);
        Ok(())
    }

    /// Asks Slurm about the tasks that are silent, or about all that are not done.
    fn ask(&mut self, about_all: bool) {
        self.asked = Some(Instant::now());
        let of_silent = Duration::from_secs(self.session.project.config.slurm.ask_s);
        let is_asked = |task: &AwaitedTask| !task.is_done() && !task.is_over;
        let is_silent = |task: &AwaitedTask| about_all || task.news.elapsed() >= of_silent;
        let numbered = self.tasks.iter().enumerate();
        let silent = numbered.filter(|(_, task)| is_asked(task) && is_silent(task));
        let silent: Vec<usize> = silent.map(|(number, _)| number).collect();
        // What nobody can say now may be said later.
        let states = match silent.is_empty() {
            true => HashMap::new(),
            false => {
                let said = slurm::ask(&self.jobs.job, &silent);
                self.unanswered = said.as_ref().err().cloned();
                said.unwrap_or_default()
            }
        };
        for (number, state) in states {
            let Some(task) = self.tasks.get_mut(number) else {
                continue;
            };
            task.is_over = matches!(&task.state, TaskState::Ended(_)) && task.state == state;
            task.state = state;
        }
    }

    /// Notes how far the array is, if that changed.
    fn note(&mut self) -> Result<()> {
        let jobs = SweepJobs {
            unanswered: self.unanswered.clone(),
            ..counted(&self.tasks, &self.jobs)
        };
        if jobs != self.jobs {
            self.session.open.write(JOBS, Purpose::SweepJobs, &jobs)?;
            self.jobs = jobs;
        }
        (self.tell)(SweepEvent::Jobs(&self.jobs));
        Ok(())
    }

    /// Seconds that the sweep has gone on.
    fn elapsed_s(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }
}

/// Ends the arrays of other sweeps of a kernel, whose processes were killed.
fn cancel_others(session: &Session) {
    let start = &session.sweep.start;
    let store = SweepStore::of(session.project);
    let of_kernel = |other: &SweepStart| other.kernel == start.kernel && other.sweep != start.sweep;
    for other in store
        .starts(of_kernel)
        .filter(|other| other.origin == Origin::Own)
    {
        let jobs = SweepJobs::read(&store, other.sweep);
        if let Some(jobs) = jobs.filter(|jobs| jobs.is_alive() && jobs.origin == Origin::Own) {
            let _ = slurm::cancel(&other.job_name(jobs.array));
        }
    }
}
