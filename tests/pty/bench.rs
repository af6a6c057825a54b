//! A git repository with a kernel and a small external harness, and the screen of `lab` in a pseudo
//! terminal. Nothing outside its temporary folder is touched.

#[path = "../../harness/device/tests/support/headers.rs"]
mod headers;
#[path = "bench/in_terminal.rs"]
mod in_terminal;
#[path = "bench/processes.rs"]
mod processes;

use portable_pty::CommandBuilder;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

pub use in_terminal::Lab;
#[allow(unused_imports, reason = "soak uses this file too")]
pub use processes::{child, children, is_alive, is_stopped, wait_until_gone};

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
    waits)
        echo "stage: measure"; echo "progress: 3/10"
        while ! [ -e ../judge ]; do sleep 0.01; done
        echo "throughput_sps: $number low=$number high=$number"
        echo "kernel_us: 5"
        echo "correctness: pass" ;;
    hangs) echo $$ > harness.pid; echo "stage: measure"; exec sleep 600 ;;
esac
echo "stage: done"
"#;

const LOOP_HARNESS: &str = r#"
echo "device: test bench"
last=$(tail -n 1 kernel.cu)
echo "$last" >> ../judged
case "$last" in *waits*) while ! [ -e ../judge ]; do sleep 0.01; done ;; esac
echo "h0_max_diff: 1e-6 limit=1e-5"
echo "throughput_sps: 1000"
echo "kernel_us: 1000"
echo "speed_ratio: 0.95 low=0.948 high=0.952 quads=3"
echo "speed: slower"
echo "correctness: pass"
"#;

pub struct Bench {
    pub folder: TempDir,
}

impl Bench {
    /// A repository whose HEAD holds a kernel of 1,000 samples a second; its harness is trusted.
    pub fn new() -> Self {
        let bench = Self::untrusted();
        bench.lab(&["trust", "--yes"]);
        bench
    }

    /// Runs a command of `lab` that must succeed, and returns its output.
    pub fn lab(&self, args: &[&str]) -> String {
        let output = self
            .command(env!("CARGO_BIN_EXE_lab"), args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "lab {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn untrusted() -> Self {
        Self::with(|repo| {
            fs::write(repo.join("kernel.cu"), "speed 1000\n").unwrap();
            fs::write(repo.join("harness.sh"), HARNESS).unwrap();
            fs::write(repo.join("lab.toml"), "harness = \"sh harness.sh\"\n").unwrap();
        })
    }

    /// A kernel whose harness prints the kernel that it ran on, and finds each other kernel slower.
    /// If the kernel says so, the harness waits for the file `judge` beside the repository. The
    /// harness is trusted.
    pub fn looping() -> Self {
        let bench = Self::with(|repo| {
            fs::write(repo.join("kernel.cu"), "// the first\n").unwrap();
            fs::write(repo.join("harness.sh"), LOOP_HARNESS).unwrap();
            fs::write(repo.join("lab.toml"), "harness = \"sh harness.sh\"\n").unwrap();
        });
        bench.lab(&["trust", "--yes"]);
        bench
    }

    /// `lab ARGS` in the background.
    pub fn start_lab(&self, args: &[&str]) -> Child {
        let mut command = self.command(env!("CARGO_BIN_EXE_lab"), args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// A kernel of 61 lines, all of which pass; its harness is trusted.
    pub fn long() -> Self {
        let bench = Self::untrusted();
        bench.save_in_place(&long_kernel(1000, ""));
        bench.git(&["commit", "-qam", "a long kernel"]);
        bench.lab(&["trust", "--yes"]);
        bench
    }

    /// A kernel with a long log, and twelve old rows in the ledger; its harness is trusted.
    pub fn talking() -> Self {
        let bench = Self::with(|repo| {
            fs::write(repo.join("kernel.cu"), "talks\n").unwrap();
            fs::write(repo.join("harness.sh"), HARNESS).unwrap();
            fs::write(repo.join("lab.toml"), "harness = \"sh harness.sh\"\n").unwrap();
            let mut rows =
                "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n".to_owned();
            for at in 0..12 {
                rows.push_str(&format!(
                    "a1b2c{at:02}\t{}.0\t5.0\tpass\tdiscard\tattempt {at}\n",
                    900 + 10 * at
                ));
            }
            fs::write(repo.join("results.tsv"), rows).unwrap();
        });
        bench.lab(&["trust", "--yes"]);
        bench
    }

    /// The lab's own rmsnorm problem with its small workloads, judged by the built-in harness on the
    /// emulated device, which every machine has.
    pub fn rmsnorm() -> Self {
        Self::with(|repo| {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/rmsnorm");
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), repo.join(entry.file_name())).unwrap();
            }
            let problem = fs::read_to_string(repo.join("problem.toml")).unwrap();
            let few = problem.replace("cpu_max_cells = 300_000", "cpu_max_cells = 5_000");
            assert_ne!(few, problem, "the problem has no such line any more");
            fs::write(repo.join("problem.toml"), few).unwrap();
            fs::write(repo.join("lab.toml"), "device = \"cpu\"\n").unwrap();
        })
    }

