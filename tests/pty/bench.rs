//! A bench to work at: a git repository with a kernel and a small external harness, and the screen of
//! `lab` in a pseudo terminal beside it. Nothing outside its temporary folder is touched.

#[path = "../../harness/device/tests/support/headers.rs"]
mod headers;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for what must come. Slow machines may set more, in seconds.
pub fn patience() -> Duration {
    let seconds = std::env::var("LAB_TEST_PATIENCE_S").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    Duration::from_secs(seconds)
}

/// A harness in shell: the kernel's first line says how it fares.
const HARNESS: &str = r#"
echo "stage: build"
echo "device: test bench"
read -r word number < kernel.cu
case "$word" in
    speed)
        echo "stage: verify"
        echo "out_max_diff: 1e-06 limit=1e-05"
        echo "stage: measure"
        echo "throughput_sps: $number low=$number high=$number"
        echo "kernel_us: 5"
        echo "correctness: pass" ;;
    wrong) echo "out_max_diff: 1 limit=1e-05"; echo "correctness: fail" ;;
    talks)
        number=1
        while [ $number -le 100 ]; do
            case $number in 20|60) mark=marker ;; *) mark=of ;; esac
            echo "line $number $mark a talk that takes its time"
            number=$((number + 1))
        done
        echo "throughput_sps: 1000 low=999 high=1001"
        echo "kernel_us: 5"
        echo "correctness: pass" ;;
    broken) echo "$PWD/kernel.cu(2): error: no such word"; exit 2 ;;
    hangs) echo $$ > harness.pid; echo "stage: measure"; exec sleep 600 ;;
esac
echo "stage: done"
"#;

pub struct Bench {
    pub folder: TempDir,
}

impl Bench {
    /// A repository whose HEAD holds a kernel of 1,000 samples a second; its harness is trusted.
    pub fn new() -> Self {
        let bench = Self::untrusted();
        bench.lab(&["trust"]);
        bench
    }

