//! `lab sweep --executor slurm` and `lab bench --executor slurm`: the commands of Slurm are scripts,
//! which run the tasks of an array on this machine, one after the other. scripts/slurm-trial does the
//! same with the daemons of Slurm.

use crate::lab::{Beside, CommandOutput, Lab, finish};
use crate::mcp_wire::Wire;
use crate::sweep::{KERNEL, records, swept};
use lab_testing::until;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

/// Runs the tasks beside the command, and notes in `JOB/TASK` how each is. The file `hook` is a part
/// of the script, which decides what happens to a task before it runs.
const SBATCH: &str = r#"
cd "$(dirname "$0")/../slurm" || exit
[ "$1" != --version ] || exit 0
for word; do
    case "$word" in
    --job-name=*) name=${word#*=} ;;
    --array=*) tasks=${word#*=0-}; tasks=${tasks%%%*} ;;
    --output=*) logs=${word#*=} ;;
    --chdir=*) repo=${word#*=} ;;
    --partition=absent) echo 'sbatch: error: invalid partition specified: absent' >&2; exit 1 ;;
    --wrap=*) line=${word#*=} ;;
    esac
done
printf '%s\n' "$*" >>sent
job=$((100 + $(wc -l <sent)))
mkdir $job
echo "$name" >$job/name
for task in $(seq 0 $tasks); do echo PENDING >$job/$task; done
run() { SLURM_ARRAY_TASK_ID=$task sh -c "$line" >>"${logs%\%a.log}$task.log" 2>&1; }
(
    for task in $(seq 0 $tasks); do
        [ "$(cat $job/$task)" = PENDING ] || continue
        echo RUNNING >$job/$task
        [ ! -e hook ] || . ./hook
        [ "$(cat $job/$task)" = RUNNING ] || continue
        run
        code=$?
        case $(cat $job/$task) in
        RUNNING) if [ $code = 0 ]; then echo COMPLETED; else echo FAILED; fi >$job/$task ;;
        esac
    done
) </dev/null >/dev/null 2>&1 &
[ ! -e kill-head ] || { rm kill-head; kill -9 $PPID; }
echo "$job"
"#;

