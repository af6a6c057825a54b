//! Programs that a commit or a fetch would start and that came with the folder: hooks in
//! `.git/hooks`, and programs that the repository's own configuration names. A clone brings neither
//! along, an archive with a `.git` may bring both.
//!
//! What the user's own configuration names is the user's. libgit2 starts no program; only the git
//! program does.

use crate::Repo;
use anyhow::Result;
use git2::{Config, ConfigEntry, ConfigLevel, Repository};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Hooks that `git commit` starts.
const HOOKS: [&str; 5] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
];

/// Hooks that the commands before it start.
const OTHER_HOOKS: [&str; 2] = ["post-index-change", "pre-auto-gc"];

/// Why the git program must make the commit; `None` if libgit2 can. libgit2 runs no hooks and signs
/// nothing.
pub fn by_program(repo: &Repo) -> Result<Option<String>> {
    let config = repo.git.config()?.snapshot()?;
    if config.get_bool("commit.gpgsign").unwrap_or(false) {
        return Ok(Some("commit.gpgsign is set".into()));
    }
    let hook = executable_hook(&hooks_folder(&repo.git, &config), &HOOKS);
    Ok(hook.map(|hook| format!("there is a {} hook", hook.display())))
}

/// What a commit would start of this folder, as in `the hook .git/hooks/pre-commit`. `None` where
/// libgit2 makes the commit, or where git starts the user's own programs only.
pub fn folder_programs(repo: &Repo) -> Result<Option<String>> {
    let git = &repo.git;
    let config = git.config()?.snapshot()?;
    let named = named_by(&config, |name, value| {
        names_a_program(name, value) || includes(name)
    })?;
    let signs = config.get_bool("commit.gpgsign").unwrap_or(false);
    let own_folder = config.get_path("core.hooksPath").is_err();
    let folder = hooks_folder(git, &config);
    let hook = executable_hook(&folder, &HOOKS).or_else(|| executable_hook(&folder, &OTHER_HOOKS));
    let Some(hook) = hook.map(|hook| folder.join(hook)) else {
        return Ok(named.filter(|_| signs));
    };
    if own_folder || is_of_folder(&config, "core.hooksPath") {
        let shown = git
            .workdir()
            .and_then(|root| hook.strip_prefix(root).ok())
            .unwrap_or(&hook);
        return Ok(Some(format!("the hook {}", shown.display())));
    }
    Ok(named)
}

fn hooks_folder(git: &Repository, config: &Config) -> PathBuf {
    match config.get_path("core.hooksPath") {
        Ok(path) => git.workdir().unwrap_or(Path::new(".")).join(path),
        Err(_) => git.commondir().join("hooks"),
    }
}

