//! Why the files that a verdict depends on cannot be read.

use super::{INCLUDE_LIMIT, SIZE_LIMIT, TOTAL_LIMIT};
use lab_system::open_files;
use std::io;

/// Why the kernel cannot be read. Each message names the kernel and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel's name, and the argument that makes a command mean it.
    #[error("{0} is not there: save it, or put an older one back with `lab restore HEAD{1}`")]
    Missing(String, String),
    #[error("{0} is a folder: name the file in it")]
    Folder(String),
    #[error("{0} is empty: nothing to judge")]
    Empty(String),
    #[error("{0} has {1} bytes: a kernel source may have {SIZE_LIMIT}")]
    TooLarge(String, u64),
    #[error("{0} has {1} bytes: a file of values may have {SIZE_LIMIT}. Take fewer values from it")]
    ValuesTooLarge(String, u64),
    #[error("cannot read {0}: {1}; check its owner and mode (`ls -l`)")]
    Unreadable(String, io::Error),
    /// The process may open no further files.
    #[error("cannot read {0}: {1}")]
    NoDescriptor(String, io::Error),
    /// A link of a folder that the user does not trust.
    #[error(
        "{0} is a link that leads out of the repository: put the file itself there, or allow the folder to read it \
         (`lab trust`)"
    )]
    LeadsOut(String),
    #[error(
        "{0} and the files that it needs have more than {limit} MiB together: include less",
        limit = TOTAL_LIMIT >> 20
    )]
    TooLargeTogether(String),
    #[error(
        "{0} has more than {INCLUDE_LIMIT} include lines, with those of the files that it includes: include less"
    )]
    TooManyIncludes(String),
}

impl KernelError {
    /// An error of the system that no other message fits.
    pub(super) fn of_system(name: String, error: io::Error) -> KernelError {
        match open_files::is_of_descriptors(&error) {
            true => KernelError::NoDescriptor(name, error),
            false => KernelError::Unreadable(name, error),
        }
    }

    /// A pipe, a device or a socket in place of this file.
    pub(super) fn no_plain_file(name: String) -> KernelError {
        KernelError::Unreadable(name, io::Error::other("it is no plain file"))
    }
}
