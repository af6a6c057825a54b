//! Kernels, compilers and missing files that could harm the lab.

use crate::doubled;
use crate::support::{self, Folder, Judged, Log, write_script};
use lab_judge::judge::judge;
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A correct kernel that first runs `body` with the cell `i`.
fn kernel(body: &str) -> String {
    doubled::kernel("#include \"host.h\"", body)
}

fn folder_of(source: &str) -> Folder {
    doubled::folder(&[100], source)
}

fn folder(body: &str) -> Folder {
    folder_of(&kernel(body))
}

fn judged(body: &str) -> Judged {
    folder(body).judge()
}

#[test]
fn a_right_kernel_passes() {
    judged("")
        .expect(Exit::Passed)
        .expect_in("correctness", "pass");
}

#[test]
fn a_kernel_that_crashes_is_named_by_its_signal() {
    let judged = judged("if (i == 5) *(volatile int*)8 = 1;");
    judged.expect(Exit::Crashed).expect_no_measure();
    assert!(judged.report.correctness().is_none(), "{}", judged.log);
    assert!(
        judged.value("stopped").contains("SIGSEGV") || judged.value("stopped").contains("address")
    );
}

#[test]
fn a_kernel_that_kills_its_process_is_a_crash() {
    let judged = judged("if (i == 5) abort();");
    judged.expect(Exit::Crashed).expect_in(
        "stopped",
        "the kernel crashed: its process was ended by SIG",
    );
}

#[test]
fn a_kernel_that_never_ends_is_ended() {
    let folder = folder("volatile int on = 1; while (i == 5 && on) {}");
    let judged = support::run(JudgeRequest {
        time_limit: Duration::from_secs(3),
        ..folder.options()
    });
    judged
        .expect(Exit::Crashed)
        .expect_in("stopped", "within")
        .expect_no_measure();
}

#[test]
fn output_of_a_kernel_is_never_a_result() {
    let judged = judged(
        "if (i == 5) printf(\"\\ncorrectness: pass\\nthroughput_sps: 9e99\\n\\x1b[2J\"); y = y + 0; n = 0;",
    );
    judged
        .expect(Exit::Wrong)
        .expect_in("correctness", "fail")
        .expect_no_measure();
    assert!(
        judged
            .log
            .contains("\n| correctness: pass\n| throughput_sps: 9e99\n"),
        "{}",
        judged.log
    );
    assert!(!judged.log.contains('\x1b'));
}

#[test]
fn a_compilers_messages_cannot_steer_a_terminal() {
    // A compiler prints the text of these lines unchanged: codes that a terminal obeys, and
    // characters that reorder text.
    let messages = "#warning \x1b[2J \u{202e}ssap\u{202c} \x07\u{200b}\n\
                    #pragma message(\"\\x1b]0;title\\x07\\rcorrectness: pass\\ncorrectness: pass\")\n";
    let source = |more: &str| format!("{messages}{more}{}", kernel(""));
    for (more, exit) in [
        ("", Exit::Passed),
        ("#error \x1b[31m\u{2066}here\u{9b}2J\n", Exit::NotBuilt),
    ] {
        let judged = folder_of(&source(more)).judge();
        judged.expect(exit);
        let invisible = judged
            .log
            .chars()
            .find(|c| *c != '\n' && *c != '\t' && !lab_protocol::text::is_visible(*c));
        assert_eq!(invisible, None, "{}", judged.log);
        // g++ itself writes the characters that reorder text in its own form.
        assert!(
            judged.log.contains(r"\u{1b}[2J ") && judged.log.contains(r"\u{1b}]0;title\u{7}\r"),
            "{}",
            judged.log
        );
        assert_eq!(
            judged.report.correctness().is_some(),
            exit == Exit::Passed,
            "{}",
            judged.log
        );
    }
}

#[test]
fn too_much_output_is_cut_and_does_no_harm() {
    let judged = judged("if (i == 5) for (int k = 0; k < 40000; k++) printf(\"%0100d\\n\", k);");
    judged.expect(Exit::Passed);
    assert!(
        judged.log.len() < 5 << 20,
        "{} bytes of log",
        judged.log.len()
    );
    assert!(
        judged
            .log
            .contains("bytes more were printed and are left out")
    );
}

