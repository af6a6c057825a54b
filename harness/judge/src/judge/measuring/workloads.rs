//! What was timed of each workload, how it compares with the incumbent, and the lines about it.

use super::times::Times;
use crate::measure::summarise;
use crate::outcome::Result;
use crate::problem::{ProblemContext, Timed, WorkloadFigures};
use itertools::Itertools as _;
use lab_protocol::report::{Writer, at, compared_words, time_words, us};
use lab_stats::several::{self, WorkloadSpeed};
use lab_stats::speed::Speed;

/// What was timed of the candidate, before anything is compared.
#[derive(Default)]
pub struct TimedWorkloads {
    each: Vec<WorkloadFigures>,
    /// Seconds that no launch can take less than, of each workload; 0 without a bound that is told.
    /// Empty without a probe.
    floors: Vec<f64>,
    /// The seconds that stand for each of the candidate's turns.
    pub turns: Vec<f64>,
}

impl TimedWorkloads {
    pub fn of(cx: &ProblemContext, timed: &dyn Timed, turns: &[Vec<f64>]) -> Self {
        let figures = cx.figures.filter(|_| !cx.device.emulated);
        let floors = figures.map(|figures| {
            let demands = timed.demands();
            demands
                .iter()
                .map(|demand| figures.bounds(demand, cx.device.l2_bytes))
                .map(|bounds| bounds.told_floor().unwrap_or(0.0))
                .collect()
        });
        TimedWorkloads {
            each: timed.workloads(turns),
            floors: floors.unwrap_or_default(),
            turns: turns
                .iter()
                .filter_map(|turn| timed.seconds_of_turn(turn))
                .collect(),
        }
    }

    /// Writes a line `workload:` for each, and for several that were compared `workload_speeds:`
    /// and `worst_workload:`.
    pub fn write(&self, times: &Times, judged: &Judged, out: &mut Writer) -> Result {
        for (index, workload) in self.each.iter().enumerate() {
            let WorkloadFigures {
                label,
                seconds,
                words,
            } = workload;
            let mut line = label.clone() + &time_words(seconds);
            line += &format!(" mad_us={} samples={}{words}", us(seconds.mad), seconds.n);
            if let Some(floor) = self.floors.get(index).filter(|floor| **floor > 0.0) {
                line += &format!(" of_floor={:.1}", floor / seconds.median * 100.0);
            }
            line += &judged.words(index, times);
            out.line("workload", line + " correctness=pass")?;
        }
        let labels = self
            .each
            .iter()
            .map(|workload| workload.label.as_str())
            .collect_vec();
        judged.write_counts(&labels, out)
    }
}

/// The verdicts on the workloads, in their order. `None` of one without a block.
pub struct Judged(Vec<Option<WorkloadSpeed>>);

impl Judged {
    pub fn of(times: &Times, same_within: f64, disturbed: bool) -> Self {
        Judged(several::judge(
            &times.of_each_launch(),
            same_within,
            disturbed,
        ))
    }

    /// The verdict on the whole, given that on its aggregate.
    pub fn of_whole(&self, aggregate: Speed) -> Speed {
        match self.0.len() {
            // A single workload is the whole.
            0 | 1 => aggregate,
            _ => Speed::of_whole(
                aggregate,
                &self.0.iter().flatten().map(|w| w.speed).collect_vec(),
            ),
        }
    }

    /// The comparison of a workload as words, each with a blank before it. Nothing if it was not
    /// compared.
    fn words(&self, index: usize, times: &Times) -> String {
        let Some(found) = self.0.get(index).copied().flatten() else {
            return String::new();
        };
        let turns = times
            .incumbent
            .iter()
            .filter_map(|turn| turn.get(index).copied())
            .collect_vec();
        compared_words(summarise(&turns).map(|turns| turns.median), Some(found))
    }

    /// Writes how many of several workloads have which verdict, and the worst one of those that are
    /// slower.
    fn write_counts(&self, labels: &[&str], out: &mut Writer) -> Result {
        let found = labels
            .iter()
            .zip(&self.0)
            .filter_map(|(label, found)| Some((*label, (*found)?)))
            .collect_vec();
        if found.len() < 2 {
            return Ok(());
        }
        let count = |speed: Speed| {
            found
                .iter()
                .filter(|(_, found)| found.speed == speed)
                .count()
        };
        let counts: Vec<String> = [Speed::Faster, Speed::Same, Speed::Slower, Speed::Undecided]
            .map(|speed| format!("{}={}", speed.word(), count(speed)))
            .to_vec();
        out.line(
            "workload_speeds",
            format_args!("{} {}", found.len(), counts.join(" ")),
        )?;
        let slower = found
            .iter()
            .filter(|(_, found)| found.speed == Speed::Slower);
        let Some((label, worst)) = slower.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)) else {
            return Ok(());
        };
        let ends = worst.interval.map_or_else(String::new, |(low, high)| {
            format!(" low={low:.4} high={high:.4}")
        });
        Ok(out.line(
            "worst_workload",
            format_args!("{:.4}{ends}{}", worst.ratio, at(Some(label))),
        )?)
    }
}
