//! The figures and verdicts that follow from the `turns:` lines of a run: those of the whole, and
//! those of each workload.

use super::turns::{ends_words, series_of};
use super::{Report, Speed, words};

impl Report {
    /// Writes `speed_ratio:`, `speed:` and `turns_series:` as they follow from the `turns:` lines,
    /// in place of the harness's own, and the same for each workload that they name. Without such
    /// lines nothing changes. `same_within` is a fraction: 0.005 for 0.5 %.
    pub fn judge_turns(&mut self, same_within: f64) {
        self.doubt = self.turns.fault().or_else(|| self.turns.left_out());
        self.timed_workloads = self.rows_of_turns(same_within);
        let Some(ratio) = self.turns.ratio() else {
            if self.turns.taken_back() {
                self.set("speed_ratio", "nan");
                self.set("speed", "none");
            }
            return;
        };
        let ends = ends_words("", ratio.interval());
        let aggregate = self.turns.aggregate().map_or_else(String::new, |of| {
            format!(
                " aggregate={} workloads={}",
                of.aggregate.word(),
                of.workloads
            )
        });
        self.set(
            "speed_ratio",
            &format!(
                "{:.4}{ends} quads={}{aggregate}",
                ratio.value(),
                ratio.blocks
            ),
        );
        let speed = self.of_whole(ratio.speed(same_within));
        self.set("speed", speed.word());
        let series = series_of(self.turns.blocks());
        self.set("turns_series", &series);
        // Where the workloads decide, the verdict is *mixed*, whatever their mean is.
        let undecided = ratio.doubt(same_within).filter(|_| speed != Speed::Mixed);
        let undecided =
            undecided.map(|why| format!("speed undecided: {why}; time more ABBA blocks"));
        let doubts = [self.doubt.take(), undecided];
        self.doubt = doubts
            .into_iter()
            .flatten()
            .reduce(|a, b| format!("{a}; {b}"));
    }

