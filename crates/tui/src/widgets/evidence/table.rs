//! `workload:` lines as a table: one column for each key, in the order in which the keys first
//! appear.

use crate::text::{fit, pad, pad_left, printable, width};
use crate::theme::Theme;
use crate::widgets::paragraph::Lines;
use lab_protocol::report::{Report, number};
use ratatui::text::{Line, Span};

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

/// From this many workloads on they have a pane of their own.
const SEVERAL: usize = 2;

/// The workloads of a report: of several a line that names their pane.
pub fn of_report(report: &Report, columns: usize, theme: &Theme) -> Lines {
    match report.workload_count() {
        count if count >= SEVERAL => {
            let text = format!("  {count} workloads, in the pane Workloads");
            vec![Line::styled(fit(&text, columns), theme.quiet())]
        }
        _ => lines(&report.workloads(), columns, theme),
    }
}

fn lines(rows: &[Vec<(&str, &str)>], columns: usize, theme: &Theme) -> Lines {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in rows.iter().flatten() {
        if !keys.contains(key) && !LEFT_OUT.contains(key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return Vec::new();
    }
    let cell = |row: &[(&str, &str)], key: &str| {
        row.iter()
            .find(|(k, _)| *k == key)
            .map(|(_, v)| printable(v))
            .unwrap_or_default()
    };
    let widths: Vec<usize> = keys
        .iter()
        .map(|key| {
            rows.iter()
                .map(|row| width(&cell(row, key)))
                .max()
                .unwrap_or(0)
                .max(width(key))
                .min(24)
        })
        .collect();
    // Numbers are aligned right, words left.
    let is_figure = |key: &str| {
        rows.iter()
            .all(|row| number(&cell(row, key)).is_some() || cell(row, key).is_empty())
    };
    let set = |text: &str, at: usize| {
        if is_figure(keys[at]) {
            pad_left(text, widths[at])
        } else {
            pad(text, widths[at])
        }
    };
    let join = |cells: Vec<String>| fit(&format!("  {}", cells.join("  ")), columns);
    let head = join(
        keys.iter()
            .enumerate()
            .map(|(at, key)| set(key, at))
            .collect(),
    );
    let mut out = vec![Line::styled(head, theme.quiet())];
    for row in rows {
        let text = join(
            keys.iter()
                .enumerate()
                .map(|(at, key)| set(&cell(row, key), at))
                .collect(),
        );
        let has_failed = row.iter().any(|(_, value)| *value == "fail");
        let style = if has_failed {
            theme.bad()
        } else {
            theme.text()
        };
        out.push(Line::from(Span::styled(text, style)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_a_missing_cell_stays_empty() {
        let rows = vec![
            vec![("shape", "1x8"), ("us", "4.2")],
            vec![("shape", "128x4096"), ("us", "17.25"), ("ok", "fail")],
        ];
        let text: Vec<String> = lines(&rows, 60, &Theme::plain())
            .iter()
            .map(|l| {
                l.spans
                    .iter()
                    .map(|s| s.content.as_ref())
                    .collect::<String>()
            })
            .collect();
        assert_eq!(
            text,
            [
                "  shape        us  ok  ",
                "  1x8         4.2      ",
                "  128x4096  17.25  fail"
            ]
        );
    }
}
