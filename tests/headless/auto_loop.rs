//! `lab auto`: turn after turn without a person.

use crate::auto::in_turns;
use crate::lab::{Beside, CommandOutput, Lab, finish};
use lab_testing::until;
use serde_json::{Value, json};
use std::fs;

/// A repository whose harness says `faster`, `slower`, `same`, `wrong`, `crash` or
/// `memory` as the kernel's last line does.
pub fn lab() -> Lab {
    let lab = Lab::new();
    in_turns(&lab, 1.05, "faster");
    let faster = lab.read("harness.py");
    let other = |ratio: f64, word: &str| {
        in_turns(&lab, ratio, word);
        lab.read("harness.py")
    };
    let (slower, same) = (other(0.95, "slower"), other(1.0, "same"));
    lab.harness(&format!(
        "case $(tail -n 1 kernel.cu) in\n*slower*) {} ;;\n*same*) {} ;;\n*crash*) kill -SEGV $$ ;;\n\
         *memory*) kill -KILL $$ ;;\n\
         *wrong*) echo 'h0_max_diff: 1 limit=1e-5'; echo 'correctness: fail' ;;\n*) {} ;;\nesac",
        body(&slower),
        body(&same),
        body(&faster)
    ));
    lab.git("commit -qam 'the harness'");
    lab
}

