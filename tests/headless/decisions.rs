//! The board of decisions: evidence from records, the status by rule, and what `lab decisions check`
//! proves and refuses.

use crate::lab::{CommandOutput, Lab, signed};
use crate::sweep;
use lab_store::signature::Purpose;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

pub const CLAIM: &str =
    "On H200 it is {scale.f16.1x64.vs_f_scale} as fast as F.scale, and takes {scale.f16.1x64.us}.";

/// A repository with a bench of three runs, which timed the kernel beside a peer.
fn benched() -> Lab {
    benched_with("", 3)
}

fn benched_with(line: &str, runs: u32) -> Lab {
    let lab = Lab::new();
    lab.harness(&format!(
        "echo 'device: NVIDIA H200'; echo 'driver: 580.1'; echo 'sm_clock_mhz: 1980 low=1975 high=1980'\n{line}\n\
         echo 'workload: rows=1 cols=64 T=f16 kernel_us=10 gflops=2500 correctness=pass'; echo 'correctness: pass'"
    ));
    lab.git("commit -qam harness");
    lab.lab(&format!("bench --runs {runs}")).is(0);
    beside_peer(&lab, json!({ "value": 10.2, "low": 10.1, "high": 10.3 }));
    lab
}

/// What the bench would hold had it timed a peer.
fn beside_peer(lab: &Lab, ratio: Value) {
    let start: Value = serde_json::from_str(&lab.read(".lab/bench/1/bench.json")).unwrap();
    let peers = json!({
        "version": 1, "bench": 1, "fingerprint": start["fingerprint"], "device": "NVIDIA H200", "failure": null,
        "peers": [{
            "name": "F.scale", "call": "F.scale(x, 2.0)", "versions": "torch=2.11.0", "ratio": ratio, "failure": null,
            "peer_us": 102.0, "kernel_us": 10.0, "launched_as": "graph", "left_out": [], "part": null,
            "workloads": [{ "name": "rows=1 cols=64 T=f16", "ratio": ratio, "peer_us": 102.0 }],
            "measured": "2026-11-28T20:00:00Z", "source": { "path": "peer.py", "hash": null },
        }],
    });
    lab.write(
        ".lab/bench/1/peers.json",
        signed(Purpose::BenchPeers, &peers.to_string()),
    );
}

fn decide(lab: &Lab, rest: &str) {
    let claim = json!(CLAIM);
    lab.write(
        "decisions.toml",
        format!(
            "[[decision]]\nid = \"scale\"\ndomain = \"Memory\"\ntitle = \"Scaling\"\nclaim = {claim}\n\
             evidence = [\"scale\"]\n{rest}\n"
        ),
    );
}

/// Trusts this user's key, and commits the board.
fn trust(lab: &Lab) {
    let line = lab.lab("decisions key").is(0).out;
    lab.write("evidence/allowed_signers", line);
    lab.git("add -A");
    lab.git("commit -qm board");
}

/// A supported decision.
pub fn supported() -> Lab {
    let lab = benched();
    lab.lab("decisions add scale --bench 1").is(0);
    decide(&lab, "verdict = \"faster\"");
    trust(&lab);
    lab
}

pub fn checked(lab: &Lab, code: i32) -> CommandOutput {
    lab.lab("decisions check").is(code)
}

fn decision(lab: &Lab) -> Value {
    let board = lab.lab("decisions --json").is(0).json();
    board["decisions"][0].clone()
}

