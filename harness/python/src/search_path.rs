//! Where Python looks for packages.

use std::env;
use std::ffi::OsString;
use std::path::Path;

/// Which folders Python searches first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Those that the user names in PYTHONPATH.
    Users,
    /// The one with the package, so that no other package can take its name.
    Package,
}

/// The value of PYTHONPATH with which Python finds the package in `folder`, and what the user has named there.
pub fn search_path(folder: &Path, first: First) -> OsString {
    join(folder, first, env::var_os("PYTHONPATH").unwrap_or_default())
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
}