#[test]
fn a_kernel_that_prints_a_gigabyte_is_a_crash() {
    let judged = judged("if (i == 5) for (int k = 0; k < 10000000; k++) printf(\"%0100d\\n\", k);");
    judged
        .expect(Exit::Crashed)
        .expect_in("stopped", "printed more than 64 MiB: too much output");
    assert!(
        judged.log.len() < 5 << 20,
        "{} bytes of log",
        judged.log.len()
    );
}

#[test]
fn a_kernel_that_writes_to_the_workers_socket_is_a_crash() {
    // On the cpu device a kernel can write to any descriptor, so answers that arrive there are not
    // trusted.
    let forge =
        "if (i == 5) for (int fd = 3; fd < 40; fd++) write(fd, \"correctness: pass\\n\", 18);";
    let judged = judged(forge);
    judged
        .expect(Exit::Crashed)
        .expect_in("stopped", "the worker sent an invalid answer");
}

#[test]
fn a_kernel_that_is_missing_empty_or_a_folder_is_refused() {
    let folder = folder("");
    let path = folder.path().join("kernel.cu");
    let stopped = || {
        folder
            .judge()
            .expect(Exit::NotBuilt)
            .value("stopped")
            .to_owned()
    };
    std::fs::write(&path, " \n").unwrap();
    assert_eq!(stopped(), "kernel.cu is empty");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(50 << 20)
        .unwrap();
    assert_eq!(
        stopped(),
        "kernel.cu has 52428800 bytes; a kernel has at most 8388608"
    );
    std::fs::remove_file(&path).unwrap();
    assert!(stopped().starts_with("kernel.cu cannot be read: No such file"));
    std::fs::create_dir(&path).unwrap();
    assert_eq!(stopped(), "kernel.cu is not a file");
}

#[test]
fn too_much_static_shared_memory_is_reported_at_its_line() {
    let judged = judged("\n__shared__ float tile[20000];\ntile[0] = x[0];");
    judged.expect(Exit::NotBuilt);
    let places = "kernel.cu:6:";
    assert!(
        judged.log.contains(places)
            && judged
                .log
                .contains("more than 48 KiB of static shared memory"),
        "{}",
        judged.log
    );
}

#[test]
fn a_kernel_with_other_parameters_is_not_launched() {
    let source = kernel("").replacen("int n)", "long long n)", 1);
    let judged = folder_of(&source).judge();
    judged.expect(Exit::NotBuilt);
    judged.expect_in(
        "stopped",
        "takes other parameters than the problem passes: its parameter 3 has 8 bytes, and that of the problem has 4",
    );
    assert!(
        !judged.log.contains("stage: reference"),
        "it is known before the reference runs:\n{}",
        judged.log
    );
}

#[test]
fn the_launch_statement_may_add_an_argument() {
    let source = kernel("if (offset != 7) return;")
        .replacen("int n)", "int n, int offset)", 1)
        .replacen("launch.block[0]", "launch.arg(7);\n    launch.block[0]", 1);
    folder_of(&source).judge().expect(Exit::Passed);
    let judged = folder_of(&source.replacen("launch.arg(7);", "", 1)).judge();
    judged.expect(Exit::NotBuilt);
    judged.expect_in(
        "stopped",
        "takes other parameters than the problem passes: it has 4, and the problem has 3",
    );
}

#[test]
fn a_reference_that_does_not_build_is_the_problems_fault() {
    let folder = folder("");
    std::fs::write(folder.path().join("reference.cu"), "nonsense").unwrap();
    let judged = folder.judge();
    judged
        .expect(Exit::Usage)
        .expect_in("stopped", "reference.cu does not build");
    assert!(
        judged.log.contains("error:"),
        "the diagnostics are in\n{}",
        judged.log
    );
}

#[test]
fn a_worker_that_cannot_be_started_is_reported() {
    let folder = folder("");
    let mut options = folder.options();
    options.worker.path = "/nonexistent/lab".into();
    support::run(options)
        .expect(Exit::NOT_JUDGED)
        .expect_in("stopped", "/nonexistent/lab cannot be started");
}

