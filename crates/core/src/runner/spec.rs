//! What a run is started with, and the command lines that follow from it.

use crate::inputs::{self, Inputs, KernelError};
use crate::project::python::{self, Interpreter};
use crate::project::{Project, compile_paths, trust};
use crate::repo::{self, HeldFile, Repo};
use crate::run::Reason;
use crate::runner::process::Limits;
use lab_protocol::Target;
use lab_protocol::{Tool, When};
use lab_system::large_pages;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// What a run is started with.
///
/// ```
/// use lab_core::run::Reason;
/// use lab_core::runner::spec::RunSpec;
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
    /// The socket of a Python on standby, which forks the judge's Python workers. `None` starts
    /// each of them anew.
    pub python_standby: Option<PathBuf>,
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
            python_standby: None,
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
    pub(crate) fn target(&self, project: &Project) -> String {
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

    /// The command of the built-in harness. It judges the copy of the inputs in `tree`, which
    /// stands for the repository's root: nobody edits the files there.
    pub fn judge(&self, project: &Project, tree: &Path) -> Command {
        let kernel = tree.join(&project.kernel_name);
        let mut command = Command::new(&self.program);
        command.arg0("lab");
        command
            .arg("harness")
            .arg(kernel.parent().unwrap_or(&kernel))
            .arg("--kernel")
            .arg(&kernel);
        command.args([
            "--shown-as",
            &project.kernel_name,
            "--device",
            &self.device(project).to_string(),
        ]);
        command.args(["--time-limit", &project.config.time_limit_s.to_string()]);
        command.args(self.measure_arguments(project));
        for option in project.config.compile.options.given() {
            command.arg(format!("--option={option}"));
        }
        with_python(&mut command, project, tree);
        if let Some(socket) = &self.python_standby {
            command.arg("--python-standby").arg(socket);
        }
        confine(&mut command, project, tree);
        if let Some(arch) = &project.config.compile.arch {
            command.arg(format!("--arch={arch}"));
        }
        if self.reason == Reason::Check {
            command.arg("--check");
            command.args(
                self.tools
                    .iter()
                    .map(|tool| format!("--tool={}", tool.name())),
            );
        }
        command.current_dir(&project.root);
        large_pages::allow(&mut command);
        command
    }

    /// The judge's arguments about how long it measures.
    fn measure_arguments(&self, project: &Project) -> Vec<String> {
        let measure = &project.config.measure;
        let full = self.reason == Reason::Measure;
        let budget_ms = if full {
            (1000.0 * measure.limit_s).ceil() as u64
        } else {
            measure.budget_ms
        };
        let mut plan = vec![
            format!("--budget-ms={budget_ms}"),
            format!("--same-within={}", measure.same_within),
            format!("--narrow={}", measure.narrow),
        ];
        if full {
            plan.push(format!("--when={}", When::Measure));
            plan.push(format!("--trials={}", measure.trials));
            plan.push(format!("--iterations={}", measure.iterations));
            plan.push(format!("--warm-up={}", measure.warm_up));
            if self.peers {
                plan.push("--peers".to_owned());
            }
        }
        plan
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
            _ => repo::write_incumbent(repo, project, tree),
        }
    }

    /// The files that [`RunSpec::write_incumbent`] would write now.
    pub fn incumbent_files(&self, repo: &Repo, project: &Project) -> anyhow::Result<Vec<HeldFile>> {
        match self.device(project) {
            Target::Cpu => Ok(Vec::new()),
            _ => repo::incumbent_files(repo, project),
        }
    }
}

/// Adds what the judge's children may use: the copy of the repository and what lab.toml names, and
/// whether they may run without a sandbox.
fn confine(command: &mut Command, project: &Project, tree: &Path) {
    let paths = compile_paths::of(project);
    for root in [tree]
        .into_iter()
        .chain(paths.inside.iter().map(PathBuf::as_path))
    {
        command.arg("--root").arg(root);
    }
    // Without a place to remember trust, nothing is trusted.
    if trust::is_granted(project).unwrap_or(false) {
        command.arg("--trusted");
        for path in &paths.outside {
            command.arg("--readable").arg(path);
        }
    }
}

/// Adds the interpreter, and where the kernel is in a package, the folder of the copy in which
/// Python finds the package. Python finds modules in the kernel's folder and in the copy's root
/// without a word.
fn with_python(command: &mut Command, project: &Project, tree: &Path) {
    command
        .arg("--python")
        .arg(Interpreter::of(project).program);
    if python::source(project).is_none() {
        return;
    }
    let (own, root) = (project.problem_dir.as_path(), project.root.as_path());
    let folders =
        lab_source::imports::search_path(own, root, |file: &Path| file.is_file()).into_iter();
    for folder in folders.filter(|folder| folder != own && folder != root) {
        if let Ok(below) = folder.strip_prefix(root) {
            command.arg("--root").arg(tree.join(below));
        }
    }
}

/// What the compiler may not read although lab.toml names it, because the user does not trust this
/// lab.toml. `None` where there is nothing.
pub fn withheld(project: &Project) -> Option<String> {
    let outside = compile_paths::of(project).outside;
    if outside.is_empty() || trust::is_granted(project).unwrap_or(false) {
        return None;
    }
    let named: Vec<String> = outside
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Some(format!(
        "lab.toml names {}, outside the repository's sources: the compiler may read that after `lab trust`",
        named.join(", ")
    ))
}

/// This executable, by a path that still works after the file was rebuilt or moved.
pub fn own_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Adds the judge's argument for the incumbent in `tree`, if one was written there.
pub fn with_incumbent(mut command: Command, project: &Project, tree: &Path) -> Command {
    let incumbent = tree.join(&project.kernel_name);
    if incumbent.is_file() {
        command
            .arg("--incumbent")
            .arg(incumbent)
            .arg("--root")
            .arg(tree);
    }
    command
}

/// Added to the time limits of a judge. The judge applies `time_limit_s` to the build and to each
/// launch itself, and says what hung. Its first run may also compute a reference, which takes
/// minutes on few cores. This limit ends a judge that hangs itself.
const JUDGE_LIMIT: Duration = Duration::from_secs(20 * 60);

/// How long the project's harness may take before it is ended.
pub fn limits(project: &Project) -> Limits {
    let time = Duration::from_secs_f64(project.config.time_limit_s);
    let measuring = Duration::from_secs_f64(project.config.measure.limit_s);
    Limits {
        time: if project.external() {
            time
        } else {
            time + measuring + JUDGE_LIMIT
        },
    }
}
