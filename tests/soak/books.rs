//! The decisions of the test, and whether results.tsv, the branch, its notes and `refs/lab` agree
//! with them.

use crate::bench::Bench;
use crate::kernel::Kernel;
use std::collections::BTreeSet;
use std::fs;

const HEAD: &str = "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription";

#[derive(Clone)]
pub struct Row {
    pub kernel: Kernel,
    pub is_kept: bool,
    pub description: String,
    /// Its description when it was decided: the subject of its commit.
    pub subject: String,
    /// As the ledger names it.
    pub commit: String,
}

#[derive(Default)]
pub struct Books {
    /// Oldest first.
    pub rows: Vec<Row>,
    /// Decisions that were taken back.
    pub undone: Vec<Row>,
    /// The bytes that were on disk when the lab replaced them.
    pub replaced: BTreeSet<String>,
}

pub fn ledger(bench: &Bench) -> String {
    fs::read_to_string(bench.repo().join("results.tsv")).unwrap_or_default()
}

impl Books {
    /// Enters a decision whose row has been written.
    pub fn enter(&mut self, bench: &Bench, kernel: Kernel, is_kept: bool, description: String) {
        let text = ledger(bench);
        let commit = text
            .lines()
            .last()
            .and_then(|row| row.split('\t').next())
            .unwrap_or_default();
        let (commit, subject) = (commit.to_owned(), description.clone());
        self.rows.push(Row {
            kernel,
            is_kept,
            description,
            subject,
            commit,
        });
    }

    /// Removes the last decision.
    pub fn take_back(&mut self) -> Row {
        let row = self.rows.pop().unwrap();
        self.undone.push(row.clone());
        row
    }

    pub fn ledger(&self) -> String {
        let row = |row: &Row| {
            let status = if row.is_kept {
                "keep"
            } else {
                row.kernel.fate()
            };
            format!(
                "{}\t{}\t{status}\t{}\n",
                row.commit,
                row.kernel.figures(),
                row.description
            )
        };
        format!("{HEAD}\n{}", self.rows.iter().map(row).collect::<String>())
    }

    /// Checks that nothing is missing, nothing is there in addition, and nothing is half done.
    pub fn see_kept_by(&self, bench: &Bench) {
        assert_eq!(ledger(bench), self.ledger(), "results.tsv, row by row");
        let names: BTreeSet<&str> = self.rows.iter().map(|row| row.commit.as_str()).collect();
        assert_eq!(names.len(), self.rows.len(), "no two rows name one commit");
        for row in &self.rows {
            let kernel = bench.git(&["show", &format!("{}:kernel.cu", row.commit)]);
            assert_eq!(
                kernel,
                row.kernel.text(),
                "the commit of '{}' holds what was judged",
                row.description
            );
            let note = bench.git(&["notes", "--ref=lab", "show", &row.commit]);
            assert!(
                note.contains(&format!("\"description\": \"{}\"", row.description)),
                "{note}"
            );
        }
        self.see_the_branch(bench);
        self.see_what_is_kept_aside(bench);

        let log = bench.lab(&["log", "--all", "--json"]);
        assert!(
            log.contains("\"problems\": []"),
            "the lab finds nothing wrong: {log}"
        );
        assert_eq!(
            log.matches("\"description\":").count(),
            self.rows.len(),
            "{log}"
        );
        let changed = bench.git(&["status", "--porcelain", "--ignored"]);
        let ours = [
            "",
            " M kernel.cu",
            " D kernel.cu",
            "!! .lab/",
            "!! results.tsv",
            "!! run.log",
        ];
        assert!(
            changed.lines().all(|line| ours.contains(&line)),
            "{changed}"
        );
        assert!(!bench.repo().join(".lab/unfinished.json").exists());
        bench.git(&["fsck", "--no-dangling"]);
        let kept = self.rows.iter().filter(|row| row.is_kept).count();
        println!(
            "{kept} kept, {} discarded, {} undone",
            self.rows.len() - kept,
            self.undone.len()
        );
    }

    fn see_the_branch(&self, bench: &Bench) {
        let kept = self
            .rows
            .iter()
            .rev()
            .filter(|row| row.is_kept)
            .map(|row| row.subject.as_str());
        let log = bench.git(&["log", "--format=%s"]);
        let subjects: Vec<&str> = log.lines().collect();
        let before = 2;
        assert_eq!(
            subjects[..subjects.len() - before],
            kept.collect::<Vec<_>>(),
            "what was kept is the branch"
        );
    }

    /// Every attempt, every commit that was taken back, and every byte that the lab replaced.
    fn see_what_is_kept_aside(&self, bench: &Bench) {
        let all = self.rows.iter().chain(&self.undone);
        let texts = |kept| {
            all.clone()
                .filter(move |row| row.is_kept == kept)
                .map(|row| row.kernel.text())
        };
        let discarded: BTreeSet<String> = texts(false).collect();
        let undone: BTreeSet<String> = self
            .undone
            .iter()
            .filter(|row| row.is_kept)
            .map(|row| row.kernel.text())
            .collect();
        let saved = aside(bench, "saved");
        assert_eq!(aside(bench, "discarded"), discarded, "refs/lab/discarded");
        assert_eq!(aside(bench, "undone"), undone, "refs/lab/undone");
        let kept: BTreeSet<String> = texts(true).chain(discarded.clone()).chain(saved).collect();
        let root = bench.git(&["rev-list", "--max-parents=0", "HEAD"]);
        let first = bench.git(&["show", &format!("{}:kernel.cu", root.trim())]);
        let lost: Vec<&String> = self
            .replaced
            .iter()
            .filter(|text| !kept.contains(*text) && **text != first)
            .collect();
        assert_eq!(lost, Vec::<&String>::new(), "no bytes are lost");
    }
}

/// The kernels of all commits in this folder of `refs/lab`.
fn aside(bench: &Bench, room: &str) -> BTreeSet<String> {
    let refs = bench.git(&[
        "for-each-ref",
        "--format=%(refname)",
        &format!("refs/lab/{room}"),
    ]);
    refs.lines()
        .map(|name| bench.git(&["show", &format!("{name}:kernel.cu")]))
        .collect()
}
