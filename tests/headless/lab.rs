//! A repository in a temporary folder, and the real `lab` beside it.

use crate::headers;
use lab_store::signature::{self, Purpose};
use lab_testing::patience;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::channel;

pub struct Lab {
    temp: tempfile::TempDir,
    pub repo: PathBuf,
    /// `None` for the cache that the stories share, as the repositories of a user do.
    own_cache: Option<tempfile::TempDir>,
}

/// The result of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub out: String,
    pub err: String,
    pub code: i32,
}

impl CommandOutput {
    /// The answer of a `--json` command. It keeps to docs/json.schema.json, and names the exit
    /// code.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let answer: serde_json::Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("stdout is no JSON ({e}): {self:?}"));
        let faults = crate::schema::faults(&answer);
        assert!(faults.is_empty(), "{faults:#?} in {}", self.out);
        assert_eq!(
            answer["exit_code"].as_i64(),
            Some(i64::from(self.code)),
            "{self:?}"
        );
        answer
    }

    #[track_caller]
    pub fn is(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Both outputs hold this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(
            self.out.contains(text) || self.err.contains(text),
            "'{text}' is not in {self:?}"
        );
        self
    }
}

impl Lab {
    /// An empty git repository whose user has a name.
    pub fn empty() -> Lab {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        for folder in ["home", "bin", "repo"] {
            fs::create_dir(temp.path().join(folder)).unwrap();
        }
        sign_for_tests();
        let lab = Lab {
            repo: repo.canonicalize().unwrap(),
            temp,
            own_cache: None,
        };
        lab.write(
            "../home/.gitconfig",
            "[user]\nname = A User\nemail = user@example.com\n[init]\ndefaultBranch = main\n",
        );
        // `uv run harness.py` without Python: the harness of a story is a shell script.
        lab.script("../bin/uv", "shift; exec sh \"$@\"");
        lab.git("init -q");
        lab
    }

    /// The same with a committed kernel, a harness that passes, and a `lab.toml` by `lab init`.
    pub fn new() -> Lab {
        let lab = Lab::empty();
        lab.write("kernel.cu", "// the first\n");
        lab.passing(1000.0);
        lab.lab("init").is(0);
        lab.lab("trust --yes").is(0);
        lab.git("add -A");
        lab.git("commit -qm start");
        lab
    }

    /// Copies a problem of the lab's own repository, its kernel as `kernel.cu`, into a folder of
    /// this one.
    pub fn copy_problem(&self, from: &str, to: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(from);
        fs::create_dir_all(self.path(to)).unwrap();
        // Among the test kernels it is plain.cu.
        let names = [
            "kernel.cu",
            "plain.cu",
            "problem.toml",
            "reference.cu",
            "reference.cpp",
        ];
        for name in names.into_iter().filter(|name| from.join(name).is_file()) {
            fs::copy(
                from.join(name),
                self.path(to).join(name.replace("plain", "kernel")),
            )
            .unwrap();
        }
    }

    /// The harness passes, with this throughput.
    pub fn passing(&self, throughput: f64) {
        let us = 1e6 / throughput;
        self.harness(&format!(
            "echo 'device: Test GPU'\necho 'h0_max_diff: 1e-6 limit=1e-5'\necho 'correctness: pass'\n\
             echo 'throughput_sps: {throughput} low={} high={}'\necho 'kernel_us: {us}'",
            throughput * 0.99,
            throughput * 1.01
        ));
    }

