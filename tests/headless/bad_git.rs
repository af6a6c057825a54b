//! Repositories in every state that git can be in.

use crate::lab::{Lab, finish};
use std::fs;

/// A repository with a passing run of new bytes, ready to be kept.
fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

/// Keep refuses and changes nothing; after the remedy it works.
#[track_caller]
fn refuses(lab: &Lab, says: &str, remedy: impl FnOnce(&Lab)) {
    let before = lab.head();
    lab.lab("keep -m better").is(1).says(says);
    assert_eq!(lab.head(), before);
    assert_eq!(lab.read("kernel.cu"), "// better\n");
    assert!(!lab.path("results.tsv").exists());
    remedy(lab);
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn no_repository() {
    let lab = Lab::new();
    fs::remove_dir_all(lab.path(".git")).unwrap();
    for command in ["run", "keep -m x", "log", "init", "restore HEAD", "trust"] {
        let output = lab
            .lab(command)
            .says("no git repository at")
            .says("`git init`");
        assert_ne!(output.code, 0);
    }
}

#[test]
fn a_bare_repository() {
    let lab = Lab::new();
    lab.git("clone -q --bare . ../bare.git");
    let mut command = lab.lab_command("run");
    command.current_dir(lab.path("../bare.git"));
    finish(command.spawn().unwrap())
        .is(64)
        .says("is a bare repository");
}

#[test]
fn detached_head_works_and_says_so() {
    let lab = judged();
    lab.git("checkout -q --detach");
    lab.lab("keep -m better")
        .is(0)
        .says("HEAD is detached: the commit is on no branch");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert_eq!(lab.git("log --format=%s main"), "start\n");
}

#[test]
fn a_merge_going_on() {
    let lab = judged();
    lab.git("stash -q");
    lab.git("checkout -qb other");
    lab.write("conflict", "other\n");
    lab.git("add conflict");
    lab.git("commit -qm other");
    lab.git("checkout -q main");
    lab.write("conflict", "main\n");
    lab.git("add conflict");
    lab.git("commit -qm main");
    lab.lab("doctor").is(0);
    lab.sh("git merge other").is(1);
    lab.lab("doctor").is(1).says("keep is not possible now");
    lab.write("kernel.cu", "// better\n");
    refuses(
        &lab,
        "a merge is in progress: finish it, or leave it with `git merge --abort`",
        |lab| {
            lab.write("conflict", "both\n");
            lab.git("add conflict");
            lab.git("commit -qm merged");
        },
    );
}

#[test]
fn a_discard_during_a_merge_touches_only_the_kernel() {
    let lab = judged();
    fs::write(lab.path(".git/MERGE_HEAD"), lab.head() + "\n").unwrap();
    lab.lab("discard -m x").is(0);
    assert!(lab.path(".git/MERGE_HEAD").exists());
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
}

#[test]
fn the_index_is_locked() {
    let lab = judged();
    lab.write(".git/index.lock", "");
    refuses(
        &lab,
        "git's index is locked: another git command is at work; try again",
        |lab| {
            fs::remove_file(lab.path(".git/index.lock")).unwrap();
        },
    );
}

#[test]
fn no_user_name() {
    let lab = judged();
    let config = lab.read("../home/.gitconfig");
    lab.write("../home/.gitconfig", "");
    refuses(
        &lab,
        "`git config --global user.name \"Your Name\"`",
        |lab| {
            lab.write("../home/.gitconfig", config);
        },
    );
    // A discard needs no name of a user: saving the bytes matters more.
    lab.write("../home/.gitconfig", "");
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
}

#[test]
fn the_environment_names_gits_settings() {
    let lab = judged();
    let keep = |settings: &str| {
        let mut keep = lab.lab_command("keep -m better");
        finish(keep.env("GIT_CONFIG_GLOBAL", settings).spawn().unwrap())
    };
    keep("/dev/null")
        .is(1)
        .says("`git config --global user.name \"Your Name\"`");
    lab.write(
        "../elsewhere",
        "[user]\nname = Ada\nemail = ada@example.com\n",
    );
    keep(&lab.path("../elsewhere").display().to_string()).is(0);
    assert_eq!(lab.git("log -1 --format=%an"), "Ada\n");
}

#[test]
fn the_environment_names_settings_that_nobody_can_read() {
    let lab = judged();
    let keep = |settings: &str| {
        let mut keep = lab.lab_command("keep -m better");
        finish(
            keep.env("GIT_CONFIG_GLOBAL", lab.path(settings))
                .spawn()
                .unwrap(),
        )
    };
    lab.write("../damaged", "[user\nname\n");
    let refused = keep("../damaged")
        .is(1)
        .says("damaged, which the environment names for git: ");
    assert!(
        !refused.err.contains("class="),
        "libgit2's own classes: {}",
        refused.err
    );
    lab.write(
        "../conditional",
        "[user]\nname = Ada\n[includeIf \"gitdir:~/jobs/\"]\npath = other\n",
    );
    keep("../conditional")
        .is(1)
        .says("conditional, which the environment names for git, has [includeIf]");
    keep("../missing")
        .is(1)
        .says("`git config --global user.name \"Your Name\"`");
    lab.lab("keep -m better").is(0);
}

#[test]
fn hooks_are_honoured() {
    let lab = judged();
    lab.script(
        ".git/hooks/pre-commit",
        "git diff --cached --name-only > ../seen; git show :kernel.cu >> ../seen",
    );
    lab.script(".git/hooks/commit-msg", "echo 'Change-Id: I1' >> \"$1\"");
    lab.write("other", "staged by the user\n");
    lab.git("add other");
    lab.lab("keep -m better").is(0);
    assert_eq!(
        lab.read("../seen"),
        "kernel.cu\n// better\n",
        "the hook sees the kernel's change alone"
    );
    let message = lab.git("log -1 --format=%B");
    assert_eq!(message.lines().next(), Some("better"));
    assert!(message.trim_end().ends_with("\nChange-Id: I1"), "{message}");
    assert_eq!(lab.git("show --name-only --format= HEAD"), "kernel.cu\n");
    assert_eq!(lab.git("status --porcelain"), "A  other\n");
}

#[test]
fn a_hook_that_refuses() {
    let lab = judged();
    lab.script(
        ".git/hooks/pre-commit",
        "echo 'no commits on Friday' >&2; exit 1",
    );
    refuses(&lab, "no commits on Friday", |lab| {
        fs::remove_file(lab.path(".git/hooks/pre-commit")).unwrap();
    });
}

#[test]
fn a_hook_that_changes_the_bytes() {
    let lab = judged();
    lab.script(".git/hooks/pre-commit", "echo '// formatted' > t; git update-index --cacheinfo 100644,$(git hash-object -w t),kernel.cu; rm t");
    refuses(&lab, "a commit hook changed kernel.cu", |lab| {
        fs::remove_file(lab.path(".git/hooks/pre-commit")).unwrap();
    });
}

#[test]
fn signing_that_fails_and_signing_that_works() {
    let lab = judged();
    lab.git("config commit.gpgsign true");
    lab.git("config gpg.program /bin/false");
    refuses(&lab, "commit.gpgsign is set", |lab| {
        let signer = "cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo; echo 'x'; echo '-----END PGP SIGNATURE-----'";
        lab.script("../bin/signer", signer);
        lab.git("config gpg.program signer");
    });
    assert!(
        lab.git("cat-file commit HEAD")
            .contains("gpgsig -----BEGIN PGP SIGNATURE-----")
    );
}

#[test]
fn no_git_program_where_it_is_needed() {
    let lab = judged();
    lab.git("config commit.gpgsign true");
    let mut command = lab.lab_command("keep -m better");
    command.env("PATH", "/nowhere");
    finish(command.spawn().unwrap())
        .is(1)
        .says("could not be started: install git");
    assert_eq!(lab.git("log --format=%s"), "start\n");
}

#[test]
fn a_filter_that_is_a_program_is_refused() {
    let lab = judged();
    let refused = || {
        lab.lab("run")
            .is(64)
            .says("kernel.cu has the git attribute 'filter'")
    };
    lab.write(".gitattributes", "*.cu filter=lfs\n");
    refused()
        .says("Take the attribute off in ")
        .says("/repo/.gitattributes\n");
    lab.write(".gitattributes", "");
    lab.write(".git/info/attributes", "*.cu filter=lfs\n");
    refused().says("/repo/.git/info/attributes\n");
}

#[test]
fn a_work_tree_of_its_own() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// faster\n");
    lab.lab("run").is(0);
    lab.lab("keep -m faster").is(0);
    lab.git("worktree add -q ../second");
    let main = lab.repo.display().to_string();
    let commit = lab.git("rev-parse --short=7 HEAD");
    let lab = |args: &str| {
        let mut command = lab.lab_command(args);
        command.current_dir(lab.path("../second"));
        finish(command.spawn().unwrap())
    };
    // The experiments of the repository, whose records are notes of git.
    lab("log")
        .is(0)
        .says("  faster")
        .says(&format!("their runs are in {main}"));
    lab(&format!("show {}", commit.trim()))
        .is(0)
        .says("PASS  run 1");
    lab("trust --yes").is(0);
    lab("run").is(0);
    lab("keep -m second")
        .is(0)
        .says("HEAD holds these bytes already");
}

