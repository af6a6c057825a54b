//! What a run is started with, and the command lines that follow from it.

use itertools::Itertools;
use lab_git::{HeldFile, Repo};
use lab_project::config::MeasureConfig;
use lab_project::python::{self, Interpreter};
use lab_project::{Project, compile_paths, trust};
use lab_protocol::plan::{Discipline, Plan};
use lab_protocol::{JudgeKind, JudgeRequest, Target, Tool, When};
use lab_run::Reason;
use lab_run::inputs::{self, Inputs, KernelError};
use lab_system::{environment, large_pages};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// What a run is started with.
///
/// ```
/// use lab_run::Reason;
/// use lab_runner::spec::RunSpec;
/// use lab_protocol::Target;
///
/// // `lab run --device cpu`: the files on disk, read when the run starts.
/// let spec = RunSpec { device: Some(Target::Cpu), ..RunSpec::new(Reason::Command) };
/// assert!(spec.inputs.is_none() && spec.tools.is_empty());
/// assert_eq!(RunSpec::from(Reason::Rerun).reason, Reason::Rerun);
/// ```
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub reason: Reason,
    /// The files to judge, as the watcher read them. `None` where a key or a command asks for the
    /// run: the run then reads them once, when it starts.
    pub inputs: Option<Arc<Inputs>>,
    /// Overrides the device of lab.toml.
    pub device: Option<Target>,
    /// The tools of a check; none means all tools of the device.
    pub tools: Vec<Tool>,
    /// Whether a measurement also times the kernel beside the problem's peers.
    pub peers: bool,
    /// The executable with the lab's hidden subcommands.
    pub program: PathBuf,
    /// Says why this machine cannot confine kernels on a device.
    pub confinement: Confinement,
    /// Says what this machine lacks for the kernel. Only a run that is refused asks, to name all of it.
    pub lacks: fn(&Project) -> Option<String>,
    /// The socket of a Python on standby, which forks the judge's Python workers. `None` starts
    /// each of them anew.
    pub python_standby: Option<PathBuf>,
    /// The kernel is a point of a sweep: built by another process, and never kept.
    pub is_swept: bool,
}

/// Returns why this machine cannot confine a kernel on a device. `None` where it can, and where a
/// kernel has no rights to lose.
pub type Confinement = fn(Target) -> Option<String>;

impl From<Reason> for RunSpec {
    fn from(reason: Reason) -> Self {
        RunSpec::new(reason)
    }
}

impl RunSpec {
    /// A run of the files on disk, on the device of lab.toml, by this executable.
    pub fn new(reason: Reason) -> Self {
        let confinement: Confinement = |_| None;
        RunSpec {
            reason,
            inputs: None,
            device: None,
            tools: Vec::new(),
            peers: true,
            program: own_program(),
            confinement,
            lacks: |_| None,
            python_standby: None,
            is_swept: false,
        }
    }

    /// Why the kernel cannot be confined on the run's device.
    pub(super) fn unconfined(&self, project: &Project) -> Option<String> {
        (self.confinement)(self.device(project))
    }

    /// The files to judge. They are read now where the spec brings none, or brings another
    /// kernel's: lab.toml may name another kernel since the watcher read them.
    pub(super) fn read_inputs(&self, project: &Project) -> Result<Arc<Inputs>, KernelError> {
        match self.inputs.as_ref().filter(|inputs| inputs.is_of(project)) {
            Some(inputs) => Ok(Arc::clone(inputs)),
            None => inputs::read(project).map(Arc::new),
        }
    }

    fn device(&self, project: &Project) -> Target {
        self.device.unwrap_or(project.config.device)
    }

    /// The word of the device that is asked for.
    pub fn target(&self, project: &Project) -> String {
        self.device(project).to_string()
    }

    /// The command that runs the user's harness command `line`, so that it ends with this process.
    /// `run_dir` is the folder of the run, `incumbent` a file with the incumbent's bytes.
    pub fn external(
        &self,
        project: &Project,
        line: &str,
        run_dir: &Path,
        incumbent: Option<&Path>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        let own = std::process::id().to_string();
        command
            .arg0("lab")
            .args(["supervise", "--parent", &own, "--", line]);
        command.current_dir(&project.home);
        command.env("PYTHONUNBUFFERED", "1");
        command
            .env("LAB_KERNEL", &project.kernel)
            .env("LAB_DEVICE", self.device(project).to_string());
        command.env("LAB_RUN_DIR", run_dir);
        match incumbent {
            Some(file) => command.env("LAB_INCUMBENT", file),
            None => command.env_remove("LAB_INCUMBENT"),
        };
        command
    }

