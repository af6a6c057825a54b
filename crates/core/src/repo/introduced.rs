//! Which commit brought a file's present content.

use super::blob_in;
use git2::Oid;

/// The oldest commit since which `name` has held this blob, along first parents from `head`. It
/// looks at 10,000 commits.
pub(super) fn introduced(head: git2::Commit, name: &str, blob: Oid) -> Oid {
    const FAR: usize = 10_000;
    let mut holder = head;
    for _ in 0..FAR {
        match holder.parent(0) {
            Ok(parent) if blob_in(&parent, name).is_some_and(|(id, _)| id == blob) => {
                holder = parent;
            }
            _ => break,
        }
    }
    holder.id()
}
