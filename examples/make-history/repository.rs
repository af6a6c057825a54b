//! Makes a repository with a long history: commits with branches and merges, then experiments on
//! top of them, with their rows, records, notes and `refs/lab/discarded/…`, as the lab writes them.

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use lab_project::Project;
use lab_run::experiment::{Correctness, Row, Status};
use lab_run::ledger;
use lab_run::record::{Decision, InputFile, Record};
use lab_run::verdict::{Outcome, Verdict};
use lab_run::{Ending, Fingerprint, Reason, RunId, RunStart};
use lab_store::RunIndex;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// One in this many experiments is kept; the others are discarded.
const KEPT: usize = 4;

/// The number of commits of a plain history between two merges.
const BRANCHES: usize = 20;

/// When the first commit was made, in seconds since 1970.
const BEGAN: usize = 1_500_000_000;

/// `commits` plain commits on branch main, then `experiments` on top. Makes `folder`, which must
/// not exist.
pub fn make(folder: &Path, experiments: usize, commits: usize) -> Result<()> {
    fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let git = |args: &[&str]| -> Result<()> {
        let status = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(args)
            .status()
            .context("git")?;
        ensure!(status.success(), "git {args:?} failed");
        Ok(())
    };
    git(&["init", "-q", "-b", "main"])?;
    git(&["config", "user.name", "A User"])?;
    git(&["config", "user.email", "user@example.com"])?;
    fs::write(folder.join("harness.sh"), HARNESS)?;
    fs::write(folder.join("lab.toml"), LAB_TOML)?;
    fs::write(
        folder.join(".git/info/exclude"),
        "/.lab/\n/results.tsv\n/results.cpu.tsv\n/run.log\n",
    )?;

    let marks = fs::canonicalize(folder)?.join(".git/marks");
    let mut import = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["fast-import", "--quiet", "--force"])
        .arg(format!("--export-marks={}", marks.display()))
        .stdin(Stdio::piped())
        .spawn()
        .context("git fast-import")?;
    {
        let mut stream = Stream::new(BufWriter::new(import.stdin.take().context("no pipe")?));
        stream.plain(commits.max(1))?;
        stream.experiments(experiments)?;
        stream.out.flush()?;
    }
    ensure!(import.wait()?.success(), "git fast-import failed");
    git(&["reset", "-q", "--hard"])?;
    write_records(folder, &commits_by_mark(&marks)?)?;
    fs::remove_file(&marks)?;
    // A lab with this history has an index of it.
    RunIndex::open(&Project::open(folder, None)?);
    Ok(())
}

const LAB_TOML: &str = "kernel = \"kernel.cu\"\nharness = \"sh harness.sh\"\n";

const HARNESS: &str = "echo 'device: Test GPU'\necho 'h0_max_diff: 1e-6 limit=1e-5'\necho 'correctness: pass'\n\
                       echo 'throughput_sps: 1000 low=990 high=1010'\necho 'kernel_us: 1000'\n";

/// The mark of an experiment's commit; those of the plain history follow.
fn mark(experiment: usize) -> usize {
    experiment + 1
}

const PLAIN: usize = 100_000_000;

/// HEAD holds the last kept one.
fn is_kept(experiment: usize) -> bool {
    experiment.is_multiple_of(KEPT)
}

fn kernel(experiment: usize) -> String {
    format!("// experiment {experiment}\n__global__ void kernel() {{}}\n")
}

fn description(experiment: usize) -> String {
    format!(
        "experiment {experiment}: tiles of {} by {}",
        experiment % 64,
        experiment % 17
    )
}

/// The input of `git fast-import`.
struct Stream<W> {
    out: W,
    time: usize,
    head: usize,
}

impl<W: Write> Stream<W> {
    fn new(out: W) -> Self {
        Stream {
            out,
            time: BEGAN,
            head: 0,
        }
    }

    fn commit(
        &mut self,
        branch: &str,
        mark: usize,
        message: &str,
        parents: &[usize],
    ) -> Result<()> {
        self.time += 60;
        let out = &mut self.out;
        writeln!(out, "commit {branch}\nmark :{mark}")?;
        writeln!(
            out,
            "committer A User <user@example.com> {} +0000",
            self.time
        )?;
        writeln!(out, "data {}\n{message}", message.len())?;
        for (at, parent) in parents.iter().enumerate() {
            writeln!(out, "{} :{parent}", if at == 0 { "from" } else { "merge" })?;
        }
        Ok(())
    }

    fn file(&mut self, name: &str, text: &str) -> Result<()> {
        writeln!(
            self.out,
            "M 100644 inline {name}\ndata {}\n{text}",
            text.len()
        )?;
        Ok(())
    }

    fn plain(&mut self, commits: usize) -> Result<()> {
        for at in 0..commits {
            let this = PLAIN + at;
            let parents = match at {
                0 => vec![],
                // A side branch of one commit, and its merge.
                _ if at % BRANCHES == 5 => vec![this - 2],
                _ if at % BRANCHES == 7 => vec![this - 1, this - 2],
                _ if at % BRANCHES == 6 => vec![this - 2],
                _ => vec![this - 1],
            };
            self.commit(
                "refs/heads/main",
                this,
                &format!("commit {at} of a long history"),
                &parents,
            )?;
            if at == 0 {
                self.file("kernel.cu", "// the first\n")?;
                self.file("harness.sh", HARNESS)?;
                self.file("lab.toml", LAB_TOML)?;
            }
            writeln!(self.out)?;
            self.head = this;
        }
        for tag in 0..10 {
            writeln!(
                self.out,
                "reset refs/tags/v{tag}\nfrom :{}\n",
                PLAIN + tag * commits / 10
            )?;
        }
        Ok(())
    }

