//! The repositories for the measurements, made once and kept in `target/tmp/terminal`, and the
//! harness that runs in them, which is this program again.

use lab_store::signature::{self, Purpose};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const LAB: &str = env!("CARGO_BIN_EXE_lab");

const LAB_TOML: &str =
    "harness = \"../harness --harness\"\ntime_limit_s = 600\noutput_limit_mib = 2000\n";

/// The key that signs the records of all these repositories.
fn key_file() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal/key")
}

fn signed(record: &serde_json::Value) -> Vec<u8> {
    signature::use_key_file(&key_file());
    signature::signed(Purpose::Record, record).expect("a key")
}

/// One repository, with a home of its own.
pub struct Ground {
    folder: PathBuf,
}

impl Ground {
    pub fn repo(&self) -> PathBuf {
        self.folder.join("repo")
    }

    /// The command in lab.toml, a link to this program.
    pub fn harness(&self) -> PathBuf {
        self.folder.join("harness")
    }

    /// The environment of everything that runs here.
    pub fn vars(&self) -> Vec<(String, String)> {
        let home = self.folder.join("home").to_string_lossy().into_owned();
        let mut vars = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("LAB_STATE_DIR".to_owned(), format!("{home}/lab")),
            (
                signature::KEY_FILE.to_owned(),
                key_file().to_string_lossy().into_owned(),
            ),
        ];
        vars.extend(
            ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]
                .map(|name| (name.to_owned(), home.clone())),
        );
        // bacon asks cargo for the package's folder, and a cargo that rustup chose is beside the
        // home in which it was installed.
        let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
        let rustup = rustup.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".rustup")));
        vars.extend(rustup.map(|folder| {
            (
                "RUSTUP_HOME".to_owned(),
                folder.to_string_lossy().into_owned(),
            )
        }));
        vars
    }

    /// The repository of this name, made by `fill` if it does not exist yet.
    fn named(name: &str, fill: impl FnOnce(&Ground)) -> Ground {
        let ground = Ground {
            folder: Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join("terminal")
                .join(name),
        };
        let is_whole = ground.folder.join("whole");
        if !is_whole.exists() {
            eprintln!("making {} …", ground.folder.display());
            let _ = fs::remove_dir_all(&ground.folder);
            fs::create_dir_all(ground.folder.join("home")).expect("a folder");
            fs::create_dir(ground.repo()).expect("a folder");
            ground.link_harness();
            ground.write("lab.toml", LAB_TOML);
            ground.write("kernel.cu", "speed 1000\n");
            ground.git(&["init", "-q", "-b", "main"]);
            ground.git(&["config", "user.name", "Ada"]);
            ground.git(&["config", "user.email", "ada@example.org"]);
            fill(&ground);
            fs::write(is_whole, "").expect("a mark");
        }
        ground.link_harness();
        // An interrupted measurement may have left its own.
        ground.git(&["checkout", "-q", "kernel.cu"]);
        ground
    }

    /// This program's name changes with its builds; the command in lab.toml does not.
    fn link_harness(&self) {
        let link = self.harness();
        let _ = fs::remove_file(&link);
        std::env::current_exe()
            .and_then(|own| symlink(own, link))
            .expect("a link");
    }

    /// Twenty commits and one judged run.
    pub fn small() -> Ground {
        Ground::named("small", |ground| {
            ground.git(&["add", "."]);
            ground.git(&["commit", "-q", "-m", "the first kernel"]);
            for n in 2..=20 {
                ground.git(&[
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-m",
                    &format!("commit number {n}"),
                ]);
            }
            ground.lab(&["trust", "--yes"]);
            ground.lab(&["run"]);
        })
    }

    /// This many commits, one after the other.
    pub fn commits(count: usize) -> Ground {
        Ground::named(&format!("commits-{count}"), |ground| {
            ground.import(|out| {
                for n in 1..=count {
                    commit(
                        out,
                        "refs/heads/main",
                        n,
                        (n > 1).then(|| n - 1),
                        &format!("commit number {n}"),
                    )?;
                    if n == 1 {
                        file(out, "kernel.cu", "speed 1000\n")?;
                    }
                }
                Ok(())
            });
            ground.git(&["reset", "-q"]);
            ground.lab(&["trust", "--yes"]);
            ground.lab(&["run"]);
        })
    }

    /// This many experiments with their commits, records and rows, every third of them kept; the
    /// last run's log has this many bytes.
    pub fn history(experiments: usize, log_bytes: usize) -> Ground {
        Ground::named(&format!("history-{experiments}-{log_bytes}"), |ground| {
            ground.import(|out| {
                commit(out, "refs/heads/main", 1, None, "the first kernel")?;
                file(out, "kernel.cu", "speed 1000\n")?;
                let mut kept = 1;
                for run in 2..experiments {
                    let is_kept = run % 3 == 0;
                    let branch = if is_kept {
                        "refs/heads/main".to_owned()
                    } else {
                        format!("refs/lab/discarded/{run}")
                    };
                    commit(out, &branch, run, Some(kept), &tried(run))?;
                    file(out, "kernel.cu", &format!("speed {}\n", speed(run)))?;
                    if is_kept {
                        kept = run;
                    }
                }
                Ok(())
            });
            ground.git(&["pack-refs", "--all"]);
            ground.git(&["reset", "-q", "--hard"]);
            ground.lab(&["trust", "--yes"]);
            // One real experiment provides the record to copy.
            ground.write("kernel.cu", "speed 2000\n");
            ground.lab(&["run"]);
            ground.lab(&["keep", "-m", "the newest of all"]);
            ground.multiply(experiments);
            ground.long_log(experiments, log_bytes);
        })
    }

    /// The first run becomes the last of this many, each with a record and a row.
    fn multiply(&self, experiments: usize) {
        let runs = self.repo().join(".lab/runs");
        fs::rename(runs.join("1"), runs.join(experiments.to_string())).expect("a folder to rename");
        let text =
            fs::read_to_string(runs.join(format!("{experiments}/record.json"))).expect("a record");
        let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        record
            .as_object_mut()
            .expect("an object")
            .remove("signature");
        let last = fs::read_to_string(self.repo().join("results.tsv")).expect("a ledger");
        let (header, last) = last.split_once('\n').expect("a header");
        let marks = fs::read_to_string(self.folder.join("marks")).expect("the marks");
        let mut ids = vec![String::new(); experiments + 1];
        for line in marks.lines() {
            let (mark, id) = line.split_once(' ').expect("a mark and an id");
            let mark: usize = mark[1..].parse().expect("a number");
            ids[mark] = id.to_owned();
        }
        let file = File::create(self.repo().join("results.tsv")).expect("a ledger");
        let mut rows = BufWriter::new(file);
        let mut write = || -> std::io::Result<()> {
            writeln!(rows, "{header}")?;
            for (run, id) in ids.iter().enumerate().take(experiments).skip(2) {
                let (short, speed, word) = (
                    &id[..7],
                    speed(run),
                    if run % 3 == 0 { "keep" } else { "discard" },
                );
                writeln!(
                    rows,
                    "{short}\t{speed:?}\t5.0\tpass\t{word}\t{}",
                    tried(run)
                )?;
                record["id"] = run.into();
                record["fingerprint"] = format!("{run:064x}").into();
                record["blob"] = format!("{run:040x}").into();
                record["verdict"]["objective"]["value"] = speed.into();
                let decision = &mut record["decision"];
                decision["status"] = word.into();
                decision["commit"] = id.as_str().into();
                decision["description"] = tried(run).into();
                decision["row"] = serde_json::json!({
                    "commit": short, "throughput_sps": speed, "kernel_us": 5.0, "correctness": "pass",
                    "status": word, "description": tried(run),
                });
                let folder = runs.join(run.to_string());
                fs::create_dir(&folder)?;
                fs::write(folder.join("record.json"), signed(&record))?;
                fs::write(folder.join("run.log"), "throughput_sps: 1\n")?;
            }
            rows.write_all(last.as_bytes())?;
            rows.flush()
        };
        write().expect("room on the disk");
        // The last record is the real one, under its new number.
        let number = serde_json::Value::from(experiments);
        let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        record
            .as_object_mut()
            .expect("an object")
            .remove("signature");
        record["id"] = number;
        let path = runs.join(format!("{experiments}/record.json"));
        fs::write(path, signed(&record)).expect("room on the disk");
    }

    fn long_log(&self, run: usize, bytes: usize) {
        let file =
            File::create(self.repo().join(format!(".lab/runs/{run}/run.log"))).expect("a log");
        print(&mut BufWriter::with_capacity(1 << 20, file), bytes).expect("room on the disk");
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.repo().join(name), text).expect("room on the disk");
    }

    pub fn lab(&self, args: &[&str]) {
        self.must(LAB, args);
    }

    pub fn git(&self, args: &[&str]) {
        self.must("git", args);
    }

    fn must(&self, program: &str, args: &[&str]) {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.repo())
            .env_clear()
            .envs(self.vars())
            .stdin(Stdio::null());
        let output = command.output().expect("the program starts");
        assert!(
            output.status.success(),
            "{program} {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// By `git fast-import`; the ids of the commits are in `marks` afterwards.
    fn import(&self, tell: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
        let mut command = Command::new("git");
        let marks = format!("--export-marks={}", self.folder.join("marks").display());
        command
            .args(["fast-import", "--quiet", &marks])
            .current_dir(self.repo())
            .stdin(Stdio::piped());
        let mut child = command.spawn().expect("git starts");
        let mut out = BufWriter::new(child.stdin.take().expect("a pipe"));
        tell(&mut out)
            .and_then(|()| out.flush())
            .expect("git listens");
        drop(out);
        assert!(
            child.wait().expect("git ends").success(),
            "git fast-import failed"
        );
    }
}

