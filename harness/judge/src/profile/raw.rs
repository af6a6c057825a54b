//! The page `raw`: every counter of every launch. Its first record names the columns, the second
//! gives units, each further one is a launch.

use super::page::{Columns, number, records};
use lab_protocol::profile::{LaunchShape, Metric};
use std::collections::BTreeMap;

/// The counters of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The kernel's function.
    pub entry: String,
    pub launch: Option<LaunchShape>,
    pub metrics: BTreeMap<String, Metric>,
    /// The device's name, if the page has it.
    pub device: Option<String>,
}

impl Counted {
    /// The value of a metric, if the page has it.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).map(|found| found.value)
    }
}

/// The column of the kernel's name, and those of the launch's shape.
const NAME: &str = "Kernel Name";
const GRID: &str = "Grid Size";
const BLOCK: &str = "Block Size";
const DEVICE: &str = "device__attribute_display_name";

/// Columns about the launch and the device, which are no counters.
const NO_COUNTERS: [&str; 11] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    NAME,
    "Context",
    "Stream",
    BLOCK,
    GRID,
    "Device",
    "CC",
];

/// What is left out of a profile: attributes of the device, and samples over time.
fn is_kept(name: &str) -> bool {
    !NO_COUNTERS.contains(&name)
        && !name.starts_with("device__attribute_")
        && !name.contains("Triage")
}

/// Reads the launches of the page, in order.
pub fn read(page: &[u8]) -> Result<Vec<Counted>, String> {
    let records = records("raw", page)?;
    // ncu may print notes before the page.
    let header = records
        .iter()
        .position(|record| record.iter().any(|cell| cell == NAME));
    let Some(header) = header else {
        return Err("ncu's report has no launch: ncu profiled nothing".into());
    };
    let columns = Columns::of(&records[header]);
    let name = columns.require("raw", NAME)?;
    let Some(units) = records.get(header + 1) else {
        return Err(
            "the page raw of ncu's report ends after its header: the report is incomplete".into(),
        );
    };
    let mut all = Vec::new();
    for record in &records[header + 2..] {
        if record.len() < columns.all().map(|(_, at)| at + 1).max().unwrap_or(0) {
            return Err(
                "the page raw of ncu's report ends within a launch: the report is incomplete"
                    .into(),
            );
        }
        let cell = |name: &str| columns.get(name).and_then(|at| record.get(at));
        let counters = columns.all().filter(|(name, _)| is_kept(name));
        let metrics = counters.filter_map(|(name, at)| {
            let (value, unit) = (
                number(record.get(at)?)?,
                units.get(at).unwrap_or_default().to_owned(),
            );
            Some((name.to_owned(), Metric { value, unit }))
        });
        all.push(Counted {
            entry: record.get(name).unwrap_or_default().to_owned(),
            launch: cell(GRID)
                .and_then(triple)
                .zip(cell(BLOCK).and_then(triple))
                .map(shape),
            metrics: metrics.collect(),
            device: cell(DEVICE).map(str::to_owned),
        });
    }
    if all.is_empty() {
        return Err("ncu's report has no launch: ncu profiled nothing".into());
    }
    Ok(all)
}

fn shape((grid, block): ([u32; 3], [u32; 3])) -> LaunchShape {
    LaunchShape { grid, block }
}

/// Reads `(256, 1, 1)`.
fn triple(cell: &str) -> Option<[u32; 3]> {
    let inner = cell.trim().strip_prefix('(')?.strip_suffix(')')?;
    let numbers: Option<Vec<u32>> = inner
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PAGE: &str = "==PROF== a note\n\
        \"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"a.sum\",\"device__attribute_x\",\"b.avg\"\n\
        \"\",\"\",\"\",\"\",\"ns\",\"\",\"%\"\n\
        \"0\",\"toy\",\"(64, 1, 1)\",\"(4, 2, 1)\",\"1,234.5\",\"3\",\"nan\"\n";

    #[test]
    fn counters_are_read_by_name_with_their_units() {
        let [launch] = read(PAGE.as_bytes()).unwrap().try_into().unwrap();
        assert_eq!(
            (launch.entry.as_str(), launch.value("a.sum")),
            ("toy", Some(1234.5))
        );
        assert_eq!(launch.metrics.keys().collect::<Vec<_>>(), ["a.sum"]);
        assert_eq!(launch.metrics["a.sum"].unit, "ns");
        assert_eq!(
            launch.launch,
            Some(LaunchShape {
                grid: [4, 2, 1],
                block: [64, 1, 1]
            })
        );
    }

    #[test]
    fn half_a_page_an_empty_one_and_other_columns_are_errors_in_words() {
        for (page, says) in [
            ("", "profiled nothing"),
            (
                "==WARNING== No kernels were profiled.\n",
                "profiled nothing",
            ),
            (
                "\"Number\",\"Function\"\n\"0\",\"toy\"\n",
                "profiled nothing",
            ),
            (
                PAGE.lines().take(2).collect::<Vec<_>>().join("\n").as_str(),
                "ends after its header",
            ),
            (
                PAGE.lines().take(3).collect::<Vec<_>>().join("\n").as_str(),
                "profiled nothing",
            ),
            (&PAGE[..PAGE.len() - 20], "ends within a launch"),
        ] {
            let error = read(page.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{page}: {error}");
        }
    }
}
