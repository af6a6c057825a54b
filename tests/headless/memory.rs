//! The history: a kernel that was judged before, and the digest of lessons.

use crate::auto::in_turns;
use crate::lab::Lab;

#[test]
fn a_kernel_that_was_judged_before_is_not_judged_again_unless_asked() {
    let lab = Lab::new();
    lab.write("kernel.cu", "int a = 1; // better\n");
    // Nothing is known yet.
    lab.lab("run --unless-known")
        .is(0)
        .says("run 1 of kernel.cu");
    lab.lab("run --unless-known")
        .is(0)
        .says("run 1 judged these bytes: it was not judged again");
    lab.write("kernel.cu", "/* another\nremark */ int a=1;\n");
    let answer = lab.lab("run --unless-known --json").is(0).json();
    assert_eq!(
        answer["known_as"],
        serde_json::json!({ "run": 1, "same_bytes": false })
    );
    assert_eq!(
        (&answer["run"], &answer["outcome"]),
        (&1.into(), &"pass".into())
    );
    let told = lab
        .lab("run --unless-known")
        .is(0)
        .says("the same kernel, comments and blanks aside");
    // Those bytes were not judged, so nothing can be decided about them.
    assert!(!told.out.contains("lab keep"), "{told:?}");
    assert!(!lab.path(".lab/runs/2").exists());
    // Without the option there is a new run.
    let answer = lab.lab("run --json").is(0).json();
    assert_eq!((&answer["run"], answer.get("known_as")), (&2.into(), None));

    // Other tokens, other rules, another device: judged.
    lab.write("kernel.cu", "int a = 2;\n");
    lab.harness("echo 'h0_max_diff: 1 limit=1e-5'; echo 'correctness: fail'");
    lab.lab("run --unless-known")
        .is(1)
        .says("run 3 of kernel.cu");
    lab.lab("run --unless-known")
        .is(1)
        .says("run 3 judged these bytes");
    lab.lab("run --unless-known --device cpu")
        .is(1)
        .says("run 4 of kernel.cu");
    let config = lab.read("lab.toml");
    lab.write(
        "lab.toml",
        format!("{config}\n[measure]\nsame_within = 0.2\n"),
    );
    lab.lab("trust --yes").is(0);
    lab.lab("run --unless-known")
        .is(1)
        .says("run 5 of kernel.cu");
    lab.lab("run --unless-known --decide -m x").is(64);

    // A discarded kernel: no keep is offered, and a new run can be kept.
    lab.lab("discard -m wrong").is(0);
    lab.write("kernel.cu", "int a = 2;\n");
    let told = lab
        .lab("run --unless-known")
        .is(1)
        .says("run 5 judged these bytes and was decided (discard): it was not judged again (`lab run` judges it)");
    assert!(
        !told.out.contains("lab keep") && !told.out.contains("lab discard"),
        "{told:?}"
    );
    let known = lab.lab("run --unless-known --json").is(1).json();
    assert_eq!(known["decision"]["status"], "discard");
    lab.lab("keep -m again --run 999")
        .is(1)
        .says("there is no run 999");

    // A changed record is not believed.
    let record = lab.read(".lab/runs/5/record.json");
    lab.write(
        ".lab/runs/5/record.json",
        record.replace("\"fail\"", "\"pass\""),
    );
    lab.lab("run --unless-known")
        .is(1)
        .says("run 6 of kernel.cu");
}

#[test]
fn lessons_are_told_by_idea_within_a_number_of_tokens() {
    let lab = Lab::new();
    lab.lab("lessons")
        .is(0)
        .says("no experiment of kernel.cu yet");
    let tries = [
        (1.05, "faster", "keep -m 'unroll: by 2'"),
        (
            0.9,
            "slower",
            "discard -m 'Unroll: by 8' --lesson 'it spills'",
        ),
        (
            0.95,
            "slower",
            "discard -m tiles --hypothesis 'tiles of 32 fit'",
        ),
    ];
    for (at, (ratio, speed, decision)) in tries.into_iter().enumerate() {
        in_turns(&lab, ratio, speed);
        lab.write("kernel.cu", format!("int a = {at};\n"));
        lab.lab("run").is(0);
        lab.lab(decision).is(0);
    }
    lab.lab("lessons")
        .is(0)
        .says("Unroll: 1 kept, 1 discarded; best 1.050× (1.048 … 1.052) run 1; worst 0.900× (0.898 … 0.902) run 2; last run 2")
        .says("  lesson: it spills")
        .says("tiles of 32 fit: 1 discarded; best 0.950×");
    let answer = lab.lab("lessons --json").is(0).json();
    assert_eq!(answer["ideas"][0]["lessons"][0], "it spills");
    assert_eq!(
        (&answer["ideas"][1]["is_hypothesis"], &answer["left_out"]),
        (&true.into(), &0.into())
    );
    // All ideas fit; with one token less, one idea is left out.
    let tokens = answer["estimated_tokens"].as_u64().unwrap();
    let cut = |tokens: u64| {
        lab.lab(&format!("lessons --json --tokens {tokens}"))
            .is(0)
            .json()["left_out"]
            .clone()
    };
    assert_eq!(
        (cut(tokens), cut(tokens - 1), cut(0)),
        (0.into(), 1.into(), 2.into())
    );
    lab.lab("lessons --tokens 0").is(0).says("2 more ideas");
}
