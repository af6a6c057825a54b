//! Words for a POSIX shell.

/// The word as a shell reads it back: quoted where it has to be.
///
/// ```
/// use lab_text::shell::quote;
/// assert_eq!(quote("sub/harness.py"), "sub/harness.py");
/// assert_eq!(quote("my harness.py"), "'my harness.py'");
/// ```
pub fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-./:@_".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The words that a shell reads in the quoted `words`.
    fn read_by_a_shell(words: &[impl AsRef<str>]) -> Vec<String> {
        let quoted: Vec<String> = words.iter().map(|word| quote(word.as_ref())).collect();
        let said = std::process::Command::new("sh")
            .args(["-c", &format!("printf '%s\\0' {}", quoted.join(" "))])
            .output()
            .expect("a shell");
        let said = String::from_utf8(said.stdout).expect("the words as they were");
        let words = said.strip_suffix('\0').unwrap_or(&said).split('\0');
        words.map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_shell_reads_each_quoted_word_as_one(
            words in prop::collection::vec("[^\0]{0,20}", 1..20),
        ) {
            prop_assert_eq!(read_by_a_shell(&words), words);
        }
    }

    #[test]
    fn a_shell_reads_the_same_word() {
        let words = [
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
        ];
        assert_eq!(read_by_a_shell(&words), words);
    }
}
