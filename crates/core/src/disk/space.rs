//! A message for a full disk: what was not written, and what to do.

use anyhow::{Error, anyhow};

/// The operating system's messages for a full disk. libgit2 passes on these words and no error code.
const WORDS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// libgit2's message for an object that it failed to write a moment before without reporting an error.
const LATE: &str = "target OID for the reference doesn't exist";

/// Replaces an error of a full disk by a message that says so; returns any other error unchanged. `what` is what did not
/// happen: "nothing was kept".
pub fn explain(error: Error, what: &str) -> Error {
    let text = format!("{error:#}");
    if WORDS.iter().any(|words| text.contains(words)) {
        anyhow!("the disk is full, and {what}: make room on the disk, then try again")
    } else if text.contains(LATE) {
        anyhow!(
            "git reported an object that it did not write, and {what}. Is the disk full? Make room on it, then try again"
        )
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_disk_has_a_message_of_its_own() {
        let full = Error::new(std::io::Error::from_raw_os_error(28)).context("cannot write x");
        assert_eq!(
            explain(full, "nothing was kept").to_string(),
            "the disk is full, and nothing was kept: make room on the disk, then try again"
        );
        let late =
            anyhow!("target OID for the reference doesn't exist on the repository; class=Reference (4)");
        assert!(explain(late, "nothing was kept").to_string().contains("Is the disk full? Make room on it"));
        let other = anyhow!("no such thing").context("cannot write x");
        assert_eq!(format!("{:#}", explain(other, "nothing was kept")), "cannot write x: no such thing");
    }
}