    /// The `workload:` lines with what the `turns:` lines say of their workloads, and lines for the
    /// workloads that have none. `None` if no turns are of a workload.
    fn rows_of_turns(&self, same_within: f64) -> Option<Vec<String>> {
        let timed = self.turns.judge_workloads(same_within);
        if timed.is_empty() {
            return None;
        }
        let mut rows = self.printed_workloads.clone();
        for workload in timed {
            let begins = |row: &String| {
                let mut words = row.split_whitespace().filter(|word| word.contains('='));
                workload
                    .name
                    .split_whitespace()
                    .all(|word| words.next() == Some(word))
            };
            match self.printed_workloads.iter().position(begins) {
                Some(at) => rows[at] = workload.row(Some(&words(&self.printed_workloads[at]))),
                None => rows.push(workload.row(None)),
            }
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of a workload in which the candidate takes `slower` times as long, with some noise.
    fn line(at: usize, slower: f64, attributes: &str) -> String {
        let noise = |turn: usize| 1.0 + 1e-3 * ((7 * at + 3 * turn) % 5) as f64;
        let b = 0.01 * slower;
        let [a1, b1, b2, a2] = [0.01 * noise(0), b * noise(1), b * noise(2), 0.01 * noise(3)];
        format!("turns: {a1:.6} {b1:.6} {b2:.6} {a2:.6} {attributes}\n")
    }

    /// So many blocks of each of these workloads, in turns.
    fn blocks(count: usize, workloads: &[(&str, f64)]) -> String {
        let of = |at: usize| {
            workloads
                .iter()
                .map(move |(name, slower)| line(at, *slower, &format!("workload={name}")))
        };
        (0..count).flat_map(of).collect()
    }

    fn judged(log: &str) -> Report {
        let mut report = Report::read(log);
        report.judge_turns(0.005);
        report
    }

    #[test]
    fn turns_of_workloads_give_each_a_ratio_a_verdict_and_a_time_and_the_whole_their_mean() {
        let report = judged(&blocks(
            8,
            &[
                ("rows=1~cols=8", 0.8),
                ("rows=2~cols=8", 1.0),
                ("rows=3~cols=8", 0.9),
            ],
        ));
        let workloads = report.workload_figures();
        let found: Vec<_> = workloads
            .iter()
            .map(|w| (w.name.as_str(), w.speed))
            .collect();
        let expected = [
            ("rows=1 cols=8", Speed::Faster),
            ("rows=2 cols=8", Speed::Same),
            ("rows=3 cols=8", Speed::Faster),
        ];
        assert_eq!(found, expected.map(|(name, speed)| (name, Some(speed))));
        let first = &workloads[0];
        let (us, ratio) = (first.us.expect("a time"), first.ratio.expect("a ratio"));
        assert!(
            (us.value - 8_016.0).abs() < 1.0 && us.low < Some(us.value) && us.high > Some(us.value),
            "{us:?}"
        );
        assert!(
            (ratio.value - 1.25).abs() < 1e-3 && ratio.low < Some(1.25) && ratio.high > Some(1.25),
            "{ratio:?}"
        );
        assert!(
            first
                .incumbent_us
                .is_some_and(|us| (us - 10_020.0).abs() < 1.0),
            "{first:?}"
        );
        let whole = report.comparison().expect("turns");
        let mean = 1.0 / (0.8f64 * 0.9).cbrt();
        assert!((whole.ratio.value - mean).abs() < 1e-3, "{whole:?}");
        assert_eq!((whole.speed, report.doubt()), (Some(Speed::Faster), None));
        assert_eq!(
            report
                .value("speed_ratio")
                .and_then(|v| crate::report::attribute(v, "quads")),
            Some("8")
        );
    }

    #[test]
    fn a_mixed_whole_is_not_undecided_too() {
        // The mean of the two says nothing, and each of them does.
        let mean_of_nothing = 8.0 * 1.1;
        let each = [("n=1", 1.0 / mean_of_nothing), ("n=2", mean_of_nothing)];
        let noisy = |at: usize| {
            each.map(|(name, slower)| {
                let noise = if at.is_multiple_of(2) { 1.2 } else { 0.85 };
                line(at, slower * noise, &format!("workload={name}"))
            })
        };
        let report = judged(&(0..8).flat_map(noisy).collect::<String>());
        let speed = report.comparison().and_then(|whole| whole.speed);
        assert_eq!((speed, report.doubt()), (Some(Speed::Mixed), None));
    }

    #[test]
    fn a_slower_workload_makes_the_whole_mixed() {
        let report = judged(&blocks(8, &[("n=1", 0.5), ("n=2", 1.1), ("n=3", 1.2)]));
        assert_eq!(
            report.comparison().and_then(|c| c.speed),
            Some(Speed::Mixed)
        );
        assert_eq!(report.value("speed"), Some("mixed"));
        let worst = report
            .workload_speeds()
            .and_then(|speeds| speeds.worst)
            .expect("one is slower");
        assert_eq!(worst.name, "n=3");
    }

    #[test]
    fn what_chance_explains_among_many_is_undecided() {
        // About 1.2 % slower: alone it is slower beyond doubt, and among many workloads no more.
        let one = |name: &str| -> String {
            let noise = |at: usize| 0.012 - 0.012 * (f64::from((at * 5 % 12) as u32) - 6.0) / 6.0;
            let line = |at: usize| {
                let [b1, b2] = [2 * at, 2 * at + 1].map(|at| 0.01 * noise(at).exp());
                format!("turns: 0.01 {b1:.8} {b2:.8} 0.01 workload={name}\n")
            };
            (0..6).map(line).collect()
        };
        let speed = |log: &str| judged(log).workload_figures()[0].speed;
        assert_eq!(speed(&one("n=0")), Some(Speed::Slower));
        let wide = |n: usize| {
            let lines = (0..6).map(move |at| {
                line(
                    at,
                    if at % 2 == 0 { 0.9 } else { 1.1 },
                    &format!("workload=n={n}"),
                )
            });
            lines.collect::<String>()
        };
        let others: String = (1..54).map(wide).collect();
        assert_eq!(speed(&(one("n=0") + &others)), Some(Speed::Undecided));
    }

    #[test]
    fn a_line_of_the_harness_keeps_its_figures_and_gets_those_of_the_turns() {
        let own = "workload: n=1 T=f~32 ms=7.5 gbps=12 ratio=3 ratio_low=2 speed=slower correctness=pass\nworkload: n=3 us=1\n";
        let report = judged(&(own.to_owned() + &blocks(8, &[("n=1~T=f~32", 0.5), ("n=2", 0.5)])));
        let rows: Vec<Vec<&str>> = report
            .workloads()
            .iter()
            .map(|row| row.iter().map(|(key, _)| *key).collect())
            .collect();
        let of_turns = ["incumbent_us", "ratio", "ratio_low", "ratio_high", "speed"];
        assert_eq!(
            rows[0],
            [&["n", "T", "ms", "gbps", "correctness"][..], &of_turns].concat()
        );
        assert_eq!(rows[1], ["n", "us"], "no turns are of this one");
        assert_eq!(
            rows[2],
            [&["n", "kernel_us", "low_us", "high_us"][..], &of_turns].concat()
        );
        let first = &report.workload_figures()[0];
        assert_eq!(
            (first.us.map(|us| us.value), first.speed),
            (Some(7500.0), Some(Speed::Faster))
        );
        assert_eq!(first.correctness.as_deref(), Some("pass"));
        // Judged again, as after each batch of lines, it stays as it is.
        let mut again = report.clone();
        again.judge_turns(0.005);
        assert_eq!(again, report);
    }

    #[test]
    fn lines_without_a_workload_are_the_whole() {
        let whole: String = (0..8).map(|at| line(at, 1.3, "")).collect();
        let report = judged(&(blocks(8, &[("n=1", 0.5), ("n=2", 0.5)]) + &whole));
        let comparison = report.comparison().expect("turns");
        assert!(
            (comparison.ratio.value - 1.0 / 1.3).abs() < 1e-3,
            "{comparison:?}"
        );
        assert_eq!(comparison.speed, Some(Speed::Slower));
    }

    #[test]
    fn the_ratio_of_the_whole_says_what_it_is_of_the_workloads() {
        let aggregate = |log: &str| {
            judged(log)
                .comparison()
                .expect("turns")
                .aggregate
                .map(|of| of.to_string())
        };
        let both = blocks(8, &[("n=1", 0.5), ("n=2", 0.5)]);
        assert_eq!(aggregate(&both), Some("geometric mean of 2".to_owned()));
        assert_eq!(aggregate(&blocks(8, &[("n=1", 0.5)])), None);
        let whole = |attributes: &str| -> String {
            (0..8)
                .map(|at| line(at, 1.3, attributes))
                .collect::<String>()
        };
        assert_eq!(
            aggregate(&(both.clone() + &whole(""))),
            None,
            "the harness does not say so"
        );
        let named = both + &whole("aggregate=arithmetic workloads=2");
        assert_eq!(aggregate(&named), Some("arithmetic mean of 2".to_owned()));
    }

    #[test]
    fn the_whole_has_the_blocks_that_every_workload_has_and_says_if_there_are_none() {
        let more = blocks(8, &[("n=1", 0.5), ("n=2", 0.5)]) + &line(9, 0.1, "workload=n=1");
        assert_eq!(
            judged(&more).turns().ratio().map(|ratio| ratio.blocks),
            Some(8)
        );
        let apart: String = (0..8)
            .map(|at| {
                line(at, 0.5, "workload=n=1 trial=1") + &line(at, 0.5, "workload=n=2 trial=2")
            })
            .collect();
        let report = judged(&apart);
        assert_eq!(report.comparison(), None);
        let why = "the whole has no ABBA block: in each trial, time every workload, and print its turns: lines";
        assert_eq!(report.doubt(), Some(why));
        assert_eq!(
            report.workload_speeds().map(|speeds| speeds.faster),
            Some(2)
        );
    }

    #[test]
    fn turns_that_are_taken_back_leave_the_lines_of_the_harness() {
        let own = "workload: n=1 us=3\n";
        let report =
            judged(&(own.to_owned() + &blocks(8, &[("n=1", 0.5), ("n=2", 0.5)]) + "turns: none\n"));
        assert_eq!(report.workloads(), [vec![("n", "1"), ("us", "3")]]);
        assert_eq!((report.comparison(), report.doubt()), (None, None));
    }

    #[test]
    fn a_workload_that_no_row_can_have_is_told() {
        let report = judged("turns: 1 2 2 1 workload=big\n");
        let why = "a turns: line cannot be read: 'big' names no workload: name one as in workload=rows=3~cols=257";
        assert_eq!(report.doubt(), Some(why));
        assert!(report.turns().is_empty());
    }

    #[test]
    fn turns_beyond_the_limit_are_told() {
        let most = crate::report::TURN_BLOCKS / 2;
        let both = ["n=1", "n=2"].map(|name| {
            let blocks = "0.01 0.009 0.009 0.01 ".repeat(100);
            format!("turns: {blocks} workload={name}\n").repeat(most / 100 + 1)
        });
        let report = judged(&both.concat());
        assert_eq!(report.turns().len(), crate::report::TURN_BLOCKS);
        assert_eq!(
            report.doubt(),
            Some("only the first 16384 ABBA blocks of the turns: lines count")
        );
    }
}
