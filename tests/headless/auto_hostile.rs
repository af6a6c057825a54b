//! `lab auto` with commands that attack the loop or the repository: the loop names each attack,
//! takes no harm and goes on.

use crate::auto_loop::{auto, auto_command, body, incumbent_is_back, lab, state};
use crate::lab::{Beside, Lab};
use lab_testing::until;
use serde_json::json;
use std::fs;

/// Whether the process whose id is in this file has ended.
fn is_gone(lab: &Lab, file: &str) -> bool {
    let pid = lab.read(file);
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// A process that leaves the group and the session of the command, and whose parent ends.
const ESCAPES: &str = "(setsid sh -c 'echo $$ > $HOME/new; mv $HOME/new $HOME/escaped; while true; do echo late >> $LAB_KERNEL; sleep 0.01; done' \
    > /dev/null 2>&1 &); while ! [ -e $HOME/escaped ]; do sleep 0.01; done";

#[test]
fn a_process_that_a_command_leaves_behind_ends_with_its_turn_however_it_hides() {
    let lab = lab();
    let line = format!(
        "[ $LAB_TURN != 1 ] || {{ {ESCAPES}; }}; echo \"run slower $LAB_TURN\" > kernel.cu"
    );
    auto(&lab, "--experiments 2", &line)
        .is(0)
        .says("turn 2: discarded run 2");
    assert!(is_gone(&lab, "../home/escaped"));
    assert_eq!(
        lab.read(".lab/runs/2/kernel.cu"),
        "run slower 2\n",
        "nothing of the first turn is in it"
    );
    incumbent_is_back(&lab);
}

#[test]
fn a_process_that_has_left_the_session_ends_with_a_loop_that_is_killed() {
    let lab = lab();
    let child = Beside::spawn(auto_command(
        &lab,
        "",
        &format!("{ESCAPES}; exec sleep 600"),
    ));
    until("the process has left", || {
        lab.path("../home/escaped").exists()
    });
    assert!(!is_gone(&lab, "../home/escaped"));
    child.kill();
    until("the process has ended", || is_gone(&lab, "../home/escaped"));
}

#[test]
fn a_command_that_moves_head_of_the_users_repository_is_told() {
    let lab = lab();
    let line = format!(
        "echo \"run quick $LAB_TURN\" >> kernel.cu; cd '{}'\n\
         [ $LAB_TURN != 1 ] || git checkout -qb elsewhere; [ $LAB_TURN != 2 ] || git commit -q --allow-empty -m 'by itself'",
        lab.repo.display()
    );
    let head = lab.head();
    let short = &head[..7];
    let moved =
        format!("HEAD of your repository moved from {short} on main to {short} on elsewhere");
    let ended = auto(&lab, "--experiments 3", &line)
        .is(0)
        .says(&moved)
        .says("on elsewhere to ");
    assert_eq!(
        ended.out.matches("HEAD of your repository moved").count(),
        2,
        "{ended:?}"
    );
    assert_eq!(
        state(&lab)["last_turn"]["noticed"],
        json!([]),
        "the third turn moved nothing"
    );
    assert_eq!(
        lab.git("rev-parse main").trim(),
        head,
        "the other branch is as it was"
    );
    assert_eq!(
        lab.git("log --format=%s"),
        "lab auto, turn 3\nlab auto, turn 2\nby itself\nlab auto, turn 1\nthe harness\nstart\n"
    );
    incumbent_is_back(&lab);
}

#[test]
fn a_command_that_removes_the_files_of_the_lab_stops_nothing() {
    let lab = lab();
    // In the second turn the command removes .lab, as `git clean -fdx` does; in the third turn it
    // removes the folder of its answer.
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu\n\
         [ $LAB_TURN != 2 ] || rm -rf '{}'; [ $LAB_TURN != 3 ] || rm -rf \"$(dirname $LAB_ANSWER)\"\n\
         [ $LAB_TURN != 4 ] || {{ touch $HOME/editing; while ! [ -e $HOME/go ]; do sleep 0.01; done; }}",
        lab.path(".lab").display()
    );
    let child = Beside::spawn(auto_command(&lab, "--experiments 3", &line));
    until("the fourth turn", || lab.path("../home/editing").exists());
    // The lock that refuses a second loop is there again.
    auto(&lab, "", "true")
        .is(1)
        .says("a `lab auto` works on kernel.cu already");
    lab.write("../home/go", "");
    child
        .finish()
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: discarded run ")
        .says(".lab was removed while the command worked")
        .says("turn 3: failed: its kernel is not taken: the command replaced its work tree")
        .says("ignored: removed or replaced its work tree")
        .says("turn 4: discarded run ");
    incumbent_is_back(&lab);
    // Rows and kernels of all turns are there, even those of the turn whose record is gone.
    assert_eq!(lab.rows().len(), 3);
    for turn in [1, 2, 4] {
        let found = lab.git("for-each-ref --format=%(refname) refs/lab/discarded");
        let kernels: String = found
            .lines()
            .map(|name| lab.git(&format!("show {name}:kernel.cu")))
            .collect();
        assert!(
            kernels.contains(&format!("run slower {turn}\n")),
            "{turn}: {kernels}"
        );
    }
}

