//! One start of a harness on inputs: for a run, a check on sealed inputs, a profile or a bench. The
//! inputs are copied, the process is started, followed and ended here.

use crate::follow::{Batch, Follow};
use crate::harness_files;
use crate::process::{self, Control, RunningProcess};
use crate::spec::{self, RunSpec, with_incumbent, withheld};
use lab_git::{HeldFile, Repo};
use lab_project::Project;
use lab_protocol::{JudgeKind, JudgeRequest};
use lab_python::First;
use lab_run::inputs::{self, Inputs};
use lab_run::verdict::{self, Facts, Verdict};
use lab_run::{Ending, KernelBlob};
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// What to start a harness for.
pub struct Job<'a> {
    pub project: &'a Project,
    pub spec: &'a RunSpec,
    pub inputs: &'a Inputs,
    /// For the built-in harness. Its kernel is a file of the copy in `tree`.
    pub request: JudgeRequest,
    /// The copy of the inputs.
    pub tree: &'a Path,
    /// The folder into which a harness of the user's own may write.
    pub run_dir: &'a Path,
    /// Where the incumbent to compare with is, and the folder for its copy.
    pub incumbent: Option<(&'a Repo, PathBuf)>,
    /// False once a harness of the user's own was started without one.
    pub has_incumbent: bool,
    /// The incumbent's kernel that the harness got.
    pub compared: Option<KernelBlob>,
    /// How long the harness may take before it is ended.
    pub limit: Duration,
}

/// How a job ended.
pub struct Ended {
    pub ending: Ending,
    /// Paths of the inputs that were not on disk as the harness was to read them.
    pub changed: Vec<String>,
    /// False of a harness of the user's own that got no incumbent to compare with.
    pub has_incumbent: bool,
    /// The incumbent's kernel that the harness got.
    pub compared: Option<KernelBlob>,
    /// What the harness did not get. The verdict is valid all the same.
    pub caveats: Vec<String>,
    /// Why the log is incomplete.
    pub incomplete: Option<io::Error>,
    /// The judge, if it stands by for another kernel.
    pub stays: Option<RunningProcess>,
}

impl<'a> Job<'a> {
    /// A run of these inputs, whose copy is in `tree`, without an incumbent.
    pub fn of(project: &'a Project, spec: &'a RunSpec, inputs: &'a Inputs, tree: &'a Path) -> Self {
        Job {
            project,
            spec,
            inputs,
            request: spec.request(project, tree),
            tree,
            run_dir: tree,
            incumbent: None,
            has_incumbent: true,
            compared: None,
            limit: spec::limit(project),
        }
    }

    /// Takes in what the harness prints, and writes it into `log`.
    pub fn follow(project: &Project, log: File) -> Follow {
        Follow::new(log, project.config.output_limit_mib << 20).judging_by(&project.config)
    }

    /// Runs the harness to its end: the process that is `ready`, or a new one. `tell` gets what it
    /// prints.
    pub fn run(
        &mut self,
        ready: Option<RunningProcess>,
        follow: &mut Follow,
        control: &Control,
        mut tell: impl FnMut(Batch),
    ) -> Ended {
        let mut caveats = Vec::new();
        let started = ready.map_or_else(|| self.start(follow, &mut caveats), Ok);
        let (ending, stays) = match started {
            Ok(running) => process::follow(running, self.limit, control, follow, &mut tell),
            Err(error) => {
                follow.say(&format!("the harness could not be started: {error}"));
                (Ending::NotStarted, None)
            }
        };
        let changed = self.changed();
        let incomplete = follow.finish().err();
        if follow.has_news() {
            tell(follow.batch());
        }
        Ended {
            ending,
            changed,
            has_incumbent: self.has_incumbent,
            compared: self.compared,
            caveats,
            incomplete,
            stays,
        }
    }

