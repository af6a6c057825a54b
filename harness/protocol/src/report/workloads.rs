//! The `workload:` lines: what was measured of each workload, and how it compares with the
//! incumbent.

use super::{Measure, Report, Speed, finite, parsed};
use crate::when::When;
use itertools::Itertools;
use lab_stats::aggregate::Aggregate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of a workload's time, the first that is there counts. The time is in the unit that the key
/// ends with.
pub const TIMES: [&str; 6] = ["kernel_us", "us", "time_us", "latency_us", "ms", "time_ms"];

/// Keys of a workload's rate, the first that is there counts.
pub const RATES: [&str; 6] = ["gbps", "gbs", "gflops", "tflops", "sps", "throughput_sps"];

/// Most workloads of a run whose figures are read. A harness may print any number of lines.
pub const MOST: usize = 1_000;

/// Most words that name a workload.
const NAMING: usize = 32;

/// The words of one `workload:` line, in order.
pub type Words<'r> = Vec<(&'r str, &'r str)>;

/// One workload of a run.
///
/// ```
/// use lab_protocol::report::{Report, Speed};
///
/// let line = "workload: n=8 k=2 kernel_us=4.1 low_us=4.0 high_us=4.3 of_floor=50.0 ratio=1.02 speed=faster correctness=pass\n";
/// let report = Report::read(line);
/// let workload = &report.workload_figures()[0];
/// assert_eq!(workload.name, "n=8 k=2");
/// assert_eq!(workload.us.unwrap().high, Some(4.3));
/// assert_eq!((workload.of_floor, workload.speed), (Some(50.0), Some(Speed::Faster)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The words that tell it from the other workloads, as in `rows=3 cols=257`.
    pub name: String,
    /// Microseconds of a launch, with the 95 % interval.
    pub us: Option<Measure>,
    /// The incumbent's microseconds.
    pub incumbent_us: Option<f64>,
    /// The floor in percent of the time.
    pub of_floor: Option<f64>,
    /// 10⁹ bytes per second.
    pub gbps: Option<f64>,
    /// 10⁹ operations per second.
    pub gflops: Option<f64>,
    /// Bytes that a launch must move.
    pub bytes: Option<f64>,
    /// Operations that a launch must compute.
    pub flops: Option<f64>,
    /// Candidate's speed over incumbent's; above 1 the candidate is faster. The interval is
    /// corrected for the number of workloads.
    pub ratio: Option<Measure>,
    /// The verdict on its speed. Never *mixed*.
    pub speed: Option<Speed>,
    /// `pass`, `fail`, `crash` or `not_judged`; `None` if the line does not say it.
    pub correctness: Option<String>,
}

/// How many of several workloads have which verdict, and the worst one.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkloadSpeeds {
    /// Workloads that are faster.
    pub faster: usize,
    /// Workloads that are the same.
    pub same: usize,
    /// Workloads that are slower.
    pub slower: usize,
    /// Workloads whose verdict is *undecided*.
    pub undecided: usize,
    /// The slower workload with the lowest ratio.
    pub worst: Option<WorstWorkload>,
}

/// The worst of the workloads that are slower.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorstWorkload {
    /// As in `rows=3 cols=257`.
    pub name: String,
    /// Candidate's speed over incumbent's, below 1.
    pub ratio: Measure,
}

/// Which aggregate of how many workloads a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AggregateOf {
    /// The aggregate.
    #[serde(rename = "name")]
    pub aggregate: Aggregate,
    /// The workloads.
    pub workloads: usize,
}

impl AggregateOf {
    /// Reads the attributes of a figure or of turns; `None` if they are of a single workload.
    pub fn of_value(value: &str) -> Option<AggregateOf> {
        let aggregate = super::attribute(value, "aggregate")?.parse().ok()?;
        let workloads = parsed(value, "workloads").filter(|count| *count > 1)?;
        Some(AggregateOf {
            aggregate,
            workloads,
        })
    }
}

/// `geometric mean of 54`.
impl std::fmt::Display for AggregateOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.aggregate.name(), self.workloads)
    }
}

/// How many of a problem's workloads a run judged, each in each of its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct JudgedWorkloads {
    /// Those that were judged.
    pub judged: usize,
    /// Those that the device can judge.
    pub of: usize,
    /// The last occasion whose workloads were asked for.
    pub when: When,
}