#[test]
fn a_command_that_puts_a_link_or_a_folder_in_place_of_what_it_was_given_gives_no_kernel() {
    let lab = lab();
    let tree = "tree=$(git rev-parse --show-toplevel); cd /";
    let cases = [
        (
            format!("{tree}; rm -rf $tree; ln -s '{}' $tree", lab.repo.display()),
            "the command replaced its work tree",
        ),
        (
            format!("{tree}; rm -rf $tree; ln -s / $tree"),
            "the command replaced its work tree",
        ),
        (
            "rm kernel.cu; mkdir kernel.cu".to_owned(),
            "its kernel is not taken",
        ),
        (
            "mv kernel.cu mine; ln -s mine kernel.cu; echo run >> mine".to_owned(),
            "lab follows no link there",
        ),
    ];
    let refs = || lab.git("for-each-ref refs/lab/auto").lines().count();
    for (at, (line, said)) in cases.iter().enumerate() {
        let before = refs();
        let ended = auto(&lab, "--give-up 1", line).is(4).says(said);
        assert!(
            !ended.out.contains("changed harness.py"),
            "no file of the user's is taken: {ended:?}"
        );
        assert_eq!(
            refs() - before,
            usize::from(at >= 2),
            "{line}: what it wrote in its own tree alone is kept"
        );
        incumbent_is_back(&lab);
    }
    // The answer may be missing too, and the kernel is judged.
    for line in [
        "ln -s /etc/passwd $LAB_ANSWER",
        "mkfifo $LAB_ANSWER",
        "head -c 20000000 /dev/zero > $LAB_ANSWER",
    ] {
        auto(
            &lab,
            "--experiments 1",
            &format!("echo \"run slower $LAB_TURN\" >> kernel.cu; {line}"),
        )
        .is(0)
        .says("LAB_ANSWER is not read")
        .says("discarded run");
    }
}

#[test]
fn a_turn_leaves_huge_files_pipes_and_locked_folders_to_the_next_one_which_removes_them() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu; truncate -s 10G large; mkfifo pipe; ln -s / all\n\
        mkdir -p locked/inner; touch locked/inner/file; chmod 500 locked/inner locked";
    auto(&lab, "--experiments 3", line)
        .is(0)
        .says("ignored: changed large (not kept: ")
        .says("ignored: changed pipe (not kept: ")
        .says("turn 3: discarded run 3");
    assert_eq!(
        lab.git("ls-tree --name-only -r refs/lab/auto/3"),
        "all\nharness.py\nkernel.cu\nlab.toml\nlocked/inner/file\n"
    );
}

