//! Names of experiments and commits in commands: an ambiguous name is refused with the candidates.

use crate::lab::Lab;
use std::collections::HashMap;
use std::fs;

/// Judges these bytes of a kernel and discards them.
fn discarded(lab: &Lab, kernel: &str, bytes: &str) {
    lab.write(kernel, bytes);
    lab.lab(&format!("run {kernel}")).is(0);
    lab.lab(&format!("discard {kernel} -m '{}'", bytes.trim()))
        .is(0);
}

/// A repository with two kernels, and `../other`, a clone of it in which run 1 discarded
/// `// of other` as `b.cu`.
fn two_clones() -> Lab {
    let lab = Lab::new();
    lab.write("b.cu", "// b\n");
    lab.git("add b.cu");
    lab.git("commit -qm b");
    lab.git("clone -q . ../other");
    let there = "cd ../other && $LAB trust --yes && echo '// of other' > b.cu && $LAB run b.cu && $LAB discard b.cu -m other";
    lab.sh(there).is(0);
    lab
}

/// The name is refused with these words, and no kernel changes.
#[track_caller]
fn refused(lab: &Lab, name: &str, says: &[&str]) {
    let kernels = || (lab.read("kernel.cu"), fs::read(lab.path("b.cu")).ok());
    let before = kernels();
    for command in [
        format!("restore {name}"),
        format!("restore {name} kernel.cu"),
        format!("describe {name} -m x"),
    ] {
        let output = lab.lab(&command).is(1);
        says.iter()
            .for_each(|text| assert!(output.err.contains(text), "'{text}' is not in {output:?}"));
    }
    assert_eq!(kernels(), before);
}

#[test]
fn a_number_that_two_clones_gave_is_refused_with_both() {
    let lab = two_clones();
    discarded(&lab, "kernel.cu", "// mine\n");
    let mine = lab.git("rev-parse refs/lab/discarded/1");
    let mine = mine[..11].to_owned();
    // The user copies refs by hand: the other clone's run 1 takes the name of this one's.
    lab.git("fetch -q ../other +refs/lab/*:refs/lab/*");
    let other = lab.git("rev-parse refs/lab/discarded/1");
    let other = other[..11].to_owned();
    refused(
        &lab,
        "1",
        &[
            &mine,
            "run 1 of this repository",
            &other,
            "refs/lab/discarded/1",
            "'other'",
        ],
    );
    lab.lab(&format!("restore {mine}"))
        .is(0)
        .says("kernel.cu now holds the bytes");
    assert_eq!(lab.read("kernel.cu"), "// mine\n");
    assert_eq!(lab.read("b.cu"), "// b\n");
}

/// No commit holds the bytes of a run that nobody decided; its folder does.
#[test]
fn an_open_run_is_restored_by_its_number() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// tried\n");
    lab.lab("run").is(0);
    lab.write("kernel.cu", "// other\n");
    lab.lab("show 1").is(0).says("● PASS  run 1 of kernel.cu");
    assert_eq!(lab.lab("show 1 --json").is(0).json()["run"], 1);
    lab.lab("show 7")
        .is(1)
        .says("there is no run 7: `lab log` lists");
    lab.lab("log other.cu")
        .is(1)
        .says("there is no other.cu, and no experiment of it: `lab ls` lists the kernels");
    lab.lab("restore 1")
        .is(0)
        .says("kernel.cu now holds the bytes of ")
        .says("lab: the kernel of run 1")
        .says("the bytes that were on disk are saved as");
    assert_eq!(lab.read("kernel.cu"), "// tried\n");
    lab.write(".lab/runs/1/kernel.cu", "// changed\n");
    lab.lab("restore 1")
        .is(1)
        .says("is not what was judged: judge again");
    assert_eq!(lab.read("kernel.cu"), "// tried\n");
}

#[test]
fn a_fetched_number_is_not_taken_for_an_open_run() {
    let lab = two_clones();
    lab.git("fetch -q ../other refs/lab/*:refs/lab/*");
    lab.lab("restore 1").is(0).says("b.cu now holds");
    lab.git("checkout -q b.cu");
    lab.write("kernel.cu", "// mine\n");
    lab.lab("run").is(0);
    refused(
        &lab,
        "1",
        &[
            "run 1 of this repository, of kernel.cu",
            ".lab/runs/1/kernel.cu",
            "refs/lab/discarded/1",
        ],
    );
    // Discarded again, the experiment gets a number of its own, and both have the run's.
    lab.lab("discard -m mine")
        .is(0)
        .says("refs/lab/discarded/1-2");
    refused(&lab, "1", &["refs/lab/discarded/1-2", "'other'", "'mine'"]);
    lab.lab("restore refs/lab/discarded/1-2").is(0);
    assert_eq!(lab.read("kernel.cu"), "// mine\n");
    lab.lab("restore discarded/1").is(0);
    assert_eq!(lab.read("b.cu"), "// of other\n");
}

#[test]
fn a_run_that_was_discarded_twice_means_the_last_decision() {
    let lab = Lab::new();
    discarded(&lab, "kernel.cu", "// mine\n");
    lab.lab("undo").is(0);
    lab.lab("restore HEAD").is(0);
    lab.lab("restore 1").is(0);
    lab.lab("discard -m again").is(0);
    lab.lab("restore 1").is(0).says("again");
    assert_eq!(lab.read("kernel.cu"), "// mine\n");
}

