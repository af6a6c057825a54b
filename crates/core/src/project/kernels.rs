//! The kernels of a work tree, for people who choose one.

use super::sources_in;
use std::fs;
use std::path::Path;

/// Folders deeper than this below the root are not searched, nor more folders than this in all.
const DEPTH: usize = 8;
const FOLDERS: usize = 10_000;

/// Folders of tools and build outputs, which hold no kernels to work on.
const SKIPPED: [&str; 6] = ["target", "build", "node_modules", "__pycache__", "venv", "site-packages"];

/// The paths of the kernels below `root`, relative to it, sorted: each `kernel.cu`, and in a folder with a `problem.toml` the
/// other .cu files if there is no kernel.cu. Hidden folders, links and other git repositories are left out.
///
/// ```
/// use lab_core::project::kernels::kernels;
///
/// let root = tempfile::tempdir()?;
/// for folder in ["kernels/rmsnorm", "kernels/softmax", ".hidden"] {
///     std::fs::create_dir_all(root.path().join(folder))?;
///     std::fs::write(root.path().join(folder).join("kernel.cu"), "")?;
/// }
/// assert_eq!(kernels(root.path()), ["kernels/rmsnorm/kernel.cu", "kernels/softmax/kernel.cu"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn kernels(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    let mut searched = 0;
    while let Some((folder, depth)) = folders.pop() {
        searched += 1;
        if searched > FOLDERS {
            break;
        }
        let (mut has_kernel, mut has_problem) = (false, false);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            let Some(name) = name.to_str() else { continue };
            if kind.is_dir() {
                let is_searched = depth < DEPTH && !name.starts_with('.') && !SKIPPED.contains(&name);
                let path = entry.path();
                if is_searched && path.join(".git").symlink_metadata().is_err() {
                    folders.push((path, depth + 1));
                }
            } else if kind.is_file() {
                has_kernel |= name == "kernel.cu";
                has_problem |= name == "problem.toml";
            }
        }
        if has_kernel {
            found.push(folder.join("kernel.cu"));
        } else if has_problem {
            let is_file = |path: &std::path::PathBuf| path.symlink_metadata().is_ok_and(|m| m.is_file());
            found.extend(sources_in(&folder).into_iter().filter(is_file));
        }
    }
    let relative = |path: &std::path::PathBuf| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    let mut names: Vec<String> = found.iter().filter_map(relative).collect();
    names.sort();
    names
}

/// Most kernels that a message lists.
const LISTED: usize = 30;

/// The kernels below `root` as lines for a message, empty if there is none. A `kernel.cu` is shown by its folder, which a
/// command takes too.
pub(super) fn listed(root: &Path) -> String {
    let names = kernels(root);
    if names.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nThe kernels of this repository:");
    for name in names.iter().take(LISTED) {
        let shown = name.strip_suffix("/kernel.cu").unwrap_or(name);
        text += &format!("\n  {}", crate::text::shell::quote(shown));
    }
    if names.len() > LISTED {
        text += &format!("\n  … and {} more", names.len() - LISTED);
    }
    text + "\n`lab KERNEL` opens the screen on one; each kernel can have a screen of its own"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn kernels_are_found_and_everything_else_is_left_out() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for file in [
            "kernel.cu",
            "a/kernel.cu",
            "a/other.cu",
            "b/problem.toml",
            "b/fast.cu",
            "b/reference.cu",
            "c/loose.cu",
            "target/kernel.cu",
            ".lab/runs/1/kernel.cu",
            "clone/.git/HEAD",
            "clone/kernel.cu",
            "1/2/3/4/5/6/7/8/kernel.cu",
            "1/2/3/4/5/6/7/8/9/kernel.cu",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        fs::create_dir_all(root.join("d/kernel.cu")).unwrap();
        symlink("/", root.join("e")).unwrap();
        symlink("../a", root.join("c/again")).unwrap();
        fs::create_dir_all(root.join("f")).unwrap();
        symlink("../a/kernel.cu", root.join("f/kernel.cu")).unwrap();
        assert_eq!(kernels(root), ["1/2/3/4/5/6/7/8/kernel.cu", "a/kernel.cu", "b/fast.cu", "kernel.cu"]);
        assert!(listed(root).contains("\n  a\n  b/fast.cu\n  kernel.cu\n"), "{}", listed(root));
    }
}
