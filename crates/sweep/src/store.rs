//! The folder `.lab/sweep`: one folder a sweep, with `sweep.json`, a line in `points.jsonl` for each
//! point, and the logs of points that did not pass.

use crate::record::{
    AppliedPoints, Array, PointOutcome, Sweep, SweepId, SweepJobs, SweepPoint, SweepStart,
};
use crate::summary;
use anyhow::Result;
use itertools::Itertools;
use lab_run::record::Origin;
use lab_run::sweep::{AttachedPoint, AttachedSweep};
use lab_source::tune::MOST_COMBINATIONS;
use lab_store::series::{Series, SeriesId, SeriesKind, SeriesStart};
use lab_store::signature::Purpose;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

/// Reads and writes the folders of sweeps.
pub type SweepStore = Series<SweepStart>;

/// How far the newest job array is.
pub const JOBS: &str = "jobs.json";

/// Which points were written into the kernel.
const APPLIED: &str = "applied.json";

impl SeriesStart for SweepStart {
    const KIND: SeriesKind = SeriesKind {
        name: "sweep",
        start: "sweep.json",
        lines: "points.jsonl",
        line: "point",
        purposes: (Purpose::Sweep, Purpose::SweepPoint),
    };
    type Whole = Sweep;

    fn about(&mut self) -> (SeriesId, &str, &mut Origin) {
        (self.sweep, &self.kernel, &mut self.origin)
    }

    fn with_lines(self, store: &SweepStore, read: &mut u64) -> Result<Sweep> {
        let (mut points, mut seen) = (Vec::new(), HashSet::new());
        store.lines(self.sweep, read, |point: SweepPoint, origin| {
            let fits = point.sweep == self.sweep
                && point.fingerprint == self.fingerprint
                && point.values.len() == self.parameters.len()
                && point.point < MOST_COMBINATIONS;
            if fits && seen.insert(point.point) {
                points.push(SweepPoint { origin, ..point });
            }
        })?;
        let start = self;
        Ok(Sweep { start, points })
    }
}

impl Array {
    /// The job array of this number; `None` if there is none, or if it is not this user's.
    pub fn read(store: &SweepStore, id: SweepId, number: u32) -> Option<Array> {
        let file = Array::file(number);
        let (array, origin) = store.file::<Array>(id, &file, Purpose::SweepArray).ok()??;
        let is_of = array.sweep == id && array.array == number;
        (is_of && origin == Origin::Own).then_some(array)
    }
}

impl SweepJobs {
    /// How far the newest job array is; `None` of a sweep that was sent to no cluster.
    pub fn read(store: &SweepStore, id: SweepId) -> Option<SweepJobs> {
        let (jobs, origin) = store
            .file::<SweepJobs>(id, JOBS, Purpose::SweepJobs)
            .ok()??;
        Some(SweepJobs { origin, ..jobs })
    }
}

impl AppliedPoints {
    /// The points of this sweep that this user's lab wrote into the kernel.
    fn read(store: &SweepStore, id: SweepId) -> Result<AppliedPoints> {
        let file = store.file::<AppliedPoints>(id, APPLIED, Purpose::SweepApplied)?;
        let own = file.filter(|(of, origin)| of.sweep == id && *origin == Origin::Own);
        Ok(own.map_or_else(
            || AppliedPoints {
                sweep: id,
                points: BTreeSet::new(),
            },
            |(of, _)| of,
        ))
    }

    /// Remembers that a point is written into the kernel.
    pub fn remember(store: &SweepStore, id: SweepId, point: u32) -> Result<()> {
        let mut applied = AppliedPoints::read(store, id)?;
        match applied.points.insert(point) {
            true => store.replace(id, APPLIED, Purpose::SweepApplied, &applied),
            false => Ok(()),
        }
    }
}

/// The newest sweep of a kernel, as a screen shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepView {
    pub sweep: Sweep,
    /// How many bytes of its points were read.
    pub read: u64,
    /// A process adds points to it now.
    pub in_progress: bool,
    /// Its newest job array, if it was sent to a cluster.
    pub jobs: Option<SweepJobs>,
}

