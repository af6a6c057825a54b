//! A process that builds kernels ahead of their judges, one after the other: the judge of a kernel
//! then finds its image in the build cache.

use crate::follow::Follow;
use crate::job::{self, start_judge};
use crate::process::{Control, RunningProcess};
use crate::spec::RunSpec;
use lab_project::Project;
use lab_protocol::report::first_word;
use lab_protocol::{Exit, JudgeKind, JudgeRequest};
use lab_run::Ending;
use lab_run::inputs::Inputs;
use lab_run::verdict::Verdict;
use std::io::{self, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Added to the time limit of a build: opening the device and loading the compiler.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A builder. Dropping it ends its process.
pub struct Builder<'a> {
    project: &'a Project,
    running: RunningProcess,
    orders: PipeWriter,
    /// Path of the kernel's copy.
    kernel: PathBuf,
}

/// What is known of a kernel after its build.
pub enum Ahead {
    Built,
    /// It does not build. The verdict is that of a run.
    Refused(Box<Verdict>),
    /// The builder ended, or the build took too long: the kernel's own judge says why.
    Unknown,
}

impl<'a> Builder<'a> {
    /// Starts a process for kernels in place of the one of `inputs`, which are copied into `tree`.
    /// The process ends with the calling thread.
    pub fn start(
        project: &'a Project,
        spec: &RunSpec,
        inputs: &Inputs,
        tree: &Path,
    ) -> io::Result<Builder<'a>> {
        // A lab that was killed leaves it behind.
        project.files().remove_dir_all(tree)?;
        inputs.write(project, tree)?;
        let request = JudgeRequest {
            kind: JudgeKind::Build,
            ..spec.request(project, tree)
        };
        let (running, orders) = start_judge(project, spec, &request)?;
        Ok(Builder {
            project,
            running,
            orders,
            kernel: tree.join(&project.kernel_name),
        })
    }

    /// Builds this kernel. `follow` takes in what is printed.
    pub fn build(
        &mut self,
        kernel: &[u8],
        follow: &mut Follow,
        control: &Control,
    ) -> io::Result<Ahead> {
        self.project
            .files()
            .create(&self.kernel)?
            .write_all(kernel)?;
        self.orders.write_all(b"build\n")?;
        let limit = Duration::from_secs_f64(self.project.config.time_limit_s) + START_LIMIT;
        if !self.running.read_until("built", follow, control, limit)? {
            return Ok(Ahead::Unknown);
        }
        if follow.report().value("built").map(first_word) == Some("yes") {
            return Ok(Ahead::Built);
        }
        let ended = job::Ended {
            ending: Ending::Exited(Exit::NotBuilt as i32),
            changed: Vec::new(),
            has_incumbent: true,
            compared: None,
            caveats: Vec::new(),
            incomplete: None,
            stays: None,
        };
        Ok(Ahead::Refused(Box::new(
            ended.verdict(self.project, follow),
        )))
    }
}
