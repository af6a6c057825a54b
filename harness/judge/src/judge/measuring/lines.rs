//! The result lines of a measurement: the measures, the comparison, the spread, the turns, the
//! caveats.

use super::workloads::Judged;
use super::{Measuring, TimedWorker, WRITE_EVERY};
use crate::measure::abba::Ratio;
use crate::measure::summarise;
use crate::outcome::Result;
use crate::problem::{ProblemContext, in_digits};
use lab_protocol::report::{Measure, series_of};
use lab_stats::speed::{Doubt, Speed};
use std::time::Instant;

impl Measuring<'_> {
    /// Writes the measures so far, unless they were written a moment ago.
    pub fn write_measures(&mut self, cx: &mut ProblemContext, timed: &TimedWorker) -> Result {
        if self
            .last_written
            .is_some_and(|at| at.elapsed() < WRITE_EVERY)
        {
            return Ok(());
        }
        self.last_written = Some(Instant::now());
        self.measures = timed.timed.measures();
        timed.timed.write(&self.times.candidate, cx.out)?;
        self.write_comparison(cx, None)
    }

    /// Writes `incumbent_sps:`, `speed_ratio:` and `speed:`, if there is something to compare.
    /// `judged` are the verdicts on the workloads, which are known at the end only.
    fn write_comparison(&self, cx: &mut ProblemContext, judged: Option<&Judged>) -> Result {
        let (Some(incumbent), Some(ratio)) = (self.incumbent.as_ref(), self.ratio()) else {
            return Ok(());
        };
        if let Some(rate) = incumbent.throughput(&self.times.incumbent) {
            cx.out.line("incumbent_sps", in_digits(&rate, 1))?;
        }
        let (low, high) = ratio.interval().unzip();
        let value = ratio.value();
        let value = in_digits(&Measure { value, low, high }, 4);
        let value = format_args!("{value} quads={}", ratio.blocks);
        cx.out.line("speed_ratio", value)?;
        let speed = ratio.speed(self.plan.same_within);
        let speed = judged.map_or(speed, |judged| judged.of_whole(speed));
        Ok(cx.out.line("speed", speed.word())?)
    }

    /// The ratio of the two speeds, with a wider interval if something disturbed the measurement.
    fn ratio(&self) -> Option<Ratio> {
        let ratio = self.times.ratio()?;
        Some(if self.disturbed {
            ratio.disturbed()
        } else {
            ratio
        })
    }

    /// Writes the last lines of a measurement that passed. The candidate's own measures were
    /// written with its last turn.
    pub fn write_last_lines(&self, cx: &mut ProblemContext) -> Result {
        let judged = Judged::of(&self.times, self.plan.same_within, self.disturbed);
        self.write_comparison(cx, Some(&judged))?;
        self.workloads.write(&self.times, &judged, cx.out)?;
        if cx.device.emulated {
            return Ok(());
        }
        self.write_spread(cx)?;
        self.write_turns(cx)?;
        if let Some(caveat) = self.caveat(&judged) {
            cx.out.caveat(caveat)?;
        }
        Ok(())
    }

    /// What was to be measured and was not.
    fn caveat(&self, judged: &Judged) -> Option<String> {
        let launches = self.times.candidate.len();
        if launches < 2 {
            let seconds = self.times.candidate.iter().flatten().sum::<f64>();
            return Some(format!(
                "one timed launch: it takes {seconds:.3} s, more than the time for measuring, so there is no interval"
            ));
        }
        if let Some(trials) = self.plan.trials {
            let wanted = self.plan.shape().0 * 2 * trials.trials;
            return (launches < wanted)
                .then(|| {
                    format!("the time for measuring was up after {launches} of {wanted} launches")
                })
                .or_else(|| {
                    self.doubt(
                        judged,
                        "raise `iterations` or `trials` under [measure] in lab.toml",
                    )
                });
        }
        self.doubt(judged, "use `lab bench --verdict`")
    }

    /// Why the verdict on speed is *undecided*, and what to do. `None` for any other verdict, and if
    /// nothing was compared.
    fn doubt(&self, judged: &Judged, remedy: &str) -> Option<String> {
        self.incumbent.as_ref()?;
        let doubt = match self.ratio() {
            Some(ratio) => {
                let doubt = ratio.doubt(self.plan.same_within)?;
                // Where the workloads decide, the verdict is *mixed*, whatever their mean is.
                let speed = judged.of_whole(ratio.speed(self.plan.same_within));
                (speed != Speed::Mixed).then_some(doubt)?
            }
            None => Doubt::FewBlocks(0),
        };
        let disturbed = matches!(doubt, Doubt::Wide { .. }) && self.disturbed;
        let why = if disturbed {
            " (twice as wide, because the measurement was disturbed)"
        } else {
            ""
        };
        Some(format!("speed undecided: {doubt}{why}; {remedy}"))
    }

    /// Writes `spread_pct:`, the median distance of the turns from their median.
    fn write_spread(&self, cx: &mut ProblemContext) -> Result {
        let Some(spread) = summarise(&self.workloads.turns) else {
            return Ok(());
        };
        let trials = self.times.trials.len();
        let mad = spread.mad / spread.median * 100.0;
        cx.out.line(
            "spread_pct",
            format_args!("{mad:.3} launches={} trials={trials}", spread.n),
        )?;
        Ok(())
    }

    /// Writes `turns_series:`, the microseconds of every turn of every block in their order, from
    /// which the verdict on speed follows.
    fn write_turns(&self, cx: &mut ProblemContext) -> Result {
        let series = series_of(self.times.blocks.iter().copied());
        if !series.is_empty() {
            cx.out.line("turns_series", series)?;
        }
        Ok(())
    }

    /// Overwrites the measures that were written with `nan`: the last line of a key counts, and no
    /// figure may stand beside a failure.
    pub fn take_measures_back(&self, cx: &mut ProblemContext) -> Result {
        if self.last_written.is_none() {
            return Ok(());
        }
        for key in &self.measures {
            cx.out.line(key, "nan")?;
        }
        self.take_comparison_back(cx)
    }

    /// Overwrites the comparison with `nan` and `none`, if one was written.
    pub fn take_comparison_back(&self, cx: &mut ProblemContext) -> Result {
        if self.last_written.is_some() && self.times.ratio().is_some() {
            cx.out.line("speed_ratio", "nan")?;
            cx.out.line("speed", "none")?;
        }
        Ok(())
    }
}
