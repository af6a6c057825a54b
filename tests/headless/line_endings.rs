//! Line endings: git may put other bytes on disk than were judged. Judged and saved bytes come back
//! byte for byte.

use crate::lab::Lab;
use std::fs;

const VARIANTS: [(&str, &[u8]); 5] = [
    ("lf", b"// one\n// two\n"),
    ("crlf", b"// a\r\n// b\r\n"),
    ("mixed", b"// first\r\n// second\n"),
    ("ident", b"// $Id$\n// one\n"),
    ("bom", b"\xef\xbb\xbf// with a byte order mark\n"),
];

fn bytes(lab: &Lab) -> Vec<u8> {
    fs::read(lab.path("kernel.cu")).unwrap()
}

/// Keeps and discards kernels with every line ending; each comes back as it was judged.
#[track_caller]
fn comes_back(lab: &Lab) {
    let mut kept = Vec::new();
    for (name, text) in VARIANTS {
        lab.write("kernel.cu", text);
        lab.lab("run").is(0);
        lab.lab(&format!("keep -m {name}")).is(0);
        kept.push((lab.head(), text.to_vec()));
        // The incumbent's bytes come back too, and count as judged.
        let tried = [text, b"// tried\r\n// and\n"].concat();
        lab.write("kernel.cu", &tried);
        lab.lab("run").is(0);
        lab.lab(&format!("discard -m 'not {name}'")).is(0);
        assert_eq!(
            String::from_utf8_lossy(&bytes(lab)),
            String::from_utf8_lossy(text),
            "the incumbent {name}"
        );
        lab.lab("discard -m x")
            .is(1)
            .says("is the incumbent's: there is nothing to discard");
        let discarded = lab
            .git("for-each-ref --sort=-version:refname --format=%(objectname) refs/lab/discarded");
        kept.push((discarded.lines().next().unwrap().to_owned(), tried));
    }
    // A commit on top that has nothing to do with the kernel.
    lab.write("other", "x\n");
    lab.git("add other");
    lab.git("commit -qm other");
    kept.push(("HEAD".to_owned(), VARIANTS[4].1.to_vec()));
    for (commit, text) in &kept {
        lab.lab(&format!("restore {commit}")).is(0);
        assert_eq!(
            String::from_utf8_lossy(&bytes(lab)),
            String::from_utf8_lossy(text),
            "{commit}"
        );
    }
    lab.git("fsck --no-dangling");
}

#[test]
fn with_autocrlf_what_was_judged_comes_back() {
    let lab = Lab::new();
    lab.git("config core.autocrlf true");
    comes_back(&lab);
}

#[test]
fn with_autocrlf_input_what_was_judged_comes_back() {
    let lab = Lab::new();
    lab.git("config core.autocrlf input");
    comes_back(&lab);
}

#[test]
fn with_attributes_what_was_judged_comes_back() {
    let lab = Lab::new();
    lab.write(".gitattributes", "*.cu text eol=crlf ident\n");
    lab.git("add .gitattributes");
    lab.git("commit -qm attributes");
    comes_back(&lab);
}

#[test]
fn saved_bytes_that_differ_in_line_endings_alone_both_come_back() {
    let lab = Lab::new();
    lab.git("config core.autocrlf true");
    let mut saved = Vec::new();
    for text in [&b"// same\n"[..], b"// same\r\n", b"// same\n"] {
        lab.write("kernel.cu", text);
        let said = lab.lab("restore HEAD").is(0);
        let at = said.out.find("saved as ").expect("it says where") + "saved as ".len();
        saved.push((said.out[at..at + 7].to_owned(), text));
    }
    assert_eq!(
        saved[0].0, saved[2].0,
        "bytes that are saved keep their ref"
    );
    for (commit, text) in saved {
        lab.lab(&format!("restore {commit}")).is(0);
        assert_eq!(bytes(&lab), text);
    }
}

#[test]
fn another_clone_gets_the_judged_bytes() {
    let lab = Lab::new();
    lab.git("config core.autocrlf true");
    lab.write("kernel.cu", VARIANTS[2].1);
    lab.lab("run").is(0);
    lab.lab("discard -m mixed").is(0);
    lab.git("add -f results.tsv");
    lab.git("commit -qm ledger");
    lab.git("clone -q --no-local . ../clone");
    lab.sh("cd ../clone && $LAB fetch && $LAB restore 1").is(0);
    assert_eq!(
        fs::read(lab.path("../clone/kernel.cu")).unwrap(),
        VARIANTS[2].1
    );
}

/// Old editors end lines by a carriage return alone, and so do compilers.
#[test]
fn a_carriage_return_ends_a_line_of_every_diff() {
    let lab = Lab::new();
    let kernel = |third: &str| format!("// one\r// two\r{third}\r// four\r");
    for (third, run) in [("// three", 1), ("// drei", 2)] {
        lab.write("kernel.cu", kernel(third));
        lab.lab("run").is(0);
        lab.lab(&format!("keep -m '{third}'")).is(0);
        assert_eq!(lab.rows().len(), run);
    }
    let compared = lab.lab("diff 1 2 --json").is(0).json();
    let wanted = "@@ -1,4 +1,4 @@\n // one\r\n // two\r\n-// three\r\n+// drei\r\n // four\r\n";
    assert_eq!(compared["diff"], wanted);
    let text = lab.lab("diff 1 2").is(0).out;
    let is_changed = |row: &str| text.lines().any(|line| line.contains(row));
    assert!(
        is_changed("- // three") && is_changed("+ // drei"),
        "{text}"
    );
    // The details of an experiment, and those of a commit.
    let project = lab_project::Project::open(&lab.repo, None).unwrap();
    let repo = lab_git::Repo::open(&project).unwrap();
    let commit = lab_git::commit_details(&repo, "HEAD", 3).unwrap();
    let file = commit.files.iter().find(|file| file.path == "kernel.cu");
    let file = file.expect("the kernel changed");
    assert_eq!((file.added, file.removed, &*file.diff), (1, 1, wanted));
    assert_eq!(lab_git::change(&repo, "HEAD", 3).unwrap(), wanted);
}
