//! The problem's peers on the screen: beside the verdict, in the chart, in Results and in the
//! comparison of two experiments.

use super::states::check;
use super::world::World;
use lab_history::last_peers::LastPeers;
use lab_protocol::report::PeerRatio;
use lab_run::Fingerprint;
use lab_run::peers::PeerFigure;
use std::time::Duration;

/// Two peers that were timed, and one that could not be timed.
const PEERS: &str = "say device: NVIDIA H200 | throughput_sps: 165210.4 low=164880 high=165540 | kernel_us: 6.05 | \
    peer_call: F.rms_norm F.rms_norm(x, (x.shape[-1],), gain, eps) | \
    peer_versions: F.rms_norm torch=2.11.0+cu130 | \
    peer_workload: F.rms_norm rows=1 cols=4096 us=3.47 ratio=1.65 ratio_low=1.60 ratio_high=1.70 | \
    peer_workload: F.rms_norm rows=4096 cols=4096 us=145.4 ratio=1.65 ratio_low=1.64 ratio_high=1.66 | \
    peer: F.rms_norm ratio=1.651 low=1.634 high=1.668 us=9.99 own_us=6.05 launched_as=graph | \
    peer: eager ratio=4.1 low=4.0 high=4.2 us=24.8 own_us=6.05 launched_as=graph | \
    peer: compiled failed=torch~is~not~installed | correctness: pass";

/// A history; then the present bytes are measured, and kept.
fn world() -> World {
    let mut world = World::new().with_history();
    world.tell("open; say device: NVIDIA H200; end pass 160000; save; press m");
    world.tell(PEERS).tell("end pass 165210.4 0.031");
    world
}

#[test]
fn the_fastest_peer_stands_beside_the_verdict_and_each_in_the_chart() {
    let mut world = world();
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("1.65× F.rms_norm (1.63 … 1.67), just now"),
        "{screen}"
    );
    assert!(
        !screen.contains("4.10× eager"),
        "the fastest peer is the one to beat: {screen}"
    );
    check("peers_in_bench", &mut world);
    // A chart on the whole screen is high enough for both lines: 165,210 by 1.651 and by 4.1.
    world.screen(160, 45);
    let chart = world.tell("press tab z").screen(160, 45);
    assert!(
        chart.contains("F.rms_norm 100.1k") && chart.contains("eager 40.3k"),
        "{chart}"
    );
}

#[test]
fn a_save_shows_the_last_figure_of_its_bytes_or_says_that_it_is_the_incumbents() {
    let mut world = World::new().with_history();
    world.tell("open; say device: NVIDIA H200; end pass 160000; save");
    world.tell("say device: NVIDIA H200 | throughput_sps: 165210.4 | correctness: pass");
    let figure = |fingerprint: &str| LastPeers {
        fingerprint: Fingerprint(fingerprint.into()),
        device: Some("NVIDIA H200".into()),
        peers: vec![PeerFigure {
            name: "F.rms_norm".into(),
            ratio: Some(PeerRatio {
                value: 1.65,
                interval: Some((1.63, 1.67)),
            }),
            part: None,
            measured: Some(super::world::made::noon() - Duration::from_secs(2 * 3600)),
            failure: None,
        }],
    };
    world.peers = Some(figure("bytes-1"));
    world.tell("end pass 165210.4 0.031");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("1.65× F.rms_norm (1.63 … 1.67), 2 h ago")
            && !screen.contains("incumbent 1.65×"),
        "{screen}"
    );
    // An edit has no figure of its own.
    world.peers = Some(figure("bytes-0"));
    world.tell("save; say device: NVIDIA H200 | correctness: pass; end pass 166000 0.01");
    let screen = world.screen(160, 45);
    assert!(
        screen.contains("incumbent 1.65× F.rms_norm (1.63 … 1.67), 2 h ago"),
        "{screen}"
    );
    // A figure of another device does not count.
    world.peers = Some(LastPeers {
        device: Some("L40S".into()),
        ..figure("bytes-3")
    });
    world.tell("save; say device: NVIDIA H200 | correctness: pass; end pass 166000 0.01");
    assert!(
        !world.screen(160, 45).contains("F.rms_norm"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn results_has_a_column_the_details_each_peer_and_the_comparison_a_row() {
    let mut world = world();
    world.tell("press c; type overlap loads; press enter; press 3 g");
    let table = world.screen(220, 60);
    assert!(
        table.contains("vs fastest peer") && table.contains("1.65× F.rms_norm"),
        "{table}"
    );
    let words = world.tell("press enter").screen(160, 60);
    for line in [
        "beside the peers",
        "1.65× F.rms_norm (1.63 … 1.67): 9.99 µs, the kernel 6.05 µs, graph",
        "F.rms_norm(x, (x.shape[-1],), gain, eps)",
        "torch=2.11.0+cu130",
        "rows=4096 cols=4096",
        "torch is not installed",
    ] {
        assert!(words.contains(line), "{line} is not in\n{words}");
    }
    check("peers_in_results", &mut world);
    world.tell("press esc space; press j space; press =");
    let words = world.screen(160, 60);
    assert!(
        words.contains("beside the peers") && words.contains("4.10× (4.00 … 4.20)"),
        "{words}"
    );
}
