//! A new problem: its files, and what to say of them.

/// A file of a new problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path in the problem's folder.
    pub name: String,
    pub text: String,
}

/// A problem for a published kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the kernel function in kernel.cu.
    pub entry: String,
    pub files: Vec<NewFile>,
    /// What is a guess, and what was left out.
    pub notes: Vec<String>,
    /// reference.cu has still to be written.
    pub lacks_reference: bool,
}

impl NewFile {
    pub fn new(name: &str, text: String) -> NewFile {
        NewFile {
            name: name.to_owned(),
            text,
        }
    }
}
