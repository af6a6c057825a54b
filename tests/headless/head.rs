//! A HEAD that is damaged, or at no branch: every command says what is wrong and what to do, and
//! nothing is committed.

use crate::lab::Lab;
use std::fs;

/// A repository with a keep, a discard, and a passing run of new bytes.
fn judged() -> Lab {
    let lab = Lab::new();
    for (bytes, decision) in [("// kept\n", "keep"), ("// worse\n", "discard")] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(&format!("{decision} -m one")).is(0);
    }
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

const REMEDY: &str = "`git fsck` names it, .git/logs has the commits that it named, and `git update-ref REF COMMIT` (for HEAD: \
                      `git symbolic-ref HEAD refs/heads/BRANCH`";

#[test]
fn a_head_that_names_no_commit_is_told_with_a_remedy_by_every_command() {
    let lab = judged();
    let id = |name: &str| lab.git(&format!("rev-parse {name}"));
    let (file, folder) = (id("HEAD:kernel.cu"), id("HEAD^{tree}"));
    let branch = ".git/refs/heads/main";
    let zero = "0".repeat(40) + "\n";
    let (head, main) = (lab.read(".git/HEAD"), lab.read(branch));
    let cases = [
        (".git/HEAD", "ref: HEAD\n"),
        (".git/HEAD", ""),
        (".git/HEAD", "garbage\n"),
        (".git/HEAD", "ref: refs/heads/../../x\n"),
        (".git/HEAD", &folder),
        (branch, "ref: refs/heads/main\n"),
        (branch, &file),
        (branch, &zero),
    ];
    for (damaged, bytes) in cases {
        lab.write(damaged, bytes);
        for command in [
            "keep -m better",
            "discard -m x",
            "undo",
            "rules",
            "log",
            "report",
            "auto --experiments 1 -- true",
        ] {
            let told = lab.lab(command).is(1).says(REMEDY);
            assert!(!told.err.contains("class="), "{told:?}");
        }
        let told = lab.lab("doctor").is(1).says(REMEDY);
        assert!(told.out.contains("✗ repository"), "{told:?}");
        lab.write(".git/HEAD", &head);
        lab.write(branch, &main);
    }
    // Where git itself finds no repository any more.
    lab.write(".git/HEAD", "garbage\n");
    lab.lab("clean").is(1).says(REMEDY);
    lab.write(".git/HEAD", &head);
    assert_eq!(lab.read("kernel.cu"), "// better\n");
    lab.lab("keep -m better").is(0);
}

#[test]
fn a_head_at_a_tag_with_a_message_is_read_and_not_moved() {
    let lab = judged();
    lab.git("tag -a v1 -m v1");
    let tag = lab.git("rev-parse v1");
    let (head, main) = (lab.read(".git/HEAD"), lab.read(".git/refs/heads/main"));
    for file in [".git/HEAD", ".git/refs/heads/main"] {
        lab.write(file, &tag);
        lab.lab("log").is(0);
        for command in ["keep -m better", "undo", "auto -- true"] {
            lab.lab(command)
                .is(1)
                .says("which is no commit")
                .says(REMEDY);
        }
        lab.write(".git/HEAD", &head);
        lab.write(".git/refs/heads/main", &main);
    }
    lab.lab("keep -m better").is(0);
}

#[test]
fn a_head_that_is_no_branch_is_not_moved() {
    for name in [
        "refs/tags/light",
        "refs/notes/lab",
        "refs/remotes/origin/main",
        "refs/worktree/new",
    ] {
        let lab = judged();
        lab.git("tag light");
        lab.git("update-ref refs/remotes/origin/main HEAD");
        let refs = lab.git("for-each-ref");
        lab.git(&format!("symbolic-ref HEAD {name}"));
        let says =
            format!("HEAD names {name}, which is no branch: `git switch BRANCH` goes to a branch");
        for command in ["keep -m better", "undo", "auto -- true"] {
            lab.lab(command).is(1).says(&says);
        }
        lab.lab("log").is(0);
        assert_eq!(lab.git("for-each-ref"), refs, "{name}");
        lab.git("symbolic-ref HEAD refs/heads/main");
        lab.lab("keep -m better").is(0);
    }
}