/// The first of these hooks that git would start.
fn executable_hook(folder: &Path, hooks: &[&'static str]) -> Option<&'static Path> {
    let runs = |hook: &&Path| {
        std::fs::metadata(folder.join(hook))
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    hooks.iter().copied().map(Path::new).find(runs)
}

/// Whether the value of a key comes from the repository's own files.
fn is_of_folder(config: &Config, key: &str) -> bool {
    config
        .get_entry(key)
        .is_ok_and(|entry| of_folder(entry.level()))
}

fn of_folder(level: ConfigLevel) -> bool {
    matches!(
        level,
        ConfigLevel::Local | ConfigLevel::Worktree | ConfigLevel::App
    )
}

/// What a fetch would start of this folder, or would do by a setting of it that git keeps to people
/// who trust the folder: as in `sh x (core.sshcommand in the repository's configuration)`. `None`
/// where git starts the user's own programs only.
pub fn fetch_programs(repo: &Repo) -> Result<Option<String>> {
    named_by(&repo.git.config()?.snapshot()?, |name, value| {
        names_a_program(name, value) || steers_a_fetch(name, value) || includes(name)
    })
}

/// The first setting of the repository's own configuration that `is_wanted` accepts, by its name
/// and value.
fn named_by(config: &Config, is_wanted: impl Fn(&str, &str) -> bool) -> Result<Option<String>> {
    let mut found = None;
    config.entries(None)?.for_each(|entry| {
        if found.is_some() || !of_folder(entry.level()) {
            return;
        }
        let name = String::from_utf8_lossy(entry.name_bytes());
        let value = String::from_utf8_lossy(value_of(entry));
        if is_wanted(&name, &value) {
            found = Some(format!(
                "{value} ({name} in the repository's configuration)"
            ));
        }
    })?;
    Ok(found)
}

/// Empty for a setting without a value, as in `[push] autoSetupRemote`: git takes such a switch for
/// on, and refuses a program that is not named.
#[allow(clippy::disallowed_methods)]
fn value_of<'a>(entry: &'a ConfigEntry) -> &'a [u8] {
    match entry.has_value() {
        true => entry.value_bytes(),
        false => b"",
    }
}

/// Whether git starts the value of this key. Section and key are in lower case.
fn names_a_program(name: &str, value: &str) -> bool {
    let is_switch = matches!(
        value,
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1"
    );
    let of = |section: &str, keys: &[&str]| {
        name.strip_prefix(section)
            .is_some_and(|rest| keys.iter().any(|key| rest.ends_with(key)))
    };
    (name == "core.fsmonitor" && !is_switch)
        || of("gpg.", &["program", "defaultkeycommand"])
        || of("filter.", &[".clean", ".smudge", ".process"])
        || matches!(
            name,
            "gc.recentobjectshook"
                | "core.sshcommand"
                | "core.alternaterefscommand"
                | "core.gitproxy"
        )
}

/// Whether the setting includes another file. git follows conditions and paths that libgit2 does not
/// know, as `hasconfig:` and `%(prefix)`: so the lab does not see what git reads there.
fn includes(name: &str) -> bool {
    name == "include.path" || (name.starts_with("includeif.") && name.ends_with(".path"))
}

/// Whether a fetch starts the value, is allowed a transport that starts programs (`ext::`), or
/// writes a file of that name, or fetches from elsewhere too.
fn steers_a_fetch(name: &str, value: &str) -> bool {
    let within = |section: &str| {
        name.strip_prefix(section)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let ends = |keys: &[&str]| keys.iter().any(|key| name.ends_with(key));
    let is_url = (within("remote") && ends(&[".url", ".pushurl"])) || within("url");
    matches!(name, "core.askpass" | "fetch.bundleuri")
        || (within("credential") && ends(&[".helper"]) && !value.is_empty())
        || (within("remote") && ends(&[".uploadpack", ".receivepack", ".vcs"]))
        || (within("protocol") && ends(&[".allow"]) && value != "never")
        || (within("http") && ends(&[".cookiefile", ".savecookies"]))
        // `NAME::ADDRESS` starts git-remote-NAME.
        || (is_url && (value.contains("::") || name.contains("::")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_project::Project;
    use proptest::prelude::*;
    use std::fs;

    /// A repository with this text at the end of its `.git/config`.
    fn configured(text: &[u8]) -> (tempfile::TempDir, Repo) {
        let temp = tempfile::tempdir().unwrap();
        Repository::init(temp.path()).unwrap();
        for file in ["kernel.cu", "problem.toml"] {
            fs::write(temp.path().join(file), "").unwrap();
        }
        let project = Project::open(temp.path(), None).unwrap();
        let repo = Repo::open(&project).unwrap();
        let config = temp.path().join(".git/config");
        let before = fs::read(&config).unwrap();
        fs::write(config, [&before, text].concat()).unwrap();
        (temp, repo)
    }

    #[test]
    fn a_setting_without_a_value_names_no_program() {
        let (_temp, repo) =
            configured(b"[push]\n autoSetupRemote\n[commit]\n gpgSign\n[core]\n fsmonitor\n");
        assert_eq!(folder_programs(&repo).unwrap(), None);
        assert_eq!(fetch_programs(&repo).unwrap(), None);
        assert!(by_program(&repo).unwrap().is_some(), "gpgSign is on");
    }

    #[test]
    fn a_program_is_found_whatever_bytes_name_it() {
        for text in [
            &b"[filter \"\xff\"]\n clean = x\n"[..],
            b"[core]\n sshCommand = \xff\n",
        ] {
            let (_temp, repo) = configured(text);
            assert!(fetch_programs(&repo).unwrap().is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_file_that_git_may_include_needs_trust() {
        for text in [
            &b"[include]\n path = x\n"[..],
            b"[include]\n path = %(prefix)/x\n",
            b"[includeIf \"hasconfig:remote.*.url:**\"]\n path = x\n",
        ] {
            let (_temp, repo) = configured(text);
            let named = fetch_programs(&repo).unwrap().unwrap();
            assert!(named.contains("x (include"), "{named}");
        }
    }

    fn setting() -> impl Strategy<Value = Vec<u8>> {
        let section = prop::sample::select(vec![
            &b"core"[..],
            b"commit",
            b"user",
            b"remote \"origin\"",
            b"filter \"\xff\"",
            b"includeIf \"onbranch:main\"",
            b"push",
        ]);
        let known = prop::sample::select(vec![
            "hooksPath",
            "autocrlf",
            "eol",
            "attributesFile",
            "excludesFile",
            "worktree",
            "gpgSign",
            "name",
            "email",
            "url",
            "fetch",
            "clean",
            "path",
        ]);
        let key = prop_oneof![known.prop_map(str::to_owned), "[a-zA-Z][a-zA-Z0-9-]{0,6}"];
        let value = prop_oneof![
            Just(Vec::new()),
            Just(b"=".to_vec()),
            Just(b"= true".to_vec()),
            Just(b"= ~nobody/x".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..12)
                .prop_map(|bytes| [b"= ", &*bytes].concat()),
        ];
        (section, key, value).prop_map(|(section, key, value)| {
            [b"\n[", section, b"]\n", key.as_bytes(), b" ", &value].concat()
        })
    }

    proptest! {
        /// What asks the configuration answers or refuses, whatever it holds.
        #[test]
        fn any_configuration_is_read_or_refused(settings in proptest::collection::vec(setting(), 1..6)) {
            let (_temp, repo) = configured(&settings.concat());
            // Once with what libgit2 read before, once with what it reads of such a file.
            let mut repos = vec![repo];
            repos.extend(repos[0].anew());
            for repo in &repos {
                let _ = by_program(repo);
                let _ = folder_programs(repo);
                let _ = fetch_programs(repo);
                let _ = crate::remotes(repo);
                let _ = crate::obstacle(repo);
                let _ = crate::blob_id(repo, "kernel.cu", b"a\r\n");
                let _ = crate::exclude(repo);
                let _ = crate::save(repo, b"// saved\n", "a save");
            }
        }
    }

    #[test]
    fn settings_that_steer_a_fetch_are_told_from_others() {
        for (name, value) in [
            ("core.askpass", "x"),
            ("fetch.bundleuri", "x"),
            ("credential.helper", "!x"),
            ("credential.https://host.helper", "x"),
            ("remote.origin.uploadpack", "x"),
            ("remote.origin.vcs", "ext"),
            ("remote.origin.url", "ext::sh -c x"),
            ("url.ext::sh -c x.insteadof", "https://"),
            ("protocol.ext.allow", "always"),
            ("protocol.allow", "always"),
            ("http.cookiefile", "../.bashrc"),
        ] {
            assert!(steers_a_fetch(name, value), "{name}");
        }
        for (name, value) in [
            ("remote.origin.url", "ssh://git@host:22/name.git"),
            ("remote.origin.url", "git@host:name.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("url.https://host/.insteadof", "gh:"),
            ("credential.helper", ""),
            ("protocol.ext.allow", "never"),
            ("http.proxy", "host:80"),
        ] {
            assert!(!steers_a_fetch(name, value), "{name}");
        }
    }

    #[test]
    fn keys_that_name_programs_are_told_from_switches() {
        for (name, value) in [
            ("gpg.program", "x"),
            ("gpg.ssh.program", "x"),
            ("gpg.ssh.defaultkeycommand", "x"),
            ("core.fsmonitor", ".git/x"),
            ("filter.lfs.clean", "x"),
            ("filter.a.b.process", "x"),
            ("gc.recentobjectshook", "x"),
        ] {
            assert!(names_a_program(name, value), "{name}");
        }
        for (name, value) in [
            ("core.fsmonitor", "true"),
            ("gpg.format", "ssh"),
            ("filter.lfs.required", "true"),
            ("user.name", "program"),
        ] {
            assert!(!names_a_program(name, value), "{name}");
        }
    }
}
