//! Peers: other implementations that a kernel is timed beside.

use crate::support::{Folder, Judged, run};
use crate::toy;
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;

const RIGHT: &str = "const int i = blockIdx.x * 64 + threadIdx.x; y[i] = 2 * x[i];";

/// Judges a right kernel beside these peers, whose lines are added to problem.toml.
fn beside(peers: &str, files: &[(&str, &str)]) -> Judged {
    let problem = toy::PROBLEM.to_owned() + peers;
    let right = toy::kernel(RIGHT);
    let mut all = vec![
        ("problem.toml", problem.as_str()),
        ("reference.cu", &right),
        ("kernel.cu", &right),
    ];
    all.extend_from_slice(files);
    let folder = Folder::new(&all);
    run(JudgeRequest {
        peers: true,
        ..folder.options()
    })
}

fn peer(name: &str) -> String {
    format!("[[peer]]\nname = \"{name}\"\nkernel = \"{name}.cu\"\n")
}

#[test]
fn a_kernel_is_timed_beside_another_kernel_and_passes() {
    let judged = beside(&peer("old"), &[("old.cu", &toy::kernel(RIGHT))]);
    judged.expect(Exit::Passed);
    let peers = judged.report.peers();
    assert_eq!(
        (peers.len(), peers[0].name.as_str()),
        (1, "old"),
        "{}",
        judged.log
    );
    // The times of the cpu device mean nothing, so there is no interval.
    let ratio = peers[0].ratio.unwrap_or_else(|| panic!("{}", judged.log));
    assert!(ratio.value > 0.0 && ratio.interval.is_none(), "{ratio:?}");
    assert!(
        peers[0].us > Some(0.0) && peers[0].own_us > Some(0.0),
        "{}",
        judged.log
    );
}

#[test]
fn a_peer_that_fails_says_why_and_counts_nothing_against_the_kernel() {
    let peers = ["wrong", "broken", "crash", "missing", "old"]
        .map(peer)
        .concat();
    let wrong = toy::kernel("const int i = blockIdx.x * 64 + threadIdx.x; y[i] = x[i];");
    let crash =
        toy::kernel("const int i = blockIdx.x * 64 + threadIdx.x; y[(1ll << 40) + i] = x[i];");
    let files = [
        ("wrong.cu", wrong.as_str()),
        ("broken.cu", "int main(\n"),
        ("crash.cu", &crash),
        ("old.cu", &toy::kernel(RIGHT)),
    ];
    let judged = beside(&peers, &files);
    judged.expect(Exit::Passed);
    let peers = judged.report.peers();
    let why = |name: &str| {
        let peer = peers
            .iter()
            .find(|peer| peer.name == name)
            .unwrap_or_else(|| panic!("{}", judged.log));
        peer.failure.clone().unwrap_or_default()
    };
    assert!(
        why("wrong").starts_with("its results are wrong: "),
        "{}",
        why("wrong")
    );
    assert!(
        why("broken").contains("broken.cu does not build"),
        "{}",
        why("broken")
    );
    assert!(why("crash").contains("crash"), "{}", why("crash"));
    assert!(why("missing").contains("missing.cu"), "{}", why("missing"));
    assert!(
        peers
            .iter()
            .any(|peer| peer.name == "old" && peer.ratio.is_some()),
        "{}",
        judged.log
    );
}

#[test]
fn without_being_asked_no_peer_is_run() {
    let problem = toy::PROBLEM.to_owned() + &peer("old");
    let right = toy::kernel(RIGHT);
    let folder = Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &right),
        ("kernel.cu", &right),
    ]);
    let judged = folder.judge();
    judged.expect(Exit::Passed);
    assert!(judged.report.peers().is_empty(), "{}", judged.log);
}
