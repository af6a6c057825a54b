//! A message for a disk that is full or may not be written: what was not done, and what to do.

use anyhow::{Error, anyhow};

/// The operating system's messages for a full disk. libgit2 passes on these words and no error
/// code.
const WORDS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// libgit2's message for an object that it failed to write a moment before without reporting an
/// error, and for one that is lost or damaged.
const LATE: &str = "target OID for the reference doesn't exist";

/// libgit2's message where it failed to write an object and noted no reason. That was seen on full
/// disks only.
pub const SILENT: &str = "no error";

/// The operating system's message for a file that would be larger than the process may write.
const TOO_LARGE: &str = "File too large";

/// The operating system's message for a file system that is mounted read-only.
const READ_ONLY: &str = "Read-only file system";

/// The operating system's message for files of another user, or without the right to write.
const DENIED: &str = "Permission denied";

/// How the message about missing rights begins.
const NOT_ALLOWED: &str = "you may not write there";

/// Whether these words, of a library or of another program, say that a disk is full.
pub fn is_full(text: &str) -> bool {
    WORDS.iter().any(|words| text.contains(words))
}

/// Replaces an error of a full disk by a message that says so, adds what to do to one of a disk
/// that may not be written, and returns any other error unchanged. `what` is what did not happen:
/// "nothing was kept".
pub fn explain(error: Error, what: &str) -> Error {
    let text = format!("{error:#}");
    if text.contains(NOT_ALLOWED) {
        // An inner step explained it.
        error
    } else if is_full(&text) {
        anyhow!("the disk is full, and {what}: make room on the disk, then try again")
    } else if text.contains(TOO_LARGE) {
        anyhow!(
            "a file would be larger than this process may write (`ulimit -f`), and {what}: raise the limit, then try again ({text})"
        )
    } else if text.contains(LATE) {
        anyhow!(
            "git reported an object that it did not write, or one is lost, and {what}. Is the disk full? Make room on it, then try \
             again. If it is not, `git fsck` names lost objects"
        )
    } else if text == SILENT || text.ends_with(&format!(": {SILENT}")) {
        anyhow!(
            "git could not write and gave no reason, and {what}. Is the disk full? Make room on it, then try again"
        )
    } else if text.contains(READ_ONLY) {
        anyhow!(
            "the file system is read-only, and {what}: make it writable (`mount -o remount,rw`), or work in a clone \
             elsewhere ({text})"
        )
    } else if text.contains(DENIED) {
        not_allowed(&text, what)
    } else {
        error
    }
}

/// The message for files that this user may not write; `text` is the error.
pub fn not_allowed(text: &str, what: &str) -> Error {
    anyhow!(
        "{NOT_ALLOWED}, and {what}: make the files writable if they are yours (`chmod -R u+w FOLDER`), or work in a copy of \
         your own (`cp -R`) if another user owns them ({text})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_full_or_read_only_says_what_to_do_and_other_errors_stay() {
        let full = Error::new(std::io::Error::from_raw_os_error(28)).context("cannot write x");
        assert_eq!(
            explain(full, "nothing was kept").to_string(),
            "the disk is full, and nothing was kept: make room on the disk, then try again"
        );
        let late = anyhow!(
            "target OID for the reference doesn't exist on the repository; class=Reference (4)"
        );
        assert!(
            explain(late, "nothing was kept")
                .to_string()
                .contains("Is the disk full? Make room on it")
        );
        let silent = explain(
            anyhow!("no error").context("cannot write x"),
            "nothing was kept",
        )
        .to_string();
        assert!(
            silent.contains("gave no reason, and nothing was kept. Is the disk full?"),
            "{silent}"
        );
        for (code, said) in [
            (
                30,
                "the file system is read-only, and nothing was kept: make it writable",
            ),
            (
                13,
                "you may not write there, and nothing was kept: make the files writable if they are yours",
            ),
        ] {
            let error =
                Error::new(std::io::Error::from_raw_os_error(code)).context("cannot write x");
            let text = explain(error, "nothing was kept").to_string();
            assert!(
                text.contains(said) && text.contains("(cannot write x: "),
                "{text}"
            );
        }
        let other = anyhow!("no such thing").context("cannot write x");
        assert_eq!(
            format!("{:#}", explain(other, "nothing was kept")),
            "cannot write x: no such thing"
        );
    }
}
