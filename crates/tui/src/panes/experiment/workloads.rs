//! The workloads of two experiments side by side: the time or rate of each, and the ratio of their speeds.

use super::pair_table::{Columns, side_by_side};
use crate::format;
use crate::text::{printable, width};
use lab_protocol::report::{Report, number};
use ratatui::style::Style;
use ratatui::text::Line;

/// The words of one `workload:` line.
type Workload<'r> = Vec<(&'r str, &'r str)>;

/// What a workload's speed is taken from, the first that both have.
const TIMES: [&str; 6] = ["kernel_us", "us", "time_us", "latency_us", "ms", "time_ms"];
const RATES: [&str; 6] = ["gbps", "gbs", "gflops", "tflops", "sps", "throughput_sps"];

/// One row for each workload of either report, those of the first in front. `is_comparable`: times of the two may be compared.
pub fn lines(reports: &[Report; 2], is_comparable: bool, table: &Columns) -> Vec<Line<'static>> {
    let theme = table.theme;
    let both = reports.each_ref().map(Report::workloads);
    let dimensions = dimensions(&both);
    let mut names: Vec<String> = Vec::new();
    for workload in both.iter().flatten() {
        let name = name(workload, dimensions);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Vec::new();
    for wanted in names {
        let pair = both
            .each_ref()
            .map(|of| of.iter().find(|workload| name(workload, dimensions) == wanted).cloned());
        let measured = Measured::of(&pair);
        let texts = side_by_side(measured.values, format::count);
        let [a, b] = texts;
        let cell = |workload: &Option<Workload>, text: String, more: String| -> (String, Style) {
            let Some(words) = workload else { return ("·".to_owned(), theme.quiet()) };
            let failed = words.iter().any(|(_, value)| *value == "fail");
            let unit = if text.is_empty() { String::new() } else { format!(" {}", measured.unit) };
            let passed = words.iter().any(|(_, value)| *value == "pass");
            let word = match (failed, text.is_empty()) {
                (true, true) => "✗ fail",
                (true, false) => "✗ fail  ",
                (false, true) if passed => "✓ pass",
                (false, _) => "",
            };
            (format!("{word}{text}{unit}{more}"), if failed { theme.bad() } else { theme.text() })
        };
        let ratio = measured.ratio().filter(|_| is_comparable);
        let more = ratio.map_or_else(String::new, |ratio| format!("   {}", format::percent(ratio)));
        // A cut name might be that of another workload.
        let mut label = printable(&wanted).into_owned();
        if width(&label) > table.label_columns() {
            rows.push(Line::styled(std::mem::take(&mut label), theme.quiet()));
        }
        rows.push(table.row(&label, [cell(&pair[0], a, String::new()), cell(&pair[1], b, more)]));
    }
    rows
}

/// How many of a workload's first words name it: those before the first measured one, and at least so many that no two workloads
/// of one experiment have the same name.
fn dimensions(both: &[Vec<Workload>; 2]) -> usize {
    let is_measured = |key: &str, value: &str| {
        TIMES.contains(&key) || RATES.contains(&key) || matches!(value, "pass" | "fail")
    };
    let before =
        |workload: &Workload| workload.iter().take_while(|(key, value)| !is_measured(key, value)).count();
    let named = both.iter().flatten().map(before).min().unwrap_or(0);
    let most = both.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let tells = |count: &usize| {
        both.iter().all(|of| {
            let mut names: Vec<String> = of.iter().map(|workload| name(workload, *count)).collect();
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
        })
    };
    // Where all words before the measures are the same, the first of two workloads is shown.
    let least = (1..=most).find(tells).unwrap_or(named);
    if named == 0 { least } else { named }
}

fn name(workload: &Workload, dimensions: usize) -> String {
    let words: Vec<String> =
        workload.iter().take(dimensions).map(|(key, value)| format!("{key}={value}")).collect();
    words.join(" ")
}

/// The measure of a workload that both have.
struct Measured {
    values: [Option<f64>; 2],
    unit: String,
    is_time: bool,
}

impl Measured {
    fn of(pair: &[Option<Workload>; 2]) -> Self {
        let value = |workload: &Option<Workload>, wanted: &str| {
            let words = workload.as_ref()?;
            number(words.iter().find(|(key, _)| *key == wanted)?.1)
        };
        for key in TIMES.into_iter().chain(RATES) {
            let values = pair.each_ref().map(|workload| value(workload, key));
            if values.iter().any(Option::is_some) {
                let unit = key.rsplit('_').next().unwrap_or(key).replace("us", "µs");
                return Measured { values, unit, is_time: TIMES.contains(&key) };
            }
        }
        Measured { values: [None, None], unit: String::new(), is_time: true }
    }

    /// The second speed over the first, less 1.
    fn ratio(&self) -> Option<f64> {
        let [Some(a), Some(b)] = self.values else { return None };
        let ratio = if self.is_time { a / b } else { b / a };
        Some(ratio - 1.0).filter(|ratio| ratio.is_finite())
    }
}
