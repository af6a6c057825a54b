//! Finds NVRTC and CUDA's headers on this machine: by `CUDA_HOME`, in the usual folders, in the
//! loader's path, or in pip's wheels. It only looks at folders and runs no program.

use itertools::Itertools as _;
use lab_system::listing;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// NVRTC's library and the headers that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// Path of `libnvrtc.so.MAJOR`.
    pub library: PathBuf,
    /// The major version, such as 13.
    pub major: u32,
    /// Folders with headers.
    pub includes: Vec<PathBuf>,
    /// How it was found, such as `CUDA_HOME`.
    pub found_by: String,
}

impl Toolkit {
    /// Whether the toolkit has a header of this name. Without headers NVRTC builds only kernels
    /// that include none.
    pub fn has_header(&self, name: &str) -> bool {
        self.includes
            .iter()
            .any(|folder| folder.join(name).is_file())
    }
}

/// What the search depends on.
pub struct SearchEnvironment<'a> {
    /// Returns an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub current_dir: Option<PathBuf>,
    /// Parent of the usual folders: `/`, except in tests.
    pub root: PathBuf,
}

/// The major versions whose functions the lab can call.
const MAJORS: [u32; 2] = [13, 12];

/// A folder that may hold a toolkit, by its layout.
enum Candidate {
    /// A folder with `lib64` and `include`.
    Root(PathBuf),
    /// A `site-packages` with NVIDIA's wheels.
    Wheels(PathBuf),
}

/// Returns every toolkit, the preferred one first. A toolkit whose cubins the driver can load comes
/// before one that is too new for the driver, and a toolkit with headers before one without.
/// Otherwise the order is that of the search.
pub fn find(environment: &SearchEnvironment, driver_major: Option<u32>) -> Vec<Toolkit> {
    let mut found: Vec<Toolkit> = Vec::new();
    for (found_by, candidate) in candidates(environment) {
        for toolkit in MAJORS
            .into_iter()
            .filter_map(|major| toolkit_in(&candidate, major, &found_by))
        {
            if found.iter().all(|known| known.library != toolkit.library) {
                found.push(toolkit);
            }
        }
    }
    let too_new = |t: &Toolkit| driver_major.is_some_and(|driver| t.major > driver);
    found.sort_by_key(|t| (too_new(t), !t.has_header("cooperative_groups.h")));
    found
}

/// How a folder was found, and the folder.
type Found = (String, PathBuf);

fn candidates(environment: &SearchEnvironment) -> Vec<(String, Candidate)> {
    let variable = |name: &str| (environment.variable)(name).filter(|v| !v.is_empty());
    let named = |name: &str| Some((name.to_owned(), PathBuf::from(variable(name)?)));
    let by_path = |folder: PathBuf| (folder.display().to_string(), folder);
    // The folders around those of a search path.
    let around = |path: &str, found_by: &str, holds: &dyn Fn(&Path) -> bool| -> Vec<Found> {
        let path = variable(path).unwrap_or_default();
        let folders = std::env::split_paths(&path).filter(|folder| holds(folder));
        folders
            .filter_map(|folder| Some((found_by.to_owned(), folder.parent()?.to_owned())))
            .collect()
    };
    let usual = [
        "usr/local/cuda",
        "usr/local/cuda-13",
        "usr/local/cuda-12",
        "opt/cuda",
        "usr",
    ];
    let roots = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(named)
        .chain(around("PATH", "nvcc on PATH", &|f| {
            f.join("nvcc").is_file()
        }))
        // `…/lib64`, or `…/targets/x86_64-linux/lib`, whose parent has the layout of a root.
        .chain(around("LD_LIBRARY_PATH", "LD_LIBRARY_PATH", &|_| true))
        .chain(usual.map(|folder| by_path(environment.root.join(folder))));
    let above = environment.current_dir.iter().flat_map(|f| f.ancestors());
    let venvs = above.map(|f| f.join(".venv")).filter(|f| f.is_dir());
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".local"));
    let pythons = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(named)
        .chain(venvs.map(by_path))
        .chain(around("PATH", "python3 on PATH", &|f| {
            f.join("python3").exists()
        }))
        .chain(home.map(|home| ("~/.local".to_owned(), home)));
    let as_root = |(name, root)| (name, Candidate::Root(root));
    let of_python = pythons.flat_map(|(name, root)| {
        let wheels = site_packages(&root).into_iter();
        let wheels = wheels.map(|site| (name.clone(), Candidate::Wheels(site)));
        // Conda's own packages have the layout of a root.
        wheels.chain([as_root((name.clone(), root))]).collect_vec()
    });
    roots.map(as_root).chain(of_python).collect()
}

/// Returns `lib/python3.12/site-packages` and Debian's `lib/python3/dist-packages` of a Python
/// prefix.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = listing::entries(prefix.join("lib"))
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|name| entry.path().join(name)))
        .filter(|folder| folder.join("nvidia").is_dir())
        .collect();
    found.sort();
    found.reverse();
    found
}

