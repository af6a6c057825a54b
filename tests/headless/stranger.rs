//! A folder from a stranger: the lab follows no link of it, and opens only plain files of a bounded
//! size.

use crate::lab::{CommandOutput, Lab, finish};
use std::fs;
use std::os::unix::fs::symlink;

/// The files outside of the repository, which must stay as they are.
const RC: &str = "# mine\n";

/// A repository with a judged kernel, beside `../home/.bashrc` and a folder `../stuff` with a file.
fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("../home/.bashrc", RC);
    fs::create_dir(lab.path("../stuff")).unwrap();
    lab.write("../stuff/mine", "mine");
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

#[track_caller]
fn outside_is_untouched(lab: &Lab) {
    assert_eq!(lab.read("../home/.bashrc"), RC);
    let names: Vec<_> = fs::read_dir(lab.path("../stuff"))
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(
        (names, lab.read("../stuff/mine").as_str()),
        (vec!["mine".into()], "mine")
    );
}

/// Every command that opens the repository. The last arguments are those that decide.
const COMMANDS: [&str; 11] = [
    "run",
    "check",
    "log",
    "log --append-missing",
    "keep -m x",
    "discard -m x",
    "discard -m x --unjudged",
    "undo",
    "restore HEAD",
    "describe HEAD -m x",
    "rules -m x",
];

pub fn every_command(lab: &Lab) -> Vec<CommandOutput> {
    COMMANDS.iter().map(|args| lab.lab(args)).collect()
}

#[test]
fn a_lab_folder_that_is_a_link_is_refused() {
    let lab = judged();
    fs::rename(lab.path(".lab"), lab.path("../away")).unwrap();
    symlink("../stuff", lab.path(".lab")).unwrap();
    for output in every_command(&lab) {
        assert_ne!(output.code, 0, "{output:?}");
        output.says(".lab is a link").says("remove it");
    }
    outside_is_untouched(&lab);
    fs::remove_file(lab.path(".lab")).unwrap();
    lab.write(".lab", "a file");
    lab.lab("log").is(1).says(".lab is no folder");
}

#[test]
fn a_lab_folder_that_git_tracks_is_refused() {
    let lab = judged();
    lab.git("add -f .lab");
    for output in every_command(&lab) {
        assert_ne!(output.code, 0, "{output:?}");
        output
            .says("git tracks files in .lab")
            .says("`git rm -r --cached .lab`");
    }
    lab.git("rm -qr --cached .lab");
    lab.lab("keep -m better").is(0);
    // Also if the folder itself does not exist yet.
    lab.git("add -f .lab/runs/1/record.json");
    fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.lab("run")
        .is(64)
        .says("git tracks files in .lab (.lab/runs/1/record.json)");
    assert!(!lab.path(".lab").exists());
}

#[test]
fn links_below_the_lab_folder_are_not_followed() {
    for name in [
        "screen.lock",
        "decide.lock",
        "begin.lock",
        "unfinished.json",
        "runs/index.bin",
    ] {
        let lab = judged();
        let path = lab.path(".lab").join(name);
        let _ = fs::remove_file(&path);
        symlink(lab.path("../home/.bashrc"), &path).unwrap();
        every_command(&lab);
        outside_is_untouched(&lab);
    }
    for name in ["runs", "runs/1", "runs/2", "standby", "incumbent"] {
        let lab = judged();
        let path = lab.path(".lab").join(name);
        let _ = fs::remove_dir_all(&path);
        symlink(lab.path("../stuff"), &path).unwrap();
        every_command(&lab);
        outside_is_untouched(&lab);
    }
    for name in ["record.json", "run.log", "kernel.cu", "held-out"] {
        let lab = judged();
        let path = lab.path(".lab/runs/1").join(name);
        let _ = fs::remove_file(&path);
        symlink(lab.path("../home/.bashrc"), &path).unwrap();
        every_command(&lab);
        outside_is_untouched(&lab);
    }
}

