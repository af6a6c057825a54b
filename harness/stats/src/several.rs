//! The verdicts on several workloads that are timed in the same turns.
//!
//! Among 54 ratios a few lie far from the truth by chance alone. So the intervals and the verdicts
//! are corrected for the number of workloads, by the step-down procedure of S. Holm (A Simple
//! Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979):
//!
//! 1. Each of the m workloads gets an interval that it misses in 0.05 / m of all measurements. What
//!    the [rule](crate::speed) says to such an interval stands.
//! 2. If so many as k have a verdict, each of the others gets the interval for 0.05 / (m − k). What
//!    the rule says to it stands too. That is repeated until no workload gets a verdict any more.
//!
//! So in 95 of 100 measurements no word is wrong, for all workloads together, and the more
//! workloads have a verdict the sooner the others get one.
//!
//! The interval that is shown beside a word agrees with it (O. Guilbaud, Simultaneous Confidence
//! Regions Corresponding to Holm's Step-Down Procedure and Other Closed-Testing Procedures,
//! Biometrical Journal 50, 2008). A workload without a verdict shows the interval of the last step.
//! One with a verdict shows that of the first step, and where only a further step gave the verdict,
//! the part of it in which the verdict is true: the end of a *slower* then is the threshold.
//!
//! A single workload has the interval and the verdict of [`Ratio::of`]: there is nothing to
//! correct.

use crate::abba::Ratio;
use crate::centre::MISSED;
use crate::speed::{LIKELY_SAME, SURELY_SAME, Speed, decide};

/// The log ratios of one workload's pairs, two a block, grouped by trial: see [`Ratio::of`].
pub type LogRatios = Vec<Vec<f64>>;

/// The verdict on one of several workloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkloadSpeed {
    /// Candidate's speed over incumbent's; above 1 the candidate is faster.
    pub ratio: f64,
    /// The ends of the ratio's corrected interval; `None` with too few blocks for a verdict.
    pub interval: Option<(f64, f64)>,
    /// The corrected verdict.
    pub speed: Speed,
}

/// Judges workloads together. A workload without a pair has no verdict and does not count.
/// `same_within` is a fraction, 0.005 for 0.5 %. If something `disturbed` the measurement, all
/// intervals are twice as wide ([`Ratio::disturbed`]).
///
/// ```
/// use lab_stats::several;
/// use lab_stats::speed::Speed;
///
/// let blocks = |by: f64| vec![vec![by - 1e-3, by, by + 1e-3, by, by - 1e-3, by + 1e-3]];
/// let found = several::judge(&[blocks(0.2), blocks(-0.2), vec![]], 0.005, false);
/// assert_eq!(found[0].unwrap().speed, Speed::Faster);
/// assert_eq!(found[1].unwrap().speed, Speed::Slower);
/// assert_eq!(found[2], None);
/// ```
pub fn judge(
    workloads: &[LogRatios],
    same_within: f64,
    disturbed: bool,
) -> Vec<Option<WorkloadSpeed>> {
    let count = workloads
        .iter()
        .filter(|trials| !trials.concat().is_empty())
        .count();
    let at = |trials: &LogRatios, left: usize| {
        let missed = MISSED / left as f64;
        let ratio = if count == 1 {
            Ratio::of(trials)
        } else {
            Ratio::of_one_among_several(trials, missed)
        };
        ratio.map(|ratio| if disturbed { ratio.disturbed() } else { ratio })
    };
    let word = |ratio: &Ratio| decide(ratio.log, ratio.blocks, same_within).ok();
    let first: Vec<Option<Ratio>> = workloads.iter().map(|trials| at(trials, count)).collect();
    let mut found: Vec<Option<WorkloadSpeed>> = first
        .iter()
        .map(|ratio| {
            ratio
                .as_ref()
                .map(|ratio| shown(ratio, word(ratio).unwrap_or(Speed::Undecided)))
        })
        .collect();
    let is_open =
        |found: &Option<WorkloadSpeed>| found.is_some_and(|w| w.speed == Speed::Undecided);
    let mut level = count;
    loop {
        let left = found.iter().filter(|found| is_open(found)).count();
        if left == 0 || left == level {
            return found;
        }
        level = left;
        for ((found, trials), first) in found.iter_mut().zip(workloads).zip(&first) {
            let (true, Some(first), Some(now)) = (is_open(found), first, at(trials, level)) else {
                continue;
            };
            *found = Some(match word(&now) {
                Some(speed) => clipped(first, &now, speed, same_within),
                None => shown(&now, Speed::Undecided),
            });
        }
    }
}

