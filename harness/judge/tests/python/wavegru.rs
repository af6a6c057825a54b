//! kernels/wavegru/harness.py and its reference against the built-in harness, on the cpu device.

use crate::python;
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROBLEM: &str = include_str!("../kernels/wavegru/problem.toml");
const PLAIN: &str = include_str!("../kernels/wavegru/plain.cu");

const SEED: u64 = 7;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("wavegru/the_parts_of_the_harness", parts),
        Trial::test(
            "wavegru/the_reference_agrees_with_the_built_in_one",
            reference_agrees,
        ),
        Trial::test("wavegru/both_harnesses_give_the_same_verdict", same_verdict),
        Trial::test(
            "wavegru/what_is_no_verdict_has_its_own_exit_code",
            exit_codes,
        ),
    ]
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wavegru")
}

/// A problem folder with the small model and the plain kernel, in which `old` is replaced by `new`.
struct Problem(tempfile::TempDir);

impl Problem {
    fn new(old: &str, new: &str) -> Problem {
        assert_eq!(PLAIN.matches(old).count(), 1, "{old}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("problem.toml"), PROBLEM).unwrap();
        std::fs::copy(
            sources().join("reference.cpp"),
            folder.path().join("reference.cpp"),
        )
        .unwrap();
        std::fs::write(folder.path().join("kernel.cu"), PLAIN.replace(old, new)).unwrap();
        Problem(folder)
    }

    fn plain() -> Problem {
        Problem::new("LAB_LAUNCH(wavegru)", "LAB_LAUNCH(wavegru)")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn built_in(&self, dump: Option<PathBuf>) -> Ended {
        let options = JudgeRequest {
            seed: Some(SEED),
            dump,
            ..python::options(self.0.path())
        };
        let judged = crate::support::run(options);
        Ended {
            code: u8::from(judged.exit).into(),
            log: judged.log,
        }
    }

    fn in_python(&self, options: &[&str]) -> Result<Ended, Failed> {
        let mut harness = python_alone();
        harness
            .arg(sources().join("harness.py"))
            .arg(self.0.path())
            .args(["--device", "cpu"]);
        Ended::of(harness.args(["--seed", &SEED.to_string()]).args(options))
    }
}

/// The interpreter, without the variables that the user has set for a harness.
fn python_alone() -> Command {
    let mut command = Command::new(python::interpreter());
    command.arg("-B");
    for name in [
        "PYTHONPATH",
        "LAB_KERNEL",
        "LAB_DEVICE",
        "LAB_INCUMBENT",
        "LAB_INCLUDE",
    ] {
        command.env_remove(name);
    }
    command
}

/// The exit code of a harness, and its output.
struct Ended {
    code: i32,
    log: String,
}

impl Ended {
    fn of(command: &mut Command) -> Result<Ended, Failed> {
        let done = command.output()?;
        let texts =
            [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Ended {
            code: done.status.code().unwrap_or(-1),
            log: texts.concat(),
        })
    }

    fn is(self, exit: Exit) -> Result<Ended, Failed> {
        let code = i32::from(u8::from(exit));
        if self.code == code {
            Ok(self)
        } else {
            Err(self.without(&format!("the exit code {code}")))
        }
    }

    fn says(self, words: &str) -> Result<Ended, Failed> {
        if self.log.contains(words) {
            Ok(self)
        } else {
            Err(self.without(&format!("'{words}'")))
        }
    }

    /// The value of the result line with this key.
    fn value(&self, key: &str) -> Result<&str, Failed> {
        let found = self
            .log
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        found.ok_or_else(|| self.without(&format!("a line {key}:")))
    }

    fn without(&self, what: &str) -> Failed {
        format!(
            "ended with {}, and without {what}:\n{}",
            self.code, self.log
        )
        .into()
    }
}

/// The unit tests beside the harness.
fn parts() -> Result<(), Failed> {
    let mut tests = python_alone();
    tests
        .args(["-m", "unittest", "discover", "-s"])
        .arg(sources());
    Ended::of(&mut tests)?
        .is(Exit::Passed)?
        .says("OK")
        .map(drop)
}

fn reference_agrees() -> Result<(), Failed> {
    let problem = Problem::plain();
    let dump = problem.path("dump");
    std::fs::create_dir(&dump)?;
    problem.built_in(Some(dump.clone())).is(Exit::Passed)?;
    let dump = dump.to_string_lossy();
    let compared = problem
        .in_python(&["--compare-dump", &dump])?
        .is(Exit::Passed)?;
    compared
        .says("tokens_reference: 0 limit=0")?
        .says("forced: 0 limit=0")?
        .says("teacher_prob_reference: ")?;

    // Other states are other results.
    let state = |name: &str| {
        problem
            .path("dump")
            .join(format!("hidden256-steps12-teacher0-{name}.npy"))
    };
    std::fs::copy(state("h0"), state("h1"))?;
    problem
        .in_python(&["--compare-dump", &dump])?
        .is(Exit::Wrong)
        .map(drop)
}

fn same_verdict() -> Result<(), Failed> {
    let right = Problem::plain();
    let both = [
        right.built_in(None).is(Exit::Passed)?,
        right.in_python(&[])?.is(Exit::Passed)?,
    ];
    both[1].value("throughput_sps")?;
    // Each draws inputs of its own, of which none is near a tie.
    for ended in &both {
        let margin = ended.value("sample_margin")?;
        let margin: f64 = margin.split(' ').next().unwrap_or_default().parse()?;
        assert!(margin >= 1e-4, "{}", ended.log);
    }

    // Layer 1 adds the state that layer 0 had a step before.
    let stale = Problem::new(
        "            now0[i] = board.get(STATE0, i);\n            vector[i] = __bfloat162float(x[i]) + now0[i];\n",
        "            vector[i] = __bfloat162float(x[i]) + now0[i];\n            now0[i] = board.get(STATE0, i);\n",
    );
    for ended in [stale.built_in(None), stale.in_python(&[])?] {
        let ended = ended.is(Exit::Wrong)?.says("correctness: fail")?;
        let value: f64 = ended
            .value("h1_max_diff")?
            .split(' ')
            .next()
            .unwrap_or_default()
            .parse()?;
        assert!(value > 1.5e-5, "{}", ended.log);
    }
    Ok(())
}

fn exit_codes() -> Result<(), Failed> {
    let begin = "    int token = run.first_token;\n";
    let line = 1 + PLAIN
        .lines()
        .position(|line| begin.trim_end() == line)
        .ok_or("the line is not there")?;
    let broken = Problem::new(begin, "    int token = run.last_token;\n")
        .in_python(&[])?
        .is(Exit::NotBuilt)?;
    broken
        .says("build: failed")?
        .says(&format!("kernel.cu:{line}:"))?;

    let trap = Problem::new(
        begin,
        "    int token = run.first_token; if (blockIdx.x == 3) __trap();\n",
    );
    let why = format!("stopped: kernel.cu:{line}: __trap() (block 3, thread ");
    trap.in_python(&[])?.is(Exit::Crashed)?.says(&why)?;

    let tensor = Problem::plain();
    std::fs::write(tensor.path("problem.toml"), "entry = \"axpy\"\n")?;
    tensor
        .in_python(&[])?
        .is(Exit::NOT_JUDGED)?
        .says("fault: problem")?
        .says("entry is not \"wavegru\"")
        .map(drop)
}
