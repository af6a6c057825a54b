//! What the lanes of a sweep share: the point that comes next, and the records of those before.

use crate::builders::{Done, Queue};
use crate::record::{SweepJobs, SweepPoint, SweepStart};
use crate::strategy::{Chooser, Strategy};
use anyhow::Result;
use lab_project::Project;
use lab_run::inputs::Inputs;
use lab_source::tune::Space;
use lab_store::series::OpenFolder;
use lab_system::threads::lock;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What all lanes use.
pub struct Shared<'a> {
    pub project: &'a Project,
    pub inputs: &'a Inputs,
    pub source: &'a str,
    pub space: &'a Space,
    pub start: &'a SweepStart,
    pub open: &'a OpenFolder,
    pub points: Mutex<Points<'a>>,
}

impl<'a> Shared<'a> {
    pub fn points(&self) -> MutexGuard<'_, Points<'a>> {
        lock(&self.points)
    }

    /// Records a point.
    pub fn record(&self, record: SweepPoint) -> Result<()> {
        let mut points = self.points();
        let elapsed_s = points.elapsed();
        let record = SweepPoint {
            elapsed_s,
            ..record
        };
        self.open.append(&record, record.number)?;
        (points.tell)(SweepEvent::Recorded(&record));
        points.judging -= 1;
        points.recorded.push(record);
        Ok(())
    }
}

/// The points of a sweep that goes on.
pub struct Points<'a> {
    space: &'a Space,
    pub recorded: &'a mut Vec<SweepPoint>,
    budget: Budget,
    chooser: Chooser<'a>,
    queue: Queue,
    /// How many points lanes are judging.
    judging: usize,
    /// The number of the last point that a lane began.
    begun: u32,
    /// A lane failed, or the caller ended the sweep.
    is_stopped: bool,
    began: Instant,
    /// Seconds that earlier processes measured.
    before: f64,
    tell: &'a mut (dyn FnMut(SweepEvent) + Send),
}

/// What a lane does next.
pub enum Next {
    /// It judges this point, and records it under this number.
    Point(u32, Done),
    Ended(Ended),
}

impl<'a> Points<'a> {
    pub fn new(
        space: &'a Space,
        start: &SweepStart,
        recorded: &'a mut Vec<SweepPoint>,
        (strategy, budget): (Strategy, Budget),
        queue: Queue,
        tell: &'a mut (dyn FnMut(SweepEvent) + Send),
    ) -> Points<'a> {
        let numbers = recorded.iter().map(|point| point.number);
        let elapsed = recorded.iter().map(|point| point.elapsed_s);
        Points {
            space,
            budget,
            chooser: Chooser::new(space, strategy, start.seed, recorded),
            queue,
            judging: 0,
            begun: numbers.max().unwrap_or(0),
            is_stopped: false,
            began: Instant::now(),
            before: elapsed.fold(0.0, f64::max),
            recorded,
            tell,
        }
    }

    /// Gives no further points to lanes.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// The point that a lane judges next. Waits until one is built; other lanes wait meanwhile, and
    /// would wait for the same builders.
    pub fn next(&mut self, source: &str) -> Next {
        if self.is_stopped {
            return Next::Ended(Ended::BudgetSpent);
        }
        self.fill(source);
        if self.queue.open() == 0 {
            let is_complete = self.recorded.len() + self.judging >= self.space.points.len();
            return Next::Ended(if is_complete {
                Ended::Complete
            } else {
                Ended::BudgetSpent
            });
        }
        let Some(done) = self.queue.pop() else {
            return Next::Ended(Ended::NotJudged("the builders ended".to_owned()));
        };
        if self.is_over() {
            return Next::Ended(Ended::BudgetSpent);
        }
        self.judging += 1;
        self.begun += 1;
        Next::Point(self.begun, done)
    }

    /// Says that a point is being judged.
    pub fn tell_judging(&mut self, point: usize) {
        (self.tell)(SweepEvent::Judging(self.space.in_words(point)));
    }

    /// Has further points built, as far as there is room and the budget allows.
    fn fill(&mut self, source: &str) {
        while !self.is_spent() && self.queue.has_room() {
            let Some(point) = self.chooser.next(self.recorded) else {
                return;
            };
            let kernel = self.space.source(source, point);
            self.queue.push(point, kernel.into_bytes());
        }
    }

    /// Whether no further point may be chosen.
    fn is_spent(&self) -> bool {
        let chosen = self.recorded.len() + self.judging + self.queue.open();
        match self.budget {
            Budget::All => false,
            Budget::Points(most) => chosen >= most,
            Budget::Time(_) => self.is_over(),
        }
    }

    /// Whether the time is over: what was chosen by then is left out.
    fn is_over(&self) -> bool {
        matches!(self.budget, Budget::Time(most) if self.elapsed() >= most.as_secs_f64())
    }

    /// Seconds that the sweep has gone on for.
    fn elapsed(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }
}

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
    /// How far the tasks on a cluster are.
    Jobs(&'a SweepJobs),
}

/// How a sweep, or a lane of it, ended; the worst is last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
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