impl JudgedWorkloads {
    /// Reads the value of a line `workloads:`.
    pub fn of_value(value: &str) -> Option<JudgedWorkloads> {
        let of = parsed(value, "of")?;
        let when = parsed(value, "when")?;
        let judged = super::first_word(value)
            .parse()
            .ok()
            .filter(|judged| *judged <= of)?;
        Some(JudgedWorkloads { judged, of, when })
    }

    /// The number of judged workloads, if some were left to later occasions.
    pub fn part(self) -> Option<usize> {
        (self.judged < self.of).then_some(self.judged)
    }
}

/// `3 of 54 workloads judged`
impl std::fmt::Display for JudgedWorkloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} workloads judged", self.judged, self.of)
    }
}

impl Report {
    /// How many workloads were judged; `None` of a harness that does not say so.
    ///
    /// ```
    /// use lab_protocol::report::Report;
    ///
    /// let judged = Report::read("workloads: 3 of=54 when=save\n").judged_workloads().unwrap();
    /// assert_eq!(judged.to_string(), "3 of 54 workloads judged");
    /// ```
    pub fn judged_workloads(&self) -> Option<JudgedWorkloads> {
        JudgedWorkloads::of_value(self.value("workloads")?)
    }

    /// What was measured of each workload, in the order of the lines; of at most [`MOST`].
    pub fn workload_figures(&self) -> Vec<Workload> {
        let rows: Vec<Words> = self
            .workload_lines()
            .iter()
            .take(MOST)
            .map(|line| super::words(line))
            .collect();
        let named = named_words(&[&rows]);
        rows.iter()
            .map(|words| Workload::of(words, named))
            .collect()
    }

    /// The verdicts on several workloads; `None` if fewer than two have one.
    pub fn workload_speeds(&self) -> Option<WorkloadSpeeds> {
        let workloads = self.workload_figures();
        let count = |speed: Speed| workloads.iter().filter(|w| w.speed == Some(speed)).count();
        let [faster, same, slower, undecided] =
            [Speed::Faster, Speed::Same, Speed::Slower, Speed::Undecided].map(count);
        let slowest = workloads.iter().filter(|w| w.speed == Some(Speed::Slower));
        let worst = slowest
            .filter_map(|w| {
                Some(WorstWorkload {
                    name: w.name.clone(),
                    ratio: w.ratio?,
                })
            })
            .min_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
        (faster + same + slower + undecided > 1).then_some(WorkloadSpeeds {
            faster,
            same,
            slower,
            undecided,
            worst,
        })
    }

    /// Which aggregate of how many workloads the figure of this key is; `None` of a single
    /// workload.
    pub fn aggregate_of(&self, key: &str) -> Option<AggregateOf> {
        AggregateOf::of_value(self.value(key)?)
    }

    /// The verdict on the whole, given that on its aggregate: a slower workload makes it *mixed*.
    pub(super) fn of_whole(&self, aggregate: Speed) -> Speed {
        let lines = self.workload_lines().iter().take(MOST);
        let each: Vec<Speed> = lines
            .filter_map(|line| speed(&super::words(line)))
            .collect();
        if each.len() < 2 {
            aggregate
        } else {
            Speed::of_whole(aggregate, &each)
        }
    }
}

impl Workload {
    /// Reads the words of a line, of which the first `named` are the name.
    pub fn of(words: &Words, named: usize) -> Workload {
        let value = |wanted: &str| value(words, wanted);
        let figure = |wanted: &str| value(wanted).and_then(finite);
        let time = TIMES.into_iter().find_map(|key| {
            let scale = if key.ends_with("ms") { 1e3 } else { 1.0 };
            Some(figure(key)? * scale).filter(|us| us.is_finite())
        });
        let measure = |value: Option<f64>, low: &str, high: &str| {
            Some(Measure {
                value: value?,
                low: figure(low),
                high: figure(high),
            })
        };
        Workload {
            name: name(words, named_of(words, named)),
            us: measure(time, "low_us", "high_us"),
            incumbent_us: figure("incumbent_us"),
            of_floor: figure("of_floor"),
            gbps: figure("gbps").or_else(|| figure("gbs")),
            gflops: figure("gflops"),
            bytes: figure("bytes"),
            flops: figure("flops"),
            ratio: measure(figure("ratio"), "ratio_low", "ratio_high"),
            speed: speed(words),
            correctness: value("correctness").map(str::to_owned),
        }
    }
}

