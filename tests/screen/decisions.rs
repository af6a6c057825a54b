//! The view Decisions: the board by domain, one decision whole, the run behind a figure, and evidence
//! from Results.

use super::states::{check, check_at};
use super::world::World;
use super::{device, profile, sweeps};
use lab_board::{
    Board, Cited, Decision, Evidence, Filled, Held, Next, Piece, Problem, Reason, Status,
};
use serde_json::json;

fn decision(id: &str, domain: &str, status: Status, claim: &str) -> Decision {
    Decision {
        id: id.into(),
        domain: domain.into(),
        title: format!("The {id}"),
        claim: Filled {
            text: claim.into(),
            pieces: vec![Piece::Text(claim.into())],
        },
        status,
        rule: status,
        reasons: Vec::new(),
        verdict: None,
        boundary: Filled::default(),
        evidence: Vec::new(),
        stale: Vec::new(),
        next: Vec::new(),
    }
}

fn evidence(kind: &str, number: u64) -> Evidence {
    let us = json!({ "value": 26.41, "low": 26.12, "high": 26.83 });
    let vs = json!({ "value": 10.2, "low": 10.1, "high": 10.3 });
    serde_json::from_value(json!({
        "version": 1, "lab": "0.1.0", "kind": kind, "number": number, "kernel": "kernels/rmsnorm/kernel.cu",
        "blob": "a".repeat(40), "commit": "9f8e7d6".to_owned() + &"0".repeat(33), "inputs": {},
        "device": "NVIDIA H200", "driver": "580.1", "compiler": "NVRTC 13.0",
        "device_state": "SM clock 1980 (1975 … 1980) MHz", "emulated": false, "outcome": "pass", "speed": null,
        "runs": 6, "caveats": [], "figures": { "us": us },
        "workloads": { "f16.4096x8192": { "name": "rows=4096 cols=8192 T=f16", "figures": { "us": us, "vs_eager": vs } } },
        "peers": { "eager": {
            "name": "eager", "call": "(wide * torch.rsqrt(wide.pow(2).mean(-1, True) + eps) * gain).to(x.dtype)",
            "versions": "torch=2.11.0", "source": "kernels/rmsnorm/peer.py", "hash": null
        } },
        "command": "lab bench kernels/rmsnorm --runs 6", "measured": "2026-05-04T09:50:00Z"
    }))
    .unwrap()
}

fn held(kind: &str, number: u64) -> Held {
    Held {
        evidence: evidence(kind, number),
        signer: Some("Ada".into()),
        faults: Vec::new(),
        unchecked: None,
        stale: None,
    }
}

fn board() -> Board {
    let mut board = Board::default();
    let mut rmsnorm = decision(
        "rmsnorm",
        "Fusion wins",
        Status::Supported,
        "Fused RMSNorm is 10.2× as fast as the eager formula on an H200.",
    );
    let figure = Cited {
        text: "10.2×".into(),
        evidence: "rmsnorm".into(),
        workload: Some("f16.4096x8192".into()),
        metric: "vs_eager".into(),
        value: 10.2,
        low: Some(10.1),
        high: Some(10.3),
    };
    rmsnorm.claim.pieces = vec![Piece::Figure(figure)];
    rmsnorm.evidence = vec!["rmsnorm".into()];
    rmsnorm.boundary.text = "Cold L2, contiguous rows.".into();
    rmsnorm.next = vec![Next {
        what: "the same on an A10G".into(),
        command: "lab bench kernels/rmsnorm".into(),
        reason: "another memory system".into(),
        done: None,
    }];
    let swiglu = decision(
        "swiglu",
        "Fusion wins",
        Status::Measured,
        "SwiGLU takes 12.3 µs.",
    );
    let mut softmax = decision(
        "softmax",
        "Memory/reduction boundaries",
        Status::Rejected,
        "Row softmax is no win.",
    );
    softmax.reasons = vec![Reason {
        allows: Status::Rejected,
        text: "softmax: slower than torch on f16.4096x1024".into(),
    }];
    let mut tiles = decision(
        "tiles",
        "Matmul/Tensor Core gaps",
        Status::Caveated,
        "Tiling is an active track.",
    );
    tiles.stale = vec!["tiles: HEAD holds another kernel".into()];
    board.decisions = vec![rmsnorm, swiglu, softmax, tiles];
    board.evidence.insert("rmsnorm".into(), held("bench", 3));
    board.counts.supported = 1;
    board.counts.measured = 1;
    board.counts.caveated = 1;
    board.counts.rejected = 1;
    board.counts.stale = 1;
    board
}

