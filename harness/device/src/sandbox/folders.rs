//! Which folders belong to the system, to a compiler, and to the sources that a kernel may include.

use super::FileAccess;
use lab_system::listing;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folders of libraries that the loader searches.
const LIBRARIES: &str = "\
    /lib /lib32 /lib64 /usr/lib /usr/lib32 /usr/lib64 /usr/local/lib /usr/local/lib64 /nix/store \
    /gnu/store /etc/ld.so.cache";

/// Folders of programs, headers and libraries that belong to the system, and files that the linker
/// reads.
const SYSTEM: &str = "\
    /bin /sbin /lib /lib32 /lib64 /libx32 /usr/bin /usr/include /usr/lib /usr/lib32 /usr/lib64 \
    /usr/libexec /usr/local /usr/share /nix/store /gnu/store /usr/x86_64-linux-gnu \
    /usr/aarch64-linux-gnu /etc/alternatives /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d";

/// Files and folders in which the loader finds a module's libraries, for a process with these files
/// of its own.
pub fn library_folders(own: &FileAccess) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = LIBRARIES.split(' ').map(PathBuf::from).collect();
    folders.extend(loader_path(own));
    // The library of a compiler that is not the system's lies beside it.
    let compiler = std::env::var_os("CXX").filter(|name| !name.is_empty());
    let names = compiler.map_or_else(|| vec!["g++".into(), "clang++".into()], |name| vec![name]);
    folders.extend(
        names
            .iter()
            .filter_map(|name| find(name))
            .filter_map(|program| prefix(&program))
            .flat_map(|prefix| ["lib", "lib64"].map(|name| prefix.join(name))),
    );
    folders
}

/// Files and folders that every compiler may read, and start programs from. `own` are the files of
/// this one alone.
pub fn system_folders(own: &FileAccess) -> Vec<PathBuf> {
    let system = SYSTEM.split(' ').map(PathBuf::from);
    system.chain(loader_path(own)).collect()
}

/// The folders of the toolchain to which a program belongs: those beside its own folder, as in
/// `PREFIX/bin/g++`. Never the prefix itself, which may be a home folder. Empty for a program of
/// the system, or one that is not found.
pub fn toolchain_folders(program: &OsStr) -> Vec<PathBuf> {
    let Some(program) = find(program) else {
        return Vec::new();
    };
    let Some(prefix) = prefix(&program) else {
        return program.parent().map(Path::to_owned).into_iter().collect();
    };
    let targets = listing::entries(&prefix).map(|entry| entry.path());
    let targets = targets.filter(|path| {
        path.file_name()
            .is_some_and(|n| n.to_string_lossy().contains("-linux-"))
    });
    let usual =
        ["bin", "lib", "lib64", "libexec", "include", "share"].map(|name| prefix.join(name));
    usual
        .into_iter()
        .filter(|folder| folder.is_dir())
        .chain(targets)
        .collect()
}

/// What of a folder of sources may be read: the folder, or all that is in it but `.git` and the
/// lab's records, where it holds these.
pub fn include_entries(folder: &Path) -> Vec<PathBuf> {
    let hidden = [".git", ".lab"];
    if !hidden
        .iter()
        .any(|name| folder.join(name).symlink_metadata().is_ok())
    {
        return vec![folder.to_owned()];
    }
    let entries = listing::entries(folder);
    let shown = entries.filter(|entry| !hidden.iter().any(|name| entry.file_name() == *name));
    // A link does not make readable what it leads to.
    shown
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|e| e.path())
        .collect()
}

/// The device files of NVIDIA's driver, and the plain ones that every program may open.
pub fn gpu_devices() -> Vec<PathBuf> {
    let is_gpus = |name: &OsStr| name.to_string_lossy().starts_with("nvidia") || name == "dri";
    let entries = listing::entries("/dev");
    let found = entries
        .filter(|entry| is_gpus(&entry.file_name()))
        .map(|entry| entry.path());
    found
        .chain(["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"].map(PathBuf::from))
        .collect()
}

/// The folders of `LD_LIBRARY_PATH`.
fn loader_path(own: &FileAccess) -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let apart: Vec<&PathBuf> = own.read.iter().chain(&own.write).chain(&home).collect();
    searched(&path, &apart)
}

/// The folders of a search path, without those that hold one of the paths `apart`: beside a
/// process's own folder lie those of others, as the copies of a reference lie beside those of a
/// kernel. An own folder itself is granted without the path.
fn searched(path: &OsStr, apart: &[&PathBuf]) -> Vec<PathBuf> {
    let holds_one = |folder: &PathBuf| apart.iter().any(|path| path.starts_with(folder));
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute() && !holds_one(folder))
        .collect()
}

/// The real path of a program, as the shell finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    which::which(program).ok()?.canonicalize().ok()
}

/// `PREFIX` of `PREFIX/bin/g++`. `None` where the program lies in no `bin`, or the prefix is the
/// system's.
fn prefix(program: &Path) -> Option<PathBuf> {
    let bin = program.parent().filter(|folder| folder.ends_with("bin"))?;
    let prefix = bin.parent()?;
    (prefix != Path::new("/") && prefix != Path::new("/usr")).then(|| prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_path_gives_no_folder_that_holds_an_own_one() {
        let apart = ["/home/me", "/build/cache/lab/worker-1"].map(PathBuf::from);
        let searched = |path: &str| searched(path.as_ref(), &apart.iter().collect::<Vec<_>>());
        assert!(searched("/:/home:/home/me:/build:/build/cache:lib:").is_empty());
        let others = ["/usr/local/cuda/lib64", "/home/me/lib", "/build/cachet"];
        assert_eq!(searched(&others.join(":")), others.map(PathBuf::from));
    }
}
