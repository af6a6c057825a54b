//! kernel.cu is deleted, empty, unreadable, a folder, or 50 MB large.

use crate::lab::Lab;
use std::fs;

#[test]
fn a_kernel_that_cannot_be_judged() {
    let lab = Lab::new();
    let check = |says: &str| {
        lab.lab("run").is(2).says(says);
        assert_eq!(lab.lab("run --json").is(2).json()["exit_code"], 2);
    };
    fs::remove_file(lab.path("kernel.cu")).unwrap();
    check("kernel.cu is not there: save it, or put an older one back with `lab restore HEAD`");
    lab.lab("restore HEAD").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");

    lab.write("kernel.cu", " \n");
    check("kernel.cu is empty");
    lab.write("kernel.cu", vec![b'/'; 50 << 20]);
    check("kernel.cu has 52428800 bytes");
    fs::remove_file(lab.path("kernel.cu")).unwrap();
    fs::create_dir(lab.path("kernel.cu")).unwrap();
    check("kernel.cu is a folder");
    lab.lab("restore HEAD").is(1).says("so it is not replaced");
    fs::remove_dir(lab.path("kernel.cu")).unwrap();
    lab.sh("mkfifo kernel.cu").is(0);
    check("cannot read kernel.cu: it is no plain file");
    fs::remove_file(lab.path("kernel.cu")).unwrap();

    // Root can read everything.
    if !rustix::process::geteuid().is_root() {
        lab.write("kernel.cu", "// x\n");
        lab.sh("chmod 000 kernel.cu");
        check("cannot read kernel.cu");
        lab.sh("chmod 644 kernel.cu");
    }
    lab.lab("restore HEAD").is(0);
    lab.lab("run").is(0);
}

#[test]
fn a_kernel_deleted_after_its_verdict_is_still_kept_in_the_record() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// good\n");
    lab.lab("run").is(0);
    fs::remove_file(lab.path("kernel.cu")).unwrap();
    lab.lab("keep -m x").is(1).says("kernel.cu is not there");
    lab.lab("discard -m gone").is(1).says("--unjudged");
    lab.lab("discard -m gone --unjudged").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    assert_eq!(lab.git("show refs/lab/discarded/1:kernel.cu"), "// good\n");
}

#[test]
fn fifty_megabytes_are_not_lost_either() {
    let lab = Lab::new();
    lab.write("kernel.cu", vec![b'/'; 50 << 20]);
    lab.lab("discard -m large --unjudged").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert_eq!(
        lab.git(&format!("cat-file -s {}:kernel.cu", saved.trim())),
        "52428800\n"
    );
}

#[test]
fn a_kernel_that_is_a_link_stays_one() {
    let lab = Lab::new();
    fs::rename(lab.path("kernel.cu"), lab.path("../elsewhere.cu")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.cu", lab.path("kernel.cu")).unwrap();
    lab.write("kernel.cu", "// tried\n");
    lab.lab("run").is(0);
    lab.lab("discard -m tried")
        .is(0)
        .says("kernel.cu is a link and stays one");
    assert!(
        fs::symlink_metadata(lab.path("kernel.cu"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(lab.read("../elsewhere.cu"), "// the first\n");
    assert_eq!(lab.git("show refs/lab/discarded/1:kernel.cu"), "// tried\n");

    // A link in git is not a kernel: the bytes behind it belong to another file.
    lab.git("add kernel.cu");
    lab.git("commit -qm link");
    lab.write("kernel.cu", "// more\n");
    lab.lab("run").is(0);
    lab.lab("keep -m more")
        .is(1)
        .says("git holds kernel.cu as a link: name the file that it points to");
    lab.lab("discard -m more")
        .is(1)
        .says("git holds kernel.cu as a link");
    assert_eq!(lab.read("../elsewhere.cu"), "// more\n");
}