    fn start(
        &mut self,
        follow: &mut Follow,
        caveats: &mut Vec<String>,
    ) -> io::Result<RunningProcess> {
        if let Some(line) = &self.project.harness_line() {
            return self.start_external(line, caveats);
        }
        let project = self.project;
        if let Some(text) = withheld(project) {
            follow.say(&text);
        }
        self.inputs.write(project, self.tree).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("cannot write the snapshot of the files: {e}"),
            )
        })?;
        if let Some((repo, folder)) = &self.incumbent {
            match self.spec.write_incumbent(repo, project, folder) {
                Ok(files) => {
                    self.compared = kernel_of(&files);
                    with_incumbent(&mut self.request, project, folder);
                }
                Err(error) => {
                    let text = format!(
                        "no comparison with the incumbent: {}",
                        lab_git::told(&error)
                    );
                    match self.request.kind {
                        JudgeKind::SealedCheck { .. } => follow.say(&text),
                        _ => caveats.push(text),
                    }
                }
            }
        }
        start_judge(project, self.spec, &self.request).map(|(running, _)| running)
    }

    /// Starts a harness of the user's own, which reads the files itself.
    fn start_external(
        &mut self,
        line: &str,
        caveats: &mut Vec<String>,
    ) -> io::Result<RunningProcess> {
        let (project, files) = (self.project, self.project.files());
        files.create_dir_all(self.run_dir)?;
        // Its own business is on which device it compares the two.
        let incumbent = self.incumbent.as_ref().map_or(Ok(None), |(repo, _)| {
            harness_files::incumbent(repo, project)
        });
        let incumbent = incumbent.unwrap_or_else(|error| {
            caveats.push(format!(
                "the harness did not get the incumbent: {}",
                lab_git::told(&error)
            ));
            None
        });
        let (incumbent, compared) = incumbent.unzip();
        self.has_incumbent = incumbent.is_some();
        self.compared = compared.flatten();
        let mut command = self
            .spec
            .external(project, line, self.run_dir, incumbent.as_deref());
        match harness_files::python_package(&files, &project.lab_dir) {
            Ok(package) => {
                command.env(
                    "PYTHONPATH",
                    lab_python::search_path(&package, First::Users),
                );
            }
            Err(error) => caveats.push(format!(
                "the harness did not get the Python package lab_harness: {error}"
            )),
        }
        process::start(command, Stdio::null())
    }

    /// Paths of the inputs that are not on disk now as the harness was to read them. The built-in
    /// harness reads a copy of most inputs, which nobody changes.
    fn changed(&self) -> Vec<String> {
        if !self.project.external() {
            let in_place = self.inputs.sources.iter().filter(|source| source.in_place);
            let changed = in_place
                .filter(|source| inputs::hash(self.project, &source.path) != source.file.hash);
            return changed.map(|source| source.file.path.clone()).collect();
        }
        match inputs::read(self.project) {
            Ok(now) if now.fingerprint == self.inputs.fingerprint => Vec::new(),
            Ok(now) => inputs::differences(&self.inputs.files(), &now.files()),
            Err(_) => vec![self.project.kernel_name.clone()],
        }
    }
}

impl Ended {
    /// The verdict on what the harness printed.
    pub fn verdict(&self, project: &Project, follow: &Follow) -> Verdict {
        verdict::judge(&Facts {
            report: follow.report(),
            ending: self.ending,
            external: project.external(),
            script: project.harness_script(),
            changed: &self.changed,
            objective: &project.config.objective,
            time_limit_s: project.config.time_limit_s,
            output_limit_mib: project.config.output_limit_mib,
            same_within: project.config.measure.same_within / 100.0,
            has_incumbent: self.has_incumbent,
            incumbent: self.compared,
            last_words: &follow.last_words(),
        })
    }
}

/// The kernel among an incumbent's files, which is the first of them.
pub fn kernel_of(files: &[HeldFile]) -> Option<KernelBlob> {
    files
        .first()
        .and_then(|kernel| KernelBlob::of(&kernel.blob))
}

/// Starts a judge and sends it the request. A judge on standby reads its start signal from the same
/// pipe.
pub fn start_judge(
    project: &Project,
    spec: &RunSpec,
    request: &JudgeRequest,
) -> io::Result<(RunningProcess, PipeWriter)> {
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    let (theirs, mut orders) = io::pipe()?;
    let running = process::start(spec.judge(project), theirs)?;
    // A judge that does not read the request has ended. How it ended says more than this error.
    let _ = orders.write_all(&line);
    Ok((running, orders))
}