/// git before 1.5.4 made HEAD a link.
#[test]
fn a_head_that_is_a_link_is_made_a_file_by_the_command_that_is_told() {
    let lab = judged();
    fs::remove_file(lab.path(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", lab.path(".git/HEAD")).unwrap();
    for command in ["keep -m better", "undo"] {
        lab.lab(command)
            .is(1)
            .says("HEAD is a link, as an old git made it: `git symbolic-ref HEAD refs/heads/main`");
    }
    lab.git("symbolic-ref HEAD refs/heads/main");
    lab.lab("keep -m better").is(0);
    lab.lab("undo").is(0);
}

#[test]
fn a_kernel_in_more_folders_than_lab_reads_is_not_kept() {
    let lab = Lab::new();
    let folder = ["d"; 66].join("/");
    fs::create_dir_all(lab.path(&folder)).unwrap();
    for name in ["kernel.cu", "harness.py", "lab.toml"] {
        fs::rename(lab.path(name), lab.path(&format!("{folder}/{name}"))).unwrap();
    }
    lab.git("rm -rq --cached .");
    lab.git("commit -qm nothing");
    let head = lab.head();
    let deep = |line: &str| lab.sh(&format!("cd {folder}; $LAB {line}"));
    deep("trust --yes").is(0);
    deep("run").is(0);
    deep("keep -m deep")
        .is(1)
        .says("folders within each other or more, and lab reads no tree of git that is so deep");
    assert_eq!(lab.head(), head);
    // HEAD is too deep already.
    lab.git("add -A");
    lab.git("commit -qm deep");
    lab.write(&format!("{folder}/kernel.cu"), "// deeper\n");
    deep("run").is(0);
    deep("keep -m deep")
        .is(1)
        .says("more than 64 folders within each other")
        .says("`git ls-tree ");
    assert!(!lab.path(&format!("{folder}/results.tsv")).exists());
}

#[test]
fn a_kernel_where_head_holds_something_else_is_not_kept() {
    let lab = Lab::new();
    lab.git("rm -q --cached kernel.cu");
    fs::remove_file(lab.path("kernel.cu")).unwrap();
    fs::create_dir(lab.path("kernel.cu")).unwrap();
    lab.write("kernel.cu/inner", "x\n");
    lab.git("add kernel.cu");
    lab.git("commit -qm folder");
    fs::remove_dir_all(lab.path("kernel.cu")).unwrap();
    lab.write("kernel.cu", "// a file\n");
    lab.lab("run").is(0);
    lab.lab("keep -m file").is(1).says(
        "HEAD holds a folder at kernel.cu, so it cannot hold kernel.cu: take it out of git with `git rm -r --cached kernel.cu`",
    );
    lab.git("rm -rq --cached kernel.cu");
    lab.git("commit -qm 'no folder'");
    lab.lab("keep -m file").is(0);

    // A file, and then a submodule, in the place of the kernel's folder.
    lab.write("sub", "x\n");
    lab.git("add sub");
    lab.git("commit -qm sub");
    fs::remove_file(lab.path("sub")).unwrap();
    fs::create_dir(lab.path("sub")).unwrap();
    lab.write("sub/kernel.cu", "// below\n");
    let config = lab
        .read("lab.toml")
        .replace("\"kernel.cu\"", "\"sub/kernel.cu\"");
    lab.write("lab.toml", format!("{config}\n"));
    lab.lab("trust --yes").is(0);
    lab.lab("run sub/kernel.cu").is(0);
    lab.lab("keep sub/kernel.cu -m below")
        .is(1)
        .says("HEAD holds a file at sub, so it cannot hold sub/kernel.cu");
    lab.git("rm -q --cached sub");
    let commit = lab.head();
    lab.git(&format!(
        "update-index --add --cacheinfo 160000,{commit},sub"
    ));
    lab.git("commit -qm submodule");
    lab.lab("keep sub/kernel.cu -m below")
        .is(1)
        .says("HEAD holds the submodule sub, and sub/kernel.cu lies in it");
}