    pub fn harness(&self, script: &str) {
        // With the inline metadata of a script for `uv run`, so `lab init` writes that command.
        self.write("harness.py", format!("# /// script\n# ///\n{script}\n"));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.repo.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    /// An executable shell script.
    #[track_caller]
    pub fn script(&self, name: &str, text: &str) {
        lab_testing::write_script(&self.path(name), text);
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.path(name)).unwrap()).into_owned()
    }

    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let path = format!(
            "{}:{}",
            self.temp.path().join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        command
            .current_dir(&self.repo)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.temp.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LAB_STATE_DIR", self.temp.path().join("state"))
            .env("XDG_CACHE_HOME", self.cache_home())
            .env(signature::KEY_FILE, key_file())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The story has a cache to itself from here on, with the compiled headers of the cpu device.
    pub fn use_own_cache(&mut self) {
        self.own_cache = Some(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        headers::share_with(&self.cache());
    }

    fn cache_home(&self) -> &Path {
        static SHARED: LazyLock<PathBuf> = LazyLock::new(|| {
            let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
            headers::share_with(&home.join("lab"));
            home
        });
        self.own_cache
            .as_ref()
            .map_or_else(|| SHARED.as_path(), tempfile::TempDir::path)
    }

    /// The cache folder of `lab`.
    pub fn cache(&self) -> PathBuf {
        self.cache_home().join("lab")
    }

    /// Writes `.lab/unfinished.json`, which a lab leaves that ends halfway.
    pub fn unfinished(&self, intent: &str) {
        self.write(".lab/unfinished.json", intent);
    }

    /// The intent that `lab ARGS` writes, taken from a copy of the repository, in which the command
    /// ends where it changes the ledger.
    pub fn intent_of(&self, args: &str) -> String {
        self.sh(&format!(
            "rm -rf ../copy && cp -r . ../copy && cd ../copy && rm results.tsv && mkfifo results.tsv && \"$LAB\" {args}"
        ))
        .is(1);
        self.read("../copy/.lab/unfinished.json")
    }

    /// `lab ARGS`. Without Landlock, kernels run in trusted folders only, so this trusts a folder
    /// of the built-in harness first.
    pub fn lab_command(&self, args: &str) -> Command {
        static CONFINES: LazyLock<bool> =
            LazyLock::new(|| lab_device::sandbox::support().missing().is_none());
        let config = fs::read_to_string(self.path("lab.toml")).unwrap_or_default();
        if !*CONFINES && !config.contains("harness") {
            finish(self.plain_lab_command("trust --yes").spawn().unwrap()).is(0);
        }
        self.plain_lab_command(args)
    }

    /// `lab ARGS`, with nothing before it.
    pub fn plain_lab_command(&self, args: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_lab"));
        command.args(words(args));
        command
    }

    /// `lab ARGS`; a word may hold blanks inside '…'.
    pub fn lab(&self, args: &str) -> CommandOutput {
        finish(self.lab_command(args).spawn().unwrap())
    }

    /// A line for the shell, in the repository.
    pub fn sh(&self, line: &str) -> CommandOutput {
        let mut command = self.command("sh");
        command
            .args(["-c", line])
            .env("LAB", env!("CARGO_BIN_EXE_lab"));
        finish(command.spawn().unwrap())
    }

    #[track_caller]
    pub fn git(&self, args: &str) -> String {
        let mut command = self.command("git");
        command.args(words(args));
        finish(command.spawn().unwrap()).is(0).out
    }

    /// The rows of results.tsv without the header, the commit left out.
    pub fn rows(&self) -> Vec<String> {
        let text = self.read("results.tsv");
        text.lines()
            .skip(1)
            .map(|l| l.split_once('\t').unwrap().1.replace('\t', " | "))
            .collect()
    }

    pub fn head(&self) -> String {
        self.git("rev-parse HEAD").trim().to_owned()
    }
}

/// The key that signs the records of these stories, in commands and in this process.
fn key_file() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("headless-key")
}

/// Records that this process writes are signed with the key of the stories.
fn sign_for_tests() {
    signature::use_key_file(&key_file());
}

/// A JSON object, signed with this user's key.
pub fn signed(purpose: Purpose, json: &str) -> Vec<u8> {
    sign_for_tests();
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
    // For a text that was signed before, and changed since.
    value.as_object_mut().unwrap().remove("signature");
    signature::signed(purpose, &value).unwrap()
}

/// The words of a line; '…' holds one together.
pub fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// A command that works beside the test. A test that fails ends it: a loop of `lab auto` would go
/// on without end.
pub struct Beside(Option<Child>);

impl Beside {
    #[track_caller]
    pub fn spawn(mut command: Command) -> Beside {
        Beside::of(command.spawn().unwrap())
    }

    pub fn of(child: Child) -> Beside {
        Beside(Some(child))
    }

    /// SIGKILL. Returns once the process is gone.
    pub fn kill(mut self) {
        self.end();
    }

    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(self.0.as_ref().unwrap())
    }

    #[track_caller]
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.id(), signal).unwrap();
    }

    /// [`finish`].
    pub fn finish(mut self) -> CommandOutput {
        finish(self.0.take().unwrap())
    }

    fn end(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for a child, with the watchdog behind it.
pub fn finish(child: Child) -> CommandOutput {
    let pid = rustix::process::Pid::from_child(&child);
    let (send, ended) = channel();
    let waiting = std::thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(patience()) else {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("a command of the story hangs");
    };
    let _ = waiting.join();
    let Output {
        status,
        stdout,
        stderr,
    } = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    CommandOutput {
        out: text(stdout),
        err: text(stderr),
        code: status.code().unwrap_or(-1),
    }
}
