//! A disk that is full, in words: what was not written, and what to do.

use anyhow::{Error, anyhow};

/// What the operating system calls it; libgit2 passes these words on, and no code.
const WORDS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// What libgit2 says of an object that it could not write a moment before, and said nothing.
const LATE: &str = "target OID for the reference doesn't exist";

/// `what` was not written. Where the disk is full that is all there is to say; any other error
/// stays as it is.
pub fn in_words(error: Error, what: &str) -> Error {
    let text = format!("{error:#}");
    if WORDS.iter().any(|words| text.contains(words)) {
        anyhow!("the disk is full, and {what}: make room on the disk, then try again")
    } else if text.contains(LATE) {
        anyhow!(
            "git did not write what it said it wrote, and {what}. Is the disk full? Make room on it, then try again"
        )
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_has_words_of_its_own_and_nothing_else_has() {
        let full = Error::new(std::io::Error::from_raw_os_error(28)).context("cannot write x");
        assert_eq!(
            in_words(full, "nothing was kept").to_string(),
            "the disk is full, and nothing was kept: make room on the disk, then try again"
        );
        let late =
            anyhow!("target OID for the reference doesn't exist on the repository; class=Reference (4)");
        assert!(in_words(late, "nothing was kept").to_string().contains("Is the disk full? Make room on it"));
        let other = anyhow!("no such thing").context("cannot write x");
        assert_eq!(format!("{:#}", in_words(other, "nothing was kept")), "cannot write x: no such thing");
    }
}
