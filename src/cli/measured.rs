//! The figures of a long measurement: of `lab bench --verdict`, and of the tool `measure` of `lab
//! mcp`.

use lab_protocol::report::{Comparison, Measure, Speed, attribute, first_word, number};
use lab_run::Reason;
use lab_run::record::Record;
use lab_run::verdict::with_ends;
use lab_text::figures::figure;
use schemars::JsonSchema;
use serde::Serialize;

/// The figures of a long measurement, from the result lines of its run.
#[derive(JsonSchema, Serialize)]
pub struct Measured {
    /// The objective.
    median: f64,
    /// Lower end of the 95 % interval.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
    /// Median distance of the turns from their median, in percent.
    mad_pct: Option<f64>,
    /// Timed launches.
    launches: Option<u64>,
    /// Processes.
    trials: Option<u64>,
    /// The incumbent's figure.
    incumbent: Option<Measure>,
    /// Candidate's speed over the incumbent's.
    ratio: Option<Measure>,
    /// ABBA blocks.
    quads: Option<u64>,
    /// The verdict on speed.
    speed: Option<Speed>,
    #[serde(skip)]
    comparison: Option<Comparison>,
}

impl Measured {
    /// `None` if the run was no long measurement, or did not pass.
    pub fn of(record: &Record) -> Option<Measured> {
        let is_measured = record.start.reason == Reason::Measure;
        let verdict = record.verdict.as_ref().filter(|_| is_measured)?;
        let throughput = verdict.objective?;
        let report = record.report();
        let count = |line, name| attribute(report.value(line)?, name)?.parse().ok();
        let comparison = report.comparison();
        Some(Measured {
            median: throughput.value,
            low: throughput.low,
            high: throughput.high,
            mad_pct: report
                .value("spread_pct")
                .and_then(|mad| number(first_word(mad))),
            launches: count("spread_pct", "launches"),
            trials: count("spread_pct", "trials"),
            incumbent: report.measure("incumbent_sps"),
            ratio: comparison.map(|comparison| comparison.ratio),
            quads: count("speed_ratio", "quads"),
            speed: comparison.and_then(|comparison| comparison.speed),
            comparison,
        })
    }

    /// One line for each figure; `unit` is that of the objective.
    pub fn lines(&self, unit: &str) -> Vec<String> {
        let (low, high) = (self.low, self.high);
        let median = Measure {
            value: self.median,
            low,
            high,
        };
        let mut text = format!("median {} {unit}", with_ends(&median, figure));
        if let (Some(mad), Some(launches), Some(trials)) =
            (self.mad_pct, self.launches, self.trials)
        {
            text += &format!(", spread {mad} % (MAD), {launches} launches in {trials} trials");
        }
        let incumbent = self
            .incumbent
            .map(|i| format!("incumbent {}", with_ends(&i, figure)));
        let ratio = self.comparison.map(
            |Comparison {
                 ratio,
                 speed,
                 aggregate,
             }| {
                let quads = self
                    .quads
                    .map_or_else(|| "?".to_owned(), |quads| quads.to_string());
                let ratio = with_ends(&ratio, |ratio| format!("{ratio:.4}"));
                let aggregate = aggregate.map(|aggregate| format!(", {aggregate}"));
                let speed = speed.map(|speed| format!(": {}", speed.word()));
                format!(
                    "ratio {ratio} of {quads} ABBA blocks{}{}",
                    aggregate.unwrap_or_default(),
                    speed.unwrap_or_default()
                )
            },
        );
        [Some(text), incumbent, ratio]
            .into_iter()
            .flatten()
            .collect()
    }
}
