//! The user's names of the files in a report. A report names the folder in which the image was
//! built: a copy of the kernel in the cache folder, perhaps of an earlier run, because a cached
//! image does not depend on the folder.

use lab_protocol::JudgeRequest;
use std::path::{Component, Path, PathBuf};

/// Headers of the lab that are in no folder of the user.
const EMBEDDED: [&str; 2] = ["lab.h", "lab_problem.h"];

/// Returns the path that the user knows: relative to the repository where the file is in it.
pub fn shown(file: &str, options: &JudgeRequest) -> String {
    let path = Path::new(file);
    let name = path.file_name().unwrap_or_default();
    if name == options.language().kernel_name() {
        return options.shown_as();
    }
    let is_embedded = EMBEDDED.iter().any(|header| name == *header);
    let parts: Vec<Component> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    let own_folder = options.shown_as.as_ref().map(|shown| {
        Path::new(shown)
            .parent()
            .unwrap_or(Path::new(""))
            .to_owned()
    });
    let suffixes = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
    for suffix in suffixes {
        if options
            .roots
            .iter()
            .any(|root| root.join(&suffix).is_file())
        {
            return suffix.display().to_string();
        }
        let folders = [
            options.kernel().parent().map(Path::to_owned),
            Some(options.folder.clone()),
        ];
        if folders
            .into_iter()
            .flatten()
            .any(|folder| folder.join(&suffix).is_file())
        {
            return own_folder
                .unwrap_or_default()
                .join(&suffix)
                .display()
                .to_string();
        }
    }
    if is_embedded {
        name.to_string_lossy().into_owned()
    } else {
        file.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_of_copies_become_those_of_the_repository() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "kernels/a/kernel.cu",
            "kernels/a/tiles.cuh",
            "shared/math.cuh",
        ] {
            std::fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
            std::fs::write(root.path().join(file), "").unwrap();
        }
        let mut options = JudgeRequest::new(root.path().join("kernels/a"));
        options.shown_as = Some("kernels/a/kernel.cu".into());
        options.roots = vec![root.path().to_owned()];
        for (reported, expected) in [
            (
                "/home/user/.cache/lab/snapshots/.tmpZ/files/kernel.cu",
                "kernels/a/kernel.cu",
            ),
            (
                "/home/user/.cache/lab/snapshots/.tmpZ/files/tiles.cuh",
                "kernels/a/tiles.cuh",
            ),
            ("/old/copy/shared/math.cuh", "shared/math.cuh"),
            ("/tmp/built/lab.h", "lab.h"),
            (
                "/usr/local/cuda/include/cuda_fp16.hpp",
                "/usr/local/cuda/include/cuda_fp16.hpp",
            ),
        ] {
            assert_eq!(shown(reported, &options), expected, "{reported}");
        }
    }
}