fn commit(
    out: &mut dyn Write,
    branch: &str,
    mark: usize,
    parent: Option<usize>,
    subject: &str,
) -> std::io::Result<()> {
    let time = 1_700_000_000 + 60 * mark;
    writeln!(
        out,
        "commit {branch}\nmark :{mark}\ncommitter Ada <ada@example.org> {time} +0000"
    )?;
    writeln!(out, "data {}\n{subject}", subject.len())?;
    parent.map_or(Ok(()), |parent| writeln!(out, "from :{parent}"))
}

fn file(out: &mut dyn Write, name: &str, text: &str) -> std::io::Result<()> {
    writeln!(out, "M 100644 inline {name}\ndata {}\n{text}", text.len())
}

fn tried(run: usize) -> String {
    format!("experiment {run}: two rows of the gate matrix per warp, the third in shared memory")
}

fn speed(run: usize) -> f64 {
    1000.0 + run as f64
}

/// The harness: does what kernel.cu's first line says.
pub fn harness() -> std::io::Result<()> {
    let text = fs::read_to_string("kernel.cu")?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|n| n.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout());
    writeln!(out, "device: test bench\nstage: measure")?;
    out.flush()?;
    match words.first() {
        Some(&"flood") => flood(&mut out, number(1), Duration::from_secs_f64(number(2)))?,
        Some(&"print") => print(&mut out, number(1) as usize)?,
        Some(&"wait") => std::thread::sleep(Duration::from_secs_f64(number(1))),
        _ => {}
    }
    let speed = if words.first() == Some(&"speed") {
        number(1)
    } else {
        500.0
    };
    writeln!(out, "out_max_diff: 1e-06 limit=1e-05")?;
    writeln!(
        out,
        "throughput_sps: {speed} low={speed} high={speed}\nkernel_us: 5\ncorrectness: pass"
    )?;
    out.flush()
}

/// This many lines a second, evenly, for this long.
fn flood(out: &mut impl Write, rate: f64, time: Duration) -> std::io::Result<()> {
    let began = Instant::now();
    let mut printed = 0u64;
    while began.elapsed() < time {
        let due = (began.elapsed().as_secs_f64() * rate) as u64;
        while printed < due {
            line(out, printed)?;
            printed += 1;
        }
        out.flush()?;
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// This many bytes, as fast as possible.
fn print(out: &mut impl Write, bytes: usize) -> std::io::Result<()> {
    const LINE: usize = 100;
    (0..bytes / LINE).try_for_each(|n| line(out, n as u64))?;
    out.flush()
}

/// Of 100 bytes.
fn line(out: &mut impl Write, n: u64) -> std::io::Result<()> {
    writeln!(
        out,
        "[{n:>12}] loss 0.{:06} grad_norm 1.{:06} step took 12.5 us, tokens per second 81,920, lr 0.0003",
        n % 999_983,
        n % 999_979
    )
}