    /// A command of `lab` that must go well; what it printed.
    pub fn lab(&self, args: &[&str]) -> String {
        let output = self.command(env!("CARGO_BIN_EXE_lab"), args).output().unwrap();
        assert!(output.status.success(), "lab {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn untrusted() -> Self {
        Self::with(|repo| {
            fs::write(repo.join("kernel.cu"), "speed 1000\n").unwrap();
            fs::write(repo.join("harness.sh"), HARNESS).unwrap();
            fs::write(repo.join("lab.toml"), "harness = \"sh harness.sh\"\n").unwrap();
        })
    }

    /// A kernel of 61 lines, which all go well; its harness is trusted.
    pub fn long() -> Self {
        let bench = Self::untrusted();
        bench.save_in_place(&long_kernel(1000, ""));
        bench.git(&["commit", "-qam", "a long kernel"]);
        bench.lab(&["trust"]);
        bench
    }

    /// A kernel with a long log, and twelve old rows in the ledger; its harness is trusted.
    pub fn talking() -> Self {
        let bench = Self::with(|repo| {
            fs::write(repo.join("kernel.cu"), "talks\n").unwrap();
            fs::write(repo.join("harness.sh"), HARNESS).unwrap();
            fs::write(repo.join("lab.toml"), "harness = \"sh harness.sh\"\n").unwrap();
            let mut rows = "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n".to_owned();
            for at in 0..12 {
                rows.push_str(&format!(
                    "a1b2c{at:02}\t{}.0\t5.0\tpass\tdiscard\tattempt {at}\n",
                    900 + 10 * at
                ));
            }
            fs::write(repo.join("results.tsv"), rows).unwrap();
        });
        bench.lab(&["trust"]);
        bench
    }

    /// The lab's own rmsnorm problem, judged by the built-in harness on the emulated device, which every
    /// machine has.
    pub fn rmsnorm() -> Self {
        Self::with(|repo| {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/rmsnorm");
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), repo.join(entry.file_name())).unwrap();
            }
            fs::write(repo.join("lab.toml"), "device = \"cpu\"\n").unwrap();
        })
    }

    /// A small problem whose check before a keep draws other shapes, likewise.
    pub fn below_largest() -> Self {
        Self::with(|repo| {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/judge/tests/kernels/tensor");
            for (name, to) in [
                ("plain.cu", "kernel.cu"),
                ("problem.toml", "problem.toml"),
                ("reference.cu", "reference.cu"),
            ] {
                fs::copy(from.join(name), repo.join(to)).unwrap();
            }
            fs::write(repo.join("lab.toml"), "device = \"cpu\"\n").unwrap();
        })
    }

    fn with(fill: impl FnOnce(&Path)) -> Self {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        for name in ["home", "repo"] {
            fs::create_dir(bench.folder.path().join(name)).unwrap();
        }
        fill(&bench.repo());
        bench.git(&["init", "-q", "-b", "main"]);
        bench.git(&["config", "user.name", "Ada"]);
        bench.git(&["config", "user.email", "ada@example.org"]);
        bench.git(&["add", "."]);
        bench.git(&["commit", "-q", "-m", "the first kernel"]);
        bench
    }

    pub fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Writes the user's config.toml.
    pub fn config(&self, text: &str) {
        let folder = self.folder.path().join("home/lab");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    pub fn kernel(&self) -> String {
        fs::read_to_string(self.repo().join("kernel.cu")).unwrap()
    }

    /// As VS Code saves.
    pub fn save_in_place(&self, text: &str) {
        fs::write(self.repo().join("kernel.cu"), text).unwrap();
    }

    /// As vim and `sed -i` save.
    pub fn save_by_rename(&self, text: &str) {
        let beside = self.repo().join("kernel.cu~new");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.repo().join("kernel.cu")).unwrap();
    }

    /// The environment of everything that runs here.
    fn env(&self) -> Vec<(&'static str, OsString)> {
        let home = self.folder.path().join("home");
        let mut vars = vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("LAB_STATE_DIR", home.join("lab").into()),
        ];
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
            vars.push((name, home.clone().into()));
        }
        vars.push(("XDG_CACHE_HOME", cache_home().into()));
        vars
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.repo()).env_clear().envs(self.env());
        command
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.command("git", args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn open(&self) -> Lab {
        self.open_with(160, 45, &[])
    }

    /// The screen on this kernel or folder.
    pub fn open_kernel(&self, kernel: &str) -> Lab {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lab"));
        command.arg(kernel);
        self.start(160, 45, &[], command)
    }

    pub fn open_with(&self, columns: u16, rows: u16, vars: &[(&str, &Path)]) -> Lab {
        self.start(columns, rows, vars, CommandBuilder::new(env!("CARGO_BIN_EXE_lab")))
    }

    /// Started by a shell, which stays until a line is typed; the screen's process is in `lab.pid`.
    pub fn open_in_shell(&self) -> Lab {
        let mut command = CommandBuilder::new("sh");
        let script = r#"sh -c 'echo $$ > "$1"; exec "$2"' sh "$1" "$2"; read -r line"#;
        command.args(["-c", script, "sh"]);
        command.arg(self.folder.path().join("lab.pid"));
        command.arg(env!("CARGO_BIN_EXE_lab"));
        self.start(160, 45, &[], command)
    }

    /// Another test of this file as the program in the terminal.
    pub fn open_test(&self, name: &str) -> Lab {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture"]);
        self.start(160, 45, &[], command)
    }

    /// What `lab ARGS` prints in a terminal of 160 columns until it ends.
    pub fn say_in_terminal(&self, args: &[&str]) -> String {
        self.say_in_terminal_of(160, args)
    }

    /// The same in a terminal of this many columns.
    pub fn say_in_terminal_of(&self, columns: u16, args: &[&str]) -> String {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lab"));
        command.args(args);
        let mut lab = self.start(columns, 45, &[], command);
        lab.end();
        lab.said()
    }

    /// An executable shell script beside the repository. Another process writes it: a child that another test starts in that
    /// moment would have the file open for writing until it runs its own program, and Linux runs no such file.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let write = "rm -f \"$0\" && printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", write]).arg(&path).arg(format!("#!/bin/sh\n{text}\n"));
        assert!(shell.status().unwrap().success(), "{} was not written", path.display());
        path
    }

    fn start(&self, columns: u16, rows: u16, vars: &[(&str, &Path)], mut command: CommandBuilder) -> Lab {
        // A terminal is open to every child that starts before it is marked. A screen of another test would hold it, and
        // closing it here would not hang up.
        static STARTING: Mutex<()> = Mutex::new(());
        let starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let pty = native_pty_system().openpty(size(columns, rows)).unwrap();
        command.cwd(self.repo());
        command.env_clear();
        for (name, value) in self.env() {
            command.env(name, value);
        }
        for (name, value) in vars {
            command.env(name, value);
        }
        let modes = format!("{:?}", pty.master.get_termios());
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        drop(starting);
        let seen = Arc::new((
            Mutex::new(vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0)),
            Condvar::new(),
        ));
        let mut reader = pty.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&seen);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&sent);
        let is_read = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_read);
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || is_closing.load(Ordering::SeqCst) {
                    break;
                }
                // A test that failed while it looked leaves the lock poisoned.
                let Ok(mut parser) = sink.0.lock() else { break };
                record.lock().unwrap().extend_from_slice(&bytes[..count]);
                parser.process(&bytes[..count]);
                sink.1.notify_all();
            }
            ended.store(true, Ordering::SeqCst);
            sink.1.notify_all();
        });
        Lab {
            child,
            seen,
            sent,
            is_read,
            writer: pty.master.take_writer().unwrap(),
            master: Some(pty.master),
            reader: Some(thread),
            closing,
            modes,
        }
    }
}