#[test]
fn a_commit_that_is_not_there() {
    let lab = Lab::new();
    lab.lab("restore deadbeef")
        .is(1)
        .says("there is no commit 'deadbeef': `lab log --all` lists");
    lab.write("other", "x");
    lab.git("checkout -q --orphan empty");
    lab.git("rm -q --cached kernel.cu");
    lab.git("commit -qm without");
    lab.lab("restore HEAD")
        .is(1)
        .says("does not hold kernel.cu");
}

/// Each command that needs an object which is lost or damaged names the object and what to do.
#[test]
fn an_object_that_git_cannot_read_is_told_with_a_remedy() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    let id = lab.git("rev-parse HEAD:kernel.cu").trim().to_owned();
    let file = lab.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let whole = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    for command in ["discard -m x", "restore HEAD"] {
        lab.lab(command)
            .is(1)
            .says(&format!(
                "git cannot read the object {id} in .git/objects: its file is lost or damaged"
            ))
            .says("`git fsck`")
            .says(&format!("`git cat-file -e {id}`"));
    }
    for damaged in [&whole[..whole.len() / 2], b"", b"garbage"] {
        std::fs::write(&file, damaged).unwrap();
        let refused = lab.lab("discard -m x --json").is(1).json();
        let why = refused["error"].as_str().unwrap();
        assert!(
            why.starts_with("git cannot read ")
                && why.contains("`git fsck`")
                && !why.contains("class="),
            "{why}"
        );
    }
    let run = lab.lab("run --json").is(0).json();
    assert!(
        run["caveats"].to_string().contains("git cannot read "),
        "{run}"
    );
    std::fs::write(&file, &whole).unwrap();
    lab.lab("discard -m x").is(0);
    // A damaged pack.
    lab.git("repack -adq");
    let head = lab.head();
    lab.sh(
        "for pack in .git/objects/pack/*.pack; do chmod +w $pack && truncate -s 100 $pack; done",
    )
    .is(0);
    for command in ["log", "rules -m x"] {
        lab.lab(command)
            .is(1)
            .says(&format!("git cannot read the object {head}"))
            .says("`git fsck`");
    }
    lab.lab("clean").is(1).says("`git fsck` names them");
}