    /// The command of the built-in harness, which reads a request on its stdin.
    pub fn judge(&self, project: &Project) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0("lab").args(["harness", "--request"]);
        command.current_dir(&project.root);
        // A stranger's lab.toml must not hand a secret to a kernel.
        if trust::is_granted(project) && !project.config.environment.is_empty() {
            let own = std::env::var(environment::NAMES).unwrap_or_default();
            let names = [own, project.config.environment.join(",")].join(",");
            command.env(environment::NAMES, names);
        }
        large_pages::allow(&mut command);
        command
    }

    /// What the built-in harness is asked to do. It judges the copy of the inputs in `tree`, which
    /// stands for the repository's root: nobody edits the files there.
    pub fn request(&self, project: &Project, tree: &Path) -> JudgeRequest {
        let kernel = tree.join(&project.kernel_name);
        let config = &project.config;
        let paths = compile_paths::of(project);
        // Without a place to remember trust, nothing is trusted.
        let trusted = trust::is_granted(project);
        let measures = self.reason == Reason::Measure;
        let mut roots = module_folders(project, tree);
        roots.push(tree.to_owned());
        roots.extend(paths.inside);
        let usual = JudgeRequest::new(kernel.parent().unwrap_or(&kernel));
        let time_limit = Duration::from_secs_f64(config.time_limit_s);
        JudgeRequest {
            kind: match self.reason {
                Reason::Check => JudgeKind::Check {
                    tools: self.tools.clone(),
                    sanitizer: None,
                },
                _ => JudgeKind::Run,
            },
            shown_as: Some(project.kernel_name.clone()),
            roots,
            readable: if trusted { paths.outside } else { Vec::new() },
            trusted,
            device: self.device(project),
            compile_options: config.compile.options.clone(),
            arch: config.compile.arch.clone(),
            when: if measures { When::Measure } else { When::Save },
            time_limit,
            load_limit: usual.load_limit.max(time_limit),
            peers: measures && self.peers,
            plan: plan(&config.measure, measures),
            python: Interpreter::of(project).program,
            python_standby: self.python_standby.clone(),
            is_swept: self.is_swept,
            kernel: Some(kernel),
            ..usual
        }
    }

    /// Whether a run keeps all cells of an output that it gets wrong.
    pub fn keeps_cells(&self) -> bool {
        !self.is_swept && self.reason != Reason::Check
    }

    /// Writes the incumbent's files into `tree` and returns them. Empty where HEAD does not hold
    /// the kernel, and on the emulated device, where nothing is compared.
    pub fn write_incumbent(
        &self,
        repo: &Repo,
        project: &Project,
        tree: &Path,
    ) -> anyhow::Result<Vec<HeldFile>> {
        match self.device(project) {
            Target::Cpu => Ok(Vec::new()),
            _ => lab_git::write_incumbent(repo, tree),
        }
    }

    /// The files that [`RunSpec::write_incumbent`] would write now.
    pub fn incumbent_files(&self, repo: &Repo, project: &Project) -> anyhow::Result<Vec<HeldFile>> {
        match self.device(project) {
            Target::Cpu => Ok(Vec::new()),
            _ => lab_git::incumbent_files(repo),
        }
    }
}

/// How long a judge measures: on a save, or for `lab measure`.
fn plan(measure: &MeasureConfig, full: bool) -> Plan {
    let limit = Duration::from_secs_f64(measure.limit_s);
    Plan {
        budget: match full {
            true => limit,
            false => Duration::from_millis(measure.budget_ms),
        },
        same_within: measure.same_within / 100.0,
        half_width: measure.narrow / 100.0,
        trials: full.then_some(Discipline {
            warm_up: measure.warm_up,
            iterations: measure.iterations,
            trials: measure.trials,
        }),
        each_workload: true,
    }
}

/// Where the kernel is in a Python package: the folders of the copy in which Python finds the
/// package. Python finds modules in the kernel's folder and in the copy's root without a word.
fn module_folders(project: &Project, tree: &Path) -> Vec<PathBuf> {
    if python::sources(project).is_empty() {
        return Vec::new();
    }
    let (own, root) = (project.problem_dir.as_path(), project.root.as_path());
    lab_source::imports::search_path(own, root, |file: &Path| file.is_file())
        .into_iter()
        .filter(|folder| folder != own && folder != root)
        .filter_map(|folder| Some(tree.join(folder.strip_prefix(root).ok()?)))
        .collect()
}

/// What the compiler may not read although lab.toml names it, because the user does not trust this
/// lab.toml. `None` where there is nothing.
pub fn withheld(project: &Project) -> Option<String> {
    let outside = compile_paths::of(project).outside;
    if outside.is_empty() || trust::is_granted(project) {
        return None;
    }
    let named = outside.iter().map(|path| path.display()).join(", ");
    Some(format!(
        "lab.toml names {named}, outside the repository's sources: the compiler may read that after `lab trust`"
    ))
}

/// This executable, by a path that still works after the file was rebuilt or moved.
pub fn own_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Has the judge compare with the incumbent in `tree`, if one was written there.
pub fn with_incumbent(request: &mut JudgeRequest, project: &Project, tree: &Path) {
    let incumbent = tree.join(&project.kernel_name);
    if incumbent.is_file() {
        request.incumbent = Some(incumbent);
        request.roots.push(tree.to_owned());
    }
}

/// Added to the time limits of a judge. The judge applies `time_limit_s` to the build and to each
/// launch itself, and says what hung. Its first run may also compute a reference, which takes
/// minutes on few cores. This limit ends a judge that hangs itself.
const JUDGE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long the project's harness may take before it is ended.
pub fn limit(project: &Project) -> Duration {
    let time = Duration::from_secs_f64(project.config.time_limit_s);
    let measuring = Duration::from_secs_f64(project.config.measure.limit_s);
    if project.external() {
        time
    } else {
        time + measuring + JUDGE_LIMIT
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn python_may_start_for_as_long_as_a_build_may_take() {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path()).unwrap();
        std::fs::write(temp.path().join("kernel.py"), "").unwrap();
        let load_limit = |lab_toml: &str| {
            std::fs::write(temp.path().join("lab.toml"), lab_toml).unwrap();
            let project = Project::open(temp.path(), None).unwrap();
            let request = RunSpec::new(Reason::Command).request(&project, temp.path());
            request.load_limit.as_secs()
        };
        assert_eq!(load_limit("time_limit_s = 300\n"), 300);
        assert_eq!(load_limit("time_limit_s = 5\n"), 60);
    }
}
