//! Where Python looks for packages.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Which folders Python searches first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Those that the user names in PYTHONPATH.
    Users,
    /// The one with the package, so that no other package can take its name.
    Package,
}

/// The value of PYTHONPATH with which Python finds the package in `folder`, and what the user has
/// named there.
pub fn search_path(folder: &Path, first: First) -> OsString {
    join(folder, first, env::var_os("PYTHONPATH").unwrap_or_default())
}

/// The same for a worker: the package in `folder` first, then `modules`, folders with modules of
/// the user's sources, then what the user has named. A folder with a colon in its path cannot be
/// named there and is left out.
pub fn search_path_with(folder: &Path, modules: &[PathBuf]) -> OsString {
    let users = env::var_os("PYTHONPATH").filter(|users| !users.is_empty());
    with_modules(folder, modules, users)
}

/// The folders that [`search_path_with`] names after the package: for a worker that has the package
/// already.
pub fn module_path(modules: &[PathBuf]) -> OsString {
    all_modules(
        modules,
        env::var_os("PYTHONPATH").filter(|users| !users.is_empty()),
    )
}

fn with_modules(folder: &Path, modules: &[PathBuf], users: Option<OsString>) -> OsString {
    join(folder, First::Package, all_modules(modules, users))
}

fn all_modules(modules: &[PathBuf], users: Option<OsString>) -> OsString {
    let can_stand = |folder: &&PathBuf| !folder.as_os_str().as_encoded_bytes().contains(&b':');
    let modules = modules
        .iter()
        .filter(can_stand)
        .map(|folder| folder.as_os_str().to_owned());
    let all: Vec<OsString> = modules.chain(users).collect();
    all.join(OsStr::new(":"))
}

fn join(folder: &Path, first: First, users: OsString) -> OsString {
    let package = folder.as_os_str().to_owned();
    if users.is_empty() {
        return package;
    }
    let (mut path, last) = match first {
        First::Users => (users, package),
        First::Package => (package, users),
    };
    path.push(":");
    path.push(last);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_folders_stay() {
        let path = |first, users: &str| join(Path::new("/package"), first, users.into());
        assert_eq!(path(First::Users, "/a:/b"), "/a:/b:/package");
        assert_eq!(path(First::Package, "/a:/b"), "/package:/a:/b");
        assert_eq!(path(First::Package, ""), "/package");
    }

    #[test]
    fn modules_of_the_sources_come_between_the_package_and_the_users_folders() {
        let path = |modules: &[&str], users: Option<&str>| {
            let modules: Vec<PathBuf> = modules.iter().map(PathBuf::from).collect();
            with_modules(Path::new("/package"), &modules, users.map(OsString::from))
        };
        assert_eq!(
            path(&["/k", "/a:b", "/repo"], Some("/u")),
            "/package:/k:/repo:/u"
        );
        assert_eq!(path(&["/k"], None), "/package:/k");
        assert_eq!(path(&[], None), "/package");
    }
}