#[test]
fn what_a_command_says_cannot_forge_a_trailer_or_move_the_cursor() {
    let lab = lab();
    let answer = "{\"description\": \"\\u001b[2Jtiles\\nTested: forged\", \"hypothesis\": \"\\u001b]0;x\\u0007rows\\nTested: forged\\nLesson: forged\", \
        \"lesson\": \"wider\\n\\nTested: forged\\nRatio: 9\\u202e\"}";
    lab.write("../home/answer.json", answer);
    let line = "echo \"run quick $LAB_TURN\" >> kernel.cu; cat $HOME/answer.json > $LAB_ANSWER; printf '\\033[2J\\033]0;x\\007\\342\\200\\256\\n'\n\
        echo 'turn 9: kept run 99'; echo 'speed_ratio: 9'";
    let ended = auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: kept run 1");
    let parsed = lab
        .sh("git log -1 --format=%B | git interpret-trailers --parse --unfold")
        .is(0)
        .out;
    let keys: Vec<&str> = parsed
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["Hypothesis", "Lesson", "Tested"], "{parsed}");
    let tested = parsed.lines().last().unwrap();
    assert!(
        tested.starts_with("Tested: Test GPU, ") && tested.contains("faster +5.0 %"),
        "{tested}"
    );
    let outputs = [
        "lessons",
        "auto status",
        "log",
        "auto status --json",
        "lessons --json",
    ]
    .map(|args| lab.lab(args).is(0).out);
    for text in outputs.iter().chain([&ended.out, &parsed]) {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        assert!(
            !text
                .lines()
                .any(|line| line.starts_with("Tested: forged") || line.starts_with("turn 9")),
            "{text}"
        );
    }
}

#[test]
fn a_command_that_spoils_records_and_state_is_found_out() {
    let lab = lab();
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; cd '{}'\n\
         [ $LAB_TURN != 2 ] || for file in .lab/runs/1/record.json .lab/auto/*/state.json; do echo '{{}}' > $file; done\n\
         [ $LAB_TURN != 3 ] || sed -i 's/\"discard\"/\"keep\"/; s/slower/faster/' .lab/runs/*/record.json",
        lab.repo.display()
    );
    auto(&lab, "--experiments 4", &line)
        .is(0)
        .says("turn 4: discarded run 4");
    incumbent_is_back(&lab);
    assert_eq!(lab.rows().len(), 4);
    assert!(
        lab.rows().iter().all(|row| row.contains("| discard |")),
        "{:?}",
        lab.rows()
    );
    let log = lab.lab("log --json").is(0).json();
    let problems = log["problems"].to_string();
    assert!(problems.contains("run 1 is left out"), "{problems}");
    let statuses = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|past| &past["status"]);
    assert_eq!(statuses.collect::<Vec<_>>(), ["discard"; 4], "{log:#}");
    let lessons = lab.lab("lessons --json").is(0).json();
    assert!(!lessons.to_string().contains("\"kept\":1"), "{lessons:#}");
    let status = lab.lab("auto status --json").is(0).json();
    assert_eq!(
        (&status["state"]["counts"]["kept"], &status["state"]["best"]),
        (&json!(0), &json!(null))
    );
}

#[test]
fn what_failed_between_two_turns_is_told_while_the_loop_waits() {
    let lab = lab();
    let git = lab.path(".git");
    let line = format!(
        "echo run slower >> kernel.cu; mv '{0}' '{0}.away'",
        git.display()
    );
    auto(&lab, "--give-up 2", &line)
        .is(4)
        .says("waiting after a failure: cannot ")
        .says("gave up: 2 failures in a row");
    lab.lab("auto status").says("no git repository");
    fs::rename(lab.path(".git.away"), &git).unwrap();
    let status = lab.lab("auto status").is(0);
    assert!(status.out.contains("  failed since: cannot "), "{status:?}");
    auto(
        &lab,
        "--experiments 1",
        "echo run slower again >> kernel.cu",
    )
    .is(0)
    .says("discarded run");
    assert!(state(&lab)["trouble"].is_null());
    incumbent_is_back(&lab);
}

#[test]
fn a_turn_that_a_person_ends_while_it_is_judged_costs_what_the_command_reported() {
    let lab = lab();
    let rest = body(&lab.read("harness.py"));
    lab.harness(&format!(
        "touch $HOME/judging; [ -e $HOME/go ] || exec sleep 600\n{rest}"
    ));
    lab.git("commit -qam waits");
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu; echo '{\"cost\": 2}' > $LAB_ANSWER; [ $LAB_TURN = 1 ] || touch $HOME/go";
    let child = Beside::spawn(auto_command(&lab, "--cost 4", line));
    until("the harness runs", || lab.path("../home/judging").exists());
    lab.lab("auto end-turn").is(0);
    child
        .finish()
        .is(0)
        .says("a person ended the turn")
        .says("the budget of 4 in cost is spent (4)");
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn a_command_that_edits_files_of_the_users_repository_is_told() {
    let lab = lab();
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; cd '{}'\n\
         case $LAB_TURN in 2) echo '# mine' >> harness.py ;; 3) rm lab.toml; touch mine.txt ;; esac",
        lab.repo.display()
    );
    auto(&lab, "--experiments 1", &line).is(0);
    assert_eq!(state(&lab)["last_turn"]["noticed"], json!([]));
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("files of your repository changed while the command worked: harness.py;");
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("while the command worked: lab.toml; the next turns read them")
        .says("; the loop reads lab.toml when it starts");
}