fn world(board: Result<Board, String>) -> World {
    let mut world = World::new().with_history();
    world.board = board;
    world.tell("open; say correctness: pass; end pass 165210; press 6");
    world
}

#[test]
fn the_board_is_shown_by_domain_with_one_decision_whole() {
    check("decisions", &mut world(Ok(board())));
    let mut world = world(Ok(board()));
    world.screen(160, 45);
    world.tell("press j; press j");
    let words = world.words();
    assert!(
        words.contains("rejected: softmax: slower than torch"),
        "{words}"
    );
}

#[test]
fn a_board_that_is_empty_wrong_or_cannot_be_read_says_what_to_do() {
    assert!(
        world(Ok(Board::default()))
            .words()
            .contains("there is no decision yet: `lab decisions add ID")
    );
    let mut wrong = board();
    wrong.problems = vec![Problem {
        is_false: true,
        text: "decisions.toml:5:9: \u{202e}'5.9×' was typed by hand".into(),
    }];
    check_at("decisions_wrong", &mut world(Ok(wrong)), &[(120, 35)]);
    let why = "decisions.toml:3:1: unknown key 'domian' (did you mean 'domain'?)";
    assert!(world(Err(why.into())).words().contains(why));
}

#[test]
fn enter_shows_the_run_behind_a_figure_where_it_is_here() {
    let mut world = world(Ok(board()));
    world.screen(160, 45);
    world.tell("press enter");
    let words = world.words();
    for line in [
        "its record",
        "evidence/rmsnorm.json: its record is in the clone where it was made",
        "bench 3 of kernels/rmsnorm/kernel.cu on NVIDIA H200, 6 runs",
        "`lab bench kernels/rmsnorm --runs 6` repeats it",
        "580.1, NVRTC 13.0, SM clock 1980 (1975 … 1980) MHz",
        "its record does not say whether the tree was clean",
        "peer eager: (wide * torch.rsqrt(",
        "rows=4096 cols=8192 T=f16",
        "vs_eager 10.2× (10.1 … 10.3)",
    ] {
        assert!(words.contains(line), "{line}: {words}");
    }
    world.tell("press enter");
    assert!(world.words().contains("boundary: Cold L2"));
    // It was made here.
    world.record = Some(vec!["PASS  bench 3".into(), "  mean 26.41 µs".into()]);
    for close in ["enter", "esc"] {
        world.tell("press enter");
        let words = world.words();
        assert!(
            words.contains("its record") && words.contains("mean 26.41 µs"),
            "{words}"
        );
        world.tell(&format!("press {close}"));
        let words = world.words();
        assert!(words.contains("boundary: Cold L2"), "{words}");
    }
    world.tell("press enter; press tab; press j");
    let words = world.words();
    assert!(!words.contains("mean 26.41 µs"), "{words}");
}

#[test]
fn of_several_records_behind_a_claim_one_is_chosen() {
    let mut board = board();
    let mut other = held("bench", 4);
    other.evidence.kernel = "kernels/scale/kernel.cu".into();
    board.evidence.insert("scale".into(), other);
    board.decisions[0].evidence.push("scale".into());
    let mut world = world(Ok(board));
    world.screen(160, 45);
    world.record = Some(vec!["PASS  bench 4".into(), "  mean 9.50 µs".into()]);
    world.tell("press enter");
    let words = world.words();
    for row in [
        "Behind the claim",
        "▸rmsnorm bench 3 of kernels/rmsnorm/kernel.cu",
        "scale bench 4 of kernels/scale/kernel.cu",
    ] {
        assert!(words.contains(row), "{row}: {words}");
    }
    world.tell("press down; press enter");
    let words = world.words();
    assert!(words.contains("mean 9.50 µs"), "{words}");
}

