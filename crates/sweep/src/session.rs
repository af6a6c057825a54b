//! A sweep that goes on: points are chosen, built ahead, judged alone and recorded.

use crate::builders::{Building, Done, Queue};
use crate::record::{Sweep, SweepPoint};
use crate::strategy::{Chooser, Strategy};
use anyhow::Result;
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::Language;
use lab_run::inputs::Inputs;
use lab_runner::builder::Ahead;
use lab_runner::process::Control;
use lab_runner::ready::Ready;
use lab_runner::spec::RunSpec;
use lab_runner::standby::Owner;
use lab_source::tune::Space;
use lab_store::series::OpenFolder;
use lab_system::threads;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// When a sweep ends, if points are left then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Budget {
    /// Once all points are measured.
    #[default]
    All,
    /// Once so many points are recorded, those of earlier processes included.
    Points(usize),
    /// Once it has gone on for so long, earlier processes included.
    Time(Duration),
}

/// What happens during a sweep.
#[derive(Debug)]
pub enum SweepEvent<'a> {
    /// A point is being judged: its values.
    Judging(String),
    /// A point was recorded.
    Recorded(&'a SweepPoint),
}

/// How a sweep ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// All points were measured.
    Complete,
    /// Points are left, and the budget is spent.
    BudgetSpent,
    /// The caller ended it.
    Interrupted,
    /// The machine or the problem failed, and no point. The text says why.
    NotJudged(String),
}

/// A sweep that goes on.
pub struct Session<'a> {
    pub(crate) project: &'a Project,
    pub(crate) repo: Repo,
    pub(crate) spec: RunSpec,
    /// Read once, so that all points are of the same source, whatever happens on disk meanwhile.
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) source: String,
    pub(crate) space: Space,
    pub(crate) open: OpenFolder,
    pub sweep: Sweep,
    pub(crate) strategy: Strategy,
    pub(crate) budget: Budget,
    /// See [`crate::SweepRequest`].
    pub(crate) builders: Option<usize>,
}