#[test]
fn branches_tags_and_numbers_of_one_name() {
    let lab = Lab::new();
    discarded(&lab, "kernel.cu", "// mine\n");
    lab.git("branch 1");
    refused(&lab, "1", &["refs/heads/1", "refs/lab/discarded/1"]);
    lab.git("tag v1 refs/lab/discarded/1");
    lab.git("branch v1");
    refused(&lab, "v1", &["refs/heads/v1", "refs/tags/v1"]);
    lab.lab("restore refs/tags/v1").is(0);
    assert_eq!(lab.read("kernel.cu"), "// mine\n");
    lab.lab("restore HEAD").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    // Two names of one commit are not ambiguous.
    lab.git("branch -f v1 refs/tags/v1");
    lab.lab("restore v1").is(0);
}

#[test]
fn an_id_that_two_commits_begin_with() {
    let lab = Lab::new();
    let mut commits = String::new();
    for at in 0..1500 {
        let who = format!("A User <user@example.com> {} +0000", 1_500_000_000 + at);
        commits += &format!("commit refs/heads/many\ncommitter {who}\ndata 1\nx\n");
        commits += "M 644 inline kernel.cu\ndata 8\n// many\n\n";
    }
    lab.write("../import", commits);
    lab.sh("git fast-import --quiet < ../import").is(0);
    let ids = lab.git("rev-list many");
    let mut near: HashMap<&str, Vec<&str>> = HashMap::new();
    ids.lines()
        .for_each(|id| near.entry(&id[..4]).or_default().push(id));
    let (prefix, both) = near
        .iter()
        .find(|(_, ids)| ids.len() > 1)
        .expect("1,500 ids, two of which begin alike");
    refused(&lab, prefix, &[&both[0][..11], &both[1][..11]]);
    lab.lab(&format!("restore {}", &both[0][..11])).is(0);
    assert_eq!(lab.read("kernel.cu"), "// many\n");
}

#[test]
fn a_row_whose_commit_is_not_here_counts_too() {
    let lab = Lab::new();
    let head = lab.head();
    let near = format!("{}fffff", &head[..4]);
    assert!(!head.starts_with(&near));
    let header = "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription";
    lab.write(
        "results.tsv",
        format!("{header}\n{}\t1\t1\tpass\tkeep\tof a clone\n", &near[..7]),
    );
    refused(
        &lab,
        &head[..4],
        &[
            &head[..11],
            "'of a clone': git does not hold this commit here",
        ],
    );
    lab.lab(&format!("restore {}", &near[..7]))
        .is(1)
        .says("git does not hold this commit here");
    lab.lab(&format!("describe {} -m 'still mine'", &near[..7]))
        .is(0);
    assert!(lab.read("results.tsv").ends_with("\tstill mine\n"));
}

#[test]
fn a_discard_of_restored_bytes_names_their_run_and_writes_no_second_row() {
    let lab = Lab::new();
    discarded(&lab, "kernel.cu", "// mine\n");
    lab.write("kernel.cu", "// undecided\n");
    lab.lab("run").is(0);
    let rows = lab.rows();
    let refs = || lab.git("for-each-ref refs/lab/discarded");
    let before = refs();
    lab.lab("restore 1").is(0);
    let output = lab.lab("discard -m x").is(0);
    output
        .says("are those of run 1, which was discarded already as")
        .says("'// mine'");
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    assert_eq!(
        (lab.rows(), refs()),
        (rows, before),
        "neither a row nor a ref is new"
    );
    assert_eq!(
        lab.lab("log --json").is(0).json()["undecided_run"],
        2,
        "run 2 is left as it was"
    );
    // The same for a kept experiment, once a better one is the incumbent.
    for bytes in ["// kept\n", "// better\n"] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab("keep -m x").is(0);
    }
    lab.lab("restore HEAD~1").is(0);
    lab.lab("discard -m x")
        .is(0)
        .says("are those of run 3, which was kept already as");
    assert_eq!(lab.read("kernel.cu"), "// better\n");
}

/// What a lab writes in a folder of any name is no news to `git status`.
#[test]
fn the_log_of_a_folder_with_any_name_is_excluded() {
    let lab = Lab::empty();
    for folder in [
        "a\nb",
        "a\\b",
        "a\x1b[31mb",
        "a[b]*",
        "a?",
        "#a",
        "!a ",
        "\"q\"",
    ] {
        fs::create_dir(lab.path(folder)).unwrap();
        let inside = |name: &str| format!("{folder}/{name}");
        lab.passing(1000.0);
        fs::rename(lab.path("harness.py"), lab.path(&inside("harness.py"))).unwrap();
        lab.write(&inside("kernel.cu"), "// the first\n");
        let in_folder = |args: &str| {
            let mut command = lab.lab_command(args);
            command.current_dir(lab.path(folder));
            crate::lab::finish(command.spawn().unwrap())
        };
        in_folder("init").is(0);
        in_folder("trust --yes").is(0);
        lab.git("add -A");
        lab.git("commit -qm start");
        lab.write(&inside("kernel.cu"), "// better\n");
        in_folder("run").is(0);
        lab.write(&inside("kernel.cu"), "// the first\n");
        assert!(lab.path(&inside("run.log")).exists());
        assert_eq!(lab.git("status --porcelain"), "", "{folder:?}");
    }
    // No line means another folder.
    for name in ["b/run.log", "axxb/run.log", "ab/run.log"] {
        fs::create_dir_all(lab.path(name).parent().unwrap()).unwrap();
        lab.write(name, "mine");
    }
    for folder in ["ab/", "axxb/", "b/"] {
        assert!(
            lab.git("status --porcelain")
                .contains(&format!("?? {folder}"))
        );
    }
}
