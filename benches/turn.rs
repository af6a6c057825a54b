//! `cargo bench --bench turn -- EXPERIMENTS TURNS`: the cost of one turn of a script or an agent
//! with an external harness: `lab run` and then `lab keep` or `lab discard`, and `lab run --decide`
//! alone, in a repository with a long history. For comparison `git commit` of the same file in the
//! same history without the lab, and the harness alone. At the end a turn of `lab auto`, with its
//! command and its harness.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

#[path = "../examples/make-history/repository.rs"]
mod repository;

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// As in an ordinary history: one turn of this number keeps, the others discard.
const KEPT: usize = 4;

/// A harness that times the kernel in turns with the incumbent, so that the rule decides. A kernel
/// whose first line ends with `keep` is faster, any other is slower.
const IN_TURNS: &str = "read -r line < kernel.cu\ncase $line in *keep) turns='0.0100 0.0090 0.0091 0.0101';; *) \
                        turns='0.0100 0.0110 0.0111 0.0101';; esac\necho 'device: Test GPU'\necho 'h0_max_diff: 1e-6 \
                        limit=1e-5'\nfor block in 1 2 3 4 5 6; do echo \"turns: $turns\"; done\necho 'correctness: \
                        pass'\necho 'throughput_sps: 1000 low=990 high=1010'\n";

/// The command of the loop. One of [`KEPT`] turns is faster.
const EDIT: &str = "word=discard; [ $((LAB_TURN % 4)) != 0 ] || word=keep; { echo \"// turn $LAB_TURN of the loop: $word\"; tail -n \
                    +2 kernel.cu; echo \"const int turn_$LAB_TURN = $LAB_TURN;\"; } > new; cat new > kernel.cu; rm new";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let number = |at: usize, otherwise: usize| args.get(at).map_or(Ok(otherwise), |n| n.parse());
    let (experiments, turns) = (number(0, 10_000)?, number(1, 40)?.max(KEPT));
    let temp = tempfile::tempdir()?;
    let at = |name: &str| temp.path().join(name);
    for folder in ["home", "state"] {
        fs::create_dir(at(folder))?;
    }
    repository::make(&at("repo"), experiments, 1_000)?;
    let bench = Bench { temp: temp.path() };
    bench.run(
        "git",
        &["clone", "-q", "--no-hardlinks", "repo", "plain"],
        Path::new("."),
    )?;
    for (key, value) in [
        ("user.name", "A User"),
        ("user.email", "user@example.com"),
        ("gc.auto", "0"),
    ] {
        bench.run("git", &["config", key, value], Path::new("plain"))?;
        bench.run("git", &["config", key, value], Path::new("repo"))?;
    }
    bench.lab(&["trust", "--yes"])?;
    // A real history was not written just now: the disk must not be busy with it.
    bench.run("sync", &[], Path::new("."))?;
    // The first run reads files that later ones find in the page cache.
    bench.turn(0, "keep")?;
    let (mut run, mut keep, mut discard, mut keep_turn, mut discard_turn) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for turn in 1..=turns {
        let is_kept = turn % KEPT == 0;
        let (judged, decided) = bench.turn(turn, if is_kept { "keep" } else { "discard" })?;
        run.push(judged);
        let (alone, whole) = if is_kept {
            (&mut keep, &mut keep_turn)
        } else {
            (&mut discard, &mut discard_turn)
        };
        alone.push(decided);
        whole.push(judged + decided);
    }
    fs::write(at("repo/harness.sh"), IN_TURNS)?;
    let (mut keep_at_once, mut discard_at_once) = (Vec::new(), Vec::new());
    for turn in 1..=turns {
        let is_kept = turn % KEPT == 0;
        let of_decision = if is_kept {
            &mut keep_at_once
        } else {
            &mut discard_at_once
        };
        of_decision.push(bench.turn_at_once(turn, is_kept)?);
    }
    let (mut commit, mut harness) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        fs::write(at("plain/kernel.cu"), format!("// turn {turn} of git\n"))?;
        commit.push(bench.run(
            "git",
            &["commit", "-qm", "turn", "kernel.cu"],
            Path::new("plain"),
        )?);
        harness.push(bench.run("sh", &["harness.sh"], Path::new("repo"))?);
    }
    // The newest kernel of the history is on disk: the loop starts from the incumbent.
    bench.run("git", &["checkout", "-q", "kernel.cu"], Path::new("repo"))?;
    let by_loop = bench.loop_turn(turns)?;
    println!("{experiments} experiments, {turns} turns; milliseconds");
    print("lab run", run);
    print("lab keep", keep);
    print("lab discard", discard);
    print("a turn that keeps", keep_turn);
    print("a turn that discards", discard_turn);
    print("lab run --decide that keeps", keep_at_once);
    print("lab run --decide that discards", discard_at_once);
    print("git commit of the same file", commit);
    print("the harness alone", harness);
    println!("{:<30} {by_loop:>8.1}   in the mean", "a turn of lab auto");
    Ok(())
}

