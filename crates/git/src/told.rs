//! What users are told of git's failures: which part of the repository it could not read, and what to
//! do.

use super::bounds::CUT_OFF;
use anyhow::Error;

/// How its messages about a lost or damaged object, or a damaged pack, are told from others.
const WORDS: [&str; 6] = [
    "fatal: loose object ",
    "; class=Odb ",
    "; class=Zlib ",
    "; class=Object ",
    "cannot be peeled",
    CUT_OFF,
];

/// What is said of an index that cannot be read.
pub const DAMAGED_INDEX: &str = "git's index is damaged: remove .git/index, then `git reset` writes it anew, and the files on \
                                 disk stay";

/// What is said of a ref that names no commit.
pub const DAMAGED_REF: &str = "a ref of .git is damaged or leads nowhere: `git fsck` names it, .git/logs has the commits that it \
                               named, and `git update-ref REF COMMIT` (for HEAD: `git symbolic-ref HEAD refs/heads/BRANCH`, or \
                               the line `ref: refs/heads/BRANCH` in .git/HEAD) writes it anew";

/// What libgit2 calls the part of a repository that it cannot read, and what to do.
const REMEDIES: [(&str, &str); 3] = [
    ("Reference", DAMAGED_REF),
    ("Index", DAMAGED_INDEX),
    (
        "Config",
        "git's configuration is damaged: `git config --list --show-origin` names the file and the line",
    ),
];

/// The error and its causes in one line, without libgit2's name for the part of git that failed. For
/// an object that git cannot read: which one, and what to do.
pub fn told(error: &Error) -> String {
    let text = format!("{error:#}");
    if !WORDS.iter().any(|words| text.contains(words)) {
        let Some((said, class)) = text.split_once("; class=") else {
            return text;
        };
        let remedy = REMEDIES.iter().find(|(part, _)| class.starts_with(part));
        return remedy.map_or_else(|| said.to_owned(), |(_, what)| format!("{said}: {what}"));
    }
    let mut behind = ["for id (", "header for (", CUT_OFF, WORDS[0]].into_iter();
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
