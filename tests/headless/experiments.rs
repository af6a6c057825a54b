//! The experiments of wavegru's kernel in `results.tsv` and `kernels/wavegru/experiments.bundle`.

use super::lab::Lab;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

const KERNEL: &str = "kernels/wavegru/kernel.cu";

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

#[test]
fn the_bundle_holds_every_commit_that_the_ledger_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows = rows(&fs::read_to_string(root.join("results.tsv")).unwrap());
    assert!(rows.len() >= 13, "{} experiments", rows.len());

    // A repository that has only the bundle.
    let lab = Lab::empty();
    let bundle = root.join("kernels/wavegru/experiments.bundle");
    lab.git(&format!("fetch -q {} +refs/*:refs/*", bundle.display()));
    let kept: HashSet<String> = lab
        .git("rev-list refs/heads/kernel")
        .lines()
        .map(String::from)
        .collect();
    let discarded: HashSet<String> = lab
        .git("for-each-ref --format=%(objectname) refs/lab/discarded")
        .lines()
        .map(String::from)
        .collect();

    let (mut kernels, mut output) = (HashSet::new(), 0);
    for row in &rows {
        let name = format!("{} ({})", row.commit, row.description);
        let commit = lab
            .git(&format!("rev-parse {}^{{commit}}", row.commit))
            .trim()
            .to_owned();
        match row.status.as_str() {
            "keep" => assert!(kept.contains(&commit), "{name} is on the branch"),
            "discard" => assert!(discarded.contains(&commit), "{name} is among the discarded"),
            other => panic!("{name}: {other}"),
        }
        let kernel = lab.git(&format!("show {commit}:{KERNEL}"));
        assert!(
            kernel.contains("LAB_LAUNCH(wavegru)"),
            "{name} holds a kernel"
        );
        kernels.insert(lab.git(&format!("rev-parse {commit}:{KERNEL}")));
        let message = lab.git(&format!("log -1 --format=%B {commit}"));
        output += usize::from(message.lines().next() == Some(&row.description));
    }
    // All but the baseline, which was committed before: keeping it wrote its row and no commit.
    assert!(
        output >= rows.len() - 1,
        "{output} commits whose message is the description"
    );

    // The record of a kept experiment names the machine and the time.
    for row in rows.iter().filter(|row| row.status == "keep") {
        let record = lab.git(&format!("notes --ref=lab show {}", row.commit));
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["kernel"], KERNEL, "{record}");
    }
    assert!(
        kernels.len() * 2 > rows.len(),
        "{} kernels in {} experiments",
        kernels.len(),
        rows.len()
    );

    let best = rows
        .iter()
        .filter(|row| row.status == "keep")
        .map(|row| row.throughput)
        .fold(0.0, f64::max);
    assert!(best >= 165_000.0, "the best makes {best} samples/s");
}
