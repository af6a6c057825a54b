//! What libgit2 says of an object that it cannot read names neither the file nor a remedy.

use super::bounds::CUT_OFF;
use anyhow::Error;

/// How its messages about a lost or damaged object, or a damaged pack, are told from others.
const WORDS: [&str; 5] = [
    "; class=Odb ",
    "; class=Zlib ",
    "; class=Object ",
    "cannot be peeled",
    CUT_OFF,
];

/// The error and its causes in one line. For an object that git cannot read: which one, and what to
/// do.
pub fn told(error: &Error) -> String {
    let text = format!("{error:#}");
    if !WORDS.iter().any(|words| text.contains(words)) {
        return text;
    }
    let mut behind = ["for id (", "header for (", CUT_OFF].into_iter();
    let id = behind.find_map(|words| text.split_once(words)?.1.trim_start().get(..40));
    let (which, named) = match id {
        Some(id) => (format!("the object {id}"), id),
        None => ("an object".to_owned(), "ID"),
    };
    let said = text.split("; class=").next().unwrap_or(&text);
    format!(
        "git cannot read {which} in .git/objects: its file is lost or damaged, or this partial clone has not fetched it. \
         `git fsck` names such files. `git cat-file -e {named}` fetches an object into a partial clone; otherwise move a \
         damaged file away, then `git fetch --refetch` or copy the object from another clone ({said})"
    )
}