#[test]
fn a_lock_that_is_a_link_is_named_with_the_remedy() {
    let lab = judged();
    assert!(
        lab.path(".lab/begin.lock").exists(),
        "runs begin one after the other"
    );
    fs::remove_file(lab.path(".lab/decide.lock")).unwrap_or_default();
    symlink(lab.path("../home/.bashrc"), lab.path(".lab/decide.lock")).unwrap();
    lab.lab("keep -m x")
        .is(1)
        .says("decide.lock is a link, and lab follows no link there: remove it");
    fs::remove_file(lab.path(".lab/decide.lock")).unwrap();
    lab.lab("keep -m x").is(0);
}

#[test]
fn a_hard_link_is_not_written_through() {
    let lab = judged();
    fs::remove_file(lab.path(".lab/decide.lock")).unwrap_or_default();
    fs::hard_link(lab.path("../home/.bashrc"), lab.path(".lab/decide.lock")).unwrap();
    lab.lab("keep -m x").is(1).says("is a hard link");
    outside_is_untouched(&lab);
}

#[test]
fn a_ledger_that_is_a_link_is_neither_written_nor_read() {
    let lab = judged();
    symlink("../home/.bashrc", lab.path("results.tsv")).unwrap();
    lab.lab("keep -m better")
        .is(0)
        .says("results.tsv is a link")
        .says("`lab log --append-missing`");
    outside_is_untouched(&lab);
    lab.lab("log").is(0).says("results.tsv is a link");
    lab.lab("describe HEAD -m other").is(1);
    outside_is_untouched(&lab);
    fs::remove_file(lab.path("results.tsv")).unwrap();
    lab.lab("log --append-missing")
        .is(0)
        .says("1 missing rows added");
    assert_eq!(lab.rows(), ["1000.0 | 1000.0 | pass | keep | better"]);
}

#[test]
fn pipes_in_place_of_files_make_no_command_hang() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab.write("kernel.cu", "// next\n");
    lab.lab("run").is(0);
    for name in [
        ".lab/decide.lock",
        ".lab/screen.lock",
        ".lab/unfinished.json",
        ".lab/runs/index.bin",
        ".lab/runs/2/record.json",
        ".lab/runs/2/run.log",
        ".lab/runs/2/kernel.cu",
        "results.tsv",
        "results.cpu.tsv",
        "problem.toml",
        "reference.py",
        ".gitattributes",
        ".git/info/attributes",
        ".git/packed-refs",
        ".git/index",
        ".git/config",
        ".git/HEAD",
        ".git/shallow",
        ".git/refs/heads/main",
        ".git/refs/lab/x",
        ".git/logs/HEAD",
    ] {
        let kept = fs::read(lab.path(name)).ok();
        fs::remove_file(lab.path(name)).unwrap_or_default();
        lab.sh(&format!("mkfifo {name}")).is(0);
        for args in ["log", "keep -m x", "undo", "run"] {
            lab.lab(args);
        }
        fs::remove_file(lab.path(name)).unwrap_or_default();
        if let Some(kept) = kept {
            lab.write(name, kept);
        }
    }
}

#[test]
fn a_pipe_that_git_would_read_is_named() {
    let lab = judged();
    for name in [
        ".gitattributes",
        ".git/packed-refs",
        ".git/index",
        ".git/config",
        ".git/refs/heads/main",
    ] {
        let kept = fs::read(lab.path(name)).ok();
        fs::remove_file(lab.path(name)).unwrap_or_default();
        lab.sh(&format!("mkfifo {name}")).is(0);
        for args in ["log", "keep -m x", "run"] {
            assert_ne!(
                lab.lab(args)
                    .says(&format!("{name} is a pipe or a device"))
                    .code,
                0,
                "{args}"
            );
        }
        fs::remove_file(lab.path(name)).unwrap();
        if let Some(kept) = kept {
            lab.write(name, kept);
        }
    }
    lab.lab("keep -m better").is(0);
}