impl Session<'_> {
    /// Measures points until all are measured or the budget is spent. An error says what the disk
    /// refused: the point that it names is not recorded.
    pub fn run(&mut self, control: &Control, tell: &mut dyn FnMut(SweepEvent)) -> Result<Ended> {
        let (project, spec, inputs) = (self.project, self.spec.clone(), Arc::clone(&self.inputs));
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let builders = match Language::of(&project.kernel) {
            Language::Cuda => self.builders.unwrap_or_else(cores),
            // It is compiled as it is launched.
            Language::Python => 0,
        };
        let of_builders = control.within()?;
        let (orders, receiver) = channel();
        let building = Building {
            project,
            spec: &spec,
            inputs: &inputs,
            tree: self.open.path("builders"),
            control: &of_builders,
            orders: Mutex::new(receiver),
        };
        let (sender, done) = channel();
        let ended = std::thread::scope(|scope| {
            for number in 0..builders {
                let log = self.open.create_log(&builder_log(number))?;
                let (building, sender) = (&building, sender.clone());
                let started =
                    threads::start_in(scope, move || building.work(number, &log, &sender));
                if number == 0 {
                    started?;
                }
            }
            drop(sender);
            let most = (2 * builders).max(1);
            let queue = Queue::new((builders > 0).then_some(orders), done, most);
            let ended = self.measure(queue, control, tell);
            of_builders.end();
            ended
        })?;
        self.clean(builders);
        Ok(ended)
    }

    /// Removes what the builders and judges needed: copies of the files, and logs.
    fn clean(&self, builders: usize) {
        self.open.remove_copies();
        (0..builders).for_each(|number| self.open.remove_log(&builder_log(number)));
        for folder in ["builders", "incumbent"] {
            // A copy that stays costs disk space and nothing else.
            let _ = self.project.files().remove_dir_all(&self.open.path(folder));
        }
    }

    /// The lane: one point after the other.
    fn measure(
        &mut self,
        mut queue: Queue,
        control: &Control,
        tell: &mut dyn FnMut(SweepEvent),
    ) -> Result<Ended> {
        let (began, before) = (Instant::now(), self.sweep.elapsed_s());
        let elapsed = || before + began.elapsed().as_secs_f64();
        let space = self.space.clone();
        let (start, known) = (&self.sweep.start, &self.sweep.points);
        let mut chooser = Chooser::new(&space, self.strategy, start.seed, known);
        let mut ready = Ready::new(Owner::Sweep);
        ready.note_edit(0.0);
        loop {
            self.fill(&mut queue, &mut chooser, elapsed());
            if queue.open() == 0 {
                let is_complete = self.sweep.points.len() >= space.points.len();
                return Ok(if is_complete {
                    Ended::Complete
                } else {
                    Ended::BudgetSpent
                });
            }
            if control.is_ended() {
                return Ok(Ended::Interrupted);
            }
            if self.is_done_ahead() {
                ready.prepare(self.project, &self.spec);
            }
            let Some(Done {
                order,
                ahead: built,
            }) = queue.pop()
            else {
                return Ok(Ended::NotJudged("the builders ended".to_owned()));
            };
            if control.is_ended() {
                return Ok(Ended::Interrupted);
            }
            if self.is_over(elapsed()) {
                return Ok(Ended::BudgetSpent);
            }
            let record = match built {
                Ahead::Refused(verdict) => self.refused(order.point, &order.kernel, &verdict)?,
                Ahead::Built | Ahead::Unknown => {
                    tell(SweepEvent::Judging(space.in_words(order.point)));
                    match self.judge(order.point, &order.kernel, &mut ready, control)? {
                        Ok(record) => record,
                        Err(ended) => return Ok(ended),
                    }
                }
            };
            let elapsed_s = elapsed();
            self.add(
                SweepPoint {
                    elapsed_s,
                    ..record
                },
                tell,
            )?;
        }
    }

    /// Has further points built, as far as there is room and the budget allows.
    fn fill(&self, queue: &mut Queue, chooser: &mut Chooser, elapsed: f64) {
        while !self.is_spent(queue.open(), elapsed) && queue.has_room() {
            let Some(point) = chooser.next(&self.sweep.points) else {
                return;
            };
            let kernel = self.space.source(&self.source, point);
            queue.push(point, kernel.into_bytes());
        }
    }

    /// Records a point.
    fn add(&mut self, record: SweepPoint, tell: &mut dyn FnMut(SweepEvent)) -> Result<()> {
        let lost = format!("point {} of sweep {}", record.number, record.sweep);
        self.open.append(&record, &lost)?;
        tell(SweepEvent::Recorded(&record));
        self.sweep.points.push(record);
        Ok(())
    }

    /// Whether judges and images are prepared for points that come later.
    pub(crate) fn is_done_ahead(&self) -> bool {
        self.builders != Some(0)
    }

    /// Whether no further point may be chosen.
    fn is_spent(&self, open: usize, elapsed: f64) -> bool {
        match self.budget {
            Budget::All => false,
            Budget::Points(most) => self.sweep.points.len() + open >= most,
            Budget::Time(_) => self.is_over(elapsed),
        }
    }

    /// Whether the time is over: what was chosen by then is left out.
    fn is_over(&self, elapsed: f64) -> bool {
        matches!(self.budget, Budget::Time(most) if elapsed >= most.as_secs_f64())
    }

    /// How many points there are to be at the end, as far as the budget says.
    pub fn wanted(&self) -> usize {
        let all = self.sweep.start.points;
        match self.budget {
            Budget::Points(most) => all.min(most.max(self.sweep.points.len())),
            Budget::All | Budget::Time(_) => all,
        }
    }
}

fn builder_log(number: usize) -> String {
    format!("builder-{number}.log")
}
