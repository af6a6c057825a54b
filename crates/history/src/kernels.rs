//! The kernels of a repository with what is known of each, for people who choose one.

use crate::bounds::Bounds;
use crate::{details, last_peers};
use anyhow::Result;
use jiff::tz::TimeZone;
use lab_git::Repo;
use lab_project::Project;
use lab_project::config::Config;
use lab_project::kernels::KernelList;
use lab_project::objective::Objective;
use lab_protocol::text::escape_invisible;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use lab_run::inputs;
use lab_run::peers::PeerFigure;
use lab_run::verdict::Outcome;
use lab_store::{Fact, Keys, RunIndex, RunSummary};
use lab_text::figures::{count, figure};
use lab_text::listed;
use std::path::Path;

/// A kernel that can be opened.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedKernel {
    /// Path of the kernel, relative to the work tree.
    pub name: String,
    /// The measure that its lab.toml names.
    pub objective: Objective,
    /// The newest run with a verdict; `None` if its records are not here.
    pub last: Option<LastRun>,
    /// How much of the floor the incumbent reaches, in percent, and how fast it is beside its peers,
    /// where that is known.
    pub of_floor: Option<f64>,
    pub peers: Vec<PeerFigure>,
}

/// The newest run of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub run: RunId,
    pub outcome: Outcome,
    /// The kernel did not build.
    pub build_failed: bool,
    /// `None` if it is undecided.
    pub decided: Option<Status>,
}

/// Lists the kernels of the repository, and the present one if the list leaves it out. Call
/// [`RunIndex::refresh`] first. Reads the disk.
pub fn list(project: &Project, index: &RunIndex) -> Vec<ListedKernel> {
    let mut names = KernelList::of(&project.root, &project.problem_dir).find();
    if let Err(at) = names.binary_search(&project.kernel_name) {
        names.insert(at, project.kernel_name.clone());
    }
    // A check gives no verdict, and neither does a run that was stopped.
    let is_judged = |keys: &Keys| keys.is(Fact::HasVerdict) && !keys.is(Fact::IsCheck);
    let former = index.kernels();
    let listed = |name: String| {
        let was = former
            .iter()
            .filter(|former| index.kernel_names.present(former) == name);
        let runs = was
            .map(String::as_str)
            .chain([name.as_str()])
            .filter_map(|kernel| {
                let mut newest = index.newest_of_kernel(kernel, is_judged);
                newest.find(|run| run.outcome().is_some_and(Outcome::is_verdict))
            });
        let last = runs.max_by_key(|summary| summary.id).and_then(LastRun::of);
        ListedKernel {
            objective: config_of(project, &name).objective,
            last,
            name,
            of_floor: None,
            peers: Vec::new(),
        }
    };
    names.into_iter().map(listed).collect()
}

/// The kernels of the repository, and the one that lab.toml or this folder means.
pub fn names(project: &Project) -> Vec<String> {
    let mut names = KernelList::of(&project.root, &project.problem_dir).find();
    if project.kernel.is_file()
        && let Err(at) = names.binary_search(&project.kernel_name)
    {
        names.insert(at, project.kernel_name.clone());
    }
    names
}

/// Opens the repository for one of its kernels. A lab.toml that cannot be read is passed over:
/// opening the kernel reports it.
pub fn open(project: &Project, name: &str) -> Result<Repo> {
    let own = Project::open(&project.root, Some(Path::new(name)));
    Repo::open(&own.unwrap_or_else(|_| project.with_kernel(name)))
}

/// The experiment whose kernel is the incumbent: the newest of this kernel that was kept and has a
/// figure, and a GPU's before one of an emulated device. `None` if nothing was kept.
pub fn incumbent<'e>(experiments: &'e [Experiment], kernel: &str) -> Option<&'e Experiment> {
    let is_kept = |e: &&Experiment| {
        e.kernel.as_deref() == Some(kernel) && e.is_kept() && e.figure().is_some()
    };
    let kept = || experiments.iter().filter(is_kept);
    kept().rfind(|e| !e.emulated).or_else(|| kept().next_back())
}

/// How many experiments of a kernel were decided, and what is known of its incumbent.
#[derive(Clone, Debug, Default)]
pub struct Standing<'e> {
    pub kept: usize,
    /// Those that had crashed among them.
    pub discarded: usize,
    /// `None` if nothing was kept.
    pub incumbent: Option<&'e Experiment>,
    /// What was measured last beside the peers of the incumbent.
    pub peers: Vec<PeerFigure>,
    /// `None` if the run of the incumbent tells no floor, or its record is not here.
    pub bounds: Option<Bounds>,
}

