//! `lab measure`: judges the present bytes with warm-up, iterations and trials, and prints all
//! figures.

use super::run::{self, RunArgs};
use clap::Args;
use lab_core::run::Reason;
use lab_core::run::record::Record;
use lab_core::runner::spec::RunSpec;
use lab_core::text::figures::figure;
use lab_protocol::report::{Comparison, Measure, attribute, first_word};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct MeasureArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Do not time the kernel beside the problem's peers
    #[arg(long)]
    no_peers: bool,
}

pub fn main(options: &MeasureArgs) -> ExitCode {
    let spec = RunSpec {
        peers: !options.no_peers,
        ..RunSpec::new(Reason::Measure)
    };
    run::judged(&options.run, spec, |record| {
        let measured = SpeedFigures::of(record)?;
        Some((measured.as_text(), measured.as_json()))
    })
}

/// The figures of a measurement for programs; `None` if the run did not pass.
pub fn measured(record: &Record) -> Option<Value> {
    SpeedFigures::of(record).map(|figures| figures.as_json())
}

/// The speed figures of a run, from its result lines.
struct SpeedFigures {
    throughput: Measure,
    /// Median absolute deviation in percent; `None` if the harness printed none.
    mad: Option<String>,
    launches: Option<String>,
    trials: Option<String>,
    incumbent: Option<Measure>,
    comparison: Option<Comparison>,
    quads: Option<String>,
}

impl SpeedFigures {
    /// `None` if the run did not pass.
    fn of(record: &Record) -> Option<SpeedFigures> {
        let throughput = record.verdict.as_ref()?.objective?;
        let report = record.report();
        let spread = report.value("spread_pct");
        let of_spread = |name| spread.and_then(|s| attribute(s, name)).map(str::to_owned);
        let quads = report
            .value("speed_ratio")
            .and_then(|r| attribute(r, "quads"))
            .map(str::to_owned);
        Some(SpeedFigures {
            throughput,
            mad: spread.map(|s| first_word(s).to_owned()),
            launches: of_spread("launches"),
            trials: of_spread("trials"),
            incumbent: report.measure("incumbent_sps"),
            comparison: report.comparison(),
            quads,
        })
    }

    /// One line for each figure.
    fn as_text(&self) -> Vec<String> {
        let mut text = format!("  median {}", with_ends(&self.throughput, figure));
        if let (Some(mad), Some(launches), Some(trials)) = (&self.mad, &self.launches, &self.trials)
        {
            text += &format!(", spread {mad} % (MAD), {launches} launches in {trials} trials");
        }
        let mut lines = vec![text];
        lines.extend(
            self.incumbent
                .iter()
                .map(|i| format!("  incumbent {}", with_ends(i, figure))),
        );
        if let Some(Comparison {
            ratio,
            speed,
            aggregate,
        }) = &self.comparison
        {
            let quads = self.quads.as_deref().unwrap_or("?");
            let mut text = format!(
                "  ratio {} of {quads} ABBA blocks",
                with_ends(ratio, |r| format!("{r:.4}"))
            );
            text += &aggregate.map_or_else(String::new, |aggregate| format!(", {aggregate}"));
            text += &speed.map_or_else(String::new, |speed| format!(": {}", speed.word()));
            lines.push(text);
        }
        lines
    }

    fn as_json(&self) -> Value {
        let count = |text: &Option<String>| text.as_ref().and_then(|t| t.parse::<u64>().ok());
        json!({
            "median": self.throughput.value,
            "low": self.throughput.low,
            "high": self.throughput.high,
            "mad_pct": self.mad.as_ref().and_then(|m| m.parse::<f64>().ok()),
            "launches": count(&self.launches),
            "trials": count(&self.trials),
            "incumbent": self.incumbent,
            "ratio": self.comparison.map(|c| c.ratio),
            "quads": count(&self.quads),
            "speed": self.comparison.and_then(|c| c.speed),
        })
    }
}

fn with_ends(measure: &Measure, figure: impl Fn(f64) -> String) -> String {
    let value = figure(measure.value);
    match (measure.low, measure.high) {
        (Some(low), Some(high)) => format!("{value} ({} … {})", figure(low), figure(high)),
        _ => value,
    }
}
