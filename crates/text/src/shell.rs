//! Words for a POSIX shell.

use shlex::Quoter;

/// The word as a shell reads it back: quoted where it has to be.
///
/// ```
/// use lab_text::shell::quote;
/// assert_eq!(quote("sub/harness.py"), "sub/harness.py");
/// assert_eq!(quote("my harness.py"), "'my harness.py'");
/// ```
pub fn quote(word: &str) -> String {
    // Only a NUL byte cannot be quoted, and the caller's words are paths, which hold none.
    Quoter::new()
        .allow_nul(true)
        .quote(word)
        .map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quoted_word_is_read_back_as_one_word(word in "[^\0]{0,20}") {
            prop_assert_eq!(shlex::split(&quote(&word)), Some(vec![word]));
        }
    }

    #[test]
    fn a_shell_reads_the_same_word() {
        for word in [
            "it's here.py",
            "a $b `c` \"d\"",
            "-",
            "",
            "*",
            "line\nline",
            "!x",
            "~",
            "#x",
            "ü",
        ] {
            let line = format!("printf '%s|' {}", quote(word));
            let said = std::process::Command::new("sh")
                .arg("-c")
                .arg(line)
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{word}|"));
        }
    }
}