/// After a power cut the object of a folder between HEAD and the kernel may be cut off: libgit2 would
/// read it for ever.
#[test]
fn a_folder_of_head_that_is_cut_off_or_lost_is_told_with_a_remedy() {
    let lab = Lab::empty();
    fs::create_dir(lab.path("sub")).unwrap();
    lab.write("sub/kernel.cu", "// the first\n");
    lab.passing(1000.0);
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.write("sub/kernel.cu", "// better\n");
    lab.lab("run").is(0);
    let id = lab.git("rev-parse HEAD:sub").trim().to_owned();
    let file = lab.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let whole = fs::read(&file).unwrap();
    let damage = |bytes: Option<&[u8]>| {
        fs::remove_file(&file).unwrap();
        bytes
            .iter()
            .for_each(|bytes| fs::write(&file, bytes).unwrap());
    };
    for damaged in [Some(&whole[..whole.len() / 2]), Some(b""), None] {
        damage(damaged);
        for command in ["keep -m x", "discard -m x", "restore HEAD", "rules -m x"] {
            lab.lab(command)
                .is(1)
                .says(&format!("git cannot read the object {id} in .git/objects"))
                .says("`git fsck`");
        }
        fs::write(&file, &whole).unwrap();
    }
    lab.lab("keep -m better").is(0);
}

/// After a power cut the object of an older commit, or of its folder, may be cut off.
#[test]
fn a_history_that_is_cut_off_is_read_as_far_as_it_is_whole() {
    let lab = Lab::new();
    for turn in ["second", "third"] {
        lab.write("kernel.cu", format!("// the {turn}\n"));
        lab.lab("run").is(0);
        lab.lab(&format!("keep -m {turn}")).is(0);
    }
    lab.git("tag -m 'with a message' first HEAD~2");
    for object in ["HEAD~2", "HEAD~2^{tree}", "HEAD~1", "HEAD~1^{tree}"] {
        let id = lab.git(&format!("rev-parse {object}")).trim().to_owned();
        let file = lab.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        let whole = fs::read(&file).unwrap();
        for damaged in [Some(&whole[..whole.len() / 2]), Some(b"garbage"), None] {
            fs::remove_file(&file).unwrap();
            if let Some(bytes) = damaged {
                fs::write(&file, bytes).unwrap();
            }
            lab.lab("log").is(0).says("third");
            for command in [
                "restore HEAD~1",
                "restore HEAD~2",
                "restore HEAD^^",
                "restore first",
                "diff HEAD~2 HEAD",
                "show HEAD~1",
                "rules",
                "report --markdown",
                "report --markdown --base HEAD~2",
            ] {
                let done = lab.lab(command);
                if done.code != 0 {
                    done.says(&format!("git cannot read the object {id}"));
                }
            }
            lab.lab("run").is(0);
            fs::write(&file, &whole).unwrap();
        }
    }
    lab.lab("restore HEAD~1").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the second\n");
    lab.lab("undo").is(0);
}

