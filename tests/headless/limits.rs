//! Limits of the process, as a shell or a batch system sets them: each command ends and says why, and
//! the next one without the limit works.

use crate::lab::{Beside, Lab};
use lab_testing::until;
use rustix::fs::{Mode, OFlags};

fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

#[test]
fn a_command_with_few_descriptors_ends() {
    for count in 4..=12 {
        let lab = judged();
        for command in ["run", "keep -m better", "discard -m better", "undo"] {
            let output = lab.sh(&format!("ulimit -n {count}; exec $LAB {command}"));
            assert!(
                (0..=64).contains(&output.code),
                "{count} descriptors: `lab {command}`: {output:?}"
            );
        }
        lab.lab("log").is(0);
        lab.write("kernel.cu", "// another\n");
        lab.lab("run").is(0);
        lab.lab("keep -m another").is(0);
    }
}

#[test]
fn a_command_that_may_open_too_few_files_names_the_limit_and_gives_no_verdict() {
    for count in 4..=14 {
        let lab = Lab::new();
        lab.write("kernel.cu", "// better\n");
        for command in ["run", "log", "clean", "keep -m better"] {
            let output = lab.sh(&format!("ulimit -n {count}; exec $LAB {command}"));
            let said = format!("{}{}", output.out, output.err);
            let is_of_it = |line: &&str| line.contains("Too many open files");
            // The log of a run has the system's own words.
            for line in said.lines().filter(is_of_it).filter(|_| command != "run") {
                assert!(line.contains("`ulimit -n`"), "{count}, {command}: {line}");
            }
            assert_ne!(output.code, 2, "{count}, {command}: {output:?}");
        }
    }
}

#[test]
fn a_file_beyond_the_limit_of_the_process_is_an_error_with_a_remedy() {
    let lab = judged();
    let head = lab.head();
    for command in ["keep -m better", "discard -m better"] {
        lab.sh(&format!("ulimit -f 1; exec $LAB {command}"))
            .is(1)
            .says(
                "a file would be larger than this process may write (`ulimit -f`), and nothing was",
            );
    }
    assert_eq!(lab.head(), head);
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.git("status --porcelain"), "");
}

/// The index is the only file that is too large.
#[test]
fn a_keep_whose_index_could_not_be_written_is_not_taken_back_by_the_next_commit() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("many")).unwrap();
    for at in 0..3000 {
        lab.write(&format!("many/{at}"), "");
    }
    lab.git("add many");
    lab.git("commit -qm many");
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.sh("ulimit -f 200; exec $LAB keep -m better")
        .is(0)
        .says("git's index still holds another kernel.cu than HEAD: ")
        .says("The next `lab` command writes it");
    let refused = lab.sh("git commit -m 'something else'");
    assert!(
        refused.code != 0 && refused.err.contains("index.lock"),
        "{refused:?}"
    );
    lab.lab("log")
        .is(0)
        .says("git's index, which could not be written before, is written");
    assert_eq!(lab.git("status --porcelain"), "");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert!(!lab.path(".lab/unfinished.json").exists());
}

/// libgit2 reads a commit's object of which the end is missing for ever. HEAD's own is looked at
/// before, and those that a walk through the history reads are not.
#[test]
fn sigterm_ends_a_command_whose_work_never_ends() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    // A file that is read and never ends, as on a file system that does not answer.
    let config = lab.path("../home/.gitconfig");
    let whole = std::fs::read(&config).unwrap();
    std::fs::remove_file(&config).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &config, 0o600.into()).unwrap();
    let undo = Beside::of(lab.lab_command("undo").spawn().unwrap());
    let mut writer = None;
    until("it reads git's settings", || {
        // Without a reader this fails.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        writer = rustix::fs::open(&config, flags, Mode::empty()).ok();
        writer.is_some()
    });
    undo.signal(rustix::process::Signal::TERM);
    assert_ne!(undo.finish().code, 0);
    drop(writer);
    std::fs::remove_file(&config).unwrap();
    std::fs::write(&config, &whole).unwrap();
    lab.lab("undo").is(0);
}

/// A batch system may give a process a small stack. The limit is raised where that is allowed.
#[test]
fn a_stack_that_is_too_small_is_told_or_raised() {
    let lab = judged();
    lab.sh("ulimit -S -s 128; exec $LAB log").is(0);
    let output = lab.sh("ulimit -s 128; exec $LAB keep -m better");
    match output.code {
        // Root may raise it.
        0 => assert_eq!(lab.git("log -1 --format=%s"), "better\n"),
        _ => drop(output.is(64).says(
            "the stack of this process is limited to 128 KiB, and lab needs 1 MiB: raise the limit (`ulimit -s 1024`)",
        )),
    }
}

#[test]
fn what_stdout_does_not_take_is_told_and_is_no_success() {
    let lab = Lab::new();
    for command in ["log", "ls --json", "help"] {
        lab.sh(&format!("exec $LAB {command} > /dev/full"))
            .is(64)
            .says("stdout was not written to its end: No space left on device");
    }
}
