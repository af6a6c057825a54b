//! The experiments in `results.tsv`, and the bundle beside each kernel that holds their commits.

use super::lab::Lab;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// One row: commit, samples per second, status, description.
struct Row {
    commit: String,
    throughput: f64,
    status: String,
    description: String,
}

fn rows(ledger: &str) -> Vec<Row> {
    let mut lines = ledger.lines();
    assert_eq!(
        lines.next(),
        Some("commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription"),
        "the ledger's first line"
    );
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [commit, throughput, _, _, status, description] = cells[..] else {
            panic!("not a row: {line}")
        };
        Row {
            commit: commit.into(),
            throughput: throughput.parse().unwrap(),
            status: status.into(),
            description: description.into(),
        }
    };
    lines.map(row).collect()
}

/// Of the rows, those of the kernel of a folder: the bundle there holds their commits.
pub struct Experiments {
    lab: Lab,
    rows: Vec<Row>,
    kernel: String,
}

impl Experiments {
    pub fn of(folder: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // A repository that has only the bundle.
        let lab = Lab::empty();
        let bundle = root.join(folder).join("experiments.bundle");
        lab.git(&format!("fetch -q {} +refs/*:refs/*", bundle.display()));
        let mut rows = rows(&fs::read_to_string(root.join("results.tsv")).unwrap());
        let commits = lab.git("rev-list --all");
        rows.retain(|row| {
            commits
                .lines()
                .any(|commit| commit.starts_with(&row.commit))
        });
        let kernel = format!("{folder}/kernel.cu");
        Experiments { lab, rows, kernel }
    }

    /// As the ledger names them.
    pub fn commits(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.commit.clone()).collect()
    }

    /// Fails unless each row has its commit, its kernel with this text, and its record.
    fn expect_all(&self, statement: &str) {
        let Experiments { lab, rows, kernel } = self;
        let lines = |command: &str| -> HashSet<String> {
            lab.git(command).lines().map(String::from).collect()
        };
        let kept = lines("rev-list --branches");
        let discarded = lines("for-each-ref --format=%(objectname) refs/lab/discarded");
        let (mut kernels, mut output) = (HashSet::new(), 0);
        for row in rows {
            let name = format!("{} ({})", row.commit, row.description);
            let commit = lab
                .git(&format!("rev-parse {}^{{commit}}", row.commit))
                .trim()
                .to_owned();
            match row.status.as_str() {
                "keep" => assert!(kept.contains(&commit), "{name} is on the branch"),
                "discard" | "crash" => {
                    assert!(discarded.contains(&commit), "{name} is among the discarded");
                }
                other => panic!("{name}: {other}"),
            }
            let text = lab.git(&format!("show {commit}:{kernel}"));
            assert!(text.contains(statement), "{name} holds a kernel");
            kernels.insert(lab.git(&format!("rev-parse {commit}:{kernel}")));
            // `lab describe` changes the note and the row, and no commit.
            let described = lab.git(&format!("notes --ref=lab show {commit}"));
            let described: serde_json::Value = serde_json::from_str(&described).unwrap();
            output += usize::from(described["decision"]["description"] == row.description);
        }
        // All but a baseline, which was committed before: keeping it wrote its row and no commit.
        assert!(
            output >= rows.len() - 1,
            "{output} commits whose note has the description"
        );
        // The record of a kept experiment names the machine and the time.
        for row in rows.iter().filter(|row| row.status == "keep") {
            let record = lab.git(&format!("notes --ref=lab show {}", row.commit));
            let record: serde_json::Value = serde_json::from_str(&record).unwrap();
            assert_eq!(record["kernel"], kernel.as_str(), "{record}");
        }
        assert!(
            kernels.len() * 2 > rows.len(),
            "{} kernels in {} experiments",
            kernels.len(),
            rows.len()
        );
    }

    /// Fails unless the kernel in the repository is the one of the last keep, if there is one, or one
    /// that signed evidence judged: another text of the same instructions needs no keep.
    fn expect_kept(&self) {
        let Some(last) = self.rows.iter().rfind(|row| row.status == "keep") else {
            return;
        };
        let kept = self
            .lab
            .git(&format!("show {}:{}", last.commit, self.kernel));
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = root.join(&self.kernel);
        if kept == fs::read_to_string(&path).unwrap() {
            return;
        }
        let name = self.kernel.rsplit('/').nth(1).unwrap();
        let evidence = fs::read_to_string(root.join(format!("evidence/{name}.json")));
        let evidence = evidence.unwrap_or_else(|_| panic!("{name} is not as kept: no evidence"));
        let evidence: serde_json::Value = serde_json::from_str(&evidence).unwrap();
        let ours = self.lab.git(&format!("hash-object {}", path.display()));
        assert_eq!(
            evidence["blob"],
            ours.trim(),
            "{name} is neither as kept nor as benched"
        );
    }

    fn best(&self) -> f64 {
        let kept = self.rows.iter().filter(|row| row.status == "keep");
        kept.map(|row| row.throughput).fold(0.0, f64::max)
    }
}

#[test]
fn the_bundles_hold_every_commit_that_the_ledger_names() {
    let wavegru = Experiments::of("kernels/wavegru");
    wavegru.expect_all("LAB_LAUNCH(wavegru)");
    assert!(wavegru.best() >= 165_000.0, "samples/s: {}", wavegru.best());

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = wavegru.rows.len();
    for folder in fs::read_dir(root.join("kernels")).unwrap() {
        let folder = folder.unwrap();
        let name = format!("kernels/{}", folder.file_name().display());
        if name == "kernels/wavegru" || !folder.path().join("experiments.bundle").exists() {
            continue;
        }
        let experiments = Experiments::of(&name);
        experiments.expect_all("LAB_LAUNCH");
        experiments.expect_kept();
        named += experiments.rows.len();
    }
    let ledger = rows(&fs::read_to_string(root.join("results.tsv")).unwrap());
    assert_eq!(named, ledger.len(), "rows whose commits are in a bundle");
}
