//! `lab auto`: the options that decide when it ends and what it keeps.

use crate::auto_loop::{auto, body, incumbent_is_back, lab, state};
use crate::lab::Lab;
use serde_json::{Value, json};

/// The repository of [`lab`], whose harness runs `first` before it judges.
fn lab_with(first: &str) -> Lab {
    let lab = lab();
    let rest = body(&lab.read("harness.py"));
    lab.harness(&format!("{first}\n{rest}"));
    lab.git("commit -qam 'more lines'");
    lab
}

/// The state that the command of the last turn got.
fn told(lab: &Lab) -> Value {
    serde_json::from_str(&lab.read("../home/told.json")).unwrap()
}

#[test]
fn what_is_as_fast_and_shorter_is_kept_if_that_is_set() {
    let shorter = "echo '// run same' > kernel.cu";
    let longer = "echo 'int more; // run same' >> kernel.cu";
    for (option, setting) in [
        ("", ""),
        ("--keep-shorter", ""),
        ("", "[auto]\nkeep_shorter = true\n"),
    ] {
        let lab = lab();
        lab.write("kernel.cu", "int rows = 8;\nint unused = 16;\n");
        lab.write("lab.toml", lab.read("lab.toml") + setting);
        lab.git("commit -qam 'with an unused number'");
        lab.lab("trust --yes");
        let is_set = !(option.is_empty() && setting.is_empty());
        let word = if is_set { "kept" } else { "discarded" };
        auto(&lab, &format!("{option} --experiments 1"), shorter)
            .is(0)
            .says(&format!("turn 1: {word} run 1"));
        auto(&lab, &format!("{option} --experiments 1"), longer)
            .is(0)
            .says("turn 2: discarded run 2");
        incumbent_is_back(&lab);
        assert_eq!(
            lab.read("kernel.cu").lines().count(),
            if is_set { 1 } else { 2 }
        );
    }
}

#[test]
fn the_loop_ends_at_a_percentage_of_the_floor_and_tells_how_far_it_is() {
    let lab = lab_with("echo 'floor_us: 800'; echo 'estimate_us: 900'");
    let line = "cp $LAB_AUTO_STATE $HOME/told.json; echo \"run quick $LAB_TURN\" >> kernel.cu";
    auto(&lab, "--until-floor 80.5 --experiments 2", line)
        .is(0)
        .says("ended: the budget of 2 experiments is spent");
    let bounds = json!({
        "run": 1, "kernel_us": 1000.0, "floor_us": 800.0, "of_floor": 80.0, "estimate_us": 900.0, "of_estimate": 90.0
    });
    assert_eq!(told(&lab)["bounds"], bounds, "before the second turn");
    let best = &told(&lab)["best"];
    assert_eq!(
        (&best["run"], &best["value"], &best["objective"]),
        (&json!(1), &json!(1000.0), &json!("throughput_sps"))
    );
    assert_eq!(best["commit"], lab.git("rev-parse HEAD~1").trim());
    // The incumbent is near enough before the first turn.
    auto(&lab, "--until-floor 80", line)
        .is(0)
        .says("0 experiments")
        .says("ended: the floor is 80.0 % of the incumbent's time (--until-floor 80)");
    lab.lab("auto status")
        .is(0)
        .says("best: run 1 at")
        .says("the floor is 80.0 % of the incumbent's time, the estimate 90 %");
    lab.lab("auto --until-floor 101 -- true")
        .is(64)
        .says("it must be at most 100");
    lab.lab("auto --until-floor 0 -- true").is(64);
}