/// The verdict on a workload's speed.
fn speed(words: &Words) -> Option<Speed> {
    let speed = value(words, "speed")?.parse().ok();
    speed.filter(|speed| *speed != Speed::Mixed)
}

/// The value of a key. The last one counts, because a dimension of the problem may have the name of
/// a figure, and the dimensions come first.
pub fn value<'r>(words: &Words<'r>, wanted: &str) -> Option<&'r str> {
    words
        .iter()
        .rev()
        .find(|(key, _)| *key == wanted)
        .map(|(_, value)| *value)
}

/// How many words of a line stand before its first measured one.
pub fn unmeasured_words(words: &Words) -> usize {
    let is_measured = |key: &str, value: &str| {
        TIMES.contains(&key)
            || RATES.contains(&key)
            || key == "correctness"
            || matches!(value, "pass" | "fail")
    };
    words
        .iter()
        .take_while(|(key, value)| !is_measured(key, value))
        .count()
}

/// How many of these words name the workload, if the first `named` do: the word `nr=2` behind them
/// tells workloads of the same dimensions apart.
pub fn named_of(words: &Words, named: usize) -> usize {
    let is_numbered = words.get(named).is_some_and(|(key, _)| *key == "nr");
    named + usize::from(is_numbered)
}

/// The first `named` words of a workload, as in `rows=3 cols=257`.
pub fn name(words: &Words, named: usize) -> String {
    words
        .iter()
        .take(named)
        .map(|(key, value)| format!("{key}={value}"))
        .join(" ")
}