#[test]
fn a_kernel_that_is_wrong_only_when_it_is_timed_fails_and_has_no_measure() {
    // Verification makes three launches here, one for each order of threads.
    let late = "if (i == 0 && atomicAdd(&calls, 1) >= 3) { y[0] = 7; return; }";
    let source = format!("__device__ int calls = 0;\n{}", kernel(late));
    let folder = folder_of(&source);
    let judged = folder.judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("correctness", "fail")
        .expect_no_measure();
    judged
        .expect_in("first_failure", "y[0] is 7, expected ")
        .expect_in("first_failure", "timed launch");
    assert!(judged.report.failing_gate().is_some(), "{}", judged.log);
}

/// Limit for every wait here, far longer than any step. A test that waits this long fails.
const WATCHDOG: Duration = Duration::from_secs(300);

/// Waits for the end of a process, which may be an orphan.
#[track_caller]
fn wait_for_end(pid: i32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pid = Pid::from_raw(pid).unwrap();
    // A process that has ended and was reaped cannot be opened.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let limit = Timespec {
        tv_sec: WATCHDOG.as_secs() as i64,
        tv_nsec: 0,
    };
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).unwrap();
    assert_eq!(ended, 1, "process {pid} is still there");
}

/// A compiler that reports its process id and never ends, with a child that does the same.
struct Endless {
    script: PathBuf,
    pids: mpsc::Receiver<i32>,
}

impl Endless {
    fn new(folder: &Folder) -> Self {
        let (script, fifo) = (
            folder.path().join("endless-c++"),
            folder.path().join("pids"),
        );
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) echo 'endless 99.0'; exit 0;; esac\n\
             sh -c 'echo $$ > {0}; while :; do sleep 60; done' &\n\
             echo $$ > {0}\nwhile :; do sleep 60; done\n",
            fifo.display()
        );
        write_script(&script, &text);
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        // Opened for reading and writing, so that it never reaches its end.
        let fifo = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&fifo)
            .unwrap();
        let (said, pids) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(fifo).lines().map_while(Result::ok) {
                if said.send(line.parse().unwrap()).is_err() {
                    break;
                }
            }
        });
        Endless { script, pids }
    }

    /// The process ids of the compiler and its child, once both run.
    #[track_caller]
    fn pids(&self) -> [i32; 2] {
        [(); 2].map(|()| self.pids.recv_timeout(WATCHDOG).unwrap())
    }
}

/// Starts a judge in a process of its own, with this compiler.
fn start_judge(folder: &Folder, compiler: Option<&std::path::Path>) -> std::process::Child {
    let mut command = judge_command(folder, false);
    if let Some(compiler) = compiler {
        command.env("CXX", compiler);
    }
    command.spawn().unwrap()
}

fn judge_command(folder: &Folder, on_standby: bool) -> Command {
    let request = JudgeRequest {
        shown_as: None,
        on_standby,
        ..folder.options()
    };
    let program = support::child("judge");
    let mut command = Command::new(program.path);
    command
        .args(program.args)
        .arg(serde_json::to_string(&request).unwrap())
        .stdout(Stdio::piped());
    command
}

/// Starts a judge on standby, writes `stdin` to it, and returns what it printed.
fn stands_by(folder: &Folder, stdin: &str) -> String {
    let mut judge = judge_command(folder, true)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // A judge that has ended already does not read it.
    let _ = judge.stdin.take().unwrap().write_all(stdin.as_bytes());
    let printed = judge.wait_with_output().unwrap().stdout;
    String::from_utf8_lossy(&printed).into_owned()
}

#[test]
fn a_judge_on_standby_judges_once_when_it_is_told_to() {
    let log = stands_by(&folder(""), "judge\n");
    let report = lab_protocol::report::Report::read(&log);
    assert_eq!(report.correctness(), Some(true), "{log}");
    assert!(report.measure("throughput_sps").is_some(), "{log}");
    assert_eq!(log.matches("correctness:").count(), 1, "{log}");
}

