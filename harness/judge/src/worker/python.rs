//! Starting a worker that is a Python process, and what is known of its failures.
//!
//! The worker is the module `lab_harness.worker`. It speaks the protocol of the lab's own worker,
//! on the socket that is its stdin. Nothing confines it: a kernel in Python needs files, programs
//! and libraries.

use super::images::Images;
use crate::process::child::{Child, LineSink};
use lab_device::sandbox::limit_worker;
use lab_protocol::{JudgeRequest, Target};
use lab_system::threads::lock;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why a Python worker has no sandbox.
pub const NO_SANDBOX: &str = "Python runs with your rights";

/// The oldest Python that the package works with.
const OLDEST: (u32, u32) = (3, 9);
const OLDEST_NAME: &str = "3.9";

/// How another interpreter is named. The end of a message.
pub const OTHER: &str =
    "Name another interpreter with LAB_PYTHON, or with `python = \"…\"` in lab.toml";

/// Prints the version, and whether there is NumPy. Every Python can run it.
const QUESTION: &str = "import sys\nprint('lab: %d.%d' % sys.version_info[:2])\nsys.stdout.flush()\nimport numpy\nprint('lab: numpy')";
const ASK_FOR: Duration = Duration::from_secs(10);

/// What an interpreter says about itself.
struct Answer {
    version: Option<(u32, u32)>,
    has_numpy: bool,
}

impl Answer {
    fn read(lines: &[String]) -> Answer {
        let own = || lines.iter().filter_map(|line| line.strip_prefix("lab: "));
        let version = |line: &str| {
            let (major, minor) = line.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        Answer {
            version: own().find_map(version),
            has_numpy: own().any(|line| line == "numpy"),
        }
    }
}

/// The folder of the package's copy, in the folder of the worker.
const PACKAGE: &str = "package";

/// A Python to start as a worker.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The program: a path, or a name that PATH leads to.
    pub program: PathBuf,
    /// Limit for its start with its packages, and for loading a source.
    pub load_limit: Duration,
    /// Folders with modules that sources may import, the first one first.
    pub modules: Vec<PathBuf>,
    /// The socket of a parent on standby, which is the same Python and forks a worker sooner than
    /// one starts. A worker is started without it if it cannot fork one.
    pub standby: Option<PathBuf>,
}

impl Interpreter {
    /// The Python of a request. It finds the modules of the kernel's folder and of the repository.
    pub fn of(request: &JudgeRequest) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A worker has another current folder. A link stays what it is: it may be the Python of a
        // virtual environment.
        let program = match request.python.components().count() {
            0 | 1 => request.python.clone(),
            _ => absolute(&request.python),
        };
        let kernel = absolute(&request.kernel());
        let mut modules: Vec<PathBuf> = kernel.parent().map(Path::to_owned).into_iter().collect();
        modules.extend(request.repository(absolute));
        modules.dedup();
        Interpreter {
            program,
            load_limit: request.load_limit,
            modules,
            standby: request.python_standby.clone(),
        }
    }

    /// Starts the worker's process, or has the parent on standby fork it. `images` is the worker's
    /// own folder, which gets a copy of the package: another kernel cannot change it.
    pub fn start(
        &self,
        target: Target,
        images: &Images,
        forward: LineSink,
    ) -> io::Result<(Child, UnixStream)> {
        let forked = self.standby.as_ref().and_then(|socket| {
            let modules = lab_python::module_path(&self.modules);
            Child::fork(socket, &modules, forward.clone()).ok()
        });
        let started = forked.map_or_else(|| self.start_alone(images, forward), Ok)?;
        if target == Target::Cpu {
            // Else Linux would end another process where memory runs out.
            limit_worker(started.0.id());
        }
        Ok(started)
    }

    fn start_alone(&self, images: &Images, forward: LineSink) -> io::Result<(Child, UnixStream)> {
        let package = images.path().join(PACKAGE);
        std::fs::create_dir(&package).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("{} cannot be made: {e}", package.display()),
            )
        })?;
        lab_python::write(&package)?;
        let mut command = Command::new(&self.program);
        command
            .args(["-m", lab_python::WORKER])
            .env(
                "PYTHONPATH",
                lab_python::search_path_with(&package, &self.modules),
            )
            // Lines come when they are printed, also before a crash.
            .env("PYTHONUNBUFFERED", "1")
            // No file of the current folder takes the name of a module.
            .env("PYTHONSAFEPATH", "1")
            .current_dir("/");
        Child::spawn(&mut command, forward)
    }

    /// Why a worker of this interpreter has ended before it was ready, and what to do. `how` says
    /// how it ended. Asks the interpreter for its version and for NumPy.
    pub fn why_not_ready(&self, how: &str) -> String {
        let Answer { version, has_numpy } = self.ask();
        let known = version.map(|(major, minor)| format!("{major}.{minor}"));
        let what = match (version, known) {
            (Some(version), Some(known)) if version < OLDEST => {
                format!("{self} is Python {known}, and Python kernels need {OLDEST_NAME} or newer")
            }
            (Some(_), Some(known)) if !has_numpy => format!(
                "Python {known}, {self}, has no NumPy, which Python kernels need: `{self} -m pip install numpy ml_dtypes` installs it, \
                 or install it into a .venv beside the kernel"
            ),
            _ => format!(
                "the Python interpreter {self} {how} before it was ready; what it printed is above. Python kernels need Python \
                 {OLDEST_NAME} or newer with NumPy"
            ),
        };
        format!("{what}. {OTHER}")
    }

    /// Asks the interpreter what it is, for a few seconds at most.
    fn ask(&self) -> Answer {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = lines.clone();
        let forward: LineSink =
            Arc::new(move |line: &str| lock(&heard).push(line.trim().to_owned()));
        let mut command = Command::new(&self.program);
        command.args(["-c", QUESTION]).current_dir("/");
        if let Ok((mut child, _stream)) = Child::spawn(&mut command, forward) {
            // What it has printed so far is enough.
            let _ = child.reap_within(ASK_FOR.min(self.load_limit));
        }
        Answer::read(&lock(&lines))
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.display().fmt(f)
    }
}

