//! The page `details`: ncu's findings. It mixes counters, tables and findings; only records with a
//! rule are findings.

use super::page::{Columns, lacks, number, records};
use lab_protocol::profile::Finding;

const RULE: &str = "Rule Name";

/// Reads the findings of the launch with this number, from 0. Empty if the page has none.
pub fn read(page: &[u8], launch: usize) -> Result<Vec<Finding>, String> {
    let records = records("details", page)?;
    let Some(header) = records
        .iter()
        .position(|record| record.iter().any(|cell| cell == "Section Name"))
    else {
        return Err(lacks("details", "'Section Name'"));
    };
    let columns = Columns::of(&records[header]);
    // A report without rules has no columns for them.
    let Some(rule) = columns.get(RULE) else {
        return Ok(Vec::new());
    };
    let (kind, text) = (
        columns.require("details", "Rule Type")?,
        columns.require("details", "Rule Description")?,
    );
    let id = columns.require("details", "ID")?;
    let (gain, gain_type) = (
        columns.get("Estimated Speedup"),
        columns.get("Estimated Speedup Type"),
    );
    let mut launches: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for record in &records[header + 1..] {
        // The tables between the findings have fewer columns, and other ones.
        let (Some(id), true) = (record.get(id), record.len() > kind) else {
            continue;
        };
        if !launches.contains(&id) && number(id).is_some() {
            launches.push(id);
        }
        let cell = |at: usize| {
            record
                .get(at)
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
        };
        let (Some(rule), Some(text)) = (cell(rule), cell(text)) else {
            continue;
        };
        if launches.iter().position(|known| *known == id) != Some(launch) {
            continue;
        }
        let is_global = gain_type
            .and_then(cell)
            .is_some_and(|kind| kind == "global");
        findings.push(Finding {
            rule: rule.to_owned(),
            is_advice: cell(kind) == Some("OPT"),
            text: text.to_owned(),
            // A local estimate is about a part of the chip, not about the kernel's time.
            estimated_gain: gain.and_then(cell).and_then(number).filter(|_| is_global),
        });
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PAGE: &str = "\"ID\",\"Section Name\",\"Metric Name\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated Speedup\"\n\
        \"0\",\"A\",\"a\"\n\
        \"0\",\"A\",\"\",\"Bank\",\"OPT\",\"Too many, \"\"far\"\" too many.\",\"global\",\"34.24\"\n\
        \"0\",\"A\",\"\",\"Pipe\",\"OPT\",\"Idle.\",\"local\",\"80.98\"\n\
        \"    The system does not have any NVLink connections.\"\n\
        \"1\",\"A\",\"\",\"Roof\",\"INF\",\"Fine.\",\"\",\"\"\n";

    #[test]
    fn only_rules_of_the_launch_are_findings_and_local_estimates_are_none() {
        let [bank, pipe] = read(PAGE.as_bytes(), 0).unwrap().try_into().unwrap();
        assert_eq!(
            (bank.text.as_str(), bank.estimated_gain),
            ("Too many, \"far\" too many.", Some(34.24))
        );
        assert_eq!((pipe.is_advice, pipe.estimated_gain), (true, None));
        let [roof] = read(PAGE.as_bytes(), 1).unwrap().try_into().unwrap();
        assert!(!roof.is_advice);
        assert!(read(b"\"ID\",\"Section Name\"\n", 0).unwrap().is_empty());
        assert!(read(b"half", 0).unwrap_err().contains("Section Name"));
    }
}
