//! A judge that is started before its run. While nobody saves, it opens the device, precompiles the
//! headers and prepares the reference, so that a save waits for none of that. It judges once, but
//! the points of a sweep one after the other.
//!
//! Its files are a copy in `.lab/standby/KEY/`, a folder for each kernel and each [`Owner`]. When
//! the run comes, only the kernel's copy is replaced: where any other file differs by then, or HEAD
//! holds another incumbent, the run starts a judge of its own.

use crate::job::{kernel_of, start_judge};
use crate::process::{Control, RunningProcess};
use crate::spec::{RunSpec, with_incumbent};
use anyhow::{Context, Result, ensure};
use lab_git::{HeldFile, Repo};
use lab_project::Project;
use lab_protocol::{ENOUGH, JudgeRequest};
use lab_run::KernelBlob;
use lab_run::inputs::Inputs;
use lab_run::record::InputFile;
use lab_store::RunStore;
use lab_system::failure::Failure;
use std::io::{PipeWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

/// A judge answers its order at once, whatever it is busy with. After this long it counts as hung.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Who keeps a process on standby. A screen and a loop may work on the same kernel, each with its
/// own. A loop has several, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Screen,
    Loop(usize),
    /// Like a loop.
    Sweep(usize),
}

impl Owner {
    /// The name of its folder for the project's kernel.
    pub fn folder(self, project: &Project) -> String {
        let key = project.kernel_key();
        match self {
            Owner::Screen => key,
            Owner::Loop(0) => format!("{key}.loop"),
            Owner::Loop(number) => format!("{key}.loop{number}"),
            Owner::Sweep(number) => format!("{key}.sweep{number}"),
        }
    }
}

/// A standby judge. Dropping it ends its process.
pub struct Standby {
    /// `None` while it judges.
    running: Option<RunningProcess>,
    owner: Owner,
    /// The judge's stdin.
    orders: PipeWriter,
    /// Path of the kernel's copy.
    kernel: PathBuf,
    /// The executable, the request and every input but the kernel, as they were when the judge was
    /// started.
    program: PathBuf,
    request: JudgeRequest,
    files: Vec<InputFile>,
    /// The incumbent's files as HEAD held them.
    incumbent: Vec<HeldFile>,
}

impl Standby {
    /// Starts a judge for a run of `inputs` with another kernel. `None` for an external harness.
    /// The judge ends with the calling thread.
    pub fn start(
        project: &Project,
        spec: &RunSpec,
        inputs: &Inputs,
        owner: Owner,
    ) -> Result<Option<Standby>> {
        if project.external() {
            return Ok(None);
        }
        let repo = Repo::open(project)?;
        lab_git::exclude(&repo)?;
        let (tree, files) = (tree(project, owner), project.files());
        // A lab that was killed leaves them behind.
        for old in [&tree, &incumbent_tree(project, owner)] {
            files.remove_dir_all(old)?;
        }
        inputs.write(project, &tree)?;
        let incumbent = spec.write_incumbent(&repo, project, &incumbent_tree(project, owner))?;
        let request = request(project, spec, owner);
        if let Some(folder) = &request.cells {
            RunStore::of(project).make_cells(folder);
        }
        let (running, orders) = start_judge(project, spec, &request)?;
        let kernel = tree.join(&project.kernel_name);
        Ok(Some(Standby {
            running: Some(running.staying(request.is_swept)),
            owner,
            orders,
            kernel,
            program: spec.program.clone(),
            request,
            files: others(inputs),
            incumbent,
        }))
    }

    /// Whether the judge lives, and was started with the request and the incumbent that a run
    /// would have now. Reads no input: a run's inputs are compared by [`Standby::take_over`].
    pub fn fits(&mut self, project: &Project, spec: &RunSpec) -> bool {
        spec.program == self.program
            && request(project, spec, self.owner) == self.request
            && Repo::open(project)
                .and_then(|repo| spec.incumbent_files(&repo, project))
                .is_ok_and(|held| held == self.incumbent)
            && self.running.as_ref().is_some_and(RunningProcess::lives)
    }

    /// The incumbent's kernel that the judge compares with.
    pub fn compared(&self) -> Option<KernelBlob> {
        kernel_of(&self.incumbent)
    }

    /// The folder into which the judge writes the cells of a wrong output.
    pub fn cells(&self) -> Option<PathBuf> {
        self.request.cells.clone()
    }

    /// Orders the judge to judge these inputs. `None` where it was started for anything else or is
    /// gone; an error where it cannot get its order or does not answer. In both cases its process
    /// is ended, and the run starts a judge of its own.
    pub fn take_over(
        &mut self,
        project: &Project,
        spec: &RunSpec,
        inputs: &Inputs,
        control: &Control,
    ) -> Result<Option<RunningProcess>> {
        let fits = others(inputs) == self.files && self.fits(project, spec);
        // A judge prints nothing before its order. One that did is not believed.
        let running = self.running.take();
        let Some(mut running) = running.filter(|running| fits && running.unread() == 0) else {
            return Ok(None);
        };
        let kernel = project.files().create(&self.kernel);
        kernel
            .and_then(|mut file| file.write_all(inputs.kernel()))
            .cannot("write", &self.kernel)?;
        self.orders
            .write_all(b"judge\n")
            .context("cannot send its order")?;
        let answers = running
            .wait_for_output(control, ANSWER_LIMIT)
            .context("cannot wait for its answer")?;
        // It may end instead of answering: the run's own judge then says what is wrong.
        if !answers && !control.is_ended() {
            ensure!(
                !running.lives(),
                "it did not answer within {} s",
                ANSWER_LIMIT.as_secs()
            );
            return Ok(None);
        }
        Ok(Some(running))
    }

    /// Tells the judge that judges that nothing more need be measured. Returns false where it cannot
    /// be told.
    pub fn tell_enough(&mut self) -> bool {
        let order = format!("{ENOUGH}\n");
        self.request.is_swept && self.orders.write_all(order.as_bytes()).is_ok()
    }

    /// The judge stands by again.
    pub fn put_back(&mut self, running: RunningProcess) {
        self.running = Some(running);
    }
}

fn tree(project: &Project, owner: Owner) -> PathBuf {
    project.lab_dir.join("standby").join(owner.folder(project))
}

fn incumbent_tree(project: &Project, owner: Owner) -> PathBuf {
    project
        .lab_dir
        .join("incumbent")
        .join(owner.folder(project))
}

fn request(project: &Project, spec: &RunSpec, owner: Owner) -> JudgeRequest {
    let cells = RunStore::of(project).cells(&format!("standby-{}", owner.folder(project)));
    let mut request = JudgeRequest {
        on_standby: true,
        cells: spec.keeps_cells().then_some(cells),
        ..spec.request(project, &tree(project, owner))
    };
    with_incumbent(&mut request, project, &incumbent_tree(project, owner));
    request
}

/// Every input but the kernel, which is the first.
fn others(inputs: &Inputs) -> Vec<InputFile> {
    inputs.files().split_off(1)
}