impl<'e> Standing<'e> {
    /// Reads the records and the benches of the kernel that `repo` was opened for.
    pub fn of(repo: &Repo, index: &RunIndex, experiments: &'e [Experiment]) -> Self {
        let (project, kernel) = (&repo.project, repo.project.kernel_name.as_str());
        let count = |statuses: &[Status]| {
            let is_counted = |e: &&Experiment| {
                e.kernel.as_deref() == Some(kernel) && statuses.contains(&e.row.status)
            };
            experiments.iter().filter(is_counted).count()
        };
        let incumbent = incumbent(experiments, kernel);
        let last = |e: &Experiment| {
            let present = inputs::read(project).ok()?.files();
            last_peers::of_incumbent(repo, index, &present, e.device.as_deref())
        };
        let known = |e: &Experiment| last(e).map_or_else(|| e.peers.clone(), |last| last.peers);
        let peers = incumbent.map(known).unwrap_or_default();
        let record = incumbent.and_then(|e| details::record(Some(repo), project, &e.key()));
        Standing {
            kept: count(&[Status::Keep]),
            discarded: count(&[Status::Discard, Status::Crash]),
            incumbent,
            peers,
            bounds: record.as_ref().and_then(Bounds::of),
        }
    }
}

/// The cells of a kernel in the table of kernels.
pub type Row = [String; 9];

/// The heads of its columns.
pub const COLUMNS: [&str; 9] = [
    "kernel",
    "figure",
    "kernel µs",
    "% of floor",
    "kept",
    "discarded",
    "date",
    "device",
    "against its peers",
];

/// What marks a figure, and what the mark says.
pub const MARKS: [(&str, &str); 3] = [
    ("~", "measured on an emulated device"),
    ("!", "with caveats"),
    ("†", "of somebody else, or without a record here"),
];

/// The marks of an experiment's figure.
pub fn marks(e: &Experiment) -> String {
    let marks = [e.emulated, e.measured.caveated, e.foreign]
        .into_iter()
        .zip(MARKS);
    marks
        .filter_map(|(is_so, (mark, _))| is_so.then_some(mark))
        .collect()
}

/// The day on which an experiment was decided, in UTC.
pub fn day(e: &Experiment) -> Option<String> {
    let decided = e.decided?;
    Some(decided.to_zoned(TimeZone::UTC).date().to_string())
}

impl Standing<'_> {
    /// The cells of the kernel that is called `name`; lab.toml names the objective `configured`.
    pub fn cells(&self, name: &str, configured: &Objective) -> Row {
        let none = || "-".to_owned();
        let cells = self.incumbent.map(|e| {
            let unit = e.objective(configured);
            let value = e
                .figure()
                .map(|value| format!("{} {}", count(value), unit.unit()));
            [
                marks(e) + &value.unwrap_or_else(none),
                e.row.time().map_or_else(none, figure),
                day(e).unwrap_or_else(none),
                e.device.clone().unwrap_or_else(none),
            ]
        });
        let [value, us, day, device] = cells.unwrap_or_else(|| [(); 4].map(|()| none()));
        let compared = self.peers.iter().filter(|peer| peer.ratio.is_some());
        let peers = listed(compared);
        let floor = self.bounds.as_ref();
        let cells = [
            name.to_owned(),
            value,
            us,
            floor.map_or_else(none, |bounds| format!("{:.0}", bounds.of_floor)),
            self.kept.to_string(),
            self.discarded.to_string(),
            day,
            device,
            peers.unwrap_or_else(none),
        ];
        // As they are printed: the columns are as wide.
        cells.map(|cell| escape_invisible(&cell).into_owned())
    }
}

impl LastRun {
    fn of(summary: &RunSummary) -> Option<LastRun> {
        let decided = summary.decision.as_ref().map(|decision| decision.status);
        Some(LastRun {
            run: summary.id,
            outcome: summary.outcome()?,
            build_failed: summary.verdict.is_some_and(|verdict| verdict.build_failed),
            decided,
        })
    }
}

/// The settings that a kernel has. A lab.toml that cannot be read has the defaults: opening the
/// kernel reports it.
fn config_of(project: &Project, kernel: &str) -> Config {
    let kernel = project.root.join(kernel);
    let file = Config::find(
        kernel.parent().unwrap_or_else(|| Path::new("")),
        &project.root,
    );
    file.and_then(|file| Config::read(&file, &project.root).ok())
        .unwrap_or_default()
}
