//! The Python that would run with the user's rights, as the question for trust names it.

use super::Project;
use super::kernels::KernelList;
use super::python::{self, Interpreter, NamedBy};

/// Python that a user is asked to trust. Nothing confines it, on no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonRequest {
    /// A kernel, the reference that judges it, or a file of peers, relative to the work tree.
    pub source: String,
    /// The other ones, each once.
    pub others: Vec<String>,
    pub interpreter: Interpreter,
}

impl PythonRequest {
    /// What the judging of a project runs, or with `all` that of every kernel that the trust in
    /// this project's lab.toml, or in its repository, is about.
    pub(super) fn of_kernels(project: &Project, all: bool) -> Option<PythonRequest> {
        PythonRequest::of(project, all, python::sources)
    }

    /// The peers, which run with the user's rights whatever the kernel's language is.
    pub(super) fn of_peers(project: &Project, all: bool) -> Option<PythonRequest> {
        PythonRequest::of(project, all, python::peers)
    }

    fn of(
        project: &Project,
        all: bool,
        sources: impl Fn(&Project) -> Vec<String>,
    ) -> Option<PythonRequest> {
        let mut found = sources(project);
        if all && !project.external() {
            for source in others_of(project).flat_map(|other| sources(&other)) {
                if !found.contains(&source) {
                    found.push(source);
                }
            }
        }
        let mut found = found.into_iter();
        Some(PythonRequest {
            source: found.next()?,
            others: found.collect(),
            interpreter: Interpreter::of(project),
        })
    }

    pub fn sources(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.source).chain(&self.others)
    }

    /// The interpreter with what is to be known about it, as the subject of a sentence.
    pub(super) fn interpreter_in_words(&self) -> &'static str {
        match (self.interpreter.is_inside, self.interpreter.named_by) {
            (true, _) | (false, NamedBy::Folder) => "The interpreter is a program of this folder:",
            (false, NamedBy::Environment) => "The interpreter is the one that LAB_PYTHON names:",
            (false, NamedBy::Config) => "The interpreter is the one that lab.toml names:",
            (false, NamedBy::Path) => "The interpreter is python3 on your PATH:",
        }
    }
}

/// The other projects that the trust in this project's lab.toml, or in its repository, is about.
fn others_of(project: &Project) -> impl Iterator<Item = Project> {
    let listed = KernelList::of(&project.root, &project.home)
        .find()
        .into_iter();
    let below = listed
        .filter_map(|kernel| Project::open(&project.root, Some(&project.root.join(kernel))).ok());
    below.filter(|other| other.config_file == project.config_file && !other.external())
}
