//! The language that a kernel or a reference is written in.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// The language of a source. The extension of its file says which.
///
/// ```
/// use lab_protocol::Language;
///
/// assert_eq!(Language::of("kernels/rmsnorm/kernel.py"), Language::Python);
/// assert_eq!(Language::of("softmax.cu"), Language::Cuda);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// CUDA C++, and every file that is not Python.
    #[default]
    Cuda,
    /// Python: a `.py` file.
    Python,
}

impl Language {
    /// The language of the file with this path.
    pub fn of(path: impl AsRef<Path>) -> Language {
        let is_python = path
            .as_ref()
            .extension()
            .is_some_and(|extension| extension == "py");
        if is_python {
            Language::Python
        } else {
            Language::Cuda
        }
    }

    /// What begins a comment.
    pub fn comment(self) -> &'static str {
        match self {
            Language::Cuda => "//",
            Language::Python => "#",
        }
    }

    /// The usual name of a kernel's file.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Language::Cuda => "kernel.cu",
            Language::Python => "kernel.py",
        }
    }

    /// The name of a problem's reference.
    pub fn reference_name(self) -> &'static str {
        match self {
            Language::Cuda => "reference.cu",
            Language::Python => "reference.py",
        }
    }
}