/// The folder of the cache that all tests share, as the repositories of a user do.
fn cache_home() -> &'static Path {
    static HOME: LazyLock<PathBuf> = LazyLock::new(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        headers::share_with(&home.join("lab"));
        home
    });
    &HOME
}

/// Lines 10 and 50 say `word`.
pub fn long_kernel(speed: u32, word: &str) -> String {
    let line = |number: u32| match number {
        10 | 50 => format!("// line {number}{word}\n"),
        _ => format!("// line {number}\n"),
    };
    format!("speed {speed}\n{}", (2..62).map(line).collect::<String>())
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn at_least_one(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

/// `lab` in its terminal.
pub struct Lab {
    child: Box<dyn Child + Send + Sync>,
    /// `None` once the terminal was closed.
    master: Option<Box<dyn MasterPty + Send>>,
    /// The thread that reads it, and what ends the thread with the next bytes.
    reader: Option<std::thread::JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    writer: Box<dyn Write + Send>,
    seen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    /// Every byte that reached the terminal.
    sent: Arc<Mutex<Vec<u8>>>,
    /// The output was read to its end.
    is_read: Arc<AtomicBool>,
    /// The terminal's modes before the screen took it.
    modes: String,
}

impl Lab {
    pub fn press(&mut self, keys: &str) -> &mut Self {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        self
    }

    /// Types a text that is longer than what the terminal holds, on a thread of its own.
    pub fn paste_in_background(&mut self, text: &str) -> std::thread::JoinHandle<()> {
        let mut writer = std::mem::replace(&mut self.writer, Box::new(std::io::sink()));
        let text = text.to_owned();
        // Fails once the terminal is closed.
        std::thread::spawn(move || drop(writer.write_all(text.as_bytes())))
    }

    /// How many frames the screen has drawn: each begins a synchronized update.
    pub fn frames(&self) -> usize {
        let begin = b"\x1b[?2026h";
        self.sent.lock().unwrap().windows(begin.len()).filter(|part| part == begin).count()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap() as i32).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.seen.0.lock().unwrap().screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        self.master.as_ref().unwrap().resize(size(columns, rows)).unwrap();
    }

    /// Waits until the terminal is as wanted.
    pub fn wait(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        assert!(
            self.becomes(patience(), is_so),
            "waited in vain for {what}; on the screen:\n{}",
            self.seen.0.lock().unwrap().screen().contents()
        );
    }

    /// Whether the terminal is as wanted within this time.
    pub fn becomes(&self, time: Duration, is_so: impl Fn(&vt100::Screen) -> bool) -> bool {
        let deadline = Instant::now() + time;
        let mut parser = self.seen.0.lock().unwrap();
        while !is_so(parser.screen()) {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            parser = self.seen.1.wait_timeout(parser, rest).unwrap().0;
        }
        true
    }

    pub fn see(&self, text: &str) -> &Self {
        self.wait(&format!("'{text}'"), |screen| screen.contents().contains(text));
        self
    }

    /// Waits for bytes that are shown nowhere.
    pub fn hear(&self, bytes: &str) -> &Self {
        self.hear_after(0, bytes);
        self
    }

    /// The same of those that come after the first so many.
    pub fn hear_after(&self, from: usize, bytes: &str) {
        let is_there = |sent: &[u8]| sent.windows(bytes.len()).any(|part| part == bytes.as_bytes());
        self.wait(&format!("the bytes {bytes:?}"), |_| is_there(&self.sent.lock().unwrap()[from..]));
    }

    /// How many bytes came.
    pub fn sent(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// All that came, once the program has ended.
    pub fn said(&self) -> String {
        // The master is read to its end: the program was the last that had the other side open.
        self.wait("the end of the output", |_| self.is_read.load(Ordering::SeqCst));
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }

    /// What is on the terminal now.
    pub fn contents(&self) -> String {
        self.seen.0.lock().unwrap().screen().contents()
    }

    /// The verdict of a run that has ended, not the last one beside a run in progress.
    pub fn see_verdict(&self, word: &str) -> &Self {
        self.wait(&format!("the verdict {word}"), |screen| {
            let text = screen.contents();
            text.contains(word) && !text.contains(" last  ") && !text.contains("in progress")
        });
        self
    }

    /// Waits for the end; the exit code. The terminal must be as it was.
    pub fn end(&mut self) -> u32 {
        let code = self.wait_for_end();
        self.see_sane();
        code
    }

    fn wait_for_end(&mut self) -> u32 {
        // The watchdog for a screen that never ends: then it is ended, and the code shows it.
        let mut killer = self.child.clone_killer();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if is_done.recv_timeout(patience()) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = killer.kill();
            }
        });
        let code = self.child.wait().unwrap().exit_code();
        drop(done);
        watchdog.join().unwrap();
        code
    }

    /// Closes the terminal, as closing its window does; waits for the end and returns the exit code.
    pub fn close(&mut self) -> u32 {
        self.closing.store(true, Ordering::SeqCst);
        // The frame in the new size is what the reading thread waits for.
        self.resize(100, 30);
        self.reader.take().unwrap().join().unwrap();
        self.writer = Box::new(std::io::sink());
        self.master = None;
        self.wait_for_end()
    }

    /// The terminal is as it was before the screen.
    pub fn see_sane(&self) {
        self.wait("a sane terminal", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        assert_eq!(
            format!("{:?}", self.master.as_ref().unwrap().get_termios()),
            self.modes,
            "the terminal's modes are back"
        );
    }
}

impl Drop for Lab {
    /// A test that fails leaves no screen behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a process is gone, whoever reaps it.
pub fn wait_until_gone(pid: &str) {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // No descriptor: it is gone already.
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let timeout = Timespec { tv_sec: patience().as_secs() as i64, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap();
    assert_eq!(ready, 1, "process {pid:?} is still there");
}

/// The children of a process whose command line holds this word.
pub fn children(parent: &str, word: &str) -> Vec<String> {
    let is_wanted = |pid: &String| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_child =
            stat.rsplit(')').next().and_then(|r| r.split_whitespace().nth(1)) == Some(parent.trim());
        is_child && fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(word))
    };
    let names = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
    names.filter(|name| name.parse::<u32>().is_ok()).filter(is_wanted).collect()
}

/// The one child with this word, once there is one: a program that was just started has no command
/// line for a moment, and nothing tells when that is over.
pub fn child(parent: &str, word: &str) -> String {
    let deadline = Instant::now() + patience();
    loop {
        match children(parent, word).as_slice() {
            [only] => return only.clone(),
            others => assert!(Instant::now() < deadline, "children of {parent} with '{word}': {others:?}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is there and not only a zombie that nobody reaps.
pub fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}
