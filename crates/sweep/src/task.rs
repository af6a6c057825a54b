//! What one task of a job array judges, and where.
//!
//! ```text
//! .lab/sweep/2/jobs.json                           how far the newest array is
//! .lab/sweep/2/tasks/1/array.json, tree/           the points of array 1; the files to judge
//! .lab/sweep/2/tasks/1/0.log                       what its task 0 printed
//! .lab/sweep/2/tasks/1/0/sweep/1/points.jsonl      the points that this task judged
//! ```
//!
//! A task is an ordinary sweep of its points, in a `.lab` of its own. So it writes no file that another
//! task writes, and one that starts again goes on after its last record.

use crate::record::{Array, SweepId, SweepPoint};
use crate::store::SweepStore;
use anyhow::Context;
use lab_project::Project;
use lab_run::inputs::{self, Inputs, Role};
use lab_run::record::Origin;
use lab_runner::execute::NotRun;
use lab_store::series::SeriesStart;
use lab_store::signature::KEY_FILE;
use lab_system::failure::Failure;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The sweep in the `.lab` of a task.
const OF_TASK: SweepId = SweepId(1);

/// The records of a task, in the folder of its array.
pub struct TaskFolder {
    path: PathBuf,
    store: SweepStore,
}

impl TaskFolder {
    pub fn new(of_array: &Path, task: usize) -> TaskFolder {
        let path = of_array.join(task.to_string());
        let store = SweepStore::new(&path);
        TaskFolder { path, store }
    }

    /// The file to which the task appends its records.
    pub fn records(&self) -> PathBuf {
        self.store.lines_file(OF_TASK)
    }

    /// The points that the task recorded after the first `read` bytes, as [`SeriesStart::with_lines`]
    /// reads them; none before its first one. Lines of somebody else are left out.
    pub fn points(&self, read: &mut u64) -> Vec<SweepPoint> {
        let start = self.store.start(OF_TASK);
        let sweep = start.and_then(|start| start.with_lines(&self.store, read));
        let points = sweep.map(|sweep| sweep.points).unwrap_or_default();
        points
            .into_iter()
            .filter(|point| point.origin == Origin::Own)
            .collect()
    }

    /// Path of the log of a point that did not pass.
    pub fn log(&self, number: u32) -> PathBuf {
        self.store.log(OF_TASK, number)
    }

    /// Path of the file with what the task printed.
    pub fn output(&self) -> PathBuf {
        self.path.with_extension("log")
    }
}

/// An array as a command line names it: `2/1` is the first one of sweep 2.
#[derive(Clone, Copy, Debug)]
pub struct ArrayName {
    sweep: SweepId,
    array: u32,
}

impl FromStr for ArrayName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(sweep, array)| Some((sweep.parse().ok()?, array.parse().ok()?)));
        let (sweep, array) = numbers.ok_or_else(|| format!("'{text}' is not SWEEP/ARRAY"))?;
        let sweep = SweepId(sweep);
        Ok(ArrayName { sweep, array })
    }
}

/// What a task of an array judges.
pub struct Task {
    /// The project with the `.lab` of the task.
    pub project: Project,
    pub inputs: Inputs,
    /// The points that it has not recorded yet are among these.
    pub points: Vec<usize>,
    /// All of them are recorded: it was started again after its end.
    pub is_done: bool,
}

impl Task {
    /// Reads what task `number` of an array judges.
    pub fn read(project: Project, name: ArrayName, number: usize) -> Result<Task, NotRun> {
        let store = SweepStore::of(&project);
        let array = Array::read(&store, name.sweep, name.array);
        let folder = store.folder(name.sweep).join(Array::folder(name.array));
        let array = array.with_context(|| {
            format!(
                "cannot read the points of this task in {}: this node does not see the folder, or not the key that signs your \
                 records ({KEY_FILE} names its file)",
                folder.display()
            )
        })?;
        let points = array.tasks().nth(number).unwrap_or_default().to_vec();
        let mut inputs = array.inputs;
        let tree = folder.join("tree");
        let read = inputs.read_back(&project, &tree);
        read.cannot("read the files to judge in", &tree)?;
        // It says how the judge measures, and this process has read it as it is now.
        let mut configs = inputs.sources.iter().filter(|it| it.role == Role::Config);
        if configs.any(|it| inputs::hash(&project, &it.path) != it.file.hash) {
            let why = "lab.toml changed since this task was sent: `lab sweep` begins a new sweep";
            return Err(NotRun::Refused(why.to_owned()));
        }
        let own = TaskFolder::new(&folder, number);
        project
            .files()
            .create_dir_all(&own.path)
            .map_err(anyhow::Error::from)?;
        let recorded = own.points(&mut 0);
        let is_recorded = |point: &usize| recorded.iter().any(|it| it.point == *point);
        Ok(Task {
            is_done: points.iter().all(is_recorded),
            project: Project {
                lab_dir: own.path,
                ..project
            },
            inputs,
            points,
        })
    }
}