/// Half the width of the widest interval of the first step, in units of the logarithm; infinite
/// where there is none yet, and 0 of fewer than two workloads.
pub fn widest(workloads: &[LogRatios]) -> f64 {
    if workloads.len() < 2 {
        return 0.0;
    }
    let missed = MISSED / workloads.len() as f64;
    let half_width = |trials: &LogRatios| {
        let ratio = Ratio::of_one_among_several(trials, missed);
        ratio.map_or(f64::INFINITY, |ratio| ratio.log.half_width)
    };
    workloads.iter().map(half_width).fold(0.0, f64::max)
}

fn shown(ratio: &Ratio, speed: Speed) -> WorkloadSpeed {
    WorkloadSpeed {
        ratio: ratio.value(),
        interval: ratio.interval(),
        speed,
    }
}

/// What a later step decided: the part of the first step's interval in which `speed` is true.
fn clipped(first: &Ratio, now: &Ratio, speed: Speed, same_within: f64) -> WorkloadSpeed {
    let theta = same_within.ln_1p();
    let (low, high) = (first.log.low(), first.log.high());
    let surely = now.log.low() >= -SURELY_SAME * theta && now.log.high() <= SURELY_SAME * theta;
    let same = theta * if surely { SURELY_SAME } else { LIKELY_SAME };
    let (low, high) = match speed {
        Speed::Faster => (low.max(theta), high),
        Speed::Slower => (low, high.min(-theta)),
        Speed::Same => (low.max(-same), high.min(same)),
        Speed::Undecided | Speed::Mixed => (low, high),
    };
    WorkloadSpeed {
        ratio: first.value(),
        interval: Some((low.exp(), high.exp())),
        speed,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const WITHIN: f64 = 0.005;

    /// Six blocks about this log ratio, whose pairs differ from it by up to `noise`.
    fn about(centre: f64, noise: f64) -> LogRatios {
        let pairs = (0..12).map(|i| centre + noise * f64::from(i * 5 % 12 - 6) / 6.0);
        vec![pairs.collect()]
    }

    fn words(workloads: &[LogRatios]) -> Vec<Speed> {
        judge(workloads, WITHIN, false)
            .iter()
            .map(|found| found.unwrap().speed)
            .collect()
    }

    #[test]
    fn a_single_workload_is_judged_as_ever() {
        for trials in [
            about(0.02, 0.01),
            about(-0.004, 0.004),
            vec![vec![0.5]],
            vec![vec![0.1, 0.1, 0.2]],
        ] {
            let ratio = Ratio::of(&trials).unwrap();
            let found = judge(std::slice::from_ref(&trials), WITHIN, false)[0].unwrap();
            assert_eq!(
                (found.ratio, found.interval),
                (ratio.value(), ratio.interval())
            );
            assert_eq!(found.speed, ratio.speed(WITHIN));
            let disturbed = judge(&[trials], WITHIN, true)[0].unwrap();
            assert_eq!(disturbed.interval, ratio.disturbed().interval());
        }
    }

    #[test]
    fn what_chance_explains_among_many_is_undecided() {
        // Alone it is slower; among 54 like it, one in 54 looks like that by chance.
        let slight = about(-0.012, 0.012);
        assert_eq!(words(std::slice::from_ref(&slight)), [Speed::Slower]);
        let mut many = vec![slight];
        many.resize(54, about(0.0, 0.05));
        assert_eq!(words(&many)[0], Speed::Undecided);
    }

    #[test]
    fn workloads_with_a_verdict_make_it_easier_for_the_others() {
        let slight = about(-0.012, 0.012);
        let mut many = vec![slight];
        many.resize(54, about(0.5, 0.05));
        let found = judge(&many, WITHIN, false);
        assert_eq!(
            found[0].unwrap().speed,
            Speed::Slower,
            "the 53 others are faster beyond doubt"
        );
        let (low, high) = found[0].unwrap().interval.unwrap();
        assert!(
            (high - 1.0 / 1.005).abs() < 1e-12,
            "the verdict holds up to the threshold: {high}"
        );
        assert!(low < found[0].unwrap().ratio);
        assert!(
            found[1..]
                .iter()
                .all(|found| found.unwrap().speed == Speed::Faster)
        );
    }

    #[test]
    fn a_disturbed_measurement_needs_clearer_differences() {
        let two = [about(0.013, 0.01), about(-0.013, 0.01)];
        let calm = judge(&two, WITHIN, false);
        assert_eq!(calm[0].unwrap().speed, Speed::Faster);
        let disturbed = judge(&two, WITHIN, true);
        assert_eq!(disturbed[0].unwrap().speed, Speed::Undecided);
        let width = |found: &Option<WorkloadSpeed>| {
            let (low, high) = found.unwrap().interval.unwrap();
            (high / low).ln()
        };
        assert!(width(&disturbed[0]) > width(&calm[0]));
    }

    #[test]
    fn too_few_blocks_and_workloads_without_a_pair_have_no_verdict() {
        assert_eq!(judge(&[], WITHIN, false), []);
        assert_eq!(judge(&[vec![], vec![vec![]]], WITHIN, false), [None, None]);
        let two_blocks = vec![vec![0.5, 0.5, 0.5, 0.5]];
        assert_eq!(
            words(&[two_blocks.clone(), two_blocks]),
            [Speed::Undecided; 2]
        );
        let found = judge(&[vec![vec![0.5]], about(0.5, 0.01)], WITHIN, false);
        assert_eq!(
            (found[0].unwrap().interval, found[0].unwrap().speed),
            (None, Speed::Undecided)
        );
        assert_eq!(found[1].unwrap().speed, Speed::Faster);
    }

    proptest! {
        /// The word and the interval beside it never contradict each other, and the interval holds
        /// the ratio.
        #[test]
        fn a_word_agrees_with_its_interval(
            centres in prop::collection::vec((-0.05f64..0.05, 0.0f64..0.05), 1..12), disturbed: bool,
        ) {
            let workloads: Vec<LogRatios> = centres.iter().map(|(c, noise)| about(*c, *noise)).collect();
            let theta = WITHIN.ln_1p();
            for found in judge(&workloads, WITHIN, disturbed) {
                let found = found.unwrap();
                let (low, high) = found.interval.unwrap();
                prop_assert!(low <= found.ratio * (1.0 + 1e-12) && found.ratio <= high * (1.0 + 1e-12));
                let (low, high) = (low.ln() + 1e-12, high.ln() - 1e-12);
                let right = match found.speed {
                    Speed::Faster => low >= theta,
                    Speed::Slower => high <= -theta,
                    Speed::Same => low >= -LIKELY_SAME * theta && high <= LIKELY_SAME * theta,
                    Speed::Undecided => true,
                    Speed::Mixed => false,
                };
                prop_assert!(right, "{found:?}");
            }
        }

        /// What has a verdict among few workloads alone has it, or none, among more that show
        /// nothing.
        #[test]
        fn more_workloads_never_turn_a_verdict(
            centres in prop::collection::vec((-0.05f64..0.05, 0.0f64..0.02), 1..6), more in 1usize..40,
        ) {
            let few: Vec<LogRatios> = centres.iter().map(|(c, noise)| about(*c, *noise)).collect();
            let mut many = few.clone();
            many.extend(std::iter::repeat_n(about(0.0, 0.5), more));
            for (few, many) in words(&few).into_iter().zip(words(&many)) {
                let wider = many == few || many == Speed::Undecided || many == Speed::Same;
                prop_assert!(wider, "{few:?} became {many:?}");
            }
        }
    }
}
