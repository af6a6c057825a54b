//! A repository in which this user may not write: each command names the problem and the remedy,
//! and changes nothing.

use crate::lab::{CommandOutput, Lab, finish, words};
use lab_store::signature::KEY_FILE;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// The words of every refusal for missing rights.
const NOT_ALLOWED: &str = "you may not write there, and ";
const REMEDY: &str = "make the files writable if they are yours (`chmod -R u+w FOLDER`), or work in a copy of your own \
                      (`cp -R`) if another user owns them";

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// A repository that its user may read and not write. Root may write anywhere, so commands of root
/// run as `nobody`, and the repository is another user's.
struct ReadOnly {
    lab: Lab,
    is_root: bool,
}

impl ReadOnly {
    fn of(lab: Lab) -> ReadOnly {
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            // The folder of the tests may be root's alone.
            let own = lab.path("../lab");
            if fs::hard_link(env!("CARGO_BIN_EXE_lab"), &own).is_err() {
                fs::copy(env!("CARGO_BIN_EXE_lab"), &own).unwrap();
            }
            let mut key = lab.command("sh");
            key.args([
                "-c",
                "mkdir -p ../state && cp \"$LAB_KEY_FILE\" ../key && chmod 755 .. && chmod -R a+rX .",
            ]);
            finish(key.spawn().unwrap()).is(0);
            lab.sh("chown -R 65534:65534 ../home ../state ../key").is(0);
        } else {
            lab.sh("chmod -R a-w .").is(0);
        }
        ReadOnly { lab, is_root }
    }

    fn lab(&self, folder: &str, args: &str) -> CommandOutput {
        if !self.is_root {
            let mut command = self.lab.lab_command(args);
            return finish(command.current_dir(self.lab.path(folder)).spawn().unwrap());
        }
        let mut command = self.lab.command(self.lab.path("../lab"));
        command
            .args(words(args))
            .current_dir(self.lab.path(folder))
            .uid(NOBODY)
            .gid(NOBODY);
        command
            .env(KEY_FILE, self.lab.path("../key"))
            .env("XDG_CACHE_HOME", self.lab.path("../home/.cache"));
        finish(command.spawn().unwrap())
    }

    /// Each file of the repository with its bytes.
    fn files(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.lab.repo.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_folder = path.symlink_metadata().unwrap().is_dir();
                let bytes = (!is_folder).then(|| fs::read(&path).unwrap());
                folders.extend(is_folder.then(|| path.clone()));
                files.insert(path, bytes);
            }
        }
        files
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        // Else the temporary folder cannot be removed.
        self.lab.sh("chmod -R u+w .");
    }
}

/// One experiment was kept, another one discarded, and a third kernel is judged.
fn with_history() -> Lab {
    let lab = Lab::new();
    lab.copy_problem("kernels/rmsnorm", "own");
    let problem = lab.read("own/problem.toml");
    let (without_peers, _) = problem.split_once("[[peer]]").unwrap();
    lab.write("own/problem.toml", without_peers);
    lab.write("own/lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm own");
    for (kernel, decide) in [("// kept\n", "keep"), ("// tried\n", "discard")] {
        lab.write("kernel.cu", kernel);
        lab.lab("run").is(0);
        lab.lab(&format!("{decide} -m x")).is(0);
    }
    lab.write("kernel.cu", "// judged\n");
    lab.lab("run").is(0);
    lab.lab("run own").is(0);
    lab.git("bundle create -q ../other.bundle --all");
    fs::create_dir(lab.path("below")).unwrap();
    lab.write("below/kernel.cu", "// x\n");
    lab
}

#[test]
fn each_command_says_what_to_do_and_changes_nothing() {
    let lab = with_history();
    let commit = lab.head();
    let there = ReadOnly::of(lab);
    if there.is_root {
        let root = there.lab.repo.display().to_string();
        // The advice for another user's repository names the folder that git needs, also from a
        // folder below.
        for folder in [".", "below"] {
            let advice = format!(
                "belongs to another user. If you trust it: `git config --global --add safe.directory {root}`"
            );
            there.lab(folder, "log").is(1).says(&advice);
        }
        there
            .lab
            .git(&format!("config --global --add safe.directory {root}"));
        there.lab.sh("chown 65534 ../home/.gitconfig").is(0);
    }
    let before = there.files();
    there
        .lab(".", "doctor")
        .is(1)
        .says("cannot be written: Permission denied")
        .says("make it writable, or work in a copy of your own");
    // The words of trust are this user's own.
    there.lab(".", "trust --yes").is(0);
    let commands = [
        ("run", 64),
        ("bench --verdict", 64),
        ("bench --runs 1", 64),
        ("keep -m x", 1),
        ("discard -m x", 1),
        ("undo", 1),
        (&format!("describe {commit} -m y"), 1),
        (&format!("restore {commit}"), 1),
        ("log --append-missing", 1),
        ("clean", 1),
        ("fetch ../other.bundle", 1),
        ("new softmax", 1),
        ("peers new own", 1),
        ("export own --to standalone", 1),
        ("check own", 64),
        ("profile own", 64),
        ("auto --experiments 1 -- true", 1),
    ];
    for (command, code) in commands {
        let output = there
            .lab(".", command)
            .is(code)
            .says(NOT_ALLOWED)
            .says(REMEDY);
        assert_eq!(
            output.err.matches(NOT_ALLOWED).count(),
            1,
            "`lab {command}`: {output:?}"
        );
        assert!(there.files() == before, "`lab {command}` changed a file");
    }
    let answer = there.lab(".", "run --json").is(64).json();
    assert!(
        answer["error"].as_str().unwrap().contains(REMEDY),
        "{answer}"
    );
    there
        .lab("below", "init")
        .is(1)
        .says(NOT_ALLOWED)
        .says(REMEDY);
    // Commands that only read work.
    there.lab(".", "log").is(0).says("run 3 is open");
    there.lab(".", "log --json").is(0).json();
    assert!(there.files() == before && !Path::new(&there.lab.path("softmax")).exists());
}