#[test]
fn at_a_plateau_older_kept_kernels_are_named_and_one_can_be_gone_back_to_on_a_branch_of_its_own() {
    let lab = lab();
    let line = "cp $LAB_AUTO_STATE $HOME/told.json\n\
        if [ $LAB_TURN -le 2 ]; then echo \"run quick $LAB_TURN\" >> kernel.cu; else echo \"run slower $LAB_TURN\" >> kernel.cu; fi";
    auto(&lab, "--experiments 5 --plateau 2", line)
        .is(0)
        .says("plateau: 3 turns in a row brought no keep");
    let first = lab.git("rev-parse HEAD~1").trim().to_owned();
    let points = json!([{ "run": 1, "commit": first, "description": "lab auto, turn 1" }]);
    assert_eq!(
        (&told(&lab)["plateau"], &told(&lab)["older_kept"]),
        (&json!(true), &points)
    );
    let short = &first[..7];
    lab.lab("auto status")
        .is(0)
        .says(&format!("`lab auto --from {short}` starts there"));

    let branch = lab.git("branch --show-current").trim().to_owned();
    let tip = lab.git("rev-parse HEAD");
    lab.write("kernel.cu", "a person's edit\n");
    let quick = "echo \"run quick from $LAB_TURN\" >> kernel.cu";
    auto(&lab, &format!("--from {short} --experiments 1"), quick)
        .is(1)
        .says("files are changed (kernel.cu)");
    auto(&lab, "--from nothing --experiments 1", quick)
        .is(1)
        .says("there is no commit 'nothing'");
    lab.git("checkout kernel.cu");
    auto(&lab, &format!("--from {short} --experiments 1"), quick)
        .is(0)
        .says(&format!("on the new branch lab/auto/{short} at {short} 'lab auto, turn 1'; `git switch {branch}` goes back"))
        .says("turn 6: kept run 6");
    assert_eq!(
        lab.git("branch --show-current").trim(),
        format!("lab/auto/{short}")
    );
    assert_eq!(
        lab.read("kernel.cu"),
        "// the first\nrun quick 1\nrun quick from 6\n"
    );
    assert_eq!(
        lab.git(&format!("rev-parse {branch}")),
        tip,
        "the other branch is as it was"
    );
    // The same line again goes on with that branch.
    auto(&lab, &format!("--from {short} --experiments 1"), quick)
        .is(0)
        .says(&format!("on the branch lab/auto/{short} already"));
    lab.git(&format!("checkout -q {branch}"));
    auto(&lab, &format!("--from {short} --experiments 1"), quick)
        .is(0)
        .says("which was there before");
    assert_eq!(lab.git("rev-list --count HEAD"), "6\n");
    let all = lab.lab("log --json").is(0).json();
    assert_eq!(
        all["experiments"].as_array().unwrap().len(),
        8,
        "no experiment is lost"
    );
    assert_eq!(lab.rows().len(), 8);
}

#[test]
fn a_switch_that_was_killed_is_completed() {
    let lab = lab();
    auto(
        &lab,
        "--experiments 2",
        "echo \"run quick $LAB_TURN\" >> kernel.cu",
    )
    .is(0);
    let first = lab.git("rev-parse --short=7 HEAD~1").trim().to_owned();
    // The files are those of the new branch, and HEAD is not yet.
    lab.git(&format!("branch lab/auto/{first} {first}"));
    lab.git(&format!("checkout -q {first} -- kernel.cu"));
    auto(
        &lab,
        &format!("--from {first} --experiments 1"),
        "echo 'run quick' >> kernel.cu",
    )
    .is(0)
    .says("kept run 3");
    incumbent_is_back(&lab);
    assert_eq!(
        lab.git("branch --show-current").trim(),
        format!("lab/auto/{first}")
    );
}

/// The verdict of a kernel whose last line says `left`.
const UNDECIDED: &str = "case $(tail -n 1 kernel.cu) in *left*)\n\
    echo 'device: Test GPU'; echo 'throughput_sps: 1000'; echo 'kernel_us: 1000'; echo 'correctness: pass'\n\
    echo 'speed_ratio: 1.003 low=0.99 high=1.01 quads=3'; echo 'speed: undecided'; exit ;; esac";

