//! The screen in a folder from a stranger.

use super::bench::Bench;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_screen_lock_that_is_a_link_is_refused_and_its_target_stays() {
    let bench = Bench::new();
    let outside = bench.repo().parent().unwrap().join("bashrc");
    fs::write(&outside, "# mine\n").unwrap();
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let locks: Vec<_> = fs::read_dir(bench.repo().join(".lab"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("screen-")
        })
        .collect();
    let [lock] = locks.as_slice() else {
        panic!("{locks:?}")
    };
    fs::remove_file(lock).unwrap();
    symlink("../../bashrc", lock).unwrap();
    let mut lab = bench.open();
    lab.see("is a link, and lab follows no link there: remove it");
    assert_eq!(lab.end(), 1);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "# mine\n");
}

#[test]
fn a_lab_folder_that_leads_elsewhere_or_came_with_the_repository_is_refused() {
    let bench = Bench::new();
    let stuff = bench.repo().parent().unwrap().join("stuff");
    for folder in ["standby", "incumbent", "runs/1/tree"] {
        fs::create_dir_all(stuff.join(folder)).unwrap();
        fs::write(stuff.join(folder).join("mine"), "").unwrap();
    }
    symlink("../stuff", bench.repo().join(".lab")).unwrap();
    let mut lab = bench.open();
    lab.see(".lab is a link");
    assert_eq!(lab.end(), 1);
    fs::remove_file(bench.repo().join(".lab")).unwrap();
    // The folders that a standby judge replaces.
    fs::create_dir(bench.repo().join(".lab")).unwrap();
    for folder in ["standby", "incumbent"] {
        symlink(stuff.join(folder), bench.repo().join(".lab").join(folder)).unwrap();
    }
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    for folder in ["standby", "incumbent", "runs/1/tree"] {
        assert!(stuff.join(folder).join("mine").exists(), "{folder}");
    }
    bench.git(&["add", "-f", ".lab/runs"]);
    let mut lab = bench.open();
    lab.see("git tracks files in .lab");
    assert_eq!(lab.end(), 1);
}

#[test]
fn bytes_that_a_strangers_lab_judged_are_judged_again() {
    let bench = Bench::new();
    let key = bench.repo().parent().unwrap().join("strangers-key");
    let mut lab = bench.open_with(160, 45, &[("LAB_KEY_FILE", &key)]);
    lab.see("run 1 · opened").see_verdict("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let mut lab = bench.open();
    lab.see("run 2 · opened").see_verdict("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    // The user's own verdict is shown again.
    let mut lab = bench.open();
    lab.see_verdict("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    assert!(!bench.repo().join(".lab/runs/3").exists());
}

#[test]
fn an_unfinished_decision_that_came_with_the_folder_is_named_and_the_screen_opens() {
    let bench = Bench::new();
    let head = bench.git(&["rev-parse", "HEAD"]);
    fs::create_dir_all(bench.repo().join(".lab")).unwrap();
    fs::write(
        bench.repo().join(".lab/unfinished.json"),
        r#"{"version": 1, "what": "undo", "kernel": "kernel.cu", "asked": "", "subject": "the undo of run 1",
            "commit": null, "steps": []}"#,
    )
    .unwrap();
    let mut lab = bench.open();
    lab.see("unfinished.json is foreign").see("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    assert_eq!(bench.git(&["rev-parse", "HEAD"]), head);
}
