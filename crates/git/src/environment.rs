//! The files of git's settings that the environment names, as git(1) documents:
//! `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` and `GIT_CONFIG_NOSYSTEM`. libgit2 reads these
//! variables only together with `GIT_DIR` and `GIT_INDEX_FILE`. A lab that a git hook starts must
//! not follow those two: they may mean another repository than that of the lab's folder.

use anyhow::{Result, anyhow, bail};
use git2::{Config, ConfigLevel, Repository};
use rustix::fs::Access;
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::Path;

/// Lets a repository that was just opened read those files instead of the usual ones.
pub fn apply(git: &Repository) -> Result<()> {
    for (level, file) in named(&|name| std::env::var_os(name)) {
        let file = Path::new(&file);
        // git reads no settings of the user that the user may not read, as under sudo.
        let may_be_read = || rustix::fs::access(file, Access::READ_OK) != Err(Errno::ACCESS);
        if level != ConfigLevel::System && !may_be_read() {
            continue;
        }
        let add = || git.config()?.add_file(file, level, true);
        let unreadable = |error: git2::Error| {
            let (file, why) = (file.display(), error.message());
            anyhow!("cannot read {file}, which the environment names for git: {why}")
        };
        add().map_err(unreadable)?;
        refuse_conditions(file)?;
    }
    Ok(())
}

/// Whether the environment names any such file.
pub fn is_changed() -> bool {
    !named(&|name| std::env::var_os(name)).is_empty()
}

/// Refuses a file with `[includeIf]`: libgit2 does not follow the conditions of such a file, so the
/// wrong name could stand in a commit.
fn refuse_conditions(file: &Path) -> Result<()> {
    let has_condition = || -> Result<bool, git2::Error> {
        Ok(Config::open(file)?
            .entries(Some(r"^includeif\."))?
            .next()
            .is_some())
    };
    if has_condition().unwrap_or(false) {
        bail!(
            "{}, which the environment names for git, has [includeIf], which lab follows in git's usual files alone: name another \
             file, or write [include] there",
            file.display()
        );
    }
    Ok(())
}

/// The levels that the environment gives another file, with that file. One file stands for
/// `~/.gitconfig` and for git's file in the folder of XDG.
fn named(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<(ConfigLevel, OsString)> {
    let is_true = |value: &OsString| {
        value
            .to_str()
            .is_some_and(|v| Config::parse_bool(v).unwrap_or(false))
    };
    let system = match variable("GIT_CONFIG_NOSYSTEM").filter(is_true) {
        Some(_) => Some(NOTHING.into()),
        None => variable("GIT_CONFIG_SYSTEM"),
    };
    let global = variable("GIT_CONFIG_GLOBAL");
    let files = [
        (ConfigLevel::System, &system),
        (ConfigLevel::XDG, &global),
        (ConfigLevel::Global, &global),
    ];
    files
        .into_iter()
        .filter_map(|(level, file)| Some((level, file.clone()?)))
        .collect()
}

/// A file without settings.
const NOTHING: &str = "/dev/null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_files_or_none() {
        let of = |variables: &[(&str, &str)]| {
            let value = |name: &str| {
                variables
                    .iter()
                    .find(|(of, _)| *of == name)
                    .map(|(_, value)| value.into())
            };
            named(&value)
        };
        let file = |level, name: &str| (level, OsString::from(name));
        assert_eq!(of(&[]), []);
        assert_eq!(
            of(&[("GIT_CONFIG_GLOBAL", "mine")]),
            [
                file(ConfigLevel::XDG, "mine"),
                file(ConfigLevel::Global, "mine")
            ]
        );
        assert_eq!(
            of(&[("GIT_CONFIG_SYSTEM", "all")]),
            [file(ConfigLevel::System, "all")]
        );
        for no in ["1", "true", "yes"] {
            let both = [("GIT_CONFIG_SYSTEM", "all"), ("GIT_CONFIG_NOSYSTEM", no)];
            assert_eq!(of(&both), [file(ConfigLevel::System, NOTHING)]);
        }
        assert_eq!(of(&[("GIT_CONFIG_NOSYSTEM", "0")]), []);
    }
}
