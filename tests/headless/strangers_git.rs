//! A stranger's `.git` folder: nothing that it names starts without trust, and nothing in it takes
//! time or memory without end.

use crate::lab::{Beside, Lab};
use lab_system::descendants;
use lab_testing::until;
use rustix::process::Signal;
use std::fs;

/// A repository that nobody trusts, with a judged kernel, and a bare clone of it as its remote.
fn untrusted() -> Lab {
    let lab = Lab::new();
    lab.git("clone -q --bare . ../other.git");
    lab.git("remote add origin ../other.git");
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    fs::remove_dir_all(lab.path("../state/trusted")).unwrap();
    lab
}

/// The user signs commits, by a program of their own.
fn signing(lab: &Lab) {
    let signer = "cat > /dev/null; printf '\n[GNUPG:] SIG_CREATED x\n' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo x; echo '-----END PGP SIGNATURE-----'";
    lab.script("../bin/signer", signer);
    lab.git("config --global commit.gpgsign true");
    lab.git("config --global gpg.program signer");
}

/// Appends to git's configuration of the repository.
fn configure(lab: &Lab, text: &str) {
    let before = lab.read(".git/config");
    lab.write(".git/config", format!("{before}{text}"));
}

#[test]
fn a_file_that_only_git_includes_starts_nothing() {
    let lab = untrusted();
    signing(&lab);
    let before = lab.read(".git/config");
    let ran = lab.path("../ran");
    let evil = format!(
        "[remote \"origin\"]\nuploadpack = touch {0}; git-upload-pack\n[gpg]\nprogram = touch {0}; false\n",
        ran.display()
    );
    lab.write(".git/evil", evil);
    for include in [
        "[include]\npath = evil\n",
        "[include]\npath = %(prefix)/../../../proc/self/cwd/.git/evil\n",
        "[includeIf \"hasconfig:remote.*.url:**\"]\npath = evil\n",
    ] {
        configure(&lab, include);
        for command in ["fetch origin", "keep -m x"] {
            lab.lab(command)
                .is(1)
                .says("in the repository's configuration")
                .says("`lab trust`");
            assert!(!ran.exists(), "{include}: lab {command}");
        }
        lab.write(".git/config", &before);
    }
    lab.lab("fetch origin").is(0);
    lab.lab("keep -m better").is(0);
}

#[test]
fn a_fetch_walks_into_no_submodule() {
    let lab = untrusted();
    let ran = lab.path("../ran");
    lab.sh("git init -q ../inner && git -C ../inner commit -q --allow-empty -m inner")
        .is(0);
    let inner = lab.path("../inner").canonicalize().unwrap();
    lab.git(&format!(
        "-c protocol.file.allow=always submodule --quiet add {} sub",
        inner.display()
    ));
    lab.git("commit -qm sub");
    let starts = format!("touch {}; git-upload-pack", ran.display());
    lab.git(&format!(
        "-C sub config remote.origin.uploadpack '{starts}'"
    ));
    for setting in [
        "fetch.recurseSubmodules",
        "submodule.recurse",
        "submodule.sub.fetchRecurseSubmodules",
    ] {
        lab.git(&format!("config {setting} true"));
        lab.sh(
            "git -C ../other.git update-ref refs/heads/other $(git -C ../other.git rev-parse main)",
        )
        .is(0);
        lab.lab("fetch origin").is(0);
        assert!(!ran.exists(), "{setting}");
    }
}

#[test]
fn a_missing_object_is_not_fetched_by_a_program_of_the_folder() {
    let lab = untrusted();
    signing(&lab);
    let ran = lab.path("../ran");
    lab.write("extra", "x\n");
    lab.git("add extra");
    lab.git("commit -qm extra --no-gpg-sign");
    let id = lab.git("rev-parse HEAD:extra").trim().to_owned();
    fs::remove_file(lab.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]))).unwrap();
    lab.git("config remote.origin.promisor true");
    let starts = format!("touch {}; false", ran.display());
    lab.git(&format!("config remote.origin.uploadpack '{starts}'"));
    for command in ["keep -m x", "clean"] {
        lab.lab(command);
        assert!(!ran.exists(), "lab {command}");
    }
}

#[test]
fn a_pattern_that_is_compared_for_ever_is_named() {
    let lab = Lab::empty();
    let folder = "a".repeat(60);
    fs::create_dir(lab.path(&folder)).unwrap();
    lab.write(&format!("{folder}/kernel.cu"), "// the first\n");
    lab.passing(1000.0);
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.write(
        ".gitattributes",
        "*a*a*a*a*a*a*a*a*a*a*a*a*b/kernel.cu text\n",
    );
    let says = ".gitattributes has patterns with so many `*` that git would compare them with a path for ever";
    let all = || {
        for command in ["log", "keep -m x", "rules -m x", "discard -m x --unjudged"] {
            lab.lab(command);
        }
        lab.lab("run").says(says);
    };
    all();
    // The same in the index alone.
    lab.git("add .gitattributes");
    fs::remove_file(lab.path(".gitattributes")).unwrap();
    all();
    lab.git("rm -q --cached .gitattributes");
    lab.lab("run").is(0);
}