#[test]
fn a_claim_is_filled_from_its_evidence_and_is_supported_by_the_rule() {
    let lab = supported();
    let board = lab.lab("decisions").is(0);
    let commit = lab.git("rev-parse --short=7 HEAD~1");
    let expected = format!(
        "1 decision: 1 supported, 0 measured, 0 caveated, 0 rejected\n\nMemory\n  supported  scale: Scaling\n    \
         On H200 it is 10.2× as fast as F.scale, and takes 10 µs.\n    \
         evidence scale: bench 1 of kernel.cu on NVIDIA H200, 3 runs, commit {}, signed by A User\n\n",
        commit.trim()
    );
    let (decisions, rules) = board.out.split_at(expected.len());
    assert_eq!((decisions, &*board.err), (&*expected, ""));
    assert!(rules.starts_with(
        "supported: the stated verdict holds on every named workload and device, without"
    ));
    checked(&lab, 0).says("1 supported");
    let whole = lab.lab("decisions scale").is(0);
    for line in [
        "peer F.scale: F.scale(x, 2.0)  torch=2.11.0",
        "f16.1x64 vs_f_scale: 10.2× (10.1 … 10.3)",
        "driver 580.1, SM clock 1980 (1975 … 1980) MHz",
        "lab bench . --runs 3",
    ] {
        assert!(whole.out.contains(line), "{line}: {whole:?}");
    }
    let answer = decision(&lab);
    assert_eq!(
        answer["claim"]["pieces"][1]["figure"]["metric"],
        "vs_f_scale"
    );
    assert_eq!(
        (&answer["rule"], &answer["reasons"]),
        (&json!("supported"), &json!([]))
    );
}

#[test]
fn a_clone_proves_it_without_records_and_without_the_secret() {
    let lab = supported();
    lab.git("clone -q . ../clone");
    let clone = |line: &str| lab.sh(&format!("cd ../clone && unset LAB_KEY_FILE && {line}"));
    clone("\"$LAB\" decisions check").is(0).says("1 supported");
    // Another figure, and the same signature.
    clone(
        "sed -i 's/\"value\": 10.2/\"value\": 99.2/' evidence/scale.json; \"$LAB\" decisions check",
    )
    .is(1)
    .says("evidence scale: it was changed after it was signed");
    clone("git checkout -q . && : > evidence/allowed_signers; \"$LAB\" decisions check").is(0);
    clone("\"$LAB\" decisions")
        .is(0)
        .says("caveated: scale is signed by no key of evidence/allowed_signers");
    // A commit that holds another kernel than the one that was measured.
    let (head, first) = (lab.git("rev-parse HEAD~1"), "0".repeat(40));
    clone(&format!(
        "git checkout -q . && sed -i 's/{}/{first}/' evidence/scale.json; \"$LAB\" decisions check",
        head.trim()
    ))
    .is(1)
    .says("git does not hold the commit");
}

#[test]
fn the_rule_names_every_reason_and_a_person_may_only_lower() {
    let lab = supported();
    decide(&lab, "");
    assert_eq!(decision(&lab)["status"], "measured", "no verdict is stated");
    decide(&lab, "verdict = \"faster\"\nstatus = \"caveated\"");
    checked(&lab, 0);
    lab.lab("decisions")
        .is(0)
        .says("a person lowered it: its evidence allows supported");
    decide(&lab, "verdict = \"slower\"\nstatus = \"measured\"");
    checked(&lab, 1)
        .says("decisions.toml:8:10: the status of 'scale' is measured, and its evidence allows rejected")
        .says("1 rejected");
    lab.lab("decisions")
        .is(0)
        .says("rejected: scale: faster than F.scale on f16.1x64");
}

