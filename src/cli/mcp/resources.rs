//! The resources: the problem, logs, diffs, the ledger and the contract of `lab auto`, as text with a size
//! limit.

use super::history::diff_of_run;
use super::limits::{RESOURCE, head_and_tail};
use crate::cli::help::AGENT_GUIDE;
use anyhow::Result;
use itertools::Itertools;
use lab_project::Project;
use lab_run::RunId;
use lab_run::inputs::{self, Role, Source};
use lab_run::ledger;
use lab_runner::follow::read_log;
use lab_store::RunStore;
use lab_system::failure::Failure;
use lab_text::sanitise;
use rmcp::model::{Resource, ResourceTemplate};

/// Lines of a log that are read, the last ones.
const LOG_LINES: usize = 200_000;

/// What a URI names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Log(RunId),
    Diff(RunId),
    Problem,
    Ledger,
    Guide,
}

/// Reads a URI; `None` if no resource has it.
pub fn parse(uri: &str) -> Option<Named> {
    match uri.strip_prefix("lab://")? {
        "problem" => Some(Named::Problem),
        "results.tsv" => Some(Named::Ledger),
        "agent-guide" => Some(Named::Guide),
        other => {
            let (run, name) = other.strip_prefix("run/")?.split_once('/')?;
            let is_number = run.bytes().all(|b| b.is_ascii_digit());
            let run = RunId(is_number.then(|| run.parse().ok())??);
            match name {
                "run.log" => Some(Named::Log(run)),
                "diff" => Some(Named::Diff(run)),
                _ => None,
            }
        }
    }
}

/// The resources that have one URI each: name, description, kind.
const RESOURCES: [[&str; 3]; 3] = [
    [
        "problem",
        "What the kernel computes and how it is judged: shapes, workloads, tolerances and the reference",
        "text/plain",
    ],
    [
        "results.tsv",
        "The ledger: one row for each experiment",
        "text/tab-separated-values",
    ],
    [
        "agent-guide",
        "The contract of a command in the loop `lab auto`",
        "text/markdown",
    ],
];

/// The resources of a run.
const OF_RUN: [[&str; 3]; 2] = [
    [
        "run.log",
        "What the harness printed, result lines and compiler messages among it",
        "text/plain",
    ],
    [
        "diff",
        "What the run changed in the kernel, as a unified diff",
        "text/x-diff",
    ],
];

pub fn list() -> Vec<Resource> {
    let resource = |[name, description, kind]: [&str; 3]| {
        Resource::new(format!("lab://{name}"), name)
            .with_description(description)
            .with_mime_type(kind)
    };
    RESOURCES.map(resource).into()
}

pub fn templates() -> Vec<ResourceTemplate> {
    let template = |[name, description, kind]: [&str; 3]| {
        ResourceTemplate::new(format!("lab://run/{{run}}/{name}"), name)
            .with_description(description)
            .with_mime_type(kind)
    };
    OF_RUN.map(template).into()
}

/// The text of a resource, clean, in at most [`RESOURCE`] bytes: its beginning and its end.
pub fn read(open: impl FnOnce() -> Result<Project>, named: Named) -> Result<String> {
    let lines = match named {
        Named::Guide => AGENT_GUIDE.lines().map(str::to_owned).collect(),
        Named::Problem => {
            let inputs = inputs::read(&open()?)?;
            let is_text = |source: &&Source| matches!(source.role, Role::Rule | Role::Config);
            let mut lines = Vec::new();
            for source in inputs.sources.iter().filter(is_text) {
                let text = source.bytes.as_deref().map(str::from_utf8);
                lines.push(format!("==> {} <==", sanitise::text(&source.file.path)));
                match text {
                    Some(Ok(text)) => {
                        lines.extend(text.lines().map(|line| sanitise::line(line.as_bytes())));
                    }
                    Some(Err(_)) => lines.push("(no text)".to_owned()),
                    None => lines.push("(cannot be read)".to_owned()),
                }
            }
            lines
        }
        Named::Ledger => {
            let text =
                ledger::read_text(&ledger::path(&open()?, false)).map_err(anyhow::Error::msg)?;
            // A row's columns are parted by tabs, which a clean line has not.
            let row = |line: &str| line.split('\t').map(sanitise::text).join("\t");
            text.lines().map(row).collect()
        }
        Named::Log(run) => {
            let project = open()?;
            let store = RunStore::of(&project);
            let record = store.read(run)?;
            let log = store.open_log_of(run, record.verdict.as_ref());
            let log = log.and_then(|log| read_log(log, LOG_LINES));
            let log = log.cannot("read", &store.log(run))?;
            log.into_iter().map(|line| line.text).collect::<Vec<_>>()
        }
        Named::Diff(run) => {
            let project = open()?;
            let record = RunStore::of(&project).read(run)?;
            let diff = diff_of_run(&project.with_kernel(&record.start.kernel), &record)?;
            diff.lines()
                .map(|line| sanitise::line(line.as_bytes()))
                .collect()
        }
    };
    Ok(head_and_tail(&lines, RESOURCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_resource_or_nothing() {
        assert_eq!(parse("lab://run/42/run.log"), Some(Named::Log(RunId(42))));
        assert_eq!(parse("lab://run/42/diff"), Some(Named::Diff(RunId(42))));
        assert_eq!(parse("lab://results.tsv"), Some(Named::Ledger));
        assert_eq!(parse("lab://problem"), Some(Named::Problem));
        for uri in [
            "lab://run/../run.log",
            "lab://run/-1/diff",
            "lab://run/1/../../x",
            "file:///etc/passwd",
            "lab://run/+1/diff",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
        assert!(list().iter().all(|resource| parse(&resource.uri).is_some()));
    }
}