#[test]
fn a_pipe_in_place_of_a_loose_object_is_named_where_nothing_is_trusted() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    fs::remove_dir_all(lab.path("../state/trusted")).unwrap();
    for object in ["HEAD", "HEAD:kernel.cu", "HEAD^{tree}", "refs/notes/lab"] {
        let id = lab.git(&format!("rev-parse {object}"));
        let (folder, file) = id.trim().split_at(2);
        let name = format!(".git/objects/{folder}/{file}");
        let kept = fs::read(lab.path(&name)).unwrap();
        fs::remove_file(lab.path(&name)).unwrap();
        lab.sh(&format!("mkfifo {name}")).is(0);
        for args in ["log", "run", "undo", "clean"] {
            assert_ne!(
                lab.lab(args)
                    .says(&format!("{name} is a pipe or a device"))
                    .code,
                0,
                "{args}"
            );
        }
        fs::remove_file(lab.path(&name)).unwrap();
        fs::write(lab.path(&name), kept).unwrap();
    }
    lab.lab("undo").is(0);
}

#[test]
fn a_clone_with_links_as_inputs_reads_nothing_outside() {
    let lab = Lab::new();
    lab.write("../home/secret.cu", "// a secret\n");
    lab.git("clone -q . ../clone");
    let clone = |args: &str| {
        let mut command = lab.plain_lab_command(args);
        command.current_dir(lab.path("../clone"));
        finish(command.spawn().unwrap())
    };
    let at = |name: &str| lab.path("../clone").join(name);
    fs::remove_file(at("lab.toml")).unwrap();
    fs::write(at("problem.toml"), "").unwrap();
    fs::remove_file(at("kernel.cu")).unwrap();
    symlink("../home/secret.cu", at("kernel.cu")).unwrap();
    clone("run")
        .is(2)
        .says("kernel.cu is a link that leads out of the repository")
        .says("`lab trust`");
    clone("discard -m x --unjudged").is(1).says("leads out of");
    clone("restore HEAD").is(1).says("leads out of");
    assert_eq!(lab.read("../home/secret.cu"), "// a secret\n");
    assert!(!at(".lab/runs/1/kernel.cu").exists());
    // The same for every other input.
    fs::remove_file(at("kernel.cu")).unwrap();
    fs::write(at("kernel.cu"), "#include \"tile.cuh\"\n").unwrap();
    symlink("../home/secret.cu", at("tile.cuh")).unwrap();
    clone("run")
        .is(2)
        .says("tile.cuh is a link that leads out of the repository");
    fs::remove_file(at("tile.cuh")).unwrap();
    for name in ["problem.toml", "reference.cu", "reference.py"] {
        fs::remove_file(at(name)).unwrap_or_default();
        symlink("/dev/zero", at(name)).unwrap();
        clone("run").is(2).says(&format!(
            "{name} is a link that leads out of the repository"
        ));
        fs::remove_file(at(name)).unwrap();
        fs::write(at("problem.toml"), "").unwrap();
    }
    // For a file outside that an include line names, the record has not even a hash.
    fs::write(at("kernel.cu"), "#include \"../home/secret.cu\"\n").unwrap();
    clone("run");
    // An empty problem.toml judges nothing.
    let record = fs::read_to_string(at(".lab/not-judged/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let outside = record["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["path"].as_str().unwrap().ends_with("secret.cu"));
    assert!(outside.unwrap()["hash"].is_null(), "{outside:?}");
    symlink("/dev/zero", at("lab.toml")).unwrap();
    clone("run").is(64).says("lab.toml").says("leads out of");
    clone("trust --yes").is(1).says("leads out of");
    fs::remove_file(at("lab.toml")).unwrap();
}

#[test]
fn many_links_to_one_large_header_do_not_fill_the_memory() {
    let lab = Lab::new();
    lab.write("large.h", vec![b' '; 7 << 20]);
    let mut kernel = String::new();
    for at in 0..500 {
        symlink("large.h", lab.path(&format!("h{at}.h"))).unwrap();
        kernel += &format!("#include \"h{at}.h\"\n");
    }
    lab.write("kernel.cu", kernel);
    let output = lab.sh("ulimit -v 1500000; \"$LAB\" run");
    assert_eq!(output.code, 2, "{output:?}");
    output.says("kernel.cu and the files that it needs have more than 64 MiB together");
}

#[test]
fn an_endless_list_of_includes_ends() {
    let lab = Lab::new();
    let kernel: String = (0..300_000)
        .map(|at| format!("#include \"{at}\"\n"))
        .collect();
    lab.write("kernel.cu", kernel);
    lab.lab("run")
        .is(2)
        .says("has more than 10000 include lines");
}

#[test]
fn the_harness_reads_no_device_in_place_of_a_problem() {
    let lab = Lab::new();
    symlink("/dev/zero", lab.path("problem.toml")).unwrap();
    let output = lab.sh("ulimit -v 1500000; \"$LAB\" harness . --device cpu");
    assert_eq!(output.code, 64, "{output:?}");
    output.says("is no plain file");
}

#[test]
fn gits_own_list_of_excluded_files_is_not_written_through_a_link() {
    let lab = Lab::new();
    lab.write("../home/.bashrc", RC);
    fs::remove_file(lab.path(".git/info/exclude")).unwrap();
    symlink(lab.path("../home/.bashrc"), lab.path(".git/info/exclude")).unwrap();
    lab.lab("run")
        .says("exclude is a link, and lab follows no link there");
    assert_eq!(lab.read("../home/.bashrc"), RC);
}

#[test]
fn a_record_of_any_size_or_shape_is_left_out_in_words() {
    let lab = judged();
    let path = lab.path(".lab/runs/1/record.json");
    let file = fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    lab.lab("log")
        .is(0)
        .says("has 1099511627776 bytes: at most");
    fs::write(&path, "[".repeat(1 << 20)).unwrap();
    lab.lab("log").is(0).says("run 1 is left out");
    fs::write(&path, "[],".repeat(5 << 20)).unwrap();
    let output = lab.sh("ulimit -v 1500000; \"$LAB\" log");
    assert_eq!(output.code, 0, "{output:?}");
    // The same for an index, and for the list of records that decisions changed.
    for name in [
        ".lab/runs/index.bin",
        ".lab/decide.lock",
        ".lab/unfinished.json",
    ] {
        fs::File::create(lab.path(name))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let output = lab.sh("ulimit -v 1500000; \"$LAB\" log; \"$LAB\" run; \"$LAB\" keep -m x");
        assert!(
            !output.err.contains("panicked") && !output.err.contains("memory"),
            "{name}: {output:?}"
        );
        fs::remove_file(lab.path(name)).unwrap();
    }
}

/// A script that prints the id of a tree with 16^20 entries, in a few kilobytes of objects.
const HUGE_TREE: &str = r#"
id=$(echo x | git hash-object -w --stdin); kind='100644 blob'
for level in $(seq 20); do
    for digit in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do printf '%s %s\t0%s\n' "$kind" "$id" $digit; done > ../tree
    id=$(git mktree < ../tree); kind='040000 tree'
done
"#;

#[test]
fn a_bundle_with_more_notes_than_a_disk_holds_is_refused_at_once() {
    let lab = judged();
    let bundle = "git update-ref refs/notes/lab $(git commit-tree $id -m notes) && git bundle create -q x.bundle main refs/notes/lab && \
                  git update-ref -d refs/notes/lab && git add x.bundle && git commit -qm bundle";
    lab.sh(&format!("{HUGE_TREE}{bundle}")).is(0);
    lab.lab("log --all").is(0);
    lab.lab("fetch")
        .is(1)
        .says(
            "the records that were fetched are not read, and `git update-ref -d refs/lab/fetched/x",
        )
        .says("has more than 1000000 entries");
    lab.lab("log --all").is(0);
    lab.write("kernel.cu", "// better\n");
    lab.lab("keep -m better").is(0);
}

#[test]
fn a_commit_with_more_files_than_a_disk_holds_stops_no_command() {
    let lab = judged();
    let commit = "tree=$( (git ls-tree HEAD; printf '040000 tree %s\\thuge\\n' $id) | git mktree) && \
                  git update-ref refs/heads/main $(git commit-tree $tree -p HEAD -m huge)";
    lab.sh(&format!("{HUGE_TREE}{commit}")).is(0);
    every_command(&lab);
    lab.lab("auto --back-off 0.001 -- true")
        .is(4)
        .says("has more than 1000000 entries");
}

#[test]
fn of_a_ledger_without_end_the_newest_rows_are_read() {
    let lab = judged();
    let row = "abc1234\t12.5\t80\tpass\tkeep\tby hand\n";
    lab.write("results.tsv", row.repeat(200_001));
    lab.lab("log")
        .is(0)
        .says("results.tsv: its first 1 rows are left out, because lab reads 200000");
    lab.write("results.tsv", row.repeat(2_000_000));
    lab.lab("log")
        .is(0)
        .says("results.tsv: ")
        .says("has 68000000 bytes: at most 67108864 are read");
}

/// Nothing of the folder starts and no link is written through, whatever a user tries before a look.
#[test]
fn init_in_a_strangers_clone_starts_nothing_of_it() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// theirs\n");
    lab.write("harness.py", "import os\n");
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    lab.script(".venv/bin/python", "echo ran >> ../ran");
    lab.git("add -Af");
    lab.git("commit -qm theirs");
    lab.git("clone -q . ../clone");
    let clone = |args: &str| lab.sh(&format!("cd ../clone && $LAB {args}"));
    clone("init").is(0).says("next: `lab trust`");
    clone("run")
        .is(64)
        .says("/clone/.venv/bin/python harness.py`, and you have not trusted it yet");
    for command in [
        "doctor",
        "check",
        "log",
        "keep -m x",
        "bench",
        "auto --turn-limit 1 -- true",
    ] {
        clone(command);
    }
    assert!(!lab.path("../ran").exists());
}