#[test]
fn caveats_few_runs_and_uncommitted_files_are_caveats_of_the_claim() {
    let lab = benched_with("echo 'caveat: the SM clock moved by 12 %'", 1);
    lab.write("kernel.cu", "// not committed\n");
    lab.lab("bench --runs 2").is(0);
    lab.lab("decisions add scale --bench 1").is(0);
    lab.lab("decisions add dirty --bench 2").is(0);
    decide(&lab, "verdict = \"faster\"");
    trust(&lab);
    let reasons = decision(&lab)["reasons"].to_string();
    for reason in [
        "scale: the SM clock moved by 12 %",
        "scale: a single run, and supported needs 3",
    ] {
        assert!(reasons.contains(reason), "{reason}: {reasons}");
    }
    // The same bench under three ids is one run.
    lab.lab("decisions add second --bench 1").is(0);
    lab.lab("decisions add third --bench 1").is(0);
    let text = lab.read("decisions.toml");
    let thrice = text.replace("[\"scale\"]", "[\"scale\", \"second\", \"third\"]");
    let thrice = thrice.replace(CLAIM, "{scale.us}, {second.us} and {third.us}");
    lab.write("decisions.toml", thrice);
    lab.lab("decisions")
        .is(0)
        .says("scale and second and third: a single run, and supported needs 3");
    let text = text.replace("[\"scale\"]", "[\"scale\", \"dirty\"]");
    lab.write("decisions.toml", text);
    lab.lab("decisions")
        .is(0)
        .says("dirty is not from a clean tree: no commit holds the files that were measured");
}

#[test]
fn a_wrong_figure_is_a_caveat_and_so_is_evidence_with_a_conflict() {
    let lab = supported();
    let board = lab.read("decisions.toml");
    lab.write(
        "decisions.toml",
        board.replace("{scale.f16.1x64.vs_f_scale}", "99×"),
    );
    checked(&lab, 1).says("1 caveated");
    lab.lab("decisions")
        .is(0)
        .says("caveated: '99×' was typed by hand");
    lab.write("decisions.toml", &board);
    let evidence = lab.read("evidence/scale.json");
    lab.write(
        "evidence/scale.json",
        evidence.replace("  \"number\"", "<<<<<<< HEAD\n  \"number\""),
    );
    checked(&lab, 1)
        .says("a merge left a conflict in evidence/scale.json: take one side whole")
        .says("{scale.f16.1x64.us} names 'scale', which cannot be read");
}

#[test]
fn what_is_counted_is_a_figure_too() {
    let lab = supported();
    let board = lab.read("decisions.toml");
    let claim = "{scale.workloads} of {scale.workloads}, in {scale.runs} runs";
    lab.write("decisions.toml", board.replace(CLAIM, claim));
    lab.lab("decisions").is(0).says("1 of 1, in 3 runs");
}