    /// A small problem whose check before a keep draws other shapes, likewise.
    pub fn below_largest() -> Self {
        Self::with(|repo| {
            let from =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/judge/tests/kernels/tensor");
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
        let bench = Bench {
            folder: tempfile::tempdir().unwrap(),
        };
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

    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.repo())
            .env_clear()
            .envs(self.env());
        command
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.command("git", args).output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
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
        self.start(
            columns,
            rows,
            vars,
            CommandBuilder::new(env!("CARGO_BIN_EXE_lab")),
        )
    }

    /// Started by a shell with job control, which then carries out the lines that are typed until an
    /// empty one; the screen's process is in `lab.pid`.
    pub fn open_in_shell(&self) -> Lab {
        let mut command = CommandBuilder::new("sh");
        let script = r#"set -m; sh -c 'echo $$ > "$1"; exec "$2"' sh "$1" "$2"
            while read -r line && [ -n "$line" ]; do $line; done"#;
        command.args(["-c", script, "sh"]);
        command.arg(self.folder.path().join("lab.pid"));
        command.arg(env!("CARGO_BIN_EXE_lab"));
        self.start(160, 45, &[], command)
    }

    /// The process of a screen that a shell has started.
    pub fn screen(&self) -> String {
        let pid = fs::read_to_string(self.folder.path().join("lab.pid")).unwrap();
        pid.trim().to_owned()
    }

    /// The test program itself, with this argument, as the program in the terminal.
    #[allow(dead_code, reason = "only the tests of panics do so")]
    pub fn open_this_program(&self, argument: &str) -> Lab {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.arg(argument);
        self.start(160, 45, &[], command)
    }

    /// What `lab ARGS` prints in a terminal of 160 columns until it ends.
    pub fn say_in_terminal(&self, args: &[&str]) -> String {
        self.say_in_terminal_of(160, args)
    }

    /// The same in a terminal of this many columns.
    pub fn say_in_terminal_of(&self, columns: u16, args: &[&str]) -> String {
        let mut lab = self.run_in_terminal(columns, args);
        lab.end();
        lab.said()
    }

    /// Starts `lab ARGS` in a terminal of this many columns.
    pub fn run_in_terminal(&self, columns: u16, args: &[&str]) -> Lab {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lab"));
        command.args(args);
        self.start(columns, 45, &[], command)
    }

    /// An executable shell script beside the repository.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        lab_testing::write_script(&path, text);
        path
    }

    fn start(
        &self,
        columns: u16,
        rows: u16,
        vars: &[(&str, &Path)],
        mut command: CommandBuilder,
    ) -> Lab {
        command.cwd(self.repo());
        command.env_clear();
        for (name, value) in self.env() {
            command.env(name, value);
        }
        for (name, value) in vars {
            command.env(name, value);
        }
        Lab::start(columns, rows, command)
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