/// Where a Python worker has its sources. A message shows a source without this folder.
pub fn without_folder(text: &str, folder: &Path) -> String {
    let mut rest = text;
    let mut shown = String::with_capacity(text.len());
    let folder = folder.join("").display().to_string();
    while let Some((before, after)) = rest.split_once(&folder) {
        shown.push_str(before);
        // Each source is in a folder that has a number.
        let number = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest = match after[number..].strip_prefix('/') {
            Some(file) if number > 0 => file,
            _ => after,
        };
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_relative_path_of_python_holds_in_another_folder_and_a_name_is_looked_up() {
        let named = |python: &str| {
            let request = JudgeRequest {
                python: python.into(),
                ..JudgeRequest::new("x")
            };
            Interpreter::of(&request).program
        };
        assert_eq!(named("python3.12"), Path::new("python3.12"));
        assert!(named(".venv/bin/python").is_absolute() && named("./python").is_absolute());
        assert_eq!(
            Interpreter::of(&JudgeRequest::new("x")).program,
            Path::new("python3")
        );
    }

    #[test]
    fn modules_are_those_of_the_kernels_folder_and_of_the_repository() {
        let repo = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(repo.path().join("k/deep")).unwrap();
        std::fs::create_dir(repo.path().join(".git")).unwrap();
        let mut request = JudgeRequest::new(repo.path().join("k"));
        assert_eq!(
            Interpreter::of(&request).modules,
            [repo.path().join("k"), repo.path().to_owned()]
        );
        request.kernel = Some(repo.path().join("k/deep/kernel.py"));
        request.roots = vec!["/copy".into()];
        assert_eq!(
            Interpreter::of(&request).modules,
            [repo.path().join("k/deep"), "/copy".into()]
        );
    }

    #[test]
    fn an_interpreter_is_known_by_its_own_lines_only() {
        let read = |lines: &[&str]| {
            let Answer { version, has_numpy } = Answer::read(
                &lines
                    .iter()
                    .map(|line| (*line).to_owned())
                    .collect::<Vec<_>>(),
            );
            (version, has_numpy)
        };
        assert_eq!(
            read(&["3.2", "lab: 3.11", "lab: numpy"]),
            (Some((3, 11)), true)
        );
        assert_eq!(
            read(&["lab: 2.7", "ImportError: No module named numpy"]),
            (Some((2, 7)), false)
        );
        assert_eq!(read(&["-c import sys"]), (None, false));
        let echo = Interpreter {
            program: "echo".into(),
            load_limit: Duration::from_secs(60),
            modules: Vec::new(),
            standby: None,
        };
        let text = echo.why_not_ready("ended with exit code 0");
        assert!(
            text.starts_with(
                "the Python interpreter echo ended with exit code 0 before it was ready"
            ),
            "{text}"
        );
        assert!(text.ends_with(OTHER), "{text}");
    }

    #[test]
    fn a_source_is_shown_without_its_folder() {
        let folder = Path::new("/cache/private/x/files");
        let text = "File \"/cache/private/x/files/0/kernel.py\", line 3\n/cache/private/x/files/package/a.py /cache/x";
        assert_eq!(
            without_folder(text, folder),
            "File \"kernel.py\", line 3\npackage/a.py /cache/x"
        );
    }
}
