//! Whether the speed on sealed inputs bears out the speed that a run claimed.

use crate::verdict::with_ends;
use lab_project::config::Goal;
use lab_protocol::report::{Comparison, Measure, Speed};
use lab_text::figures;

/// What one measurement says of the candidate's speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speeds {
    /// Beside the incumbent, timed in turns.
    pub comparison: Option<Comparison>,
    /// The objective alone.
    pub objective: Option<Measure>,
}

/// How much two measurements of one kernel may differ beyond their intervals. The intervals hold
/// what varies within one process; between two processes the clocks, the heat and the layout of the
/// memory vary too.
const BETWEEN_PROCESSES: f64 = 0.05;

/// Says why the sealed speed contradicts the claim, in words; `None` if it bears the claim out, or
/// says nothing about it.
///
/// - Both were timed in turns, and the run was *faster*: at least half of the claimed gain must lie
///   within reach of the sealed ratio's interval.
/// - Both were timed in turns, and the run was anything else: the sealed ratio must not be lower
///   than the run's by more than both intervals and `BETWEEN_PROCESSES` allow.
/// - One of the two was not timed in turns: the same of the objective itself.
pub fn contradiction(claimed: &Speeds, sealed: &Speeds, goal: Goal) -> Option<String> {
    if let (Some(claim), Some(found)) = (claimed.comparison, sealed.comparison) {
        let most = found.ratio.high.unwrap_or(found.ratio.value);
        let least = if claim.speed == Some(Speed::Faster) {
            1.0 + (claim.ratio.value - 1.0) / 2.0
        } else {
            claim.ratio.low.unwrap_or(claim.ratio.value) * (1.0 - BETWEEN_PROCESSES)
        };
        return (most < least).then(|| {
            let [claim, found] =
                [claim, found].map(|of| with_ends(&of.ratio, |ratio| format!("{ratio:.3}")));
            format!("the run was {claim} times as fast as the incumbent, on sealed inputs it is {found} times as fast")
        });
    }
    let (claim, found) = (claimed.objective?, sealed.objective?);
    let is_worse = match goal {
        Goal::Maximize => {
            found.high.unwrap_or(found.value)
                < claim.low.unwrap_or(claim.value) * (1.0 - BETWEEN_PROCESSES)
        }
        Goal::Minimize => {
            found.low.unwrap_or(found.value)
                > claim.high.unwrap_or(claim.value) * (1.0 + BETWEEN_PROCESSES)
        }
    };
    let figure = |measure: &Measure| figures::figure(measure.value);
    is_worse.then(|| {
        format!(
            "the run measured {}, on sealed inputs it is {}",
            figure(&claim),
            figure(&found)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(speed: Speed, value: f64, low: f64, high: f64) -> Speeds {
        let ratio = Measure {
            value,
            low: Some(low),
            high: Some(high),
        };
        Speeds {
            comparison: Some(Comparison {
                ratio,
                speed: Some(speed),
                aggregate: None,
            }),
            objective: None,
        }
    }

    fn alone(value: f64, low: f64, high: f64) -> Speeds {
        Speeds {
            comparison: None,
            objective: Some(Measure {
                value,
                low: Some(low),
                high: Some(high),
            }),
        }
    }

    #[test]
    fn a_claim_in_turns_must_be_borne_out_by_half() {
        use Speed::{Faster, Same, Slower};
        for (claim, sealed, refused) in [
            // A table of the known inputs.
            (
                turns(Faster, 188.0, 187.0, 189.0),
                turns(Slower, 0.7, 0.69, 0.71),
                true,
            ),
            (
                turns(Faster, 188.0, 187.0, 189.0),
                turns(Faster, 2.0, 1.9, 2.1),
                true,
            ),
            // Half of +3 % is +1.5 %.
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Faster, 1.029, 1.027, 1.031),
                false,
            ),
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Faster, 1.013, 1.010, 1.0155),
                false,
            ),
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Faster, 1.013, 1.010, 1.0145),
                true,
            ),
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Same, 1.0, 0.99, 1.01),
                true,
            ),
            // A wide interval contradicts nothing.
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Same, 1.0, 0.9, 1.1),
                false,
            ),
            // Faster than claimed is no contradiction.
            (
                turns(Faster, 1.03, 1.028, 1.032),
                turns(Faster, 1.2, 1.19, 1.21),
                false,
            ),
            (
                turns(Same, 1.0, 0.998, 1.002),
                turns(Same, 1.001, 0.999, 1.003),
                false,
            ),
            (
                turns(Same, 1.0, 0.998, 1.002),
                turns(Slower, 0.97, 0.96, 0.98),
                false,
            ),
            (
                turns(Same, 1.0, 0.998, 1.002),
                turns(Slower, 0.5, 0.49, 0.51),
                true,
            ),
            (
                turns(Slower, 0.9, 0.89, 0.91),
                turns(Slower, 0.9, 0.89, 0.91),
                false,
            ),
            (
                turns(Slower, 0.9, 0.89, 0.91),
                turns(Slower, 0.3, 0.29, 0.31),
                true,
            ),
        ] {
            let why = contradiction(&claim, &sealed, Goal::Maximize);
            assert_eq!(why.is_some(), refused, "{claim:?} {sealed:?}: {why:?}");
            // A ratio of speeds has one direction, whatever the objective is.
            assert_eq!(contradiction(&claim, &sealed, Goal::Minimize), why);
        }
        let why = contradiction(
            &turns(Faster, 188.0, 187.0, 189.0),
            &turns(Slower, 0.7, 0.69, 0.71),
            Goal::Maximize,
        );
        assert_eq!(
            why.as_deref(),
            Some(
                "the run was 188.000 (187.000 … 189.000) times as fast as the incumbent, on sealed inputs it is 0.700 \
                 (0.690 … 0.710) times as fast"
            )
        );
    }

    #[test]
    fn without_turns_the_figure_must_be_within_reach() {
        for (claim, sealed, goal, refused) in [
            (
                alone(100.0, 99.0, 101.0),
                alone(100.0, 99.0, 101.0),
                Goal::Maximize,
                false,
            ),
            (
                alone(100.0, 99.0, 101.0),
                alone(95.0, 94.5, 95.5),
                Goal::Maximize,
                false,
            ),
            (
                alone(100.0, 99.0, 101.0),
                alone(90.0, 89.0, 91.0),
                Goal::Maximize,
                true,
            ),
            (
                alone(100.0, 99.0, 101.0),
                alone(900.0, 899.0, 901.0),
                Goal::Maximize,
                false,
            ),
            (
                alone(100.0, 99.0, 101.0),
                alone(90.0, 89.0, 91.0),
                Goal::Minimize,
                false,
            ),
            (
                alone(100.0, 99.0, 101.0),
                alone(110.0, 109.0, 111.0),
                Goal::Minimize,
                true,
            ),
            // Nothing was timed.
            (
                alone(100.0, 99.0, 101.0),
                Speeds::default(),
                Goal::Maximize,
                false,
            ),
            (
                Speeds::default(),
                alone(100.0, 99.0, 101.0),
                Goal::Maximize,
                false,
            ),
        ] {
            assert_eq!(
                contradiction(&claim, &sealed, goal).is_some(),
                refused,
                "{claim:?} {sealed:?} {goal:?}"
            );
        }
        // Only one of the two was timed in turns: their figures are compared.
        let claim = Speeds {
            comparison: turns(Speed::Faster, 2.0, 1.9, 2.1).comparison,
            ..alone(100.0, 99.0, 101.0)
        };
        assert!(contradiction(&claim, &alone(100.0, 99.0, 101.0), Goal::Maximize).is_none());
        assert!(contradiction(&claim, &alone(50.0, 49.0, 51.0), Goal::Maximize).is_some());
    }
}