/// The notes' own objects: a decision is made without its note, and the next command writes it.
#[test]
fn notes_that_are_cut_off_hold_no_decision_up() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    for (turn, object) in ["refs/notes/lab", "refs/notes/lab^{tree}"]
        .iter()
        .enumerate()
    {
        let id = lab.git(&format!("rev-parse {object}")).trim().to_owned();
        let file = lab.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        let whole = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        lab.write("kernel.cu", format!("// turn {turn}\n"));
        lab.lab("run").is(0);
        lab.lab("keep -m x")
            .is(0)
            .says(&format!("git cannot read the object {id}"));
        lab.lab("log").is(0);
        fs::remove_file(&file).unwrap();
        fs::write(&file, &whole).unwrap();
        lab.lab("undo").is(0);
    }
}

/// The main work tree was moved, or the folder was copied without it.
#[test]
fn a_git_file_that_names_no_folder_of_git_is_told_with_a_remedy() {
    let lab = Lab::new();
    lab.git("worktree add -q ../second");
    fs::rename(lab.path("../second"), lab.path("../home/second")).unwrap();
    let second = lab.path("../home/second");
    let run = || {
        let mut command = lab.lab_command("run");
        command.current_dir(&second);
        finish(command.spawn().unwrap()).is(64)
    };
    let pointer = fs::read_to_string(second.join(".git")).unwrap();
    for wrong in [
        pointer.replace("worktrees", "nowhere"),
        "gitdir: /nowhere\n".into(),
    ] {
        fs::write(second.join(".git"), wrong).unwrap();
        run().says("second/.git names /").says(
            "which is no folder of git: if the main work tree was moved, `git worktree repair ",
        );
    }
    for nonsense in ["", "gitdir:", "nonsense\n"] {
        fs::write(second.join(".git"), nonsense).unwrap();
        run().says("second/.git is a file that names no folder of git: clone the repository anew");
    }
}

/// What libgit2 says of them names no file and no remedy.
#[test]
fn damaged_refs_and_a_damaged_index_or_configuration_are_told_with_a_remedy() {
    let lab = judged();
    let damage = |file: &str, bytes: &str, command: &str, says: &str| {
        let whole = fs::read(lab.path(file)).unwrap();
        lab.write(file, bytes);
        let told = lab.lab(command).says(says);
        for words in ["class=", ".lab-new-"] {
            assert!(
                !told.out.contains(words) && !told.err.contains(words),
                "{told:?}"
            );
        }
        lab.write(file, whole);
    };
    for (file, bytes) in [
        (".git/HEAD", "garbage\n"),
        (".git/HEAD", "ref: refs/heads/loop\n"),
        (".git/refs/heads/main", ""),
    ] {
        damage(file, bytes, "show HEAD", "`git fsck` names it");
    }
    damage(
        ".git/config",
        "[user]\n\tname = \\q\n",
        "log",
        "`git config --list --show-origin` names the file and the line",
    );
    damage(
        ".git/index",
        "garbage\n",
        "keep -m better",
        ".git/index: git's index is damaged: remove .git/index, then `git reset` writes it anew",
    );
    // As the message says.
    for file in [".git/index", ".git/index.lock"] {
        fs::remove_file(lab.path(file)).unwrap();
    }
    lab.git("reset -q");
    assert_eq!(lab.git("status --porcelain"), "");
}

#[test]
fn a_work_tree_that_is_gone_is_named() {
    let lab = Lab::new();
    lab.git("config core.worktree /nonexistent");
    lab.lab("log")
        .is(1)
        .says("the work tree that core.worktree in")
        .says("git config --unset core.worktree");
}

#[test]
fn a_work_tree_that_was_moved_is_repaired_by_the_command_that_is_told() {
    let lab = Lab::new();
    lab.git("worktree add -q ../first -b first");
    fs::rename(lab.path("../first"), lab.path("../moved")).unwrap();
    let moved = |line: &str| lab.sh(&format!("cd ../moved && {line}"));
    moved("$LAB log")
        .is(1)
        .says("is not there: if it was moved to ")
        .says("`git worktree repair` in that folder tells git so");
    moved("git worktree repair && $LAB log").is(0);
}

#[test]
fn a_work_tree_that_git_takes_from_elsewhere_is_named_with_the_setting() {
    let lab = Lab::new();
    fs::create_dir(lab.path("../elsewhere")).unwrap();
    lab.git("config core.worktree ../../elsewhere");
    lab.lab("run")
        .is(64)
        .says("the work tree that core.worktree in ")
        .says("`git config --unset core.worktree`");
    lab.git("config --unset core.worktree");
    lab.lab("run").is(0);
}
