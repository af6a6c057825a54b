//! The files that a repository's own configuration names, and that git opens without a look.

use crate::root::read_anywhere;
use anyhow::{Result, ensure};
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most bytes of a file that git reads whole.
pub const LARGEST: u64 = 16 << 20;

/// Keys whose value is a file that git reads: `include.path`, `core.attributesFile` and
/// `core.excludesFile`. In lower case; those of other sections do no harm.
const KEYS: [&[u8]; 3] = [b"path", b"attributesfile", b"excludesfile"];

/// Most files that are named together.
const FILES: usize = 1_000;

/// Most bytes of a name.
const NAME: usize = 4_096;

/// The files that these configurations name, and those that the files among them include. `root` is
/// the work tree.
pub fn files(root: &Path, configurations: impl Iterator<Item = PathBuf>) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = configurations.collect();
    let own = found.len();
    let mut next = 0;
    while let Some(file) = found.get(next) {
        ensure!(
            found.len() <= FILES,
            "git's configuration names more than {FILES} files: take `path`, `attributesFile` and `excludesFile` out of it"
        );
        let text = read_anywhere(file, LARGEST).unwrap_or_default();
        let folder = file.parent().unwrap_or(root).to_owned();
        for value in values(&text) {
            let named = |from: &Path| from.join(OsStr::from_bytes(&value));
            let below_home = value.strip_prefix(b"~/");
            let home = below_home.and_then(|rest| Some((env::home_dir()?, rest)));
            let places = match home {
                Some((home, rest)) => vec![home.join(OsStr::from_bytes(rest))],
                None => vec![named(&folder), named(root)],
            };
            for place in places {
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        next += 1;
    }
    Ok(found.split_off(own))
}

/// The values of these keys in the text of a configuration.
fn values(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'=') {
        let before = text[..at].trim_ascii_end();
        let is_key = |key: &&[u8]| {
            let Some(start) = before.len().checked_sub(key.len()) else {
                return false;
            };
            let is_apart = start == 0 || !before[start - 1].is_ascii_alphanumeric();
            is_apart && before[start..].eq_ignore_ascii_case(key)
        };
        if KEYS.iter().any(is_key) && found.len() <= FILES {
            found.push(value(&text[at + 1..]));
        }
    }
    found
}

/// A value without its quotes and escapes, to the end of its line or to a comment.
fn value(text: &[u8]) -> Vec<u8> {
    let (mut value, mut is_quoted) = (Vec::new(), false);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next().filter(|_| value.len() < NAME) {
        match byte {
            b'\n' => break,
            b'#' | b';' if !is_quoted => break,
            b'"' => is_quoted = !is_quoted,
            b'\r' => {}
            b'\\' => match bytes.next() {
                // The line goes on.
                Some(b'\n') | None => {}
                Some(b'\r') => drop(bytes.next()),
                Some(b'n') => value.push(b'\n'),
                Some(b't') => value.push(b'\t'),
                Some(b'b') => value.push(8),
                Some(byte) => value.push(*byte),
            },
            byte => value.push(*byte),
        }
    }
    value.trim_ascii().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_name_is_read() {
        let text = b"[include]\n path = plain # a comment\n[includeIf \"gitdir:a=b\"] PATH=\"with a # sign\"\n\
                     [core]\n attributesFile = cut\\\n off\n\texcludesfile=\"q\\\"u\\\\o\"te\r\n[x]\n mypath = other\n path";
        let found: Vec<String> = values(text)
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        assert_eq!(found, ["plain", "with a # sign", "cut off", "q\"u\\ote"]);
    }
}