#[test]
fn benches_of_two_clones_with_the_same_number_are_two() {
    let mut board = board();
    let mut other = held("bench", 3);
    other.evidence.measured = "2026-05-05T09:50:00Z".parse().unwrap();
    other.evidence.command = "lab bench kernels/rmsnorm --runs 7".into();
    board.evidence.insert("later".into(), other);
    board.decisions[0].evidence.push("later".into());
    let mut world = world(Ok(board));
    world.screen(160, 45);
    world.tell("press enter; press down; press enter");
    let words = world.words();
    assert!(
        words.contains("evidence/later.json: its record") && words.contains("--runs 7` repeats it"),
        "{words}"
    );
}

#[test]
fn enter_shows_no_run_of_another_lab_that_has_the_same_number() {
    // Run 3 of this clone took 16.33 µs.
    let of_run_3 = |kind: &str, us: f64| {
        let mut board = board();
        let mut held = held(kind, 3);
        let figure = held.evidence.figures.get_mut("us").unwrap();
        figure.value = us;
        board.evidence.insert("rmsnorm".into(), held);
        let mut world = world(Ok(board));
        world.screen(160, 45);
        world.tell("press enter");
        world.words()
    };
    let (here, elsewhere) = (
        of_run_3("experiment", 16.329),
        of_run_3("experiment", 26.41),
    );
    assert!(here.contains("▸3 Results"), "{here}");
    let why = "its record is in the clone where it was made";
    assert!(
        elsewhere.contains(why) && elsewhere.contains("▸6 Decisions"),
        "{elsewhere}"
    );
    // A profile is shown in Device.
    let here = of_run_3("profile", 16.329);
    assert!(here.contains("▸5 Device"), "{here}");
}

#[test]
fn an_experiment_becomes_evidence_in_results() {
    let mut world = world(Ok(board()));
    world.screen(160, 45);
    world.tell("press 3; press +");
    let words = world.words();
    assert!(
        words.contains("as evidence") && words.contains("› rmsnorm"),
        "{words}"
    );
    world.tell("press enter");
    let words = world.words();
    assert!(words.contains("is evidence of rmsnorm"), "{words}");
}

#[test]
fn a_bench_a_sweep_and_a_profile_become_evidence_where_they_are_shown() {
    let mut world = World::new();
    world.board = Ok(board());
    world.sweep = Some(sweeps::swept());
    world.profile = Some(profile::recorded());
    world.screen(160, 45);
    world.tell("open").tell(device::RUN).tell("end pass 265231");
    for (view, record) in [
        ("6", "the newest bench"),
        ("5", "profile 1"),
        ("8", "sweep 2"),
    ] {
        world.tell(&format!("press {view}; press +; press enter"));
        let words = world.words();
        let said = format!("{record} is evidence of rmsnorm");
        assert!(words.contains(&said), "{said}: {words}");
    }
    world.tell("press 2; press +");
    let why = "choose a record in Results, Device, Sweep or Decisions";
    assert!(world.words().contains(why), "{}", world.words());
}

#[test]
fn without_a_bench_the_key_says_so_at_once() {
    let mut world = world(Ok(board()));
    world.has_bench = false;
    world.tell("press 6; press +");
    let words = world.words();
    assert!(
        words.contains("no bench yet: `lab bench` makes one"),
        "{words}"
    );
    assert!(world.model.overlays.is_empty());
    // It was made meanwhile: the board was read again.
    world.has_bench = true;
    world.tell("press +; press +");
    assert!(
        !world.model.overlays.is_empty(),
        "{}",
        world.screen(160, 45)
    );
}
