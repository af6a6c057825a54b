//! The files of git's settings that the environment names, as git(1) documents: `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` and
//! `GIT_CONFIG_NOSYSTEM`. libgit2 reads these only together with `GIT_DIR` and `GIT_INDEX_FILE`, which mean another repository
//! than the one that the lab works in where a hook starts it.

use anyhow::{Result, anyhow};
use git2::{Config, ConfigLevel, Repository};
use std::ffi::OsString;
use std::path::Path;

/// Lets a repository that was just opened read those files instead of the usual ones.
pub(super) fn apply(git: &Repository) -> Result<()> {
    for (level, file) in named(&|name| std::env::var_os(name)) {
        let file = Path::new(&file);
        let add = || git.config()?.add_file(file, level, true);
        add().map_err(|error| {
            let (file, why) = (file.display(), error.message());
            anyhow!("cannot read {file}, which the environment names for git: {why}")
        })?;
    }
    Ok(())
}

/// The levels that the environment gives another file, with that file. One file stands for `~/.gitconfig` and for git's file in
/// the folder of XDG.
fn named(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<(ConfigLevel, OsString)> {
    let is_true = |value: &OsString| value.to_str().is_some_and(|v| Config::parse_bool(v).unwrap_or(false));
    let system = match variable("GIT_CONFIG_NOSYSTEM").filter(is_true) {
        Some(_) => Some(NOTHING.into()),
        None => variable("GIT_CONFIG_SYSTEM"),
    };
    let global = variable("GIT_CONFIG_GLOBAL");
    let files = [(ConfigLevel::System, &system), (ConfigLevel::XDG, &global), (ConfigLevel::Global, &global)];
    files.into_iter().filter_map(|(level, file)| Some((level, file.clone()?))).collect()
}

/// A file without settings.
const NOTHING: &str = "/dev/null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_files_or_none() {
        let of = |variables: &[(&str, &str)]| {
            let value =
                |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.into());
            named(&value)
        };
        let file = |level, name: &str| (level, OsString::from(name));
        assert_eq!(of(&[]), []);
        assert_eq!(
            of(&[("GIT_CONFIG_GLOBAL", "mine")]),
            [file(ConfigLevel::XDG, "mine"), file(ConfigLevel::Global, "mine")]
        );
        assert_eq!(of(&[("GIT_CONFIG_SYSTEM", "all")]), [file(ConfigLevel::System, "all")]);
        for no in ["1", "true", "yes"] {
            let both = [("GIT_CONFIG_SYSTEM", "all"), ("GIT_CONFIG_NOSYSTEM", no)];
            assert_eq!(of(&both), [file(ConfigLevel::System, NOTHING)]);
        }
        assert_eq!(of(&[("GIT_CONFIG_NOSYSTEM", "0")]), []);
    }
}
