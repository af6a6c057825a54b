//! One run from its start to its verdict, on the calling thread.

use crate::disk::space as room;
use crate::inputs::{self, Inputs, KernelError};
use crate::project::Project;
use crate::project::trust::{self, Trust};
use crate::repo::{self, Repo};
use crate::run::record::Record;
use crate::run::verdict::{self, Change, Facts, Outcome};
use crate::run::{Ending, Reason, RunId, RunStart};
use crate::runner::follow::{Batch, Follow};
use crate::runner::process::{self, Control, Running};
use crate::runner::spec::{Order, beside, limits};
use crate::runner::standby::Standby;
use crate::store::index::{Brief, Shelf};
use crate::store::{LOG, Records};
use anyhow::{Context, Result};
use jiff::Timestamp;
use lab_protocol::Exit;
use lab_protocol::report::Measure;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// What a run tells, besides its record at the end.
pub enum Told {
    Started(Box<RunStart>),
    Progress(RunId, Batch),
}

/// Why no run came of it.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error(
        "{} wants to run `{command}`, and you have not trusted it yet. Read it, then `lab trust`",
        file.display()
    )]
    NeedsTrust { command: String, file: PathBuf },
    #[error("{0}")]
    NoProblem(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl NotRun {
    /// How `lab run` and `lab check` exit.
    pub fn exit(&self) -> Exit {
        match self {
            NotRun::NeedsTrust { .. } | NotRun::NoProblem(_) => Exit::Usage,
            NotRun::Kernel(_) => Exit::NotBuilt,
            NotRun::Failed(_) => Exit::Crashed,
        }
    }
}

pub fn execute(
    project: &Project,
    order: &Order,
    control: &Control,
    tell: impl FnMut(Told),
) -> std::result::Result<Record, NotRun> {
    execute_with(None, project, order, control, tell)
}

/// The same with a judge on standby, which is used where it fits.
pub fn execute_with(
    standby: Option<Standby>,
    project: &Project,
    order: &Order,
    control: &Control,
    mut tell: impl FnMut(Told),
) -> std::result::Result<Record, NotRun> {
    if let Trust::Needed { command, file } = trust::check(project)? {
        return Err(NotRun::NeedsTrust { command, file });
    }
    if let Some(line) = project.config.harness.as_ref().filter(|_| order.reason == Reason::Check) {
        return Err(NotRun::NoProblem(format!(
            "lab check runs the kernel in the built-in harness, and this one is judged by `{line}`"
        )));
    }
    let inputs = inputs::read(project)?;
    if let Some(why) = no_problem(project) {
        return Err(NotRun::NoProblem(why));
    }
    let repo = Repo::open(project)?;
    let mut caveats: Vec<String> =
        repo::exclude(&repo, project).err().map(|e| format!("{e:#}")).into_iter().collect();
    let records = Records::new(&project.lab_dir);
    let id = records.create().map_err(|error| room::in_words(error, "no run could start"))?;
    let folder = records.folder(id);
    let (log, mut record) = birth(&repo, project, order, &records, id, &inputs).map_err(|error| {
        records.take_back(id);
        room::in_words(error, "no run could start")
    })?;
    point_to_log(project, id);
    tell(Told::Started(Box::new(record.start.clone())));

    let began = Instant::now();
    let limit = project.config.output_limit_mib << 20;
    let mut follow = Follow::new(log.try_clone().context("cannot open run.log twice")?, limit);
    let ready = standby.and_then(|standby| standby.take_over(project, order, &inputs, control));
    let started = ready.map_or_else(|| harness(&repo, project, order, &inputs, &folder, &mut caveats), Ok);
    let ending = started.and_then(|running| {
        process::follow(running, limits(project), control, &mut follow, |batch| {
            tell(Told::Progress(id, batch));
        })
    });
    let ending = ending.unwrap_or_else(|error| {
        follow.say(&format!("the harness could not be started: {error}"));
        Ending::NotStarted
    });
    let changed = if project.external() { changed(project, &inputs) } else { Vec::new() };
    if let Err(error) = follow.finish() {
        caveats.push(format!("run.log is incomplete: {error}"));
    }
    if follow.has_news() {
        tell(Told::Progress(id, follow.batch()));
    }
    let mut verdict = verdict::judge(&Facts {
        report: follow.report(),
        ending,
        external: project.external(),
        changed: &changed,
        objective: &project.config.objective,
        time_limit_s: project.config.time_limit_s,
        output_limit_mib: project.config.output_limit_mib,
        last_words: &follow.last_words(),
    });
    record.device = follow.report().device().map(|text| text.to_owned());
    if record.start.is_check() {
        verdict.forgive_unmeasured();
    }
    // Where the two were not timed in turns, the incumbent's last figure is all there is.
    if let Some(candidate) = verdict.objective.filter(|_| !verdict.emulated && verdict.change.is_none()) {
        let incumbent = incumbent(&repo, project, record.device.as_deref(), &record)?;
        verdict.change = incumbent.and_then(|held| Change::of_figures(&candidate, &held));
    }
    record.results = kept_results(&follow);
    record.workloads = follow.report().workloads().iter().map(|row| pairs(row)).collect();
    record.ended = Some(Timestamp::now());
    record.seconds = Some(began.elapsed().as_secs_f64());
    record.ending = Some(ending);
    record.log_bytes = follow.bytes();
    verdict.caveats.extend(caveats);
    record.verdict = Some(verdict);
    if let Err(error) = records.write(&record) {
        // The verdict stands all the same; it cannot be decided, because nobody will find it.
        if let Some(verdict) = &mut record.verdict {
            verdict.caveats.push(format!("this verdict is not recorded: {error:#}"));
        }
    }
    for copies in [TREE, INCUMBENT] {
        let _ = fs::remove_dir_all(folder.join(copies));
    }
    drop(log);
    Ok(record)
}

/// In words, where nothing says how to judge the kernel.
fn no_problem(project: &Project) -> Option<String> {
    if project.external() || project.problem_dir.join("problem.toml").symlink_metadata().is_ok() {
        return None;
    }
    let name = &project.kernel_name;
    Some(match &project.config_file {
        None => format!(
            "{name} has no problem.toml beside it, and there is no lab.toml that names a harness: `lab init` writes \
             one for the harness.py that is here; or write a problem.toml (kernels/README.md)"
        ),
        Some(file) => format!(
            "{name} has no problem.toml beside it, and {} names no harness: set `harness` there, as in `harness = \
             \"uv run harness.py\"` (without the file `lab init` writes it), or write a problem.toml (kernels/README.md)",
            file.strip_prefix(&project.root).unwrap_or(file).display()
        ),
    })
}

/// What a run needs before it can be told of: the snapshot, its log, its first record.
fn birth(
    repo: &Repo,
    project: &Project,
    order: &Order,
    records: &Records,
    id: RunId,
    inputs: &Inputs,
) -> Result<(File, Record)> {
    let folder = records.folder(id);
    fs::write(folder.join("kernel.cu"), inputs.kernel())
        .context("cannot write the snapshot of what is judged")?;
    let log = File::create(folder.join(LOG)).context("cannot make run.log")?;
    // Held until this process ends or the run does: how others see that the run goes on.
    log.lock().context("cannot lock run.log")?;
    let record = start(repo, project, order, id, inputs)?;
    records.write(&record)?;
    Ok((log, record))
}

fn start(repo: &Repo, project: &Project, order: &Order, id: RunId, inputs: &Inputs) -> Result<Record> {
    let start = RunStart {
        id,
        reason: order.reason,
        kernel: project.kernel_name.clone(),
        blob: repo::blob_id(repo, &project.kernel_name, inputs.kernel())?,
        fingerprint: inputs.fingerprint.clone(),
        started: Timestamp::now(),
        external: project.external(),
    };
    let command = project.config.harness.clone().unwrap_or_else(|| "built-in".to_owned());
    Ok(Record::begun(start, inputs.files(), command))
}

/// In a run's folder, while it goes on: the files that are judged, and the incumbent's.
const TREE: &str = "tree";
const INCUMBENT: &str = "incumbent";

/// Starts the harness on what was read.
fn harness(
    repo: &Repo,
    project: &Project,
    order: &Order,
    inputs: &Inputs,
    folder: &Path,
    caveats: &mut Vec<String>,
) -> io::Result<Running> {
    let command = match &project.config.harness {
        Some(line) => order.external(project, line),
        None => {
            let tree = folder.join(TREE);
            let named =
                |e: io::Error| io::Error::new(e.kind(), format!("the snapshot of what is judged: {e}"));
            inputs.write(project, &tree).map_err(named)?;
            let held = order.incumbent_into(repo, project, &folder.join(INCUMBENT));
            let (command, held) = (order.judge(project, &tree), held.map(|_| folder.join(INCUMBENT)));
            match held {
                Ok(tree) => beside(command, project, &tree),
                Err(error) => {
                    caveats.push(format!("no comparison with the incumbent: {error:#}"));
                    command
                }
            }
        }
    };
    process::start(command, Stdio::null())
}

/// `run.log` beside lab.toml names the log of the last run, for `grep`. A file of the user's by
/// that name stays. The link is relative, so that a repository can be moved.
fn point_to_log(project: &Project, id: RunId) {
    let up = project.home.strip_prefix(&project.root).map_or(0, |inside| inside.components().count());
    let target = format!("{}.lab/runs/{id}/{LOG}", "../".repeat(up));
    let link = project.home.join(LOG);
    match fs::read_link(&link) {
        Ok(old) if old.to_string_lossy().contains(".lab/runs/") => {
            let _ = fs::remove_file(&link);
        }
        Ok(_) => return,
        Err(_) if link.exists() => return,
        Err(_) => {}
    }
    let _ = std::os::unix::fs::symlink(target, &link);
}

/// What is on disk now and is not what the harness began with.
fn changed(project: &Project, inputs: &Inputs) -> Vec<String> {
    match inputs::read(project) {
        Ok(now) if now.fingerprint == inputs.fingerprint => Vec::new(),
        Ok(now) => inputs::differences(&inputs.files(), &now.files()),
        Err(_) => vec![project.kernel_name.clone()],
    }
}

/// What HEAD's kernel last measured on the same device; from its record, or its note.
fn incumbent(repo: &Repo, project: &Project, device: Option<&str>, candidate: &Record) -> Result<Option<Measure>> {
    let Some(blob) = repo::incumbent(repo, project)? else { return Ok(None) };
    let same = |r: &Record| {
        let passed = r.verdict.as_ref().is_some_and(|v| v.outcome == Outcome::Pass && !v.emulated);
        r.start.blob == blob
            && r.start.kernel == candidate.start.kernel
            && r.command == candidate.command
            && !r.start.is_check()
            && r.device.as_deref() == device
            && passed
    };
    let noted = || {
        let record: Record = serde_json::from_str(&repo::incumbent_note(repo, project)?).ok()?;
        same(&record).then_some(record)
    };
    let measure = |r: Record| {
        let report = r.report();
        report.measure(project.config.objective.name()).filter(|m| m.value.is_finite())
    };
    // In another clone the numbers of runs begin anew: only here does this one mean the same run.
    let near = |b: &Brief| b.id != candidate.start.id && b.blob == blob && b.outcome() == Some(Outcome::Pass);
    let records = Records::new(&project.lab_dir);
    let local = Shelf::runs(project, near).into_iter().filter_map(|id| records.read(id).ok()).find(same);
    Ok(local.or_else(noted).and_then(measure))
}

/// A harness that makes up keys without end shall not fill the records.
pub fn kept_results(follow: &Follow) -> Vec<(String, String)> {
    const KEYS: usize = 1_000;
    follow.report().entries().take(KEYS).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

fn pairs(row: &[(&str, &str)]) -> String {
    let words: Vec<String> = row.iter().map(|(key, value)| format!("{key}={value}")).collect();
    words.join(" ")
}