#[test]
fn evidence_of_another_kernel_than_that_of_head_is_stale() {
    let lab = supported();
    lab.write("kernel.cu", "// the next one\n");
    checked(&lab, 0);
    lab.git("commit -qam next");
    let output = checked(&lab, 0);
    assert!(
        output
            .err
            .contains("warning: evidence scale is stale: HEAD holds another kernel.cu"),
        "{output:?}"
    );
    let board = lab.lab("decisions").is(0);
    assert!(board.out.contains("0 rejected; 1 stale"), "{board:?}");
    assert!(
        board.out.contains("supported, stale  scale: Scaling"),
        "{board:?}"
    );
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_place() {
    let lab = supported();
    let board = lab.read("decisions.toml");
    let wrong = [
        ("10.2× by hand", "'10.2×' was typed by hand"),
        ("a 5.9 x win at 1x64", "'5.9' was typed by hand"),
        (
            "{scale.f16.1x64.vs_eager}",
            "names 'vs_eager', which was not measured there: there is tflops, us, us_f_scale, vs_f_scale",
        ),
        (
            "{scale.f16.1x46.us}",
            "which is no workload of scale (did you mean f16.1x64?)",
        ),
        (
            "{scael.us}",
            "which is not among the evidence of this decision (did you mean scale?)",
        ),
        ("{us}", "{us} names no figure"),
        // A workload has 64 columns, and the claim is no name of one.
        ("64 times as fast", "'64' was typed by hand"),
        // As the version of PyTorch it would be a name.
        ("2.11.0 times as fast", "'2.11.0' was typed by hand"),
        ("about-10x as fast", "'about-10x' was typed by hand"),
        ("faster12x", "'faster12x' was typed by hand"),
        ("n10 rows", "'n10' was typed by hand"),
        ("ten times as fast", "'ten' was typed by hand"),
        ("twice as fast", "'twice' was typed by hand"),
        ("quadruple the speed", "'quadruple' was typed by hand"),
        ("XII times as fast", "'XII' was typed by hand"),
        ("{scale.runs} times as fast", "3 times' is another figure"),
        ("takes -{scale.us}", "'-"),
        ("{scale.runs}{scale.runs}", "'33' is another figure"),
        ("a tenfold gain", "'tenfold' was typed by hand"),
        ("a factor of twelve", "'twelve' was typed by hand"),
        ("a dozen times", "'dozen' was typed by hand"),
        ("an order of magnitude", "'magnitude' was typed by hand"),
        ("two-thirds of the time", "'two-thirds' was typed by hand"),
        ("half the time", "'half' was typed by hand"),
        ("GPT12 times", "'GPT12' was typed by hand"),
        ("torch 2.11.0 times", "'2.11.0' was typed by hand"),
        ("takes {scale.us} µs.", " µs µs' has its unit twice"),
        (
            "{scale.f16.1x64.vs_f_scale} times as fast",
            "× times' has its unit twice",
        ),
        (
            "{scale.f16.1x64.vs_f_scale} slower than F.scale",
            "'10.2× slower' is contrary to its evidence: write '10.2× as fast as'",
        ),
        ("takes {scale.us", "has a brace without its other half"),
        ("takes {scale.us}}", "has a brace without its other half"),
    ];
    for (claim, message) in wrong {
        lab.write("decisions.toml", board.replace(CLAIM, claim));
        checked(&lab, 1).says("decisions.toml:5:9: ").says(message);
    }
    lab.write(
        "decisions.toml",
        board.replace(CLAIM, "H200, f16, 1×64 and torch 2.11.0: {scale.us}"),
    );
    checked(&lab, 0);
    let counts = "On H200 a cluster of eight blocks of GPT2 takes {scale.us}";
    lab.write("decisions.toml", board.replace(CLAIM, counts));
    checked(&lab, 0);
    for (from, to, message) in [
        (
            "domain",
            "domian",
            "decisions.toml:3:1: unknown key 'domian' (did you mean 'domain'?)",
        ),
        ("faster", "fast", "unknown value 'fast'"),
        (
            "[\"scale\"]",
            "[\"scale\", \"gone\"]",
            "evidence/gone.json is not there: `lab decisions add gone`",
        ),
        ("[\"scale\"]", "[\"../x\"]", "'../x' is no id of evidence"),
    ] {
        lab.write("decisions.toml", board.replace(from, to));
        checked(&lab, 1).says(message);
    }
    lab.write("decisions.toml", format!("{board}{board}"));
    checked(&lab, 1).says("two decisions have the id 'scale'");
    lab.write(
        "decisions.toml",
        board.replace("id = \"scale\"", "id = \"a %41\""),
    );
    checked(&lab, 1)
        .says("decisions.toml:2:6: 'a %41' is no id of a decision: write small letters");
    lab.lab("decisions add again --bench 1 --to 'My Claim'")
        .is(1)
        .says("'My Claim' is no id of a decision");
}

#[test]
fn a_conflict_of_a_merge_is_named_and_the_rest_is_shown() {
    let lab = supported();
    let text = lab.read("decisions.toml");
    let theirs = "<<<<<<< HEAD\ntitle = \"Scaling\"\n=======\ntitle = \"Theirs\"\n>>>>>>> branch";
    lab.write(
        "decisions.toml",
        text.replace("title = \"Scaling\"", theirs),
    );
    checked(&lab, 1).says("decisions.toml:4: a merge left a conflict in the lines 4 to 8");
    lab.lab("decisions").is(0).says("supported  scale: Scaling");
}

#[test]
fn hostile_text_is_shown_as_text() {
    let lab = supported();
    let text = lab.read("decisions.toml");
    lab.write(
        "decisions.toml",
        text.replace("Scaling", "<script>\\u001b[2J\\u202e&amp;"),
    );
    let board = lab.lab("decisions").is(0);
    assert!(board.out.contains("scale: <script>&amp;"), "{board:?}");
    let answer = decision(&lab);
    assert_eq!(answer["title"], "<script>&amp;");
}

#[test]
fn evidence_is_made_of_own_records_and_lists_itself_in_a_decision() {
    let lab = benched();
    lab.lab("decisions add Scale --bench 1")
        .is(1)
        .says("'Scale' is no id of evidence");
    lab.lab("decisions add scale --bench 7")
        .is(1)
        .says("there is no bench 7");
    lab.lab("decisions add scale").is(64);
    let added = lab.lab("decisions add scale --bench 1 --to first").is(0);
    assert!(
        added
            .out
            .contains("{scale.f16.1x64.vs_f_scale}  10.2× (10.1 … 10.3)"),
        "{added:?}"
    );
    lab.lab("decisions").is(0).says("kernel.cu takes 10 µs.");
    lab.lab("decisions check")
        .is(0)
        .says("warning: evidence scale is not committed, so a clone lacks it");
    let before = lab.read("decisions.toml") + "# mine\n";
    lab.write("decisions.toml", &before);
    lab.lab("decisions add again --bench 1 --to first").is(0);
    let expected = before.replace("[\"scale\"]", "[\"scale\", \"again\"]");
    assert_eq!(lab.read("decisions.toml"), expected);
    // Evidence that a claim cites is not replaced unasked.
    lab.lab("bench --runs 1").is(0);
    lab.lab("decisions add scale --bench 2")
        .is(1)
        .says("evidence scale is there, of bench 1 of ")
        .says("choose another id, or pass --replace");
    lab.lab("decisions add scale --bench 2 --replace").is(0);
    lab.lab("decisions add scale --bench 1 --replace").is(0);
    let file = lab.path("evidence/scale.json");
    let size = fs::metadata(file).unwrap().len();
    assert!(size < 3_000, "{size}");
    let bench = lab.read(".lab/bench/1/bench.json");
    lab.write(
        ".lab/bench/1/bench.json",
        bench.replace("\"runs\":3", "\"runs\":4"),
    );
    lab.lab("decisions add scale --bench 1")
        .is(1)
        .says("bench 1 is foreign");
}

#[test]
fn a_sweep_is_evidence_with_the_state_of_its_device() {
    let lab = sweep::swept();
    lab.lab("sweep").is(0);
    let answer = lab.lab("decisions add tiles --sweep 1 --json").is(0).json();
    let evidence = &answer["evidence"];
    assert_eq!(evidence["driver"], "none (emulated)");
    assert_eq!(evidence["figures"]["passed"]["value"], 3.0);
    let compiler = evidence["compiler"].as_str().unwrap();
    assert!(compiler.contains("++"), "{compiler}");
}

#[test]
fn a_run_and_next_evidence_are_on_the_board_too() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.lab("run").is(0);
    lab.lab("decisions add second --run 2").is(0);
    let answer = lab.lab("decisions add first --run 1 --json").is(0).json();
    assert_eq!(answer["evidence"]["figures"]["sps"]["value"], 1000.0);
    lab.write(
        "decisions.toml",
        "[[decision]]\nid = \"a\"\ndomain = \"D\"\ntitle = \"T\"\nclaim = \"It makes {first.sps}.\"\n\
         evidence = [\"first\", \"second\"]\nboundary = \"Published: 5.9×, on another card.\"\nnext = [\n\
         { what = \"more runs\", command = \"lab bench\", reason = \"one proves nothing\" },\n\
         { what = \"a run\", done = \"second\" } ]\n",
    );
    let board = lab.lab("decisions").is(0);
    for line in [
        "It makes 1,000 samples/s.",
        "boundary: Published: 5.9×, on another card.",
        "next [ ] more runs; lab bench; one proves nothing",
        "next [x] second: a run",
    ] {
        assert!(board.out.contains(line), "{line}: {board:?}");
    }
    checked(&lab, 0).says("1 caveated");
    assert!(
        Lab::new()
            .lab("decisions")
            .is(0)
            .out
            .contains("there is no decision yet")
    );
}