#[test]
fn the_counts_follow_what_a_person_decides_after_the_loop() {
    let lab = lab_with(UNDECIDED);
    let line = "[ $LAB_TURN = 1 ] && echo 'run left' >> kernel.cu || echo \"run $LAB_TURN quick\" >> kernel.cu";
    auto(&lab, "--experiments 3", line)
        .is(0)
        .says("3 experiments: 2 kept, 0 discarded, 0 crashed, 1 left");
    let status = |counts: &str| {
        let status = lab.lab("auto status").is(0);
        let counts = format!("  3 experiments: {counts};");
        assert!(status.out.contains(&counts), "{counts}: {status:?}");
        status.out
    };
    let ended = status("2 kept, 0 discarded, 0 crashed, 1 left");
    assert!(ended.contains("left to you: run 1 "), "{ended}");

    lab.lab("undo")
        .is(0)
        .says("run 3 of kernel.cu is open again");
    status("1 kept, 0 discarded, 0 crashed, 2 left");
    lab.lab("discard -m 'not needed'").is(0);
    status("1 kept, 1 discarded, 0 crashed, 1 left");
    lab.lab("undo").is(0);
    lab.lab("keep -m 'needed after all'").is(0);
    status("2 kept, 0 discarded, 0 crashed, 1 left");

    lab.lab("restore left/1").is(0);
    lab.lab("run --unless-known").is(0);
    lab.lab("discard -m 'no gain'").is(0);
    let decided = status("2 kept, 1 discarded, 0 crashed, 0 left");
    assert!(!decided.contains("left to you"), "{decided}");
}

#[test]
fn a_run_that_is_left_keeps_what_the_command_said_and_its_bytes_have_a_name() {
    let lab = lab_with(UNDECIDED);
    let line = "cp $LAB_AUTO_STATE $HOME/told.json\n\
        [ $LAB_TURN = 1 ] && echo 'run left' >> kernel.cu || echo 'run slower' >> kernel.cu\n\
        echo '{\"description\": \"two rows\", \"hypothesis\": \"fewer loads\", \"lesson\": \"measure longer\"}' > $LAB_ANSWER";
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: left to you run 1");
    incumbent_is_back(&lab);
    lab.lab("log").is(0).says("run 1 is open: two rows");
    assert_eq!(
        lab.git("show refs/lab/left/1:kernel.cu"),
        "// the first\nrun left\n"
    );
    assert_eq!(
        lab.git("log -1 --format=%B refs/lab/left/1"),
        "two rows\n\nHypothesis: fewer loads\nLesson: measure longer\n\n"
    );
    let status = lab.lab("auto status").is(0);
    assert!(
        status
            .out
            .contains("left to you: run 1 'two rows': the verdict on speed is undecided"),
        "{status:?}"
    );
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 2: discarded run 2");
    assert_eq!(state(&lab)["left"][0]["run"], 1);
    let lessons = told(&lab)["lessons"].clone();
    assert_eq!(
        lessons,
        json!([]),
        "nothing was decided before the second turn"
    );

    lab.lab("restore left/1").is(0);
    let draft = lab.lab("run --unless-known --json").is(0).json()["draft"].clone();
    let said = json!({ "description": "two rows", "hypothesis": "fewer loads", "lesson": "measure longer" });
    assert_eq!(draft, said);
    lab.lab("keep -m 'two rows, measured by hand' --lesson 'it is the same'")
        .is(0);
    let message = lab.git("log -1 --format=%B");
    assert!(
        message.contains("Hypothesis: fewer loads\n")
            && message.contains("Lesson: it is the same\n"),
        "{message}"
    );
    assert!(!message.contains("measure longer"), "{message}");
    auto(&lab, "--experiments 1", line).is(0);
    let idea = &told(&lab)["lessons"][0];
    assert_eq!(
        (&idea["idea"], &idea["kept"], &idea["discarded"]),
        (&json!("fewer loads"), &json!(1), &json!(1))
    );
    assert_eq!(idea["lessons"], json!(["measure longer", "it is the same"]));
}
