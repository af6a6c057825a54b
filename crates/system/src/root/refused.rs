//! Why a path is not opened.

use std::io;
use std::path::PathBuf;

/// Why [`Root`](super::Root) does not open a path. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A link, where none is followed.
    #[error("{} is a link, and lab follows no link there: remove it", .0.display())]
    Link(PathBuf),
    /// The path lies outside of the root, or a link leads there.
    #[error("{} leads out of {}: put the file itself there", .path.display(), .root.display())]
    Outside { path: PathBuf, root: PathBuf },
    /// A pipe, a device or a socket.
    #[error("{} is no plain file: remove it", .0.display())]
    NotPlain(PathBuf),
    /// The file has another name, under which written bytes would show too.
    #[error(
        "{} is a hard link, so its bytes are those of another file too: replace it by a copy",
        .0.display()
    )]
    SeveralNames(PathBuf),
    #[error("{} has {bytes} bytes: at most {limit} are read", .path.display())]
    TooLarge {
        path: PathBuf,
        bytes: u64,
        limit: u64,
    },
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, refused)
    }
}

/// The refusal in an error of [`Root`](super::Root); `None` if the system reported the error.
pub fn refusal(error: &io::Error) -> Option<&Refused> {
    error.get_ref()?.downcast_ref()
}