impl SweepView {
    /// Reads the newest sweep of a kernel, with those points alone that came after `known`: a sweep, and
    /// how much of it was read. `None` if the kernel has none here.
    pub fn newest(lab_dir: &Path, kernel: &str, known: Option<(SweepStart, u64)>) -> Option<Self> {
        let store = SweepStore::new(lab_dir);
        let start = store.starts(|start| start.kernel == kernel).next()?;
        let known = known.filter(|(known, _)| *known == start);
        let mut read = known.map_or(0, |(_, read)| read);
        let in_progress = store.is_in_progress(start.sweep);
        Some(SweepView {
            jobs: SweepJobs::read(&store, start.sweep),
            sweep: start.with_lines(&store, &mut read).ok()?,
            read,
            in_progress,
        })
    }

    /// Adds the points that `news` of this sweep has and this view lacks.
    pub fn take(&mut self, news: SweepView) {
        let points = &mut self.sweep.points;
        let mut seen: HashSet<usize> = points.iter().map(|it| it.point).collect();
        let new = news.sweep.points.into_iter();
        points.extend(new.filter(|it| seen.insert(it.point)));
        self.read = self.read.max(news.read);
        (self.in_progress, self.jobs) = (news.in_progress, news.jobs);
    }

    /// How long the points that are left take at the pace so far; `None` before the first one and
    /// where no process goes on.
    pub fn time_left(&self) -> Option<Duration> {
        let (done, left) = (self.sweep.points.len(), self.left());
        let of_each = self.sweep.elapsed_s() / done as f64;
        let is_known = self.in_progress && done > 0 && left > 0;
        let left = is_known.then_some(of_each * left as f64)?;
        Duration::try_from_secs_f64(left).ok()
    }

    /// Points that were not measured yet.
    pub fn left(&self) -> usize {
        self.sweep
            .start
            .points
            .saturating_sub(self.sweep.points.len())
    }
}

/// The sweep that these bytes of the kernel are a point of. `None` if no such point of a sweep of this
/// user's was written into the kernel by `lab sweep --apply` or in the screen.
pub fn origin_of(lab_dir: &Path, kernel: &str, blob: &str) -> Option<AttachedSweep> {
    let store = SweepStore::new(lab_dir);
    let mut sweeps = store.all(|start| start.kernel == kernel);
    sweeps.find_map(|sweep| {
        let Sweep { start, points } = &sweep;
        let applied = AppliedPoints::read(&store, start.sweep).ok()?.points;
        let mut applied = points.iter().filter(|it| applied.contains(&it.number));
        let point = applied.find(|it| it.blob == blob && start.why_unnamed(it).is_none())?;
        Some(sweep.attached(point))
    })
}

impl Sweep {
    /// The sweep as it goes with the commit of a point. The point is among those that go with it.
    fn attached(&self, point: &SweepPoint) -> AttachedSweep {
        let attached = |point: &SweepPoint| AttachedPoint {
            number: point.number,
            values: point.values.clone(),
            outcome: point.outcome,
            figure: point.figure.as_ref().map(|figure| figure.measure),
            ratio: point.ratio(),
        };
        let Sweep { start, points } = self;
        let mut best: Vec<&SweepPoint> = summary::listed(points);
        best.truncate(AttachedSweep::MOST);
        if best.iter().all(|it| it.number != point.number) {
            best.pop();
            best.push(point);
        }
        AttachedSweep {
            sweep: start.sweep.0,
            point: point.number,
            allowed: start.points,
            recorded: points.len(),
            constants: start.parameters.iter().map(|it| it.name.clone()).collect(),
            objective: (points.iter()).find_map(|it| Some(it.figure.as_ref()?.objective.clone())),
            points: best.into_iter().map(attached).collect(),
        }
    }
}

/// What is said of a sweep whose records are not this user's.
pub const FOREIGN: &str = "foreign: somebody else's lab wrote it, or it was changed since";

impl SweepStart {
    /// Why the commit of a point that was written into the kernel does not name the sweep; `None` if
    /// it does.
    pub fn why_unnamed(&self, point: &SweepPoint) -> Option<String> {
        if self.origin != Origin::Own || point.origin != Origin::Own {
            Some(format!("it is {FOREIGN}"))
        } else if point.outcome != PointOutcome::Pass {
            Some("this point was not measured to the end".to_owned())
        } else {
            None
        }
    }

    /// The values of a point, as in `BLOCK=256 ROWS=2`.
    pub fn in_words(&self, point: &SweepPoint) -> String {
        let words = self.parameters.iter().zip(&point.values);
        words
            .map(|(parameter, value)| format!("{}={value}", parameter.name))
            .join(" ")
    }
}
