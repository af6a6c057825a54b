//! `lab auto` after the user's own harness changed during the loop: the loop keeps and discards
//! nothing that the changed harness judged.

use crate::auto_loop::{auto, auto_command, incumbent_is_back, lab, state};
use crate::lab::{Beside, Lab};
use lab_testing::until;
use serde_json::json;

/// The repository of [`lab`], judged by `./bench.sh`.
fn judged_by_a_script() -> Lab {
    let lab = lab();
    let judges = lab.read("harness.py");
    lab.script("bench.sh", &judges);
    lab.write("lab.toml", "harness = \"./bench.sh\"\n");
    lab.git("add -A");
    lab.git("commit -qm 'a script'");
    lab.lab("trust --yes").is(0);
    lab
}

/// A harness in Python. It reads the ratio of a kernel whose last line is `run slower` from JSON.
const JUDGE: &str = "import json, os\n\
    slower = json.loads('{\"ratio\": 0.95}')['ratio']\n\
    ratio = slower if 'slower' in open(os.environ['LAB_KERNEL']).read().splitlines()[-1] else 1.05\n\
    print('device: Test GPU\\nh0_max_diff: 1e-6 limit=1e-5\\nthroughput_sps: 1000\\nkernel_us: 1000')\n\
    print(f'speed_ratio: {ratio} low={ratio - 0.002} high={ratio + 0.002} quads=3')\n\
    print('speed:', 'faster' if ratio > 1 else 'slower')\n\
    print('correctness: pass')\n";

/// A repository with these lines of lab.toml, judged by [`JUDGE`] in judge.py.
fn judged_by_python(config: &str) -> Lab {
    let lab = lab();
    lab.write("judge.py", JUDGE);
    lab.write("lab.toml", config);
    lab.git("add -A");
    lab.git("commit -qm 'in Python'");
    lab.lab("trust --yes").is(0);
    lab
}

const SCRIPT: &str = "harness = { python = \"judge.py\" }\n";

#[test]
fn a_kernel_that_a_changed_harness_judged_is_not_kept_although_the_harness_is_back_by_then() {
    let lab = judged_by_a_script();
    // The script of the first turn finds each kernel faster, and puts the old one back.
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; cd '{}'\n\
         [ $LAB_TURN != 1 ] || {{ cp -p bench.sh $HOME/old.sh; sed -i 's/slower/nothing/; 1a mv $HOME/old.sh bench.sh' bench.sh; }}",
        lab.repo.display()
    );
    auto(&lab, "--experiments 2", &line)
        .is(0)
        .says("turn 1: left to you run 1: bench.sh changed since the loop began")
        .says("turn 2: discarded run 2");
    assert_eq!(
        lab.git("log -1 --format=%s"),
        "a script\n",
        "nothing was kept"
    );
    incumbent_is_back(&lab);
}

#[test]
fn a_new_module_that_the_harness_imports_is_named_and_decides_nothing() {
    for config in [SCRIPT, "harness = \"python3 judge.py\"\n"] {
        let lab = judged_by_python(config);
        let line = format!(
            "echo \"run slower $LAB_TURN\" >> kernel.cu; cd '{}'\n\
             [ $LAB_TURN != 1 ] || echo 'def loads(text): return {{\"ratio\": 1.5}}' > json.py; [ $LAB_TURN != 2 ] || rm json.py",
            lab.repo.display()
        );
        auto(&lab, "--experiments 2", &line)
            .is(0)
            .says("turn 1: left to you run 1: json.py is new since the loop began")
            .says("turn 2: discarded run 2");
        assert_eq!(
            lab.git("log -1 --format=%s"),
            "in Python\n",
            "{config}: nothing was kept"
        );
        incumbent_is_back(&lab);
    }
}

#[test]
fn the_harness_is_watched_also_where_the_kernel_was_empty_when_the_loop_began() {
    let lab = judged_by_python(SCRIPT);
    lab.write("kernel.cu", "\n");
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; sed -i s/0.95/1.5/ '{}/judge.py'",
        lab.repo.display()
    );
    let child = Beside::spawn(auto_command(&lab, "--experiments 1", &line));
    until("it waits for the kernel", || {
        state(&lab)["phase"] == "waiting_for_person"
    });
    lab.git("checkout -q kernel.cu");
    child
        .finish()
        .is(0)
        .says("turn 1: left to you run 1: judge.py changed since the loop began");
    incumbent_is_back_but(&lab, "judge.py");
}

