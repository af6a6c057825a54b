//! Why a path is not opened.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why [`Root`](super::Root) does not open a path. The message says what to do.
#[derive(Debug)]
pub enum Refused {
    /// A link, where none is followed.
    Link(PathBuf),
    /// The path lies outside of the root, or a link leads there.
    Outside { path: PathBuf, root: PathBuf },
    /// A pipe, a device or a socket.
    NotPlain(PathBuf),
    /// The file has another name, under which written bytes would show too.
    SeveralNames(PathBuf),
    TooLarge {
        path: PathBuf,
        bytes: u64,
        limit: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Link(path) => {
                write!(
                    f,
                    "{} is a link, and lab follows no link there: remove it",
                    path.display()
                )
            }
            Refused::Outside { path, root } => {
                write!(
                    f,
                    "{} leads out of {}: put the file itself there",
                    path.display(),
                    root.display()
                )
            }
            Refused::NotPlain(path) => write!(f, "{} is no plain file: remove it", path.display()),
            Refused::SeveralNames(path) => write!(
                f,
                "{} is a hard link, so its bytes are those of another file too: replace it by a copy",
                path.display()
            ),
            Refused::TooLarge { path, bytes, limit } => {
                write!(
                    f,
                    "{} has {bytes} bytes: at most {limit} are read",
                    path.display()
                )
            }
        }
    }
}

impl Error for Refused {}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, refused)
    }
}

/// The refusal in an error of [`Root`](super::Root); `None` if the system reported the error.
pub fn refusal(error: &io::Error) -> Option<&Refused> {
    error.get_ref()?.downcast_ref()
}