#[test]
fn gits_own_folders_and_files_are_not_written_through_links() {
    for name in [
        "objects",
        "objects/17",
        "objects/pack",
        "refs",
        "refs/heads",
        "refs/notes",
        "refs/lab",
        "logs",
        "info",
        "HEAD",
        "index",
        "packed-refs",
    ] {
        let lab = judged();
        lab.sh("$LAB keep -m better && rm ../state/trusted/*").is(0);
        lab.git("pack-refs --all");
        let (inside, away) = (lab.path(".git").join(name), lab.path("../away"));
        match inside.exists() {
            true => fs::rename(&inside, &away).unwrap(),
            false => fs::create_dir(&away).unwrap(),
        }
        symlink(&away, &inside).unwrap();
        let listed = || {
            lab.sh("find -L ../away -type f | xargs -r sha256sum | sort")
                .out
        };
        let before = listed();
        for command in [
            "clean",
            "undo",
            "rules -m x",
            "restore HEAD",
            "discard -m x",
            "describe HEAD -m x",
        ] {
            let output = lab.lab(command);
            assert_ne!(output.code, 0, "{name}: {output:?}");
            output.says(&format!(".git/{name} leads out of git's folder"));
        }
        assert_eq!(listed(), before, "{name}");
    }
    // A file that says where git keeps the objects and refs of a further work tree.
    let (lab, other) = (judged(), judged());
    lab.sh("rm ../state/trusted/*").is(0);
    lab.write(
        ".git/commondir",
        format!("{}\n", other.path(".git").display()),
    );
    let listed = || other.sh("find .git -type f | xargs sha256sum | sort").out;
    let before = listed();
    for command in ["clean", "rules -m x", "restore HEAD", "discard -m x"] {
        let output = lab.lab(command);
        assert_ne!(output.code, 0, "{output:?}");
        output.says(".git/commondir leads out of git's folder");
    }
    assert_eq!(listed(), before);
    // Links that stay inside, and those of a folder that the user trusts, are git's business.
    let lab = judged();
    lab.sh("rm ../state/trusted/*; mv .git/refs .git/others && ln -s others .git/refs")
        .is(0);
    lab.lab("log").is(0);
    lab.sh("mv .git/objects ../objects && ln -s ../../objects .git/objects")
        .is(0);
    lab.lab("keep -m better")
        .is(1)
        .says(".git/objects leads out");
    lab.lab("trust --yes")
        .is(0)
        .says("Git would write through this link, which leads out of its folder:\n")
        .says("/.git/objects\n");
    lab.lab("keep -m better").is(0);
}