/// Commands in a temporary folder, with a home of their own.
struct Bench<'a> {
    temp: &'a Path,
}

impl Bench<'_> {
    /// Judges a new kernel, and decides it. Returns the milliseconds of both.
    fn turn(&self, turn: usize, decision: &str) -> Result<(f64, f64)> {
        fs::write(
            self.temp.join("repo/kernel.cu"),
            format!("// turn {turn} of the lab\n"),
        )?;
        let judged = self.lab(&["run"])?;
        Ok((judged, self.lab(&[decision, "-m", "a turn"])?))
    }

    /// Judges a new kernel and decides it by rule, in one command. Returns the milliseconds.
    fn turn_at_once(&self, turn: usize, is_kept: bool) -> Result<f64> {
        let (word, exit) = if is_kept {
            ("keep", 10)
        } else {
            ("discard", 11)
        };
        fs::write(
            self.temp.join("repo/kernel.cu"),
            format!("// turn {turn} at once: {word}\n"),
        )?;
        let (took, code) = self.timed(
            env!("CARGO_BIN_EXE_lab"),
            &["run", "--decide", "-m", "a turn"],
            Path::new("repo"),
        )?;
        ensure!(
            code == Some(exit),
            "lab run --decide ended with {code:?} instead of {exit}"
        );
        Ok(took)
    }

    /// Lets a loop make this many turns. Returns the mean of a turn in milliseconds.
    fn loop_turn(&self, turns: usize) -> Result<f64> {
        let count = turns.to_string();
        let took = self.lab(&[
            "auto",
            "--plateau",
            "1000000",
            "--experiments",
            &count,
            "--",
            "sh",
            "-c",
            EDIT,
        ])?;
        Ok(took / turns as f64)
    }

    fn lab(&self, args: &[&str]) -> Result<f64> {
        self.run(env!("CARGO_BIN_EXE_lab"), args, Path::new("repo"))
    }

    /// Runs a command, which must succeed. Returns its milliseconds.
    fn run(&self, program: &str, args: &[&str], folder: &Path) -> Result<f64> {
        let (took, code) = self.timed(program, args, folder)?;
        ensure!(code == Some(0), "{program} {args:?} ended with {code:?}");
        Ok(took)
    }

    fn command(&self, program: &str, args: &[&str], folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.temp.join(folder));
        command
            .env("HOME", self.temp.join("home"))
            .env("LAB_STATE_DIR", self.temp.join("state"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
        command
    }

    /// Runs a command. Returns its milliseconds and its exit code.
    fn timed(&self, program: &str, args: &[&str], folder: &Path) -> Result<(f64, Option<i32>)> {
        let began = Instant::now();
        let output = self
            .command(program, args, folder)
            .output()
            .with_context(|| format!("{program} was not started"))?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok((took, output.status.code()))
    }
}

/// The median, and the fastest and the slowest.
fn print(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    if let (Some(low), Some(high)) = (times.first(), times.last()) {
        println!(
            "{what:<30} {:>8.1}   {low:.1} … {high:.1}",
            times[times.len() / 2]
        );
    }
}