/// How many of a workload's first words name it: those before the first measured one, and at least
/// so many that no two workloads of one run have the same name. `runs` are the lines of one run or
/// of several that are compared.
pub fn named_words(runs: &[&[Words]]) -> usize {
    let all = || runs.iter().copied().flatten();
    let named = all().map(unmeasured_words).min().unwrap_or(0).min(NAMING);
    if named > 0 {
        return named;
    }
    let most = all().map(Vec::len).max().unwrap_or(0).min(NAMING);
    let tells = |count: &usize| {
        runs.iter().all(|of| {
            let mut names: Vec<String> = of.iter().map(|words| name(words, *count)).collect();
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
        })
    };
    // Where all words before the measures are the same, the first of two workloads is shown.
    (1..=most).find(tells).unwrap_or(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "\
workload: n=1 kernel_us=4.1 ratio=1.2 ratio_low=1.1 ratio_high=1.3 speed=faster correctness=pass
workload: n=2 kernel_us=4.1 ratio=0.9 ratio_low=0.88 ratio_high=0.93 speed=slower correctness=pass
workload: n=3 kernel_us=4.1 ratio=0.95 ratio_low=0.94 ratio_high=0.96 speed=slower correctness=pass
throughput_sps: 10 low=9 high=11 aggregate=geometric workloads=3
speed_ratio: 1.01 low=1.008 high=1.012
";

    #[test]
    fn a_slower_workload_makes_the_whole_mixed_and_the_worst_is_named() {
        // Also if the harness says faster.
        let report = Report::read(&format!("{THREE}speed: faster\n"));
        assert_eq!(
            report.comparison().and_then(|c| c.speed),
            Some(Speed::Mixed)
        );
        let speeds = report.workload_speeds().expect("three workloads");
        assert_eq!(
            (speeds.faster, speeds.same, speeds.slower, speeds.undecided),
            (1, 0, 2, 0)
        );
        let worst = speeds.worst.expect("one is slower");
        assert_eq!(
            (worst.name.as_str(), worst.ratio.value, worst.ratio.high),
            ("n=2", 0.9, Some(0.93))
        );
        let of = report.aggregate_of("throughput_sps");
        assert_eq!(
            of,
            Some(AggregateOf {
                aggregate: Aggregate::Geometric,
                workloads: 3
            })
        );
        let mixed = Report::read(&format!("{THREE}speed: mixed\n"));
        assert_eq!(mixed.comparison().and_then(|c| c.speed), Some(Speed::Mixed));
        // Without a word for the whole there is no verdict.
        assert_eq!(Report::read(THREE).comparison().and_then(|c| c.speed), None);
    }

    #[test]
    fn a_dimension_that_is_called_as_a_figure_hides_none() {
        let line = |n: u32, speed: &str| {
            format!(
                "workload: n={n} speed=2 ratio=5 kernel_us=4 ratio=0.9 speed={speed} correctness=pass\n"
            )
        };
        let report = Report::read(
            &(line(1, "faster") + &line(2, "slower") + "speed_ratio: 1.1\nspeed: faster\n"),
        );
        let slower = &report.workload_figures()[1];
        assert_eq!(
            (slower.name.as_str(), slower.speed),
            ("n=2 speed=2 ratio=5", Some(Speed::Slower))
        );
        assert_eq!(slower.ratio.map(|ratio| ratio.value), Some(0.9));
        assert_eq!(
            report.comparison().and_then(|c| c.speed),
            Some(Speed::Mixed)
        );
    }

    #[test]
    fn what_does_not_say_how_many_workloads_were_judged_is_no_such_line() {
        let judged = |line: &str| Report::read(line).judged_workloads();
        assert!(judged("workloads: 3 of=3 when=keep\n").is_some_and(|w| w.when == When::Keep));
        for line in [
            "workloads: 3\n",
            "workloads: 4 of=3 when=save\n",
            "workloads: 3 of=4 when=never\n",
            "",
        ] {
            assert_eq!(judged(line), None, "{line}");
        }
    }

    #[test]
    fn any_number_of_lines_and_words_is_read_in_time() {
        let words: String = (0..1_000).map(|at| format!(" w{at}=1")).collect();
        let line = format!("workload: us=1 speed=same{words}\n");
        let mut report = Report::read(&line.repeat(50));
        for n in 0..20_000 {
            report.push_line(&format!("workload: us=1 n={n} speed=slower"));
        }
        report.push_line("speed_ratio: 1.1 low=1.0 high=1.2");
        report.push_line("speed: faster");
        let began = std::time::Instant::now();
        assert_eq!(
            (report.workload_count(), report.workload_figures().len()),
            (20_050, MOST)
        );
        assert_eq!(
            report.comparison().and_then(|c| c.speed),
            Some(Speed::Mixed)
        );
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    #[test]
    fn a_single_workload_says_nothing_about_several() {
        let one = "workload: n=1 kernel_us=4 ratio=0.9 speed=slower\nthroughput_sps: 1\nspeed_ratio: 0.9 low=0.8 high=0.95\n";
        let report = Report::read(&format!("{one}speed: slower\n"));
        assert_eq!(
            (
                report.workload_speeds(),
                report.aggregate_of("throughput_sps")
            ),
            (None, None)
        );
        assert_eq!(
            report.comparison().and_then(|c| c.speed),
            Some(Speed::Slower)
        );
    }

    #[test]
    fn lines_of_other_harnesses_are_read_as_far_as_they_go() {
        let report = Report::read(
            "workload: shape=1x8 ms=0.5 speed=mixed\nworkload: us=nan shape=2\nworkload: a b=\nworkload:\n\
             kernel_us: 3 aggregate=median workloads=2\nlatency_us: 3 aggregate=worst workloads=1\n",
        );
        let workloads = report.workload_figures();
        assert_eq!(workloads.len(), 4);
        assert_eq!(workloads[0].us.map(|us| us.value), Some(500.0));
        assert_eq!((workloads[0].speed, workloads[1].us), (None, None));
        assert_eq!(
            (
                report.aggregate_of("kernel_us"),
                report.aggregate_of("latency_us")
            ),
            (None, None)
        );
        assert_eq!(report.workload_speeds(), None);
    }

    #[test]
    fn a_workload_is_named_by_the_words_before_its_measures() {
        let name_of = |log: &str| {
            Report::read(log)
                .workload_figures()
                .into_iter()
                .map(|w| w.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(
            name_of("workload: n=1 correctness=crash\nworkload: n=2 correctness=pass\n"),
            "n=1, n=2"
        );
        assert_eq!(
            name_of("workload: n=1 T=f32 kernel_us=1 gbps=2\n"),
            "n=1 T=f32"
        );
        assert_eq!(
            name_of("workload: kernel_us=1 n=1\nworkload: kernel_us=1 n=2\n"),
            "kernel_us=1 n=1, kernel_us=1 n=2"
        );
        assert_eq!(
            name_of("workload: n=1 kernel_us=1\nworkload: n=1 nr=2 kernel_us=2\n"),
            "n=1, n=1 nr=2"
        );
    }
}
