//! The folder `.lab/sweep`: one folder a sweep, with `sweep.json`, a line in `points.jsonl` for each
//! point, and the logs of points that did not pass.

use crate::record::{Array, PointOutcome, Sweep, SweepId, SweepJobs, SweepPoint, SweepStart};
use anyhow::{Result, ensure};
use lab_run::record::{Origin, is_inside};
use lab_source::tune::MOST_COMBINATIONS;
use lab_store::series::{OpenFolder, Series, SeriesKind};
use lab_store::signature::Purpose;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SWEEPS: SeriesKind = SeriesKind {
    name: "sweep",
    start: "sweep.json",
    lines: "points.jsonl",
    purposes: (Purpose::Sweep, Purpose::SweepPoint),
};

/// How far the newest job array is.
pub const JOBS: &str = "jobs.json";

/// Reads and writes the folders of sweeps.
#[derive(Clone, Debug)]
pub struct SweepStore(Series);

impl SweepStore {
    /// The store in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        SweepStore(Series::new(lab_dir, SWEEPS))
    }

    pub fn folder(&self, id: SweepId) -> PathBuf {
        self.0.folder(id.0)
    }

    /// Path of the log of a point that did not pass.
    pub fn log(&self, id: SweepId, number: u32) -> PathBuf {
        self.folder(id).join(log_name(number))
    }

    /// Makes the folder of a new sweep and writes `sweep.json`; `start` gets the number.
    pub fn create(
        &self,
        start: impl FnOnce(SweepId) -> SweepStart,
    ) -> Result<(SweepStart, OpenFolder)> {
        self.0.create(|id| start(SweepId(id)))
    }

    /// Takes the lock of a sweep; `None` if another process adds points to it.
    pub fn open(&self, id: SweepId) -> Result<Option<OpenFolder>> {
        self.0.open(id.0)
    }

    /// Whether a process adds points to this sweep now.
    pub fn is_in_progress(&self, id: SweepId) -> bool {
        self.0.is_in_progress(id.0)
    }

    /// Reads a sweep.
    pub fn read(&self, id: SweepId) -> Result<Sweep> {
        self.with_points(self.start(id)?, &mut 0)
    }

    /// Reads what a sweep tries.
    pub fn start(&self, id: SweepId) -> Result<SweepStart> {
        let (start, origin) = self.0.start::<SweepStart>(id.0)?;
        let path = self.folder(id).join(SWEEPS.start);
        let (path, of) = (path.display(), start.sweep);
        ensure!(of == id, "{path} is of sweep {of}, not of sweep {id}");
        ensure!(
            is_inside(&start.kernel),
            "{path} names a kernel outside of the repository: {}",
            lab_text::sanitise::text(&start.kernel)
        );
        Ok(SweepStart { origin, ..start })
    }

    /// Reads the points of a sweep that stand after the first `read` bytes, and adds the bytes of their
    /// lines to `read`. Lines of another sweep are left out, and those that cannot be read: the point
    /// is then measured again.
    pub fn with_points(&self, start: SweepStart, read: &mut u64) -> Result<Sweep> {
        let (mut points, mut seen) = (Vec::new(), HashSet::new());
        self.0
            .lines(start.sweep.0, read, |point: SweepPoint, origin| {
                let fits = point.sweep == start.sweep
                    && point.fingerprint == start.fingerprint
                    && point.values.len() == start.parameters.len()
                    && point.point < MOST_COMBINATIONS;
                if fits && seen.insert(point.point) {
                    points.push(SweepPoint { origin, ..point });
                }
            })?;
        Ok(Sweep { start, points })
    }

    /// The number of the newest sweep.
    pub fn newest(&self) -> Option<SweepId> {
        self.0.ids().first().copied().map(SweepId)
    }

    /// The file of a sweep to which its points are appended.
    pub fn points(&self, id: SweepId) -> PathBuf {
        self.folder(id).join(SWEEPS.lines)
    }

    /// The job array of this number; `None` if there is none, or if it is not this user's.
    pub fn array(&self, id: SweepId, number: u32) -> Option<Array> {
        let file = Array::file(number);
        let (array, origin) = self.0.read::<Array>(id.0, &file, Purpose::SweepArray)?;
        let is_of = array.sweep == id && array.array == number;
        (is_of && origin == Origin::Own).then_some(array)
    }

    /// How far the newest job array is; `None` of a sweep that was sent to no cluster.
    pub fn jobs(&self, id: SweepId) -> Option<SweepJobs> {
        let (jobs, origin) = self.0.read::<SweepJobs>(id.0, JOBS, Purpose::SweepJobs)?;
        Some(SweepJobs { origin, ..jobs })
    }

    /// The sweeps for which `wanted` holds, among those that can be read, newest first.
    pub fn all(&self, wanted: impl Fn(&SweepStart) -> bool) -> impl Iterator<Item = Sweep> {
        self.starts(wanted)
            .filter_map(|start| self.with_points(start, &mut 0).ok())
    }

    /// What these sweeps try.
    pub fn starts(&self, wanted: impl Fn(&SweepStart) -> bool) -> impl Iterator<Item = SweepStart> {
        let ids = self.0.ids().into_iter().map(SweepId);
        ids.filter_map(|id| self.start(id).ok()).filter(wanted)
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
            jobs: store.jobs(start.sweep),
            sweep: store.with_points(start, &mut read).ok()?,
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

/// The name of the log of a point.
pub fn log_name(number: u32) -> String {
    format!("point-{number}.log")
}

/// Which point of which sweep these bytes of the kernel are, in words, as in `2, point 7 of 24:
/// BLOCK=256 ROWS=2`. `None` if no sweep of this user's found them, or if the kernel was written so
/// before the sweep.
pub fn origin_of(lab_dir: &Path, kernel: &str, blob: &str) -> Option<String> {
    let is_found = |point: &&SweepPoint| {
        let is_own = point.origin == Origin::Own;
        is_own && point.blob == blob && point.outcome == PointOutcome::Pass && !point.written
    };
    let store = SweepStore::new(lab_dir);
    let mut sweeps = store.all(|start| start.kernel == kernel);
    sweeps.find_map(|sweep| {
        let Sweep { start, points } = &sweep;
        let point = points
            .iter()
            .find(is_found)
            .filter(|_| start.origin == Origin::Own)?;
        Some(format!(
            "{}, point {} of {}: {}",
            start.sweep,
            point.number,
            points.len(),
            start.in_words(point)
        ))
    })
}

impl SweepStart {
    /// The values of a point, as in `BLOCK=256 ROWS=2`.
    pub fn in_words(&self, point: &SweepPoint) -> String {
        let words = self.parameters.iter().zip(&point.values);
        let words = words.map(|(parameter, value)| format!("{}={value}", parameter.name));
        words.collect::<Vec<_>>().join(" ")
    }
}