/// A harness without the comment lines that `lab init` looks for.
pub fn body(harness: &str) -> String {
    harness
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// `lab auto` with a shell line as the command, and waits of a millisecond.
pub fn auto_command(lab: &Lab, options: &str, line: &str) -> std::process::Command {
    let mut command = lab.lab_command(&format!("auto --back-off 0.001 {options} -- sh -c"));
    command.arg(line);
    command
}

pub fn auto(lab: &Lab, options: &str, line: &str) -> CommandOutput {
    finish(auto_command(lab, options, line).spawn().unwrap())
}

pub fn state(lab: &Lab) -> Value {
    let answer = lab.lab("auto status --json").is(0).json();
    answer["state"].clone()
}

/// The kernel in HEAD is the one on disk, and nothing else of the work tree changed.
#[track_caller]
pub fn incumbent_is_back(lab: &Lab) {
    assert_eq!(lab.git("status --porcelain --untracked-files=no"), "");
}

#[test]
fn a_command_edits_and_each_turn_is_judged_decided_and_told() {
    let lab = lab();
    let line = "case $LAB_TURN in\n\
        1) echo 'run one slower' >> kernel.cu ;;\n\
        2) echo 'run two quick' >> kernel.cu; echo '{\"description\": \"two\", \"hypothesis\": \"fewer loads\", \"lesson\": \"it helps\", \"cost\": 2.5}' > $LAB_ANSWER ;;\n\
        3) echo 'run three crash' >> $LAB_KERNEL; echo '{' > $LAB_ANSWER ;;\n\
        *) cp $LAB_AUTO_STATE $HOME/told.json; echo 'run four wrong' >> kernel.cu ;; esac";
    auto(&lab, "--experiments 4 --mend 0", line)
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: kept run 2  ")
        .says("  'two'\n")
        .says("turn 3: crash, discarded run 3")
        .says("LAB_ANSWER is not read")
        .says("turn 4: discarded run 4")
        .says("4 experiments: 1 kept, 2 discarded, 1 crashed, 0 left");
    incumbent_is_back(&lab);
    assert_eq!(lab.read("kernel.cu"), "// the first\nrun two quick\n");
    let message = lab.git("log -1 --format=%B");
    assert!(
        message.starts_with("two\n\nHypothesis: fewer loads\nLesson: it helps\n"),
        "{message}"
    );
    assert_eq!(lab.rows().len(), 4);

    let told: Value = serde_json::from_str(&lab.read("../home/told.json")).unwrap();
    assert_eq!(
        (&told["schema_version"], &told["turn"], &told["attempt"]),
        (&json!(1), &json!(4), &json!(0))
    );
    assert_eq!(told["incumbent"]["commit"], json!(lab.head()));
    assert_eq!(told["incumbent"]["run"]["speed"], "faster");
    assert_eq!(told["last_turn"]["outcome"], "crash");
    assert_eq!(told["last_run"]["outcome"], "crash");
    let statuses: Vec<&Value> = told["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|past| &past["status"])
        .collect();
    assert_eq!(statuses, ["crash", "keep", "discard"]);
    assert_eq!(told["history"][1]["trailers"]["Lesson"], "it helps");
    assert_eq!(
        (&told["budget"]["experiments"], &told["spent"]["cost"]),
        (&json!(4), &json!(2.5))
    );

    let state = state(&lab);
    assert_eq!(
        (&state["turn"], &state["phase"]),
        (&json!(4), &json!("ended"))
    );
    assert_eq!(state["ended"], "the budget of 4 experiments is spent");
    lab.lab("auto status")
        .is(0)
        .says("ended after turn 4")
        .says("last: turn 4: discarded run 4");
}

/// Linux ended the harness for want of memory. That may be the kernel, so the loop tries a few
/// times, and goes on without it.
#[test]
fn a_kernel_whose_harness_the_machine_ends_each_time_does_not_end_the_loop() {
    let lab = lab();
    let line = "case $LAB_TURN in 1) echo 'run memory' >> kernel.cu ;; *) echo 'run quick' >> kernel.cu ;; esac";
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: failed: the harness was ended by signal 9 (kill)")
        .says("turn 2: kept run 1")
        .says("1 experiment: 1 kept, 0 discarded, 0 crashed, 0 left; 0 known, 0 without a change, 1 failed");
    incumbent_is_back(&lab);
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn what_the_command_does_besides_the_kernel_has_no_effect_and_is_kept() {
    let lab = lab();
    let line = "echo 'run quick' >> kernel.cu; echo mine > notes.txt; rm lab.toml; echo broken > harness.py\n\
        git -c user.name=a -c user.email=a@b checkout -qb elsewhere\n\
        git add -A && git -c user.name=a -c user.email=a@b commit -qm 'by itself'";
    let branches = lab.git("branch --all");
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: kept run 1")
        .says("ignored: changed harness.py")
        .says("ignored: changed notes.txt")
        .says("ignored: removed lab.toml")
        .says("ignored: checked out the branch refs/heads/elsewhere")
        .says("ignored: made commits (1)");
    incumbent_is_back(&lab);
    assert_eq!(lab.git("branch --all"), branches);
    assert_eq!(lab.git("show refs/lab/auto/1:notes.txt"), "mine\n");
    assert_eq!(
        lab.git("log -1 --format=%s refs/lab/auto/1^2"),
        "by itself\n"
    );
    assert_eq!(lab.git("show refs/lab/auto/1^2:notes.txt"), "mine\n");
    assert_eq!(
        lab.git("log --format=%s"),
        "lab auto, turn 1\nthe harness\nstart\n"
    );
}

#[test]
fn a_command_that_gives_nothing_ends_the_loop_with_the_reason() {
    let lab = lab();
    let cases = [
        (
            "exit 1",
            "gave up: 3 failures in a row, the last: the command failed: exit code 1",
        ),
        ("true", "the command did not change the kernel"),
        ("rm kernel.cu", "its kernel is not taken"),
        (
            "rm kernel.cu; ln -s /etc/passwd kernel.cu",
            "its kernel is not taken",
        ),
        ("rm kernel.cu; mkfifo kernel.cu", "its kernel is not taken"),
        (
            "head -c 50000000 /dev/zero > kernel.cu",
            "its kernel is not taken",
        ),
        ("kill -9 $$", "it was ended by signal 9 (kill)"),
        ("yes $(printf %09000d 0)", "it printed more than 16 MiB"),
        ("rm -rf .git; exit 3", "exit code 3"),
    ];
    for (line, said) in cases {
        auto(&lab, "--give-up 3", line).is(4).says(said);
        incumbent_is_back(&lab);
    }
    let line = format!(
        "{} auto --kernel '{}' -- true || exit 5",
        env!("CARGO_BIN_EXE_lab"),
        lab.path("kernel.cu").display()
    );
    auto(&lab, "--give-up 1", &line).is(4).says("exit code 5");
    assert!(
        state(&lab)["last_turn"]["output"][0]
            .as_str()
            .unwrap()
            .contains("works on kernel.cu already")
    );
    let told = state(&lab);
    lab.lab("auto -- no-such-editor")
        .is(64)
        .says("cannot start no-such-editor: there is no such program");
    lab.write("plain.txt", "not executable");
    lab.lab("auto -- ./plain.txt")
        .is(64)
        .says("cannot start ./plain.txt: nobody may execute it");
    assert_eq!(state(&lab), told, "no turn was begun");
    // What the command itself starts shows at the first turn.
    auto(&lab, "", "exec no-such-editor")
        .is(4)
        .says("gave up: the command failed: exit code 127: there is no such program");
    lab.lab("auto")
        .is(64)
        .says("name the command that edits the kernel after `--`");
    assert!(!lab.path("results.tsv").exists(), "nothing was decided");
}

#[test]
fn a_command_that_hangs_is_ended_with_its_children_and_its_edit_is_kept_in_git() {
    let lab = lab();
    let line = "echo 'run half' >> kernel.cu; echo $$ > $HOME/pid; sleep 600 & wait";
    auto(&lab, "--give-up 1 --turn-limit 0.3", line)
        .is(4)
        .says("it was ended after 0.3 s (--turn-limit)");
    let pid: i32 = lab.read("../home/pid").trim().parse().unwrap();
    until("the command has ended", || is_gone(pid));
    assert_eq!(
        lab.git("show refs/lab/auto/1:kernel.cu"),
        "// the first\nrun half\n"
    );
    incumbent_is_back(&lab);
}

fn is_gone(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

#[test]
fn bytes_that_were_judged_before_are_not_judged_again_and_a_crash_may_be_mended() {
    let lab = lab();
    auto(&lab, "--experiments 1", "echo 'run slower' >> kernel.cu").is(0);
    let line = "case $LAB_TURN in 2) echo 'run slower' >> kernel.cu ;;\n\
        3) echo 'run crash' >> kernel.cu ;;\n\
        *) echo $LAB_ATTEMPT >> $HOME/attempts; cp kernel.cu $HOME/seen.cu; sed -i 's/crash/mended/' kernel.cu ;; esac";
    auto(&lab, "--experiments 3", line)
        .is(0)
        .says("turn 2: known run 1: run 1 judged these bytes before: discard")
        .says("turn 3: crash, discarded run 2")
        .says("turn 4: kept run 3");
    assert_eq!(lab.read("../home/attempts"), "1\n");
    assert_eq!(lab.read("../home/seen.cu"), "// the first\nrun crash\n");
    assert_eq!(lab.read("kernel.cu"), "// the first\nrun mended\n");
}

/// A command that repeats kernels spends the budget of experiments.
#[test]
fn turns_with_a_known_kernel_are_part_of_the_budget() {
    let lab = lab();
    let line = "echo \"run slower $((LAB_TURN % 2))\" >> kernel.cu";
    auto(&lab, "--experiments 3", line)
        .is(0)
        .says("turn 3: known run 1")
        .says("2 experiments: 0 kept, 2 discarded, 0 crashed, 0 left; 1 known")
        .says("ended: the budget of 3 experiments is spent (1 of them known kernels)");
    incumbent_is_back(&lab);
}

/// A command that always leaves the same kernel brings nothing new, however quick its turns are.
#[test]
fn turns_with_a_known_kernel_end_the_loop_as_failures_do() {
    let lab = lab();
    auto(&lab, "--give-up 3", "echo 'run slower' >> kernel.cu")
        .is(4)
        .says("turn 1: discarded run 1")
        .says("turn 4: known run 1")
        .says("3 failures in a row, the last: run 1 judged these bytes before");
    incumbent_is_back(&lab);
}

/// Starts a loop whose command waits for the file `go` once it has edited.
pub fn waiting(lab: &Lab) -> Beside {
    let line = "echo \"run quick $LAB_TURN\" >> kernel.cu; touch $HOME/editing; while ! [ -e $HOME/go ]; do sleep 0.01; done";
    let child = Beside::spawn(auto_command(lab, "--experiments 1", line));
    until("the command edits", || lab.path("../home/editing").exists());
    child
}

#[test]
fn a_second_loop_is_refused_and_a_signal_ends_the_turn() {
    let lab = lab();
    let child = waiting(&lab);
    auto(&lab, "", "true")
        .is(1)
        .says("a `lab auto` works on kernel.cu already (process ");
    assert_eq!(lab.lab("auto status --json").is(0).json()["running"], true);
    lab.lab("auto status")
        .is(0)
        .says("turn 1: the command edits");
    child.signal(rustix::process::Signal::TERM);
    child.finish().is(143).says("ended by a signal");
    incumbent_is_back(&lab);
    lab.lab("auto pause")
        .is(1)
        .says("no `lab auto` works on kernel.cu");
    lab.lab("run").is(0);
}

#[test]
fn a_person_who_edits_is_waited_for_and_a_stop_ends_the_loop() {
    let lab = lab();
    lab.write("kernel.cu", "run by hand slower\n");
    let child = Beside::spawn(auto_command(&lab, "", "echo 'run quick' >> kernel.cu"));
    until("it waits", || state(&lab)["phase"] == "waiting_for_person");
    assert_eq!(lab.read("kernel.cu"), "run by hand slower\n");
    lab.lab("run --decide -m 'by hand'").is(11);
    until("it goes on", || lab.rows().len() > 1);
    lab.lab("auto stop").is(0);
    child
        .finish()
        .is(0)
        .says("waiting: kernel.cu is not the incumbent")
        .says("ended: a person stopped it");
    incumbent_is_back(&lab);
}

#[test]
fn a_paused_loop_judges_its_turn_and_waits_until_it_is_resumed() {
    let lab = lab();
    let child = waiting(&lab);
    lab.lab("auto pause").is(0);
    lab.write("../home/go", "");
    until("it is paused", || state(&lab)["phase"] == "paused");
    assert_eq!(
        state(&lab)["counts"]["experiments"],
        1,
        "the turn was taken to its end"
    );
    lab.lab("auto resume").is(0);
    child
        .finish()
        .is(0)
        .says("ended: the budget of 1 experiments is spent");
    incumbent_is_back(&lab);
}

#[test]
fn a_loop_ends_with_its_costs_and_says_at_a_plateau_that_nothing_helps() {
    let lab = lab();
    let line = "cp $LAB_AUTO_STATE $HOME/told.json; echo '{\"cost\": 1.5}' > $LAB_ANSWER\n\
        [ $LAB_TURN = 3 ] || echo \"run slower $LAB_TURN\" >> kernel.cu";
    // The third turn changes nothing, and reports the same cost.
    auto(&lab, "--cost 5 --plateau 2", line)
        .is(0)
        .says("3 experiments: 0 kept, 3 discarded, 0 crashed, 0 left; 0 known, 1 without a change")
        .says("ended: the budget of 5 in cost is spent (6)");
    let told: Value = serde_json::from_str(&lab.read("../home/told.json")).unwrap();
    assert_eq!(
        (&told["plateau"], &told["spent"]["cost"]),
        (&true.into(), &4.5.into())
    );
    lab.lab("agent-guide")
        .is(0)
        .says("LAB_AUTO_STATE")
        .says("`plateau`");
}

/// Starts a killed loop again until two experiments are judged, and checks everything that it
/// wrote.
#[track_caller]
pub fn goes_on(lab: &Lab, line: &str) {
    let ended = auto(lab, "--experiments 2", line).is(0);
    assert!(ended.out.contains("2 experiments"), "{ended:?}");
    incumbent_is_back(lab);
    assert!(!lab.path(".lab/unfinished.json").exists());
    let judged = lab.lab("log --json").is(0).json();
    assert_eq!(
        (
            judged["experiments"].as_array().unwrap().len(),
            lab.rows().len()
        ),
        (2, 2),
        "{judged}"
    );
}

#[test]
fn a_loop_that_is_killed_goes_on_where_it_was_and_judges_nothing_twice() {
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu";
    // While the command edits.
    let edits = lab();
    let child = waiting(&edits);
    child.kill();
    edits
        .lab("auto status")
        .is(0)
        .says("killed in turn 1; the next `lab auto` goes on from there");
    goes_on(&edits, line);

    // While the harness judges: the kernel is in the checkout.
    let judges = lab();
    let quick = judges.read("harness.py");
    judges.harness("touch $HOME/judging; while ! [ -e $HOME/go ]; do sleep 0.01; done");
    judges.git("commit -qam 'waits'");
    let child = Beside::spawn(auto_command(&judges, "--experiments 2", line));
    until("the harness runs", || {
        judges.path("../home/judging").exists()
    });
    assert_eq!(judges.read("kernel.cu"), "// the first\nrun slower 1\n");
    child.kill();
    judges.write("harness.py", quick);
    judges.git("commit -qm 'waits no more' harness.py");
    goes_on(&judges, line);
    assert!(judges.read("results.tsv").contains("lab auto, turn 1"));

    // In the middle of the decision, which waits for the ledger.
    let decides = lab();
    let held = fs::File::options()
        .append(true)
        .create(true)
        .open(decides.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let child = Beside::spawn(auto_command(&decides, "--experiments 2", line));
    until("the decision has begun", || {
        decides.path(".lab/unfinished.json").exists()
            && !decides.git("for-each-ref refs/lab/discarded").is_empty()
    });
    child.kill();
    drop(held);
    goes_on(&decides, line);
}

#[test]
fn patches_are_applied_in_order_and_one_that_does_not_apply_is_named_and_skipped() {
    let lab = lab();
    let patch = |line: &str| {
        format!("--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1 +1,2 @@\n // the first\n+{line}\n")
    };
    fs::create_dir(lab.path("../patches")).unwrap();
    lab.write("../patches/1-slow.patch", patch("run slower"));
    lab.write(
        "../patches/2-other.patch",
        patch("run x").replace("// the first", "// not there"),
    );
    lab.write("../patches/3-none.patch", "no patch");
    lab.write("../patches/4-quick.patch", patch("run quick"));
    lab.write("../patches/readme.txt", "no patch");
    lab.lab("auto --patches ../patches")
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: failed: 2-other.patch does not apply")
        .says("turn 3: failed: 3-none.patch does not apply: no patch found")
        .says("turn 4: kept run 2")
        .says("ended: the last patch is done");
    assert_eq!(lab.git("log -1 --format=%s"), "4-quick\n");
    incumbent_is_back(&lab);
    // A patch that git wrote. It changes another file too, and its lines have moved in HEAD.
    let git = patch("run quicker")
        .replace("the first\n", "the first\n run quick\n")
        .replace("-1 +1,2", "-41,2 +41,3");
    let other = "diff --git a/notes.txt b/notes.txt\nnew file mode 100644\n--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+x\n";
    lab.write(
        "../patches/5-git.patch",
        format!("diff --git a/kernel.cu b/kernel.cu\n{git}{other}"),
    );
    lab.lab("auto --patches ../patches")
        .is(0)
        .says("turn 9: kept run 5")
        .says("ignored: changed notes.txt");
    assert!(!lab.path("notes.txt").exists());
    lab.lab("auto --patches ../nowhere")
        .is(1)
        .says("cannot open ../nowhere");
}
