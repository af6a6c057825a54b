//! The Python that a user is asked to trust, with the interpreter that runs it.

use crate::project::python::{Interpreter, NamedBy};

/// Python that a user is asked to trust. Nothing confines it, on no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonRequest {
    /// The kernel, or the reference that judges it, relative to the work tree.
    pub source: String,
    pub interpreter: Interpreter,
}

impl PythonRequest {
    /// What is asked where there is such a source.
    pub(super) fn of(
        source: Option<String>,
        interpreter: impl FnOnce() -> Interpreter,
    ) -> Option<PythonRequest> {
        source.map(|source| PythonRequest { source, interpreter: interpreter() })
    }
}

/// Peers in Python, which run with the user's rights whatever the kernel's language is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersRequest {
    /// Their files, relative to the work tree.
    pub sources: Vec<String>,
    pub interpreter: Interpreter,
}

impl PeersRequest {
    /// What is asked where there are such sources.
    pub(super) fn of(
        sources: Vec<String>,
        interpreter: impl FnOnce() -> Interpreter,
    ) -> Option<PeersRequest> {
        (!sources.is_empty()).then(|| PeersRequest { sources, interpreter: interpreter() })
    }
}

/// The interpreter with what is to be known about it, as the subject of a sentence.
pub(super) fn in_words(interpreter: &Interpreter) -> &'static str {
    match (interpreter.is_inside, interpreter.named_by) {
        (true, _) => "The interpreter is a program of this folder:",
        (false, NamedBy::Environment) => "The interpreter is the one that LAB_PYTHON names:",
        (false, NamedBy::Config) => "The interpreter is the one that lab.toml names:",
        (false, NamedBy::Path) => "The interpreter is python3 on your PATH:",
    }
}
