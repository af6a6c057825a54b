//! Finds the programs of the CUDA toolkit.

use std::path::PathBuf;

/// The program of this name: on the path, in these folders of the toolkit that `CUDA_HOME` or
/// `CUDA_PATH` names or that is in a usual place, or in one of `others`.
pub fn find(name: &str, inside: &[&str], others: Vec<PathBuf>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let homes = named.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]);
    let of_homes = homes.flat_map(|home| inside.iter().map(move |folder| home.join(folder)));
    std::env::split_paths(&path)
        .chain(of_homes)
        .chain(others)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
