//! Profiles on the screen: the key, its end, and a profile of another terminal.

use super::bench::{Bench, wait_until_gone};
use lab_testing::patience;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An ncu that runs its program and then prints recorded pages. If the file `mode` beside it says
/// so, it hangs for the candidate.
const NCU: &str = r#"
own=$(dirname "$0")
case "$1" in
--version) cat "$own/version.txt"; exit ;;
--import)
    while [ "$1" != --page ]; do shift; done
    cat "$own/$2.csv"
    exit ;;
esac
while true; do
    case "$1" in
    --force-overwrite) shift ;;
    --export) report=$2; shift 2 ;;
    --kernel-name) filter=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
    esac
done
case "$(cat "$own/mode" 2>/dev/null) $filter" in
*tiny*) ;;
hang*) sleep 600 & echo $! > "$own/started"; sleep 600 ;;
esac
"$@"
status=$?
echo report > "$report.ncu-rep"
exit $status"#;

fn ncu(bench: &Bench) -> PathBuf {
    let path = bench.script("ncu", NCU);
    for (name, text) in [
        (
            "version.txt",
            include_str!("../../harness/judge/tests/judge/ncu/version.txt"),
        ),
        (
            "raw.csv",
            include_str!("../../harness/judge/tests/judge/ncu/raw.csv"),
        ),
        (
            "details.csv",
            include_str!("../../harness/judge/tests/judge/ncu/details.csv"),
        ),
        (
            "source.csv",
            include_str!("../../harness/judge/tests/judge/ncu/source.csv"),
        ),
    ] {
        fs::write(path.with_file_name(name), text).unwrap();
    }
    path
}

/// The line of a file, once another process has written it. No event announces that.
fn written(path: &Path) -> String {
    let deadline = Instant::now() + patience();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(
                Instant::now() < deadline,
                "{} was never written",
                path.display()
            ),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_profile_is_made_shown_and_ended() {
    let bench = Bench::rmsnorm();
    let ncu = ncu(&bench);
    let mut lab = bench.open_with(160, 60, &[("LAB_NCU", &ncu)]);
    lab.see("run 1 · opened").see_verdict("● PASS");
    lab.press("5")
        .press("\t")
        .press("\t")
        .see("no profile of these bytes: P makes one");
    // Another terminal makes a profile: it appears with the least cost of the workload.
    let mut other = bench.command(env!("CARGO_BIN_EXE_lab"), &["profile"]);
    assert!(
        other
            .env("LAB_NCU", &ncu)
            .output()
            .unwrap()
            .status
            .success()
    );
    lab.see("a launch must read").see("Speed of light");
    lab.press("P")
        .see("run 1 has a profile")
        .see("Speed of light")
        .see("TFLOP/s");

    fs::write(ncu.with_file_name("mode"), "hang").unwrap();
    lab.press("P").see("is being made");
    let started = ncu.with_file_name("started");
    let pid = written(&started);
    lab.press("P").see("profile: a profile is being made");
    lab.press("x").see("no profile: the profile was ended");
    wait_until_gone(&pid);
    // The earlier one is still there.
    lab.see("Speed of light");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}