#[test]
fn the_title_of_a_new_decision_is_what_was_tried_or_else_its_id() {
    let lab = Lab::new();
    lab.passing(2000.0);
    lab.git("commit -qam harness");
    let experiment = |number: u64, tried: &str, decision: &str| {
        lab.write("kernel.cu", format!("// experiment {number}\n"));
        lab.lab("run").is(0);
        lab.sh(&format!("\"$LAB\" keep -m '{tried}'")).is(0);
        lab.lab(&format!(
            "decisions add {decision} --run {number} --to {decision}"
        ))
        .is(0);
        lab.lab("decisions").is(0).out
    };
    let board = experiment(1, "two rows a warp, float4 stores", "rows");
    assert!(
        board.contains("  rows: two rows a warp, float4 stores"),
        "{board}"
    );
    // A number of a title would be one that was typed by hand.
    let board = experiment(2, "loads of 16 bytes", "wide-loads");
    assert!(board.contains("  wide-loads: wide loads"), "{board}");
    assert!(!board.contains("typed by hand"), "{board}");
}

#[test]
fn a_claim_names_the_card_that_was_measured() {
    let lab = supported();
    let text = lab.read("decisions.toml");
    let claimed = |claim: &str| lab.write("decisions.toml", text.replace("On H200", claim));
    claimed("On an A10G");
    checked(&lab, 1)
        .says("decisions.toml:5:9: it names A10G, and none of its evidence was measured there")
        .says("scale was measured on NVIDIA H200, which its claim does not name");
    assert_eq!(decision(&lab)["status"], "caveated");
    claimed("On H200 and T4");
    checked(&lab, 1).says("it names T4, and none");
    claimed("With a cold L2 in F16");
    checked(&lab, 0);
}