/// As [`incumbent_is_back`], with a change of this file.
#[track_caller]
fn incumbent_is_back_but(lab: &Lab, changed: &str) {
    assert_eq!(
        lab.git("status --porcelain --untracked-files=no"),
        format!(" M {changed}\n")
    );
}

#[test]
fn what_the_harness_shares_with_the_kernel_or_the_rules_is_watched_too() {
    let cases = [
        ("reference.py", "", "import reference\n"),
        ("shared.h", "[watch]\nextra = [\"shared.h\"]\n", ""),
    ];
    for (file, config, import) in cases {
        let lab = judged_by_python(&format!("{SCRIPT}{config}"));
        lab.write("judge.py", format!("{import}{JUDGE}"));
        lab.write("kernel.cu", "#include \"shared.h\"\n// the first\n");
        lab.write("shared.h", "// shared\n");
        lab.write("reference.py", "# the rule\n");
        lab.git("add -A");
        lab.git("commit -qm shared");
        // Committed, so that the rules are as in HEAD.
        let line = format!(
            "echo \"run quick $LAB_TURN\" >> kernel.cu; cd '{}'; echo '# mine // mine' >> {file}; git commit -qm 'by itself' {file}",
            lab.repo.display()
        );
        let why = format!("turn 1: left to you run 1: {file} changed since the loop began");
        auto(&lab, "--experiments 1", &line).is(0).says(&why);
        assert_eq!(
            lab.git("log -1 --format=%s"),
            "by itself\n",
            "nothing was kept"
        );
        incumbent_is_back(&lab);
    }
}

#[test]
fn what_a_kernel_begins_to_include_or_import_is_no_change_of_the_harness() {
    let lab = judged_by_python(SCRIPT);
    lab.write("helper.h", "// helps\n");
    lab.write("helper.py", "ROWS = 8\n");
    lab.write("own.py", "# the first\n");
    // The harness imports the kernel, as a harness does that calls it.
    lab.write("judge.py", format!("import own\n{JUDGE}"));
    lab.write("lab.toml", format!("kernel = \"own.py\"\n{SCRIPT}"));
    lab.git("add -A");
    lab.git("commit -qm own");
    lab.lab("trust --yes").is(0);
    auto(
        &lab,
        "--experiments 1",
        "printf 'import helper\\n# quick\\n' > own.py",
    )
    .is(0)
    .says("turn 1: kept run 1");
    lab.write("lab.toml", format!("kernel = \"kernel.cu\"\n{SCRIPT}"));
    lab.write("judge.py", JUDGE);
    lab.git("commit -qam 'in CUDA'");
    lab.lab("trust --yes").is(0);
    let line = "printf '#include \"helper.h\"\\nrun quick\\n' > kernel.cu";
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: kept run 2");
    incumbent_is_back(&lab);
}

#[test]
fn a_person_may_change_and_commit_a_rule_that_no_harness_imports() {
    let lab = judged_by_python(SCRIPT);
    lab.write("reference.cu", "// the rule\n");
    lab.git("add -A");
    lab.git("commit -qm 'a rule'");
    let line = format!(
        "echo \"run quick $LAB_TURN\" >> kernel.cu; cd '{}'; echo '// newer' >> reference.cu; git commit -qam 'a newer rule'",
        lab.repo.display()
    );
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("turn 1: kept run 1");
    incumbent_is_back(&lab);
}

#[test]
fn a_harness_that_was_removed_is_named_and_judges_the_kernel_once_it_is_back() {
    let lab = judged_by_a_script();
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; echo $LAB_TURN >> $HOME/edits; [ $LAB_TURN != 1 ] || rm '{}/bench.sh'",
        lab.repo.display()
    );
    let why = "bench.sh was removed since the loop began, and it says how kernels are judged: put it back";
    auto(&lab, "--give-up 2", &line)
        .is(4)
        .says("bench.sh was removed since the loop began")
        .says("gave up: 2 failures in a row")
        .says(why);
    incumbent_is_back_without_the_script(&lab);
    lab.git("checkout -q bench.sh");
    auto(&lab, "--experiments 2", &line)
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: discarded run 2");
    assert_eq!(
        lab.read("../home/edits"),
        "1\n2\n",
        "the command was not asked again for the first kernel"
    );
    assert_eq!(state(&lab)["left"], json!([]));
    incumbent_is_back(&lab);
}

#[track_caller]
fn incumbent_is_back_without_the_script(lab: &Lab) {
    assert_eq!(
        lab.git("status --porcelain --untracked-files=no"),
        " D bench.sh\n"
    );
}
