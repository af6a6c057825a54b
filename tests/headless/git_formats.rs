//! Repositories in formats that libgit2 does not read: the lab refuses them with a remedy that
//! works, or works on them with git's help.

use crate::lab::Lab;
use std::fs;

/// Every command that needs the repository refuses it in these words.
#[track_caller]
fn refused(lab: &Lab, says: &str) {
    for command in [
        "run",
        "keep -m x",
        "discard -m x",
        "undo",
        "log",
        "log --all",
        "restore HEAD",
        "trust",
        "init",
    ] {
        let output = lab.lab(command).says(says);
        assert_ne!(output.code, 0, "{command}");
    }
    lab.lab("doctor").is(1).says(says);
}

/// A repository that `git init` made with this option, with one commit.
fn of_format(option: &str) -> Lab {
    let lab = Lab::empty();
    fs::remove_dir_all(lab.path(".git")).unwrap();
    lab.git(&format!("init -q {option}"));
    lab.write("kernel.cu", "// the first\n");
    lab.passing(1000.0);
    lab.git("add -A");
    lab.git("commit -qm start");
    lab
}

#[test]
fn sha256_is_refused_and_its_remedy_works() {
    let lab = of_format("--object-format=sha256");
    refused(
        &lab,
        "`git init --object-format=sha1 NEW && git fast-export --all | git -C NEW fast-import",
    );
    lab.sh("git init -q --object-format=sha1 ../new && git fast-export --all | git -C ../new fast-import --quiet")
        .is(0);
    lab.git("-C ../new checkout -q main");
    let moved = lab.sh("cd ../new && $LAB init && $LAB log").is(0);
    assert!(moved.out.contains("no experiment yet"), "{moved:?}");
}

#[test]
fn reftable_is_refused_and_its_remedy_works() {
    let lab = of_format("--ref-format=reftable");
    refused(&lab, "`git clone --ref-format=files OLD NEW`");
    lab.git("clone -q --ref-format=files . ../new");
    lab.sh("cd ../new && $LAB init && $LAB log")
        .is(0)
        .says("no experiment yet");
}

#[test]
fn any_other_extension_of_git_is_named() {
    let lab = Lab::new();
    lab.git("config core.repositoryFormatVersion 1");
    lab.git("config extensions.partialClone origin");
    lab.lab("log")
        .is(1)
        .says("is a partial clone")
        .says("clone it anew without `--filter`");
    lab.git("config --unset extensions.partialClone");
    lab.git("config extensions.tomorrow true");
    lab.lab("log")
        .is(1)
        .says("uses the extension extensions.tomorrow of git");
}

/// A repository with more folders than the kernel's. This git command changes the kind of its
/// index.
fn with_index(command: &str) -> Lab {
    let lab = Lab::new();
    for folder in ["near", "far"] {
        fs::create_dir(lab.path(folder)).unwrap();
        lab.write(&format!("{folder}/file"), "text\n");
    }
    lab.git("add near far");
    lab.git("commit -qm folders");
    lab.git(command);
    lab
}

/// Keep, discard, undo and restore with such an index, as with any other.
#[track_caller]
fn works(lab: &Lab, far: &str) {
    let staged = || lab.git("ls-files --stage");
    let before = staged();
    assert!(before.contains(far), "{before}");
    lab.write("kernel.cu", "// better\n");
    let run = lab.lab("run").is(0);
    assert!(!run.out.contains("caveat"), "{run:?}");
    assert_eq!(
        lab.git("status --porcelain"),
        " M kernel.cu\n",
        "the lab's own files are excluded"
    );
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert_eq!(lab.git("status --porcelain"), "");
    lab.lab("undo").is(0);
    assert_eq!(lab.git("status --porcelain"), " M kernel.cu\n");
    assert_eq!(staged(), before, "no other entry has changed");
    lab.lab("keep -m better").is(0);
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    assert_eq!(lab.read("kernel.cu"), "// better\n");
    lab.lab("restore HEAD~1").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    // What the user staged stays staged.
    lab.write("kernel.cu", "// staged\n");
    lab.git("add kernel.cu");
    lab.write("kernel.cu", "// judged\n");
    lab.lab("run").is(0);
    lab.lab("keep -m judged")
        .is(0)
        .says("you staged another version of kernel.cu: it is still staged");
    assert_eq!(lab.git("show :kernel.cu"), "// staged\n");
    lab.git("fsck --no-dangling");
}

#[test]
fn a_split_index() {
    works(&with_index("update-index --split-index"), "far/file");
}

#[test]
fn a_sparse_index() {
    let lab = with_index("sparse-checkout init --cone --sparse-index");
    lab.git("sparse-checkout add near");
    assert!(lab.path("near").exists() && !lab.path("far").exists());
    assert!(
        lab.git("ls-files --sparse").contains("far/\n"),
        "the index is sparse"
    );
    works(&lab, "far/file");
}

/// Whenever the lab calls git to stage a file, the user commits another file first.
#[track_caller]
fn nobody_commits_the_old_kernel(lab: &Lab) {
    let git = lab.sh("command -v git").is(0).out;
    let git = git.trim();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.write("near/file", "mine\n");
    lab.git("add near/file");
    lab.script(
        "../bin/git",
        &format!(
            "case \"$*\" in *update-index*) env -u GIT_INDEX_FILE {git} commit -qm mine >>../tried 2>&1;; esac\n\
             exec {git} \"$@\""
        ),
    );
    lab.lab("keep -m better").is(0);
    fs::remove_file(lab.path("../bin/git")).unwrap();
    assert!(
        lab.read("../tried").contains("index.lock"),
        "git refused: {}",
        lab.read("../tried")
    );
    assert_eq!(lab.git("log --format=%s -1"), "better\n");
    assert_eq!(
        lab.git("status --porcelain"),
        "M  near/file\n",
        "what the user staged is still staged"
    );
    lab.git("commit -qm mine");
    assert_eq!(
        lab.git("show HEAD:kernel.cu"),
        "// better\n",
        "the commit holds the kept kernel"
    );
    assert_eq!(lab.git("status --porcelain"), "");
    lab.git("fsck --no-dangling");
}

#[test]
fn nobody_commits_between_the_commit_and_a_split_index() {
    nobody_commits_the_old_kernel(&with_index("update-index --split-index"));
}

#[test]
fn nobody_commits_between_the_commit_and_a_sparse_index() {
    let lab = with_index("sparse-checkout init --cone --sparse-index");
    lab.git("sparse-checkout add near");
    nobody_commits_the_old_kernel(&lab);
}

#[test]
fn a_split_index_stays_split() {
    let lab = with_index("update-index --split-index");
    let shared = || lab.git("rev-parse --shared-index-path");
    assert!(!shared().is_empty());
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m better").is(0);
    assert!(!shared().is_empty(), "git still finds the shared entries");
    assert_eq!(lab.sh("find .git -name '.lab-*' -o -name '*.lock'").out, "");
}

#[test]
fn without_the_git_program_such_an_index_is_named() {
    let lab = with_index("update-index --split-index");
    let mut command = lab.lab_command("run");
    command.env("PATH", "/nowhere");
    crate::lab::finish(command.spawn().unwrap()).says("`git update-index --no-split-index`");
}