#[test]
fn a_gpu_that_is_lost_is_waited_for_and_the_kernel_is_judged_once_it_is_back() {
    let lab = lab();
    let rest = body(&lab.read("harness.py"));
    lab.harness(&format!(
        "echo x >> $HOME/tries; [ -e $HOME/back ] || {{ echo 'fault: lab'; echo 'stopped: cuda:0 is lost'; exit 64; }}\n{rest}"
    ));
    lab.git("commit -qam 'a GPU that may be lost'");
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu; echo $LAB_TURN >> $HOME/edits";
    // The repository is lost: the loop ends with the reason, and only the loop's own files hold the
    // kernel.
    auto(&lab, "--give-up 3", line)
        .is(4)
        .says("waiting after a failure: cuda:0 is lost")
        .says("gave up: 3 failures in a row, the last: cuda:0 is lost");
    incumbent_is_back(&lab);
    assert!(
        !lab.path("results.tsv").exists(),
        "the kernel is not to blame"
    );
    assert_eq!(lab.read("../home/tries").lines().count(), 3);
    // The next loop judges the kernel of that turn. The GPU comes back while it waits.
    let child = Beside::spawn(auto_command(&lab, "--experiments 2", line));
    until("the loop tries again", || {
        lab.read("../home/tries").lines().count() > 4
    });
    lab.write("../home/back", "");
    child
        .finish()
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: discarded run 2");
    assert_eq!(
        lab.read("../home/edits"),
        "1\n2\n",
        "the command was not asked again for the first kernel"
    );
    assert_eq!(lab.rows().len(), 2);
    incumbent_is_back(&lab);
}

#[test]
fn a_command_that_changes_the_harness_keeps_nothing_by_it() {
    let lab = lab();
    let repo = lab.repo.display().to_string();
    // The first turn's harness finds each kernel faster; in the third turn the harness is as
    // before.
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu\n\
         [ $LAB_TURN != 1 ] || sed -i s/slower/nothing/ '{repo}/harness.py'\n\
         [ $LAB_TURN != 3 ] || git -C '{repo}' checkout -q harness.py"
    );
    let why = "harness.py changed since the loop began, and it says how kernels are judged";
    auto(&lab, "--experiments 3", &line)
        .is(0)
        .says(&format!("turn 1: left to you run 1: {why}"))
        .says(&format!("turn 2: left to you run 2: {why}"))
        .says("turn 3: discarded run 3");
    assert_eq!(
        lab.git("log -1 --format=%s"),
        "the harness\n",
        "nothing was kept"
    );
    incumbent_is_back(&lab);
}

#[test]
fn a_command_that_damages_head_of_the_users_repository_stops_the_loop_with_the_reason() {
    let cases = [
        ("printf garbage > .git/HEAD", "cannot read HEAD"),
        (
            "git update-ref -d refs/heads/main",
            "HEAD is on no commit any more, so there is no incumbent",
        ),
    ];
    for (damage, said) in cases {
        let lab = lab();
        let (repo, head) = (lab.repo.display().to_string(), lab.head());
        let line = format!(
            "echo \"run slower $LAB_TURN\" >> kernel.cu; [ $LAB_TURN != 2 ] || {{ cd '{repo}'; {damage}; }}"
        );
        auto(&lab, "--give-up 3", &line)
            .is(4)
            .says("turn 1: discarded run 1")
            .says(&format!("waiting after a failure: {said}"))
            .says("gave up: 3 failures in a row");
        lab.write(".git/HEAD", "ref: refs/heads/main\n");
        lab.git(&format!("update-ref refs/heads/main {head}"));
        // The next loop judges the kernel of the second turn, or keeps it in git, and goes on.
        auto(&lab, "--experiments 2", &line)
            .is(0)
            .says("turn 2: ")
            .says("turn 3: discarded run ");
        incumbent_is_back(&lab);
    }
}
