//! problem.toml of WaveGRU, and the run seeds of the committed problem.
#![allow(clippy::unwrap_used)]

use super::reference::{ReferenceModel, StartState};
use super::*;

/// A WaveGRU problem that is small enough for tests.
pub const SMALL: &str = r#"
kind = "wavegru"
hidden = 256
steps = 48
steps_cpu = 24
temperature = 1.0
min_p = 0.05
first_token = 128
weight_seed = 1
run_seeds = [3, 6, 7, 8, 12, 13, 14, 16]
margin = 1e-4
timed_launches = 6
orders = 2
[limits]
teacher_prob_max_diff = 2e-5
teacher_prob_mean_diff = 2.5e-6
h0_max_diff = 1e-5
h1_max_diff = 1.5e-5
"#;

/// The error for SMALL with one line changed.
fn error_for(from: &str, to: &str) -> String {
    let text = SMALL.replace(from, to);
    assert_ne!(text, SMALL);
    match open(Path::new("wavegru/problem.toml"), &text) {
        Err(Stop::Problem(text)) => text,
        _ => panic!("{to} was accepted"),
    }
}

#[test]
fn a_wrong_problem_toml_is_refused_with_a_reason() {
    assert!(
        error_for("hidden = 256", "hidden = 100")
            .ends_with("hidden = 100: it must be a multiple of 256, at most 4096")
    );
    assert!(error_for("14, 16]", "14, 14]").contains("at least 8 different seeds"));
    assert!(error_for("min_p = 0.05", "min_p = 0.0").contains("min_p = 0: it must be above 0"));
    assert!(error_for("orders = 2", "order = 2").contains("unknown field `order`"));
    assert!(error_for("steps = 48", "steps = 0").starts_with("wavegru/problem.toml: steps"));
}

/// The committed problem, and the small one of the tests: no token of the pool depends on a rounding, the
/// distributions are neither flat nor sharp, and min-p matters.
#[test]
fn the_chosen_seeds_keep_their_promises() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/wavegru/problem.toml");
    let committed = std::fs::read_to_string(committed).unwrap();
    for (text, steps) in [(committed.as_str(), None), (SMALL, Some(48))] {
        let config = WaveGruConfig::read(Path::new("problem.toml"), text).unwrap();
        let steps = steps.unwrap_or(config.steps_cpu);
        let sampling = SamplingParams {
            steps,
            first_token: config.first_token,
            temperature: config.temperature,
            min_p: config.min_p,
        };
        let starts: Vec<StartState> =
            config.run_seeds.iter().map(|seed| StartState::draw(config.hidden, *seed)).collect();
        let weights = Weights::draw(config.hidden, config.weight_seed);
        for (start, run) in
            starts.iter().zip(ReferenceModel::new(&weights).run(&starts, sampling, 2, &mut |_, _| {}))
        {
            let what = format!("run seed {} at H = {}", start.seed, config.hidden);
            assert!(run.margin >= config.margin, "{what}: margin {}", run.margin);
            assert!((3.0..=6.5).contains(&run.entropy), "{what}: median entropy {} bits", run.entropy);
            if config.hidden == 1024 {
                assert!(run.min_p_changed >= 10, "{what}: min-p changes {} tokens", run.min_p_changed);
            }
        }
    }
}
