//! The Python kernels of this folder, and how each file says it must be judged. README.md describes
//! the form of a file.

use crate::expected::Expected;
use crate::python;
use crate::standby::Parent;
use crate::support::{self, Judged};
use crate::trials;
use lab_protocol::{JudgeKind, JudgeRequest};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The folders with kernels.
const KINDS: [&str; 5] = ["honest", "wrong", "cheating", "harmful", TRITON];

/// The kernels that need Triton and PyTorch, which run without a GPU.
const TRITON: &str = "triton";

/// The folders whose kernels do nothing to their process. A parent on standby forks their workers,
/// which is faster than starting an interpreter. The other kernels have a worker that was started
/// for them.
const FORKED: [&str; 2] = ["honest", "wrong"];

/// The parent on standby of all kernels, which ends with the last of them.
type SharedParent = Arc<OnceLock<Result<Parent, Failed>>>;

/// A kernel, and how it must be judged.
struct Case {
    path: PathBuf,
    problem: String,
    judged: Expected,
    /// Texts that must be in run.log, and texts that must not be there.
    says: Vec<String>,
    never_says: Vec<String>,
    /// Limits for loading and for a launch; `None` is far more than any kernel takes.
    load_limit: Option<Duration>,
    time_limit: Option<Duration>,
}

/// This folder.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python")
}

/// A temporary folder with a problem and this kernel.
pub fn problem_folder(problem: &str, kernel: &str) -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder().join("problems").join(problem)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, temporary.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    std::fs::write(temporary.path().join("kernel.py"), kernel).unwrap();
    temporary
}

pub fn trials() -> Vec<Trial> {
    let mut cases = Vec::new();
    let parent = SharedParent::default();
    for kind in KINDS {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder().join(kind))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        paths.sort();
        assert!(!paths.is_empty(), "there are no kernels in {kind}");
        for path in paths {
            let name = format!("{kind}/{}", path.file_stem().unwrap().display());
            let parent = parent.clone();
            let missing = (kind == TRITON).then(python::missing_triton).flatten();
            cases.push(trials::trial(&name, missing.as_deref(), move || {
                judge(&read(&path)?, FORKED.contains(&kind), &parent)
            }));
        }
    }
    cases
}

/// Reads the comment at the beginning of a kernel.
fn read(path: &Path) -> Result<Case, Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut judged = None;
    let mut case = Case {
        path: path.to_owned(),
        problem: "axpy".into(),
        judged: Expected::Pass,
        says: Vec::new(),
        never_says: Vec::new(),
        load_limit: None,
        time_limit: None,
    };
    let seconds = |value: &str| value.parse().map(Duration::from_secs).map(Some);
    for line in text.lines().map_while(|line| line.strip_prefix("# ")) {
        match line.split_once(": ").unwrap_or(("", "")) {
            ("judged", value) => judged = Some(Expected::read(value)?),
            ("problem", value) => case.problem = value.to_owned(),
            ("says", value) => case.says.push(value.to_owned()),
            ("never says", value) => case.never_says.push(value.to_owned()),
            ("load limit", value) => case.load_limit = seconds(value)?,
            ("limit", value) => case.time_limit = seconds(value)?,
            _ => {}
        }
    }
    case.judged =
        judged.ok_or_else(|| format!("{} does not say how it must be judged", path.display()))?;
    Ok(case)
}

fn socket(parent: &SharedParent) -> Result<Option<PathBuf>, Failed> {
    match parent.get_or_init(Parent::start) {
        Ok(parent) => Ok(parent.socket()),
        Err(failed) => Err(failed
            .message()
            .unwrap_or("there is no parent on standby")
            .into()),
    }
}

fn judge(case: &Case, forked: bool, parent: &SharedParent) -> Result<(), Failed> {
    let folder = problem_folder(&case.problem, &std::fs::read_to_string(&case.path)?);
    let mut options = python::options(folder.path());
    if forked {
        options.python_standby = socket(parent)?;
    }
    options.load_limit = case.load_limit.unwrap_or(options.load_limit);
    options.time_limit = case.time_limit.unwrap_or(options.time_limit);
    let judged = support::run(options.clone());
    let whole = |why: String, judged: &Judged| Err(format!("{why} in\n{}", judged.log).into());
    if let Some(why) = case.judged.differs(&judged) {
        return whole(why, &judged);
    }
    if let Some(words) = case.says.iter().find(|words| !judged.log.contains(*words)) {
        return whole(format!("does not say '{words}'"), &judged);
    }
    if let Some(words) = case
        .never_says
        .iter()
        .find(|words| judged.log.contains(*words))
    {
        return whole(format!("says '{words}'"), &judged);
    }
    if case.judged == Expected::Pass {
        // `lab keep` checks held-out inputs for every kernel that passes.
        let held_out = support::run(JudgeRequest {
            kind: JudgeKind::SealedCheck { runs: 1 },
            ..options
        });
        if let Some(why) = Expected::Pass.differs(&held_out) {
            return whole(format!("held out: {why}"), &held_out);
        }
    } else {
        judged.expect_no_measure();
    }
    Ok(())
}
