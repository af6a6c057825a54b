//! The workloads of two experiments side by side: the time or rate of each, and the ratio of their
//! speeds; and what the workloads that both have come to together.

use super::pair_table::{PairTable, of_either, side_by_side};
use crate::prelude::*;
use lab_protocol::report::workloads::{RATES, TIMES, Words, name, named_words};
use lab_protocol::report::{Measure, Report, number};
use lab_run::verdict::Change;

/// One row for each workload of either report, those of the first in front. `is_comparable`: times
/// of the two may be compared.
pub fn lines(reports: &[Report; 2], is_comparable: bool, table: PairTable) -> Lines {
    let both = reports.each_ref().map(Report::workloads);
    let dimensions = named_words(&both.each_ref().map(Vec::as_slice));
    let names = both.iter().flatten().map(|words| name(words, dimensions));
    let mut rows = Vec::new();
    let mut common: Vec<(f64, String)> = Vec::new();
    for wanted in of_either(names) {
        let is_wanted = |words: &&Words| name(words, dimensions) == wanted;
        let pair = both.each_ref().map(|of| of.iter().find(is_wanted));
        let measured = Measured::of(pair);
        let [a, b] = side_by_side(measured.values, format::count);
        let [a, mut b] = [(pair[0], a), (pair[1], b)].map(|(words, text)| match words {
            Some(words) => cell(words, &text, &measured.unit),
            None => ("·".to_owned(), QUIET),
        });
        if let Some(ratio) = measured.ratio().filter(|_| is_comparable) {
            b.0 += &format!("   {ratio}");
            common.push((ratio.ratio, wanted.clone()));
        }
        // A cut name might be that of another workload.
        let mut label = printable(&wanted);
        if width(&label) > table.label_columns() {
            rows.push(Line::styled(std::mem::take(&mut label), QUIET));
        }
        rows.push(table.row(&label, [a, b]));
    }
    rows.extend(together(&common).map(|text| Line::styled(text, QUIET)));
    rows
}

/// What came of a workload, and its measure.
fn cell(words: &Words, measure: &str, unit: &str) -> (String, Style) {
    let says = |word: &str| words.iter().any(|(_, value)| *value == word);
    let measure = match measure {
        "" => String::new(),
        _ => format!("{measure} {unit}"),
    };
    match (says("fail"), measure.is_empty()) {
        (true, true) => ("✗ fail".to_owned(), BAD),
        (true, false) => (format!("✗ fail  {measure}"), BAD),
        (false, true) if says("pass") => ("✓ pass".to_owned(), TEXT),
        (false, _) => (measure, TEXT),
    }
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
#[derive(Default)]
struct Measured {
    values: [Option<f64>; 2],
    /// The speeds, in a unit that both have, with their intervals.
    speeds: [Option<Measure>; 2],
    unit: String,
}

impl Measured {
    fn of(pair: [Option<&Words>; 2]) -> Self {
        let value =
            |words: &Words, wanted: &str| number(words.iter().find(|(key, _)| *key == wanted)?.1);
        let values = |key: &str| pair.map(|words| value(words?, key));
        let mut keys = TIMES.into_iter().chain(RATES);
        let Some(key) = keys.find(|key| values(key).iter().any(Option::is_some)) else {
            return Measured::default();
        };
        // The interval of a time is that of `kernel_us`.
        let end =
            |words: &Words, end: &str| Some(1.0 / value(words, end).filter(|_| key == TIMES[0])?);
        let speed = |words: &Words| {
            let own = value(words, key)?;
            Some(Measure {
                value: if TIMES.contains(&key) { 1.0 / own } else { own },
                low: end(words, "high_us"),
                high: end(words, "low_us"),
            })
        };
        Measured {
            values: values(key),
            speeds: pair.map(|words| words.and_then(speed)),
            unit: key.rsplit('_').next().unwrap_or(key).replace("us", "µs"),
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