#[test]
fn a_commit_with_a_message_without_end_is_named() {
    let lab = untrusted();
    lab.write("../message", "K: v\n".repeat(300_000));
    lab.git("commit -q --allow-empty --cleanup=verbatim -F ../message");
    for command in ["log", "keep -m x", "describe HEAD -m x"] {
        let output = lab.lab(command);
        assert_ne!(output.code, 0, "{output:?}");
        output.says("bytes, and lab reads up to 1048576");
    }
    lab.git("reset -q --soft HEAD~1");
    lab.lab("keep -m better").is(0);
}

#[test]
fn files_without_end_that_the_configuration_names_are_refused() {
    let lab = untrusted();
    let before = lab.read(".git/config");
    lab.sh("mkfifo pipe").is(0);
    for (text, shown) in [
        ("[include]\npath = ../pipe\n", "pipe"),
        (
            "[includeIf \"gitdir:**\"]\n path = \"../pi\\\npe\" ; x\n",
            "pipe",
        ),
        ("[core]\nattributesFile = pipe\n", "pipe"),
        ("[core] excludesfile = /dev/zero\n", "/dev/zero"),
    ] {
        configure(&lab, text);
        for command in ["log", "run", "keep -m x"] {
            let output = lab.lab(command);
            assert_ne!(output.code, 0, "{text}: {output:?}");
            output.says(&format!("{shown} is a pipe or a device"));
        }
        lab.write(".git/config", &before);
    }
    configure(&lab, "[core]\nexcludesFile = /dev/null\n");
    lab.lab("log").is(0);
    for name in [".git/info/grafts", ".git/shallow"] {
        fs::File::create(lab.path(name))
            .unwrap()
            .set_len(10 << 30)
            .unwrap();
        lab.lab("log")
            .says(&format!("{name} has 10737418240 bytes"));
        fs::remove_file(lab.path(name)).unwrap();
    }
    lab.lab("keep -m better").is(0);
}

/// Python that writes a bundle of a few kilobytes, whose objects become gigabytes.
const BOMB: &str = r"
import hashlib, struct, sys, zlib
def head(kind, size):
    byte, size = kind << 4 | size & 15, size >> 4
    out = b''
    while size: out, byte, size = out + bytes([byte | 128]), size & 127, size >> 7
    return out + bytes([byte])
def groups(size):
    out = b''
    while size > 127: out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size])
base = b'\0' * (16 << 20)
id = hashlib.sha1(b'blob %d\0' % len(base) + base).digest()
copies = 90
delta = groups(len(base)) + groups(copies * 0xff0000) + b'\xc0\xff' * copies
objects = [head(3, len(base)) + zlib.compress(base, 9), head(7, len(delta)) + id + zlib.compress(delta, 9)]
pack = b'PACK' + struct.pack('>II', 2, len(objects)) + b''.join(objects)
tip = sys.argv[1].encode()
head = b'# v2 git bundle\n' + tip + b' refs/notes/lab\n' + tip + b' refs/heads/main\n\n'
open('x.bundle', 'wb').write(head + pack + hashlib.sha1(pack).digest())
";

#[test]
fn a_bundle_that_becomes_too_large_is_refused_before_it_does() {
    let lab = untrusted();
    lab.write("../bomb.py", BOMB);
    lab.sh("python3 ../bomb.py $(git rev-parse HEAD)").is(0);
    lab.git("add -f x.bundle");
    lab.git("commit -qm bundle");
    // A row of another clone, so that bundles are asked.
    lab.write("results.tsv", "abc1234\t12.5\t80\tpass\tkeep\tby hand\n");
    let limited = |command: &str| lab.sh(&format!("ulimit -v 1500000; \"$LAB\" {command}"));
    for command in ["log", "log --all", "ls", "report"] {
        assert!(!limited(command).err.contains("memory"), "{command}");
    }
    limited("fetch")
        .is(1)
        .says("x.bundle")
        .says("its objects become too large");
}

