//! Which kernel a command means that names a folder, or none.

use super::kernel_file::{self, NAMES, sources_in};
use super::kernels::KernelList;
use super::{canonical, kernels, work_tree};
use anyhow::{Context, Result, anyhow, bail};
use itertools::Itertools;
use std::path::{Path, PathBuf};

/// The kernel of a folder. `named` is the one that lab.toml names; `shown` is the folder's path in
/// messages. Where the folder holds no kernel, the one that HEAD holds there is meant, else a
/// kernel.cu that is not there yet.
pub(super) fn of_folder(
    folder: &Path,
    shown: &Path,
    root: &Path,
    named: Option<&Path>,
) -> Result<PathBuf> {
    match kernel_file::in_folder(folder) {
        Ok(Some(only)) => Ok(only),
        Err(both) => {
            let is_named = |file: &PathBuf| {
                named.is_some_and(|named| {
                    canonical(named).is_ok_and(|n| canonical(file).is_ok_and(|f| f == n))
                })
            };
            let of_config = both.into_iter().find(is_named);
            of_config.with_context(|| kernel_file::both(shown))
        }
        Ok(None) => {
            let [cuda, python] = NAMES.map(|name| folder.join(name));
            let held = |file: &Path| {
                let file = canonical(file).ok();
                file.as_deref()
                    .and_then(|file| file.strip_prefix(root).ok())
                    .is_some_and(|f| work_tree::head_holds(root, f))
            };
            Ok(if !held(&cuda) && held(&python) {
                python
            } else {
                cuda
            })
        }
    }
}

/// The kernel of a command that names none.
pub(super) enum Meant {
    /// The current folder or its lab.toml means it.
    Here(PathBuf),
    /// It is the only one of the work tree, with settings of its own perhaps.
    Only(PathBuf),
}

/// The kernel of a command that names none: that of the current folder, if the folder lies below
/// lab.toml's and has a kernel of its own; else the one that lab.toml names; else the only one that
/// is found.
pub(super) fn default_kernel(
    from: &Path,
    home: &Path,
    root: &Path,
    named: Option<PathBuf>,
    has_harness: bool,
) -> Result<Meant> {
    let own = || {
        NAMES
            .iter()
            .chain(&["problem.toml"])
            .any(|name| from.join(name).symlink_metadata().is_ok())
    };
    match named {
        Some(named) if from != home && own() => {
            of_folder(from, Path::new(""), root, Some(&named)).map(Meant::Here)
        }
        Some(named) => Ok(Meant::Here(named)),
        None => only_kernel(from, home, root, has_harness),
    }
}

/// The kernel that nobody named: kernel.cu or kernel.py here or beside lab.toml, or the only .cu
/// file here, or the only kernel of the work tree. Where the work tree has other kernels, a .cu file
/// that nothing judges is not meant: it may be one that `lab export` wrote.
fn only_kernel(from: &Path, home: &Path, root: &Path, has_harness: bool) -> Result<Meant> {
    for folder in [from, home] {
        let shown = if folder == from {
            Path::new("")
        } else {
            folder
        };
        let found = kernel_file::in_folder(folder);
        if let Some(only) = found.map_err(|_| anyhow!(kernel_file::both(shown)))? {
            return Ok(Meant::Here(only));
        }
    }
    let mut kernels = sources_in(from);
    let is_judged = has_harness || from.join("problem.toml").symlink_metadata().is_ok();
    let listed = match kernels.is_empty() || !is_judged {
        true => KernelList::of(root, from).find(),
        false => Vec::new(),
    };
    if !is_judged && !listed.is_empty() {
        kernels.clear();
    }
    match (kernels.as_slice(), listed.as_slice()) {
        ([only], _) => Ok(Meant::Here(only.clone())),
        ([], [only]) => Ok(Meant::Only(root.join(only))),
        ([], _) => bail!(
            "no kernel.cu and no kernel.py in {}: name one in the command (`path/to/kernel.cu`), or write `kernel = \"…\"` into \
             lab.toml{}",
            from.display(),
            kernels::listed(root, from, &listed)
        ),
        (several, _) => {
            let names = several
                .iter()
                .filter_map(|p| p.file_name())
                .map(|n| n.to_string_lossy())
                .join(", ");
            bail!(
                "{} .cu files in {} ({names}): name one, or write `kernel = \"…\"` into lab.toml",
                several.len(),
                from.display()
            )
        }
    }
}
