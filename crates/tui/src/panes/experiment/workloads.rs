//! The workloads of two experiments side by side: the time or rate of each, and the ratio of their
//! speeds; and what the workloads that both have come to together.

use super::pair_table::{Columns, side_by_side};
use crate::format;
use crate::text::{printable, width};
use crate::widgets::Lines;
use lab_protocol::report::workloads::{RATES, TIMES, Words, name, named_words};
use lab_protocol::report::{Measure, Report, number};
use lab_run::verdict::Change;
use ratatui::prelude::*;

/// One row for each workload of either report, those of the first in front. `is_comparable`: times
/// of the two may be compared.
pub fn lines(reports: &[Report; 2], is_comparable: bool, table: &Columns) -> Lines {
    let theme = table.theme;
    let both = reports.each_ref().map(Report::workloads);
    let dimensions = named_words(&both.each_ref().map(Vec::as_slice));
    let mut names: Vec<String> = Vec::new();
    for workload in both.iter().flatten() {
        let name = name(workload, dimensions);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Vec::new();
    let mut common: Vec<(f64, String)> = Vec::new();
    for wanted in names {
        let pair = both.each_ref().map(|of| {
            of.iter()
                .find(|workload| name(workload, dimensions) == wanted)
                .cloned()
        });
        let measured = Measured::of(&pair);
        let texts = side_by_side(measured.values, format::count);
        let [a, b] = texts;
        let cell = |workload: &Option<Words>, text: String, more: String| -> (String, Style) {
            let Some(words) = workload else {
                return ("·".to_owned(), theme.quiet());
            };
            let failed = words.iter().any(|(_, value)| *value == "fail");
            let unit = if text.is_empty() {
                String::new()
            } else {
                format!(" {}", measured.unit)
            };
            let passed = words.iter().any(|(_, value)| *value == "pass");
            let word = match (failed, text.is_empty()) {
                (true, true) => "✗ fail",
                (true, false) => "✗ fail  ",
                (false, true) if passed => "✓ pass",
                (false, _) => "",
            };
            (
                format!("{word}{text}{unit}{more}"),
                if failed { theme.bad() } else { theme.text() },
            )
        };
        let ratio = measured.ratio().filter(|_| is_comparable);
        let more = ratio.map_or_else(String::new, |ratio| format!("   {ratio}"));
        common.extend(ratio.map(|ratio| (ratio.ratio, wanted.clone())));
        // A cut name might be that of another workload.
        let mut label = printable(&wanted);
        if width(&label) > table.label_columns() {
            rows.push(Line::styled(std::mem::take(&mut label), theme.quiet()));
        }
        rows.push(table.row(
            &label,
            [cell(&pair[0], a, String::new()), cell(&pair[1], b, more)],
        ));
    }
    rows.extend(together(&common).map(|text| Line::styled(text, theme.quiet())));
    rows
}

/// What several workloads that both have come to together: the geometric mean of the ratios, and
/// the worst one.
fn together(common: &[(f64, String)]) -> Option<String> {
    let (worst, name) = common
        .iter()
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|_| common.len() > 1)?;
    let mean = common.iter().map(|(ratio, _)| ratio.ln_1p()).sum::<f64>() / common.len() as f64;
    let [mean, worst] = [mean.exp_m1(), *worst].map(format::percent);
    let name = printable(name);
    Some(format!(
        "{} in common: geometric mean {mean}, the worst {name} {worst}",
        common.len()
    ))
}

/// The measure of a workload that both have.
struct Measured {
    values: [Option<f64>; 2],
    /// The speeds, in a unit that both have, with their intervals.
    speeds: [Option<Measure>; 2],
    unit: String,
}

impl Measured {
    fn of(pair: &[Option<Words>; 2]) -> Self {
        let value =
            |words: &Words, wanted: &str| number(words.iter().find(|(key, _)| *key == wanted)?.1);
        for key in TIMES.into_iter().chain(RATES) {
            let values = pair.each_ref().map(|words| value(words.as_ref()?, key));
            if values.iter().any(Option::is_some) {
                let unit = key.rsplit('_').next().unwrap_or(key).replace("us", "µs");
                // The interval of a time is that of `kernel_us`.
                let end = |words: &Words, end: &str| {
                    Some(1.0 / value(words, end).filter(|_| key == TIMES[0])?)
                };
                let speed = |words: &Words| {
                    let own = value(words, key)?;
                    let speed = if TIMES.contains(&key) { 1.0 / own } else { own };
                    Some(Measure {
                        value: speed,
                        low: end(words, "high_us"),
                        high: end(words, "low_us"),
                    })
                };
                let speeds = pair.each_ref().map(|words| words.as_ref().and_then(speed));
                return Measured {
                    values,
                    speeds,
                    unit,
                };
            }
        }
        Measured {
            values: [None, None],
            speeds: [None, None],
            unit: String::new(),
        }
    }

    /// The second speed over the first. The two were not timed in turns.
    fn ratio(&self) -> Option<Change> {
        let [Some(first), Some(second)] = &self.speeds else {
            return None;
        };
        Change::of_figures(second, first)
    }
}