    fn experiments(&mut self, experiments: usize) -> Result<()> {
        for at in 0..experiments {
            let branch = match is_kept(at) {
                true => "refs/heads/main".to_owned(),
                false => format!("refs/lab/discarded/{}", at + 1),
            };
            let parent = self.head;
            self.commit(&branch, mark(at), &description(at), &[parent])?;
            self.file("kernel.cu", &kernel(at))?;
            writeln!(self.out)?;
            if is_kept(at) {
                self.head = mark(at);
            }
        }
        Ok(())
    }
}

/// Full ids, by experiment.
fn commits_by_mark(marks: &Path) -> Result<Vec<String>> {
    let mut commits = Vec::new();
    for line in fs::read_to_string(marks)?.lines() {
        let (mark, id) = line
            .trim_start_matches(':')
            .split_once(' ')
            .context("a mark")?;
        let mark: usize = mark.parse()?;
        if mark < PLAIN {
            commits.push((mark, id.to_owned()));
        }
    }
    commits.sort_unstable();
    Ok(commits.into_iter().map(|(_, id)| id).collect())
}

fn write_records(folder: &Path, commits: &[String]) -> Result<()> {
    let mut rows = BufWriter::new(fs::File::create(folder.join("results.tsv"))?);
    writeln!(rows, "{}", ledger::COLUMNS.join("\t"))?;
    // As long as the descriptions of wavegru.
    let series: Vec<String> = (0..64).map(|at| format!("{}e-7", at + 1)).collect();
    let series = series.join(",");
    let runs = folder.join(".lab/runs");
    for (at, commit) in commits.iter().enumerate() {
        let (sps, us) = (40_000.0 + at as f64, 25.0 - at as f64 * 1e-4);
        let status = if is_kept(at) {
            Status::Keep
        } else {
            Status::Discard
        };
        let row = Row {
            commit: lab_git::short(commit).to_owned(),
            throughput_sps: sps,
            kernel_us: us,
            correctness: Correctness::Pass,
            status,
            description: description(at),
        };
        writeln!(
            rows,
            "{}\t{sps:?}\t{us:?}\tpass\t{}\t{}",
            row.commit,
            status.word(),
            row.description
        )?;
        let record = record(at, commit, row, &series)?;
        let run = runs.join((at + 1).to_string());
        fs::create_dir_all(&run)?;
        fs::write(run.join("record.json"), serde_json::to_vec_pretty(&record)?)?;
        fs::write(run.join("kernel.cu"), kernel(at))?;
        fs::write(run.join("run.log"), "correctness: pass\n")?;
    }
    rows.flush()?;
    Ok(())
}

fn record(at: usize, commit: &str, row: Row, series: &str) -> Result<Record> {
    let bytes = kernel(at);
    let when = Timestamp::from_second((BEGAN + 60 * at) as i64)?;
    let hash = blake3::hash(bytes.as_bytes()).to_hex().to_string();
    let gate = |at: usize| {
        (
            format!("gate_{at}_max_diff"),
            "3.1e-7 limit=1e-5".to_owned(),
        )
    };
    let of_gate = |at: usize| (format!("gate_{at}_max_diff_series"), series.to_owned());
    let mut results: Vec<(String, String)> =
        (0..8).flat_map(|at| [gate(at), of_gate(at)]).collect();
    results.push((
        "throughput_sps".into(),
        format!("{} low=1 high=2", row.throughput_sps),
    ));
    let start = RunStart {
        id: RunId(at as u64 + 1),
        reason: Reason::Saved,
        kernel: "kernel.cu".into(),
        blob: git2::Oid::hash_object(git2::ObjectType::Blob, bytes.as_bytes())?.to_string(),
        fingerprint: Fingerprint(hash.clone()),
        started: when,
        external: true,
    };
    let inputs = vec![InputFile {
        path: "kernel.cu".into(),
        hash: Some(hash),
    }];
    Ok(Record {
        ended: Some(when),
        seconds: Some(1.0),
        ending: Some(Ending::Exited(0)),
        verdict: Some(Verdict {
            objective: Some(lab_protocol::report::Measure {
                value: row.throughput_sps,
                low: None,
                high: None,
            }),
            kernel_us: Some(row.kernel_us),
            ..Verdict::bare(Outcome::Pass, "")
        }),
        device: Some("Test GPU".into()),
        results,
        workloads: vec!["name=launch us=25.0".into(); 20],
        log_bytes: 18,
        decision: Some(Decision {
            status: row.status,
            description: row.description.clone(),
            trailers: Vec::new(),
            decided: when,
            order: 0,
            commit: Some(commit.to_owned()),
            made: (row.status == Status::Keep).then_some(true),
            row: Some(row),
            row_written: true,
            sweep: None,
        }),
        ..Record::begun(start, inputs, "sh harness.sh".into())
    })
}