const SQUEUE: &str = r#"
cd "$(dirname "$0")/../slurm" || exit
[ ! -e answer ] || . ./answer
for word; do case "$word" in --jobs=*) jobs=${word#*=} ;; esac; done
for id in $(echo "$jobs" | tr , ' '); do
    file=${id%_*}/${id#*_}
    [ ! -e $file ] || echo "${id#*_} $(cat $file)"
done
"#;

const SCANCEL: &str = r#"
cd "$(dirname "$0")/../slurm" || exit
echo "$*" >>cancelled
for job in 1*; do
    [ "$(cat $job/name)" = "${1#--name=}" ] || continue
    for task in $job/[0-9]*; do
        case $(cat $task) in PENDING | RUNNING) echo CANCELLED >$task ;; esac
    done
done
"#;

const SACCT: &str = "echo 'Slurm accounting storage is disabled' >&2; exit 1";

/// A repository with a Slurm beside it. A task has two of the five points.
fn cluster() -> Lab {
    let lab = swept();
    lab.write(
        "lab.toml",
        "device = \"cpu\"\n[slurm]\npoints_per_task = 2\nask_s = 1\n",
    );
    fs::create_dir(lab.path("../slurm")).unwrap();
    let scripts = [
        ("sbatch", SBATCH),
        ("squeue", SQUEUE),
        ("scancel", SCANCEL),
        ("sacct", SACCT),
    ];
    for (name, text) in scripts {
        lab.script(&format!("../bin/{name}"), text);
    }
    lab
}

/// What happens to a task before it runs.
fn hook(lab: &Lab, text: &str) {
    lab.write("../slurm/hook", text);
}

/// The arguments of each `sbatch`.
fn sent(lab: &Lab) -> Vec<String> {
    let text = fs::read_to_string(lab.path("../slurm/sent")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const SWEEP: &str = "sweep --executor slurm";

/// The end of a sweep whose points are all recorded once, each under a number of its own.
#[track_caller]
fn is_whole(lab: &Lab, output: CommandOutput) -> CommandOutput {
    let output = output.is(0);
    let counts = "sweep 1 of kernel.cu: 5 of 5 points: 3 passed; 1 wrong; 1 not built";
    assert!(output.out.contains(counts), "{output:?}");
    let shown = lab.lab("sweep --show 1 --json").is(0).json();
    let points = shown["points"].as_array().unwrap().iter();
    let (numbers, values): (BTreeSet<u64>, BTreeSet<String>) = points
        .map(|it| (it["number"].as_u64().unwrap(), it["values"].to_string()))
        .unzip();
    assert_eq!((numbers, values.len()), ((1..=5).collect(), 5));
    output
}

#[test]
fn the_points_of_a_sweep_are_judged_by_the_tasks_of_an_array() {
    let lab = cluster();
    // The kernel is edited while the tasks wait.
    hook(&lab, "echo '// edited' >>\"$repo/kernel.cu\"");
    let output = is_whole(&lab, lab.lab(&format!("{SWEEP} --builders 1")));
    assert!(
        output.err.contains("lab: point 1 of 5: BLOCK=64 STEP=1: "),
        "{output:?}"
    );
    assert!(
        output
            .err
            .contains(" of 5: BLOCK=64 STEP=2: wrong: y_error: y["),
        "{output:?}"
    );
    let [sent] = &sent(&lab)[..] else {
        panic!("more than one array")
    };
    let words = "--parsable --job-name=lab-sweep-";
    assert!(
        sent.starts_with(words) && sent.contains(" --array=0-2 --requeue "),
        "{sent}"
    );
    assert!(
        sent.contains(" sweep --task 1/1 '--builders=1' ") && !sent.contains("--gres"),
        "{sent}"
    );
    let shown = lab.lab("sweep --show 1 --json").is(0).json();
    let jobs = json!({ "array": 1, "job": "101", "tasks": 3, "pending": 0, "running": 0, "done": 3, "lost": 0 });
    assert_eq!(
        (&shown["jobs"], &shown["target"]),
        (&jobs, &json!("slurm cpu"))
    );
    let points = shown["points"].as_array().unwrap().iter();
    let wrong = points.clone().find(|it| it["outcome"] == "fail").unwrap();
    let log = lab.read(&format!(".lab/sweep/1/point-{}.log", wrong["number"]));
    assert!(log.contains("correctness: fail"), "{log}");
    assert!(
        !lab.path(".lab/sweep/1/tasks").exists(),
        "the records are gathered"
    );
    assert_eq!(
        lab.read("kernel.cu"),
        format!("{KERNEL}{}", "// edited\n".repeat(3))
    );
    assert!(!lab.path("../slurm/cancelled").exists());
}

#[test]
fn the_points_of_a_lost_node_are_sent_again_by_the_next_sweep() {
    let lab = cluster();
    hook(
        &lab,
        "if [ $job.$task = 101.1 ]; then echo NODE_FAIL >$job/1; fi",
    );
    lab.lab(SWEEP).is(64).says(
        "not judged: Slurm job 101 ended without 2 of its points: a task ended as NODE_FAIL (its node was lost)\n  \
         `lab sweep --executor slurm` goes on\n",
    );
    let shown = lab.lab("sweep --show 1 --json").is(0).json();
    assert_eq!(
        (&shown["jobs"]["done"], &shown["jobs"]["lost"]),
        (&json!(2), &json!(1))
    );
    let output = is_whole(&lab, lab.lab(SWEEP));
    assert!(
        output.err.contains("goes on after 3: 5 points"),
        "{output:?}"
    );
    assert!(sent(&lab)[1].contains(" --array=0-0 "), "{:?}", sent(&lab));
}

#[test]
fn a_cancelled_array_ends_the_sweep_and_the_next_one_sends_the_rest() {
    let lab = cluster();
    hook(&lab, "[ $job.$task != 101.1 ] || scancel --name=$name");
    let ended = lab.lab(SWEEP).is(64);
    ended.says("Slurm job 101 ended without 3 of its points: 2 tasks ended as CANCELLED (somebody cancelled it)");
    is_whole(&lab, lab.lab(SWEEP));
}

/// Until the hook of a task is told to go on, Slurm is asked so often.
const ASKED_FOUR_TIMES: &str =
    "until [ -e asked ] && [ $(wc -l <asked) -ge 4 ]; do sleep 0.05; done";

#[test]
fn a_task_that_fails_before_any_record_ends_no_other_task() {
    let lab = cluster();
    lab.write("../slurm/answer", "echo >>asked");
    // The node of the first task is bad, and the others take long.
    hook(
        &lab,
        &format!(
            "case $job.$task in 101.0) right=$line; line=false ;; 101.1) line=$right; {ASKED_FOUR_TIMES} ;; esac"
        ),
    );
    let ended = lab.lab(SWEEP).is(64);
    let ended = ended.says("Slurm job 101 ended without 2 of its points: a task ended as FAILED (");
    assert_eq!(records(&lab), 3, "{ended:?}");
    assert!(!lab.path("../slurm/cancelled").exists(), "{ended:?}");
    is_whole(&lab, lab.lab(SWEEP));
}

#[test]
fn a_job_is_named_once_it_is_sent_and_again_while_it_waits() {
    let lab = cluster();
    lab.write("../slurm/answer", "echo >>asked");
    // The job is held, and released later.
    hook(
        &lab,
        &format!(
            "[ $task != 0 ] || {{ echo PENDING >$job/0; {ASKED_FOUR_TIMES}; echo RUNNING >$job/0; }}"
        ),
    );
    let output = is_whole(&lab, lab.lab(SWEEP));
    let sent = "lab: `sbatch` sends 3 tasks to Slurm, and waits where Slurm does not answer\n\
                lab: Slurm job 101: 3 tasks: 3 pending\n";
    let waits =
        "lab: Slurm job 101: 3 tasks: 3 pending: `squeue --jobs=101` says what they wait for\n";
    for line in [sent, waits] {
        assert_eq!(output.err.matches(line).count(), 1, "{output:?}");
    }
}

#[test]
fn a_controller_that_is_down_is_told_and_so_is_its_return() {
    let lab = cluster();
    let refusal = "squeue: error: Unable to contact slurm controller (connect failure)";
    lab.write(
        "../slurm/answer",
        format!("echo >>asked; [ ! -e down ] || {{ echo '{refusal}' >&2; exit 1; }}"),
    );
    hook(
        &lab,
        "asked() { until [ \"$(cat asked 2>/dev/null | wc -l)\" -ge $1 ]; do :; done; }
         [ $task != 0 ] || { touch down; asked 2; rm down; asked 4; }",
    );
    let output = is_whole(&lab, lab.lab(SWEEP));
    let down = format!(
        "lab: Slurm job 101: 3 tasks: 3 pending, when it answered last; now it does not: `squeue` refused: {refusal}: the tasks \
         go on, and it is asked again\n"
    );
    let again = "lab: Slurm answers again: Slurm job 101: 3 tasks: 1 running, 2 pending\n";
    for line in [&*down, again] {
        assert_eq!(output.err.matches(line).count(), 1, "{output:?}");
    }
}

#[test]
fn an_array_that_ends_while_slurm_is_asked_is_complete() {
    let lab = cluster();
    hook(&lab, "if [ $task = 2 ]; then mkfifo go; read -r x <go; fi");
    // The answer comes once the last task has ended.
    lab.write(
        "../slurm/answer",
        "if [ -p go ]; then echo >go; until [ \"$(cat 101/2)\" = COMPLETED ]; do :; done; rm go; fi",
    );
    is_whole(&lab, lab.lab(SWEEP));
}

#[test]
fn a_task_that_starts_again_goes_on_after_its_last_record() {
    let lab = cluster();
    // Preempted after its first record, and after its end.
    hook(
        &lab,
        "if [ $task = 0 ]; then\n\
         records=\"$repo/.lab/sweep/1/tasks/1/0/sweep/1/points.jsonl\"\n\
         SLURM_ARRAY_TASK_ID=0 sh -c \"$line\" & until grep -q signature \"$records\"; do :; done; kill -9 $!; wait\n\
         else run; fi",
    );
    is_whole(&lab, lab.lab(SWEEP));
}

#[test]
fn a_sweep_whose_process_was_killed_gathers_from_the_same_array() {
    let lab = cluster();
    hook(&lab, "if [ $task = 1 ]; then mkfifo go; read -r x <go; fi");
    let head = Beside::spawn(lab.lab_command(SWEEP));
    until("a task recorded its points", || records(&lab) == 2);
    until("the next one waits", || lab.path("../slurm/go").exists());
    head.kill();
    // While it is dead, the array goes on.
    lab.sh("echo >../slurm/go").is(0);
    is_whole(&lab, lab.lab(SWEEP));
    assert_eq!(sent(&lab).len(), 1, "nothing was sent again");
}

#[test]
fn an_array_that_nobody_noted_is_cancelled_and_sent_again() {
    let lab = cluster();
    // The process is killed while `sbatch` answers, and the tasks wait.
    lab.write("../slurm/kill-head", "");
    hook(&lab, "[ $job != 101 ] || exit");
    let killed = lab.lab(SWEEP);
    assert_eq!((killed.code, records(&lab)), (-1, 0), "{killed:?}");
    is_whole(&lab, lab.lab(SWEEP));
    let name = |line: &str| {
        line.split(' ')
            .nth(1)
            .unwrap()
            .replace("--job-name", "--name")
    };
    assert_eq!(lab.read("../slurm/cancelled").trim(), name(&sent(&lab)[0]));
    assert_ne!(name(&sent(&lab)[0]), name(&sent(&lab)[1]));
}

#[test]
fn ctrl_c_cancels_the_array_and_so_does_a_new_sweep_after_a_kill() {
    let lab = cluster();
    hook(
        &lab,
        "if [ $job.$task != 103.0 ]; then mkfifo go$job$task; read -r x <go$job$task; fi",
    );
    let head = Beside::spawn(lab.lab_command(SWEEP));
    until("a task waits", || lab.path("../slurm/go1010").exists());
    head.signal(rustix::process::Signal::INT);
    head.finish()
        .is(3)
        .says("interrupted: `lab sweep --executor slurm` goes on");
    let cancelled = || lab.read("../slurm/cancelled").lines().count();
    assert_eq!(cancelled(), 1);
    let head = Beside::spawn(lab.lab_command(SWEEP));
    until("a task of the next array waits", || {
        lab.path("../slurm/go1020").exists()
    });
    until("the job is noted", || {
        lab.read(".lab/sweep/1/jobs.json").contains("\"102\"")
    });
    head.kill();
    let budget = lab.lab(&format!("{SWEEP} --new --budget 1")).is(0);
    budget.says("sweep 2 of kernel.cu: 1 of 5 points");
    assert_eq!(cancelled(), 2, "{}", lab.read("../slurm/cancelled"));
    for task in ["1010", "1020"] {
        lab.sh(&format!("echo >../slurm/go{task}")).is(0);
    }
}

#[test]
fn what_slurm_refuses_and_what_nodes_cannot_do_is_said() {
    let lab = cluster();
    lab.lab(&format!("{SWEEP} --strategy tpe"))
        .is(64)
        .says("an array of tasks is sent as a whole: choose random or grid");
    let config = lab.read("lab.toml");
    lab.write(
        "lab.toml",
        config.replace("[slurm]\n", "[slurm]\noptions = [\"--partition=absent\"]\n"),
    );
    for command in [SWEEP, "bench --executor slurm"] {
        finish(lab.plain_lab_command(command).spawn().unwrap())
            .is(64)
            .says("lab.toml has options for Slurm (--partition=absent), and you have not trusted it yet: read them, then `lab trust`");
    }
    lab.lab("trust --yes")
        .is(0)
        .says("Jobs are sent to Slurm with these options:\n    --partition=absent\n");
    lab.lab(SWEEP)
        .is(64)
        .says("not judged: `sbatch` refused: sbatch: error: invalid partition specified: absent");
    for (option, own) in [
        ("--array=0-3", "--array"),
        ("--outp=here.txt", "--output"),
        ("-ohere.txt", "--output"),
        ("--parsable", "--parsable"),
        ("-Jmine", "--job-name"),
    ] {
        let options = format!("[slurm]\noptions = [\"--mem=1G\", \"{option}\"]\n");
        lab.write("lab.toml", config.replace("[slurm]\n", &options));
        lab.lab(SWEEP).is(64).says(&format!(
            "slurm.options = [\"{option}\"]: lab sets {own} itself, and finds its tasks and what they print by it: leave it out"
        ));
    }
    lab.write("lab.toml", &config);

    // Nothing that a node writes is seen here.
    hook(&lab, "echo COMPLETED >$job/$task");
    lab.lab(SWEEP)
        .is(64)
        .says("3 tasks ended as COMPLETED (it left no file ")
        .says("is this folder shared with the nodes?)");
    // A node without a key, or whose compiler is missing.
    hook(&lab, "line=\"export LAB_KEY_FILE=/dev/null; $line\"");
    let why = "without 1 of its points: a task ended as FAILED (lab: cannot read the points of this task in ";
    lab.lab(&format!("{SWEEP} --budget 1"))
        .is(64)
        .says(why)
        .says("LAB_KEY_FILE");
    hook(&lab, "echo OUT_OF_MEMORY >$job/$task");
    lab.lab(SWEEP)
        .is(64)
        .says("set --mem in slurm.options of lab.toml");
    hook(&lab, "rm $job/$task");
    lab.lab(SWEEP)
        .is(64)
        .says("Slurm forgot it, and has no accounting that says how it ended");
    hook(&lab, "echo '# changed' >>\"$repo/lab.toml\"");
    lab.lab(SWEEP)
        .is(64)
        .says("lab.toml changed since this task was sent: `lab sweep` begins a new sweep");

    let mut without = lab.lab_command(SWEEP);
    without.env("PATH", lab.path("../home"));
    finish(without.spawn().unwrap())
        .is(64)
        .says("there is no Slurm here (`sbatch` is not in PATH): go to a machine from which jobs are sent, or choose `--executor local`");
    let mut without = lab.lab_command("bench --executor slurm");
    without.env("PATH", lab.path("../home"));
    finish(without.spawn().unwrap())
        .is(64)
        .says("there is no Slurm here (`srun` is not in PATH)");
}

#[test]
fn a_full_disk_ends_the_gathering_and_no_record_is_lost() {
    let lab = cluster();
    // The tasks may write what they like, and the process that gathers files of 2 KiB.
    hook(&lab, "ulimit -S -f unlimited");
    let limited = lab
        .sh(&format!(
            "trap '' XFSZ; ulimit -S -f 4; exec \"$LAB\" {SWEEP}"
        ))
        .is(64);
    limited.says("a file would be larger than this process may write (`ulimit -f`), and point ");
    is_whole(&lab, lab.lab(SWEEP));
}

#[test]
fn a_bench_is_one_job_with_the_same_words() {
    let lab = cluster();
    lab.script("../bin/srun", "echo \"$*\" >\"$(dirname \"$0\")/srun.txt\"\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done\nexec \"$@\"");
    let bench = "bench --runs 1 --executor slurm --trials 1 --json";
    let answer = lab.lab(bench).is(0).json();
    assert_eq!(answer["runs"].as_array().unwrap().len(), 1);
    let words = lab.read("../bin/srun.txt");
    assert!(
        words.starts_with("--quit-on-interrupt --job-name=lab-bench "),
        "{words}"
    );
    assert!(
        words.ends_with(&format!(" {bench} --executor=local\n")),
        "{words}"
    );
    lab.lab("bench --resume --runs 2 --device cuda --executor slurm");
    assert!(lab.read("../bin/srun.txt").contains(" --gres=gpu:1 "));

    // A client of `lab mcp` measures where lab.toml says, too.
    lab.write("lab.toml", "device = \"cpu\"\nexecutor = \"slurm\"\n");
    let mut client = Wire::of(&lab);
    let measured = client.call("measure", json!({ "no_peers": true }));
    assert_eq!(
        (&measured["run"], &measured["outcome"]),
        (&json!(1), &json!("pass")),
        "{measured:#}"
    );
    let words = lab.read("../bin/srun.txt");
    let end = format!(
        " bench --verdict --executor=local --no-peers {}\n",
        lab.path("kernel.cu").canonicalize().unwrap().display()
    );
    assert!(words.ends_with(&end), "{words}");

    // What Slurm refuses is no wrong kernel.
    lab.script(
        "../bin/srun",
        "echo 'srun: error: invalid partition specified: absent' >&2; exit ${SLURM_EXIT_ERROR:-1}",
    );
    lab.lab("bench --runs 1").is(64).says("absent");
    let refused = client.call("measure", json!({}));
    let why = refused["summary"].as_str().unwrap_or_default();
    assert!(
        why.contains("no node made a run: srun: error: invalid partition specified: absent"),
        "{refused:#}"
    );
    assert_eq!(client.close(), 0);
}
