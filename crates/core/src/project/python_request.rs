//! The Python that would run with the user's rights, as the question for trust names it.

use super::Project;
use super::kernels::KernelList;
use super::python::{self, Interpreter, NamedBy};

/// Python that a user is asked to trust. Nothing confines it, on no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonRequest {
    /// The kernel, or the reference that judges it, relative to the work tree.
    pub source: String,
    /// Of a request that is about no kernel in particular: the other kernels and references.
    pub others: Vec<String>,
    pub interpreter: Interpreter,
}

impl PythonRequest {
    pub(super) fn of(project: &Project) -> Option<PythonRequest> {
        let source = python::source(project)?;
        Some(PythonRequest {
            source,
            others: Vec::new(),
            interpreter: Interpreter::of(project),
        })
    }

    /// The sources of all kernels that the trust in this project's lab.toml, or in its repository,
    /// is about.
    pub(super) fn of_all(project: &Project) -> Option<PythonRequest> {
        let own = PythonRequest::of(project);
        if project.external() {
            return own;
        }
        let mut sources: Vec<String> = own.into_iter().map(|own| own.source).collect();
        for source in others_of(project).filter_map(|other| python::source(&other)) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mut sources = sources.into_iter();
        let (source, others) = (sources.next()?, sources.collect());
        Some(PythonRequest {
            source,
            others,
            interpreter: Interpreter::of(project),
        })
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

/// Peers in Python, which run with the user's rights whatever the kernel's language is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersRequest {
    /// Their files, relative to the work tree.
    pub sources: Vec<String>,
    pub interpreter: Interpreter,
}

impl PeersRequest {
    pub(super) fn of(project: &Project) -> Option<PeersRequest> {
        PeersRequest::new(project, python::peers(project))
    }

    /// The peers of all kernels that the trust in this project's lab.toml, or in its repository, is
    /// about.
    pub(super) fn of_all(project: &Project) -> Option<PeersRequest> {
        let mut sources = python::peers(project);
        if !project.external() {
            for source in others_of(project).flat_map(|other| python::peers(&other)) {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        PeersRequest::new(project, sources)
    }

    fn new(project: &Project, sources: Vec<String>) -> Option<PeersRequest> {
        (!sources.is_empty()).then(|| PeersRequest {
            sources,
            interpreter: Interpreter::of(project),
        })
    }
}

/// The interpreter with what is to be known about it, as the subject of a sentence.
pub(super) fn interpreter_in_words(interpreter: &Interpreter) -> &'static str {
    match (interpreter.is_inside, interpreter.named_by) {
        (true, _) => "The interpreter is a program of this folder:",
        (false, NamedBy::Environment) => "The interpreter is the one that LAB_PYTHON names:",
        (false, NamedBy::Config) => "The interpreter is the one that lab.toml names:",
        (false, NamedBy::Path) => "The interpreter is python3 on your PATH:",
    }
}