#[test]
fn what_was_to_be_measured_is_done_by_the_evidence_of_its_command() {
    let lab = supported();
    let next = "next = [\n  { what = \"more runs\", command = \"lab bench . --runs 9\" },\n  { what = \"counters\", \
                command = \"lab profile .\" },\n]";
    decide(&lab, next);
    // The bench that the decision lists already is no later one.
    lab.lab("decisions add again --bench 1 --to scale").is(0);
    lab.lab("decisions").is(0).says("next [ ] more runs;");
    decide(&lab, next);
    lab.lab("bench --runs 2").is(0);
    let answer = lab
        .lab("decisions add more --bench 2 --to scale --json")
        .is(0)
        .json();
    assert_eq!(answer["done"], json!(["more runs"]));
    let board = lab.lab("decisions").is(0);
    for line in ["next [x] more: more runs;", "next [ ] counters;"] {
        assert!(board.out.contains(line), "{line}: {board:?}");
    }
    decide(
        &lab,
        "[[decision.next]]\nwhat = \"more runs\"\ncommand = \"lab bench .\"",
    );
    lab.lab("decisions add more --bench 2 --to scale")
        .is(0)
        .says("done: more runs");
    lab.lab("decisions")
        .is(0)
        .says("next [x] more: more runs; lab bench .");
    // A card that it was not measured on, and evidence of another decision.
    decide(
        &lab,
        "[[decision.next]]\nwhat = \"the same on an A10G\"\ncommand = \"lab bench .\"",
    );
    lab.lab("decisions add more --bench 2 --to scale").is(0);
    lab.lab("decisions")
        .is(0)
        .says("next [ ] the same on an A10G;");
    decide(&lab, "next = [{ what = \"more runs\", done = \"again\" }]");
    checked(&lab, 1).says("'again' is done, and is not among the evidence of this decision");
}

