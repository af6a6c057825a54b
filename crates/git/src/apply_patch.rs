//! Applies a patch to the files of HEAD, in memory.

use super::{Repo, bounds, head_commit};
use anyhow::{Context, Result, anyhow};
use git2::{Delta, Diff, Patch};
use std::path::Path;

/// What a patch makes of the kernel in HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The kernel's bytes, as git holds them.
    pub kernel: Vec<u8>,
    /// The other paths that the patch changes.
    pub others: Vec<String>,
}

/// Applies a patch to the kernel in HEAD. Its parts may lie on other lines than the patch says, as
/// they do after a patch before it was kept. The error says why the patch does not apply.
pub fn apply_patch(repo: &Repo, patch: &[u8]) -> Result<Patched> {
    let git = &repo.git;
    let head = head_commit(git)?.context("HEAD is on no commit")?;
    let plain = |error: git2::Error| anyhow!("{}", error.message());
    let diff = Diff::from_buffer(&with_headers(patch)).map_err(plain)?;
    let name = &repo.project.kernel_name;
    let kernel = Path::new(name);
    let paths = diff
        .deltas()
        .filter_map(|delta| delta.new_file().path().map(Path::to_owned));
    let (own, others): (Vec<_>, Vec<_>) = paths.partition(|path| path == kernel);
    if own.is_empty() {
        return Err(anyhow!("it does not change {name}"));
    }
    let at = diff
        .deltas()
        .position(|delta| delta.new_file().path() == Some(kernel))
        .unwrap_or_default();
    let entry = bounds::entry(git, head.tree_id(), kernel)?;
    let entry = entry.with_context(|| format!("HEAD lacks {name}"))?;
    let held = bounds::blob(git, entry.id())?;
    if diff
        .get_delta(at)
        .is_some_and(|delta| delta.status() == Delta::Deleted)
    {
        return Err(anyhow!("it removes {name}"));
    }
    let own_part = Patch::from_diff(&diff, at).map_err(plain)?;
    let own_part = own_part
        .context("it changes the kernel as a binary file")?
        .to_buf()
        .map_err(plain)?;
    let hunks = diffy::Patch::from_bytes(&own_part)?;
    let kernel = diffy::apply_bytes(held.content(), &hunks)
        .map_err(|error| anyhow!("{error}: the lines that it changes are not in HEAD's {name}"))?;
    Ok(Patched {
        kernel,
        others: others
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    })
}

/// The patch with a line `diff --git` before each file, which libgit2 needs and `diff -u` does not
/// write.
fn with_headers(patch: &[u8]) -> Vec<u8> {
    const HEADER: &[u8] = b"diff --git ";
    let lines: Vec<&[u8]> = patch.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.iter().any(|line| line.starts_with(HEADER)) {
        return patch.to_vec();
    }
    let mut whole = Vec::with_capacity(patch.len());
    for (at, line) in lines.iter().enumerate() {
        let new = lines
            .get(at + 1)
            .and_then(|next| next.strip_prefix(b"+++ b/"));
        if let (Some(_), Some(new)) = (line.strip_prefix(b"--- "), new) {
            // A time may follow the path after a tab.
            let path = new
                .split(|byte| b"\t\r\n".contains(byte))
                .next()
                .unwrap_or_default();
            whole.extend([HEADER, b"a/", path, b" b/", path, b"\n"].concat());
        }
        whole.extend_from_slice(line);
    }
    whole
}