/// Returns the toolkit of this major version in a folder.
fn toolkit_in(candidate: &Candidate, major: u32, found_by: &str) -> Option<Toolkit> {
    let (libraries, includes) = match candidate {
        Candidate::Root(root) => {
            let (arch, target) = match std::env::consts::ARCH {
                "aarch64" => ("aarch64", "sbsa-linux".to_owned()),
                other => (other, format!("{other}-linux")),
            };
            let target = root.join("targets").join(target);
            let multiarch = root.join("lib").join(format!("{arch}-linux-gnu"));
            (
                vec![
                    root.join("lib64"),
                    root.join("lib"),
                    target.join("lib"),
                    multiarch,
                ],
                vec![root.join("include"), target.join("include")],
            )
        }
        // From version 13 on the wheels share one folder. Before, each had its own.
        Candidate::Wheels(site) if major >= 13 => {
            let shared = site.join(format!("nvidia/cu{major}"));
            (vec![shared.join("lib")], vec![shared.join("include")])
        }
        Candidate::Wheels(site) => (
            vec![site.join("nvidia/cuda_nvrtc/lib")],
            ["cuda_runtime", "cuda_cccl", "cuda_nvcc"]
                .map(|wheel| site.join("nvidia").join(wheel).join("include"))
                .to_vec(),
        ),
    };
    let library = libraries
        .iter()
        .map(|folder| folder.join(format!("libnvrtc.so.{major}")))
        .find(|file| file.is_file())?;
    Some(Toolkit {
        library,
        major,
        includes: with_cccl(includes),
        found_by: found_by.to_owned(),
    })
}

/// Returns the folders that hold CUDA's headers, each followed by its `cccl`: toolkits of version
/// 13 keep headers there that `cuda_fp16.h` and `cooperative_groups.h` include.
fn with_cccl(includes: Vec<PathBuf>) -> Vec<PathBuf> {
    let marks = ["cooperative_groups.h", "nv/target", "crt"];
    includes
        .into_iter()
        .filter(|folder| marks.iter().any(|mark| folder.join(mark).exists()))
        .flat_map(|folder| [folder.clone(), folder.join("cccl")])
        .filter(|folder| folder.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Creates empty files in a temporary root.
    fn machine(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    /// Returns the libraries that are found, relative to the root, and how each was found.
    fn found(
        root: &tempfile::TempDir,
        variables: &[(&str, &str)],
        driver_major: Option<u32>,
    ) -> Vec<(String, String)> {
        let variable = |name: &str| {
            let (_, value) = variables.iter().find(|(n, _)| *n == name)?;
            Some(root.path().join(value).into_os_string())
        };
        let environment = SearchEnvironment {
            variable: &variable,
            current_dir: Some(root.path().join("home/me/project/src")),
            root: root.path().to_owned(),
        };
        let relative = |path: &Path| {
            path.strip_prefix(root.path())
                .unwrap()
                .display()
                .to_string()
        };
        find(&environment, driver_major)
            .iter()
            .map(|t| {
                (
                    relative(&t.library),
                    t.found_by.replace(&root.path().display().to_string(), ""),
                )
            })
            .collect()
    }

    fn pair(library: &str, found_by: &str) -> (String, String) {
        (library.to_owned(), found_by.to_owned())
    }

    #[test]
    fn nothing_is_found_on_a_machine_without_cuda() {
        assert_eq!(
            found(&machine(&["usr/lib/libc.so"]), &[("HOME", "home/me")], None),
            []
        );
    }

    #[test]
    fn cuda_home_goes_before_the_usual_folder() {
        let root = machine(&[
            "opt/mine/lib64/libnvrtc.so.12",
            "opt/mine/include/cooperative_groups.h",
            "usr/local/cuda/lib64/libnvrtc.so.13",
            "usr/local/cuda/include/cooperative_groups.h",
        ]);
        let mine = pair("opt/mine/lib64/libnvrtc.so.12", "CUDA_HOME");
        let usual = pair("usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda");
        assert_eq!(
            found(&root, &[("CUDA_HOME", "opt/mine")], None),
            [mine, usual]
        );
    }

    #[test]
    fn a_toolkit_that_is_too_new_for_the_driver_comes_last() {
        let root = machine(&[
            "usr/local/cuda/lib64/libnvrtc.so.13",
            "usr/local/cuda/include/cooperative_groups.h",
            "opt/cuda/lib64/libnvrtc.so.12",
            "opt/cuda/include/cooperative_groups.h",
        ]);
        assert_eq!(
            found(&root, &[], Some(12))[0].0,
            "opt/cuda/lib64/libnvrtc.so.12"
        );
        assert_eq!(
            found(&root, &[], Some(13))[0].0,
            "usr/local/cuda/lib64/libnvrtc.so.13"
        );
    }

    #[test]
    fn a_library_without_headers_comes_after_one_with_them() {
        let root = machine(&[
            "usr/local/cuda/lib64/libnvrtc.so.12",
            "home/me/project/.venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "home/me/project/.venv/lib/python3.12/site-packages/nvidia/cuda_runtime/include/cooperative_groups.h",
        ]);
        let first = &found(&root, &[], None)[0];
        assert_eq!(first.1, "/home/me/project/.venv");
    }

    #[test]
    fn wheels_of_both_layouts_are_found() {
        let root = machine(&[
            "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "venv/lib/python3.11/site-packages/nvidia/cu13/include/cooperative_groups.h",
            "venv/lib/python3.11/site-packages/nvidia/cu13/include/cccl/nv/target",
            "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "venv/lib/python3.11/site-packages/nvidia/cuda_cccl/include/nv/target",
            "venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cooperative_groups.h",
        ]);
        let variable =
            |name: &str| (name == "VIRTUAL_ENV").then(|| root.path().join("venv").into());
        let environment = SearchEnvironment {
            variable: &variable,
            current_dir: None,
            root: root.path().to_owned(),
        };
        let found = find(&environment, None);
        assert_eq!(found.iter().map(|t| t.major).collect::<Vec<_>>(), [13, 12]);
        assert!(
            found
                .iter()
                .all(|t| t.has_header("nv/target") && t.includes.len() == 2),
            "{found:?}"
        );
    }
}
