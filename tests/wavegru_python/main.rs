//! `kernels/wavegru/harness.py` and `reference.py` against the built-in harness, on the cpu device.
//!
//! The tests take the interpreter of `LAB_TEST_PYTHON`, else `target/python/bin/python`, else `python3`. Where it has no NumPy
//! or is older than 3.11, they are reported as ignored, with the reason.
#![allow(clippy::unwrap_used)]

use libtest_mimic::{Arguments, Failed, Trial};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn main() -> ExitCode {
    let python = python();
    let missing = missing(&python);
    let tests: [(&str, fn(&OsString) -> Result<(), Failed>); 4] = [
        ("the_parts_of_the_harness", parts),
        ("the_reference_agrees_with_the_built_in_one", reference_agrees),
        ("both_harnesses_give_the_same_verdict", same_verdict),
        ("what_is_no_verdict_has_its_own_exit_code", exit_codes),
    ];
    let trials = tests.map(|(name, test)| {
        let (python, missing) = (python.clone(), missing.clone());
        let trial = Trial::test(name, move || test(&python));
        match missing {
            Some(reason) => trial.with_ignored_flag(true).with_kind(reason),
            None => trial,
        }
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

fn python() -> OsString {
    let made = Path::new(ROOT).join("target/python/bin/python");
    std::env::var_os("LAB_TEST_PYTHON")
        .unwrap_or_else(|| if made.exists() { made.into() } else { "python3".into() })
}

/// What the interpreter lacks.
fn missing(python: &OsString) -> Option<String> {
    let asked = "import sys, numpy; sys.exit(sys.version_info < (3, 11))";
    match Command::new(python).args(["-c", asked]).output() {
        Ok(done) if done.status.success() => None,
        Ok(_) => Some(format!("{} is older than 3.11 or has no NumPy", python.display())),
        Err(error) => Some(format!("{} cannot be run: {error}", python.display())),
    }
}

/// A problem folder with the small model of the judge's tests.
struct Problem {
    folder: tempfile::TempDir,
}

impl Problem {
    /// With the plain kernel, in which `old` is replaced by `new`.
    fn new(old: &str, new: &str) -> Problem {
        let from = Path::new(ROOT).join("harness/judge/tests/kernels/wavegru");
        let plain = std::fs::read_to_string(from.join("plain.cu")).unwrap();
        assert_eq!(plain.matches(old).count(), 1, "{old}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(from.join("problem.toml"), folder.path().join("problem.toml")).unwrap();
        std::fs::write(folder.path().join("kernel.cu"), plain.replace(old, new)).unwrap();
        Problem { folder }
    }

    fn plain() -> Problem {
        Problem::new("constexpr int THREADS = 128;", "constexpr int THREADS = 128;")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn built_in(&self, options: &[&str]) -> Ended {
        let mut lab = Command::new(env!("CARGO_BIN_EXE_lab"));
        lab.arg("harness").arg(self.folder.path()).env("XDG_CACHE_HOME", self.path("cache"));
        // A busy machine may take longer to build than a kernel may by default.
        Ended::of(lab.args(["--device", "cpu", "--seed", "7", "--time-limit", "600"]).args(options))
    }

    fn in_python(&self, python: &OsString, options: &[&str]) -> Ended {
        let mut harness = Command::new(python);
        harness.arg("-B").arg(Path::new(ROOT).join("kernels/wavegru/harness.py")).arg(self.folder.path());
        Ended::of(harness.args(["--device", "cpu", "--seed", "7"]).args(options))
    }
}

/// How a command ended, and what it printed.
struct Ended {
    code: Option<i32>,
    log: String,
}

impl Ended {
    fn of(command: &mut Command) -> Ended {
        // A harness of the person who runs the tests is not meant.
        for name in ["LAB_KERNEL", "LAB_DEVICE", "LAB_INCUMBENT", "LAB_INCLUDE"] {
            command.env_remove(name);
        }
        let done = command.output().unwrap();
        let log =
            [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ended { code: done.status.code(), log }
    }

    fn is(self, code: i32) -> Result<Ended, Failed> {
        if self.code == Some(code) {
            return Ok(self);
        }
        Err(format!("ended with {:?}, not with {code}:\n{}", self.code, self.log).into())
    }

    fn says(self, words: &str) -> Result<Ended, Failed> {
        if self.log.contains(words) {
            return Ok(self);
        }
        Err(format!("does not say '{words}':\n{}", self.log).into())
    }

    /// The words of the result line with this key, until the first blank.
    fn value(&self, key: &str) -> Result<&str, Failed> {
        let value = self.log.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        Ok(value.ok_or_else(|| format!("no {key}: in\n{}", self.log))?)
    }
}

fn parts(python: &OsString) -> Result<(), Failed> {
    let mut tests = Command::new(python);
    tests.args(["-B", "-m", "unittest", "discover", "-s", "kernels/wavegru"]).current_dir(ROOT);
    Ended::of(&mut tests).is(0).map(drop)
}

fn reference_agrees(python: &OsString) -> Result<(), Failed> {
    let problem = Problem::plain();
    let dump = problem.path("dump").to_string_lossy().into_owned();
    problem.built_in(&["--dump", &dump]).is(0)?;
    let compared = problem.in_python(python, &["--compare-dump", &dump]).is(0)?;
    compared.says("w_out: 0 limit=0")?.says("tokens_reference: 0 limit=0")?;

    // Other weights give other tensors.
    let path = problem.path("problem.toml");
    let other = std::fs::read_to_string(&path)?.replace("weight_seed = 1", "weight_seed = 2");
    std::fs::write(&path, other)?;
    problem.in_python(python, &["--compare-dump", &dump]).is(1).map(drop)
}

fn same_verdict(python: &OsString) -> Result<(), Failed> {
    let right = Problem::plain();
    let (first, second) = (right.built_in(&[]).is(0)?, right.in_python(python, &[]).is(0)?);
    second.value("throughput_sps")?;
    // The same runs: their seed and step, and the margin but for the form of its exponent.
    let run = |ended: &Ended| -> Result<(f64, String), Failed> {
        let (margin, run) =
            ended.value("sample_margin")?.split_once(' ').ok_or("a margin without its run")?;
        Ok((margin.parse()?, run.to_owned()))
    };
    assert_eq!(run(&first)?, run(&second)?);

    // Layer 1 adds the state that layer 0 had a step before.
    let stale = Problem::new(
        "now0[i] = board.get(STATE0, i);\n            vector[i] = __bfloat162float(x[i]) + now0[i];",
        "vector[i] = __bfloat162float(x[i]) + now0[i];\n            now0[i] = board.get(STATE0, i);",
    );
    for ended in [stale.built_in(&[]).is(1)?, stale.in_python(python, &[]).is(1)?] {
        let value: f64 = ended.value("h1_max_diff")?.split(' ').next().unwrap_or("").parse()?;
        assert!(value > 1.5e-5, "{}", ended.log);
        ended.says("correctness: fail")?;
    }
    Ok(())
}

fn exit_codes(python: &OsString) -> Result<(), Failed> {
    let begin = "    int token = run.first_token;\n";
    let broken = Problem::new(begin, "    int token = run.first_tokens;\n").in_python(python, &[]).is(2)?;
    broken.says("build: failed")?.says("kernel.cu:131:")?;
    let trap = Problem::new(begin, "    int token = run.first_token;\n    if (blockIdx.x == 3) __trap();\n");
    trap.in_python(python, &[]).is(3)?.says("stopped: kernel.cu:132: __trap() (block 3, thread 0)")?;
    let folder = Problem::plain();
    std::fs::write(folder.path("problem.toml"), "kind = \"tensor\"\n")?;
    folder.in_python(python, &[]).is(64)?.says("fault: problem")?.says("kind is not \"wavegru\"").map(drop)
}