/// git asks at the terminal, so it stays in the group of `lab`.
#[test]
fn git_ends_with_a_fetch_that_is_ended_or_killed() {
    for signal in [Signal::TERM, Signal::KILL] {
        let lab = untrusted();
        lab.script(
            "../bin/git-remote-slow",
            "touch ../asked; exec cat > /dev/null",
        );
        let fetch = Beside::spawn(lab.lab_command("fetch slow://x"));
        until("git asks", || lab.path("../asked").exists());
        let below = descendants::of(fetch.id());
        assert!(below.len() > 1, "{below:?}");
        fetch.signal(signal);
        fetch.finish();
        until("what git started has ended", || {
            below.iter().all(|it| {
                let stat = fs::read_to_string(format!("/proc/{}/stat", it.id)).unwrap_or_default();
                stat.is_empty() || stat.contains(") Z ")
            })
        });
    }
}

#[test]
fn a_remote_that_sends_messages_without_end_is_left() {
    let lab = untrusted();
    lab.script("../bin/git-remote-loud", "exec yes loud >&2");
    lab.sh("ulimit -v 1500000; $LAB fetch loud://x").is(1).says(
        "cannot fetch from loud://x: `git fetch` was ended: it printed more than 1048576 bytes",
    );
}

#[test]
fn a_remote_that_does_not_answer_is_told() {
    let lab = untrusted();
    lab.script("../bin/git-remote-slow", "exec sleep 600");
    let mut command = lab.lab_command("fetch slow://x");
    command.stderr(fs::File::create(lab.path("../said")).unwrap());
    let fetch = Beside::spawn(command);
    until("the command says that it waits", || {
        lab.read("../said")
            .contains("git has been fetching for 5 s, and goes on: Ctrl-C ends it")
    });
    fetch.signal(Signal::INT);
    fetch.finish();
}

#[test]
fn more_records_of_a_remote_than_a_bundle_may_have_are_refused() {
    let lab = untrusted();
    let line = "cd ../other.git; blob=$(echo '{}' | git hash-object -w --stdin)\n\
        tree=$(seq -f \"100644 blob $blob\t%040.0f\" 100001 | git mktree)\n\
        git update-ref refs/notes/lab $(git -c user.name=a -c user.email=a commit-tree -m notes $tree)";
    lab.sh(line).is(0);
    lab.lab("fetch")
        .is(1)
        .says("`git update-ref -d refs/lab/fetched/origin/notes/lab` removes them")
        .says("there are 100001 records, and lab reads up to 100000 of another repository");
}

/// As on a full disk.
#[test]
fn what_a_git_that_failed_has_half_written_is_removed() {
    let lab = untrusted();
    let pack = lab.path(".git/objects/pack");
    fs::create_dir_all(&pack).unwrap();
    fs::write(pack.join("tmp_pack_users"), "of a git of the user's").unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let file = fs::File::options()
        .write(true)
        .open(pack.join("tmp_pack_users"))
        .unwrap();
    file.set_modified(std::time::SystemTime::now() - hour)
        .unwrap();
    let git = lab.sh("command -v git").is(0).out;
    lab.script(
        "../bin/git",
        &format!(
            "case \"$*\" in *repack*|*fetch\\ *) echo half > '{0}/tmp_pack_a'; echo half > '{0}/.tmp-1-pack-b.pack'; \
             echo 'fatal: write error: No space left on device' >&2; exit 128;; esac; exec {1} \"$@\"",
            pack.display(),
            git.trim()
        ),
    );
    for command in ["clean", "fetch ../other.git"] {
        lab.lab(command).is(1);
        let left: Vec<_> = fs::read_dir(&pack)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().contains("tmp"))
            .collect();
        assert_eq!(left, ["tmp_pack_users"], "{command}");
    }
}

#[test]
fn a_bench_whose_lines_have_no_end_is_refused() {
    let lab = untrusted();
    lab.lab("trust --yes").is(0);
    lab.lab("bench --runs 2").is(0);
    let lines = fs::File::options()
        .append(true)
        .open(lab.path(".lab/bench/1/runs.jsonl"));
    lines.unwrap().set_len(10 << 30).unwrap();
    for bench in ["1", "last"] {
        lab.lab(&format!("bench --show {bench}"))
            .is(64)
            .says("bytes: at most 268435456 are read");
    }
}

#[test]
fn a_repository_that_wants_bitmaps_is_cleaned() {
    let lab = untrusted();
    lab.git("config repack.writeBitmaps true");
    lab.lab("clean")
        .is(0)
        .says("loose objects of git are in a pack now");
}

#[test]
fn few_descriptors_are_no_missing_sandbox() {
    let lab = untrusted();
    fs::remove_file(lab.path("lab.toml")).unwrap();
    for count in 4..10 {
        let run = lab.sh(&format!("ulimit -n {count}; exec $LAB run"));
        assert!(!run.err.contains("`lab trust`"), "{count}: {run:?}");
    }
}