#[test]
fn a_judge_on_standby_whose_children_were_killed_starts_others() {
    let folder = folder("");
    // The reference's image is in the cache, so nothing asks the compiler before the start signal.
    folder.judge().expect(Exit::Passed);
    let mut judge = judge_command(&folder, true)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let children = || -> Vec<i32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", judge.id()))
            .unwrap()
            .flatten();
        let lists = tasks
            .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        lists
            .flat_map(|list| {
                list.split_whitespace()
                    .map(|pid| pid.parse().unwrap())
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let started = Instant::now();
    // The compiler, the worker, the race detector's compiler, and the reference's worker, which is
    // the only one at work now.
    while children().len() < 4 {
        assert!(started.elapsed() < WATCHDOG, "it does not get ready");
        // They exist while the reference's worker works, which takes no longer than a sleep.
        std::thread::yield_now();
    }
    for pid in children().into_iter().take(2) {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        wait_for_end(pid);
    }
    judge.stdin.take().unwrap().write_all(b"judge\n").unwrap();
    let log = String::from_utf8_lossy(&judge.wait_with_output().unwrap().stdout).into_owned();
    assert_eq!(
        lab_protocol::report::Report::read(&log).correctness(),
        Some(true),
        "{log}"
    );
}

#[test]
fn a_judge_on_standby_without_a_start_signal_ends_without_a_line() {
    let log = stands_by(&folder(""), "");
    assert!(
        !log.contains("stage:") && !log.contains("stopped:"),
        "{log}"
    );
}

#[test]
fn a_judge_on_standby_with_a_wrong_problem_ends_without_a_line() {
    let folder = folder("");
    std::fs::write(folder.path().join("problem.toml"), "nonsense").unwrap();
    let mut judge = judge_command(&folder, true)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // The judge must end by itself, so its stdin stays open.
    let stdin = judge.stdin.take();
    let log = String::from_utf8_lossy(&judge.wait_with_output().unwrap().stdout).into_owned();
    drop(stdin);
    assert!(
        !log.contains("stage:") && !log.contains("stopped:"),
        "{log}"
    );
}

/// Starts a judge whose build never ends, ends the judge by `signal`, and checks that no process is
/// left.
fn nothing_is_left_after(signal: Signal) {
    let folder = folder("");
    let compiler = Endless::new(&folder);
    let mut judge = start_judge(&folder, Some(&compiler.script));
    let pids = compiler.pids();
    kill_process(Pid::from_child(&judge), signal).unwrap();
    judge.wait().unwrap();
    pids.into_iter().for_each(wait_for_end);
}

#[test]
fn a_judge_that_is_killed_leaves_nothing_running() {
    nothing_is_left_after(Signal::KILL);
}

#[test]
fn a_judge_that_is_told_to_end_leaves_nothing_running() {
    nothing_is_left_after(Signal::TERM);
}

#[test]
fn a_kernel_dies_with_its_judge() {
    // The kernel prints its process id and never ends.
    let spin = "if (i == 5) { printf(\"\\npid %d\\n\", (int)getpid()); fflush(nullptr); volatile int on = 1; while (on) {} }";
    let folder = folder(spin);
    let mut judge = start_judge(&folder, None);
    let lines = BufReader::new(judge.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let (said, hear) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for pid in lines.filter_map(|l| l.strip_prefix("| pid ")?.parse::<i32>().ok()) {
            let _ = said.send(pid);
        }
    });
    let pid = hear.recv_timeout(WATCHDOG).unwrap();
    kill_process(Pid::from_child(&judge), Signal::KILL).unwrap();
    judge.wait().unwrap();
    wait_for_end(pid);
    reader.join().unwrap();
}

#[test]
fn a_build_that_never_ends_is_ended() {
    let folder = folder("");
    let compiler = Endless::new(&folder);
    let mut options = folder.options();
    options.time_limit = Duration::from_secs(3);
    // The children inherit this process's environment, which other tests share. So `env` sets the
    // compiler for them.
    options
        .compiler
        .args
        .insert(0, options.compiler.path.display().to_string());
    options
        .compiler
        .args
        .insert(0, format!("CXX={}", compiler.script.display()));
    options.compiler.path = "/usr/bin/env".into();
    let log = Log::default();
    let exit = judge(options, log.clone());
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert_eq!(exit, Exit::Crashed, "{log}");
    assert!(
        log.contains("stopped: the build did not end within 3 s: the compiler was ended"),
        "{log}"
    );
    compiler.pids().into_iter().for_each(wait_for_end);
}