/// A CI job clones the newest commit alone: what older commits prove is unknown there, and not false.
#[test]
fn a_shallow_clone_says_that_it_cannot_check_and_how_it_could() {
    let lab = supported();
    lab.git("commit -q --allow-empty -m later");
    lab.sh("git clone -q --depth 1 file://$PWD ../shallow")
        .is(0);
    let shallow = |line: &str| lab.sh(&format!("cd ../shallow && {line}"));
    let cure =
        "evidence scale cannot be checked here: this clone is shallow and does not hold the commit";
    shallow("\"$LAB\" decisions check")
        .is(0)
        .says(cure)
        .says("`git fetch --unshallow`");
    let board = shallow("\"$LAB\" decisions").is(0);
    assert!(!board.out.contains("is false"), "{board:?}");
    shallow("git fetch -q --unshallow && \"$LAB\" decisions check")
        .is(0)
        .says("1 supported");
}

/// A hundred thousand experiments cost the board nothing: it opens neither the ledger nor a record.
#[test]
fn the_board_reads_no_ledger() {
    let lab = supported();
    lab.sh("rm -rf .lab results.tsv && mkfifo results.tsv")
        .is(0);
    lab.lab("decisions").is(0).says("supported  scale");
    checked(&lab, 0);
}

/// The board and its evidence in a repository that has nothing else: so the commits are not there.
#[test]
fn the_board_of_this_repository_holds() {
    let lab = Lab::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.write(
        "decisions.toml",
        fs::read_to_string(root.join("decisions.toml")).unwrap(),
    );
    fs::create_dir(lab.path("evidence")).unwrap();
    for file in fs::read_dir(root.join("evidence")).unwrap() {
        let name = format!("evidence/{}", file.unwrap().file_name().display());
        lab.write(&name, fs::read_to_string(root.join(&name)).unwrap());
    }
    lab.git("add -A");
    lab.git("commit -qm board");
    let checked = lab.lab("decisions check");
    assert!(checked.out.contains(" decisions: "), "{checked:?}");
    let is_false =
        |line: &&str| line.contains("false: ") && !line.contains("git does not hold the commit");
    let wrong: Vec<&str> = checked.err.lines().filter(is_false).collect();
    assert_eq!(wrong, Vec::<&str>::new());
}

/// A figure is rounded once, where a person reads it: 2,274.46 reads as 2,274 everywhere.
#[test]
fn a_figure_of_evidence_is_the_measured_one() {
    let lab = Lab::new();
    lab.harness(
        "echo 'device: NVIDIA H200'; echo 'workload: rows=1 kernel_us=2274.46 correctness=pass'; echo 'correctness: pass'",
    );
    lab.git("commit -qam harness");
    lab.lab("bench --runs 1").is(0).says("2,274 µs");
    lab.lab("decisions add first --bench 1 --to first")
        .is(0)
        .says("{first.1.us}  2,274 µs");
    // Two decisions of one kernel are told apart by their ids.
    lab.lab("decisions add second --bench 1 --to second").is(0);
    let board = lab.lab("decisions").is(0).out;
    for id in ["first", "second"] {
        assert!(board.contains(&format!("  {id}: ")), "{board}");
    }
    assert!(
        board.contains("2,274 µs") && !board.contains("2,275"),
        "{board}"
    );
    lab.lab("report").is(0);
    let html = lab.read(".lab/report.html");
    assert!(html.contains("<code>first</code>") && html.contains("<code>second</code>"));
}

#[test]
fn what_a_killed_process_left_beside_evidence_goes_with_the_next_evidence() {
    let lab = supported();
    let left = "evidence/.lab-new-0123456789ab.scale.json";
    lab.write(left, "half");
    lab.lab("decisions add other --bench 1").is(0);
    assert!(!lab.path(left).exists());
}
