//! A single `workload:` line as a table: one column for each key, in the order of the keys.

use crate::text::{fit, pad, pad_left, printable, width};
use crate::theme::style::{BAD, QUIET, TEXT};
use crate::widgets::paragraph::Lines;
use itertools::Itertools;
use lab_protocol::report::{Report, number};
use ratatui::text::Line;

/// Figures of a single workload that stand beside the whole's.
const LEFT_OUT: [&str; 7] = [
    "low_us",
    "high_us",
    "incumbent_us",
    "ratio",
    "ratio_low",
    "ratio_high",
    "speed",
];

/// The workload of a report: of several a line that names their pane.
pub fn of_report(report: &Report, columns: usize) -> Lines {
    match &report.workloads()[..] {
        [] => Vec::new(),
        [workload] => lines(workload, columns),
        several => {
            let text = format!("  {} workloads, in the pane Workloads", several.len());
            vec![Line::styled(fit(&text, columns), QUIET)]
        }
    }
}

fn lines(workload: &[(&str, &str)], columns: usize) -> Lines {
    let mut shown: Vec<&(&str, &str)> = Vec::new();
    for fact in workload {
        if !LEFT_OUT.contains(&fact.0) && shown.iter().all(|other| other.0 != fact.0) {
            shown.push(fact);
        }
    }
    if shown.is_empty() {
        return Vec::new();
    }
    let cell = |(key, value): &(&str, &str)| {
        let value = printable(value);
        let columns = width(key).max(width(&value)).min(24);
        // A number and its heading are aligned right, words left.
        let align = match number(&value) {
            Some(_) => pad_left,
            None => pad,
        };
        [*key, &*value].map(|text| align(text, columns))
    };
    let cells: Vec<[String; 2]> = shown.into_iter().map(cell).collect();
    let has_failed = workload.iter().any(|(_, value)| *value == "fail");
    let row = |at: usize, style| {
        let cells = cells.iter().map(|cell| &cell[at]).join("  ");
        Line::styled(fit(&format!("  {cells}"), columns), style)
    };
    vec![row(0, QUIET), row(1, if has_failed { BAD } else { TEXT })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_aligned_right_with_its_heading() {
        let workload = [("shape", "128x4096"), ("us", "17.25"), ("ok", "fail")];
        let text: Vec<String> = lines(&workload, 60).iter().map(Line::to_string).collect();
        assert_eq!(text, ["  shape        us  ok  ", "  128x4096  17.25  fail"]);
    }
}
