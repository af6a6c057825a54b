//! A Python on standby for the workers of judges: it has imported what takes seconds, and forks a
//! worker in milliseconds.
//!
//! The screen keeps one for a project in which Python runs. A judge gets the path of its socket and
//! connects to it; where nobody listens yet, or no more, the judge starts its worker anew.

use crate::standby::Owner;
use lab_project::Project;
use lab_project::python::{self, Interpreter};
use lab_python::First;
use lab_system::child_group::ChildGroup;
use lab_system::{environment, large_pages};
use rustix::process::Signal;
use std::io::{self, PipeWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The module that is the parent.
const MODULE: &str = "lab_harness.standby";

/// Longest path of a socket that Linux takes.
const LONGEST: usize = 107;

/// A Python on standby. Dropping it ends it with all workers.
pub struct PythonStandby {
    group: ChildGroup,
    /// Its stdin: it ends when this is closed, also if this process is killed.
    _alive: PipeWriter,
    socket: PathBuf,
    program: PathBuf,
}

impl PythonStandby {
    /// Keeps one in `slot` that fits the project. Where none can be started, each worker is started
    /// anew, and says why.
    pub fn keep(slot: &mut Option<PythonStandby>, project: &Project, owner: Owner) {
        if slot.as_mut().is_some_and(|python| python.fits(project)) {
            return;
        }
        // The old one ends before the new one gets its folder.
        drop(slot.take());
        *slot = PythonStandby::start(project, owner).ok().flatten();
    }

    /// Starts the project's Python, which ends with the calling thread. `None` if no Python runs
    /// for the project, or if a socket in `.lab` would have too long a path. The folder is trusted.
    pub fn start(project: &Project, owner: Owner) -> io::Result<Option<PythonStandby>> {
        let folder = project.lab_dir.join("python").join(owner.folder(project));
        let socket = folder.join("socket");
        if !is_used(project) || socket.as_os_str().len() > LONGEST {
            return Ok(None);
        }
        let files = project.files();
        // A lab that was killed leaves it behind.
        files.remove_dir_all(&folder)?;
        for (name, text) in lab_python::FILES {
            files.write(&folder.join(name), text.as_bytes())?;
        }
        let program = Interpreter::of(project).program;
        let (theirs, alive) = io::pipe()?;
        let mut command = Command::new(&program);
        command
            .args(["-m", MODULE])
            .arg(&socket)
            .env(
                "PYTHONPATH",
                lab_python::search_path(&folder, First::Package),
            )
            .env("PYTHONSAFEPATH", "1")
            .current_dir("/")
            .stdin(theirs)
            // Each run says what is missing.
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        environment::restrict(&mut command);
        large_pages::allow(&mut command);
        let group = ChildGroup::spawn(&mut command)?;
        Ok(Some(PythonStandby {
            group,
            _alive: alive,
            socket,
            program,
        }))
    }

    /// The path of its socket, on which it listens once it is ready.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether it lives, and is the Python that a run of this project needs.
    pub fn fits(&mut self, project: &Project) -> bool {
        is_used(project)
            && Interpreter::of(project).program == self.program
            && self.socket.starts_with(&project.lab_dir)
            && matches!(self.group.poll(), Ok(None))
    }
}

impl Drop for PythonStandby {
    fn drop(&mut self) {
        // It ends its workers. What it does not end is killed with its group.
        self.group.signal(Signal::TERM);
    }
}

/// Whether the judges of a project start a Python worker.
fn is_used(project: &Project) -> bool {
    !project.external() && !python::sources(project).is_empty()
}
