//! problem.toml of WaveGRU, and the published runs of the committed problem.
#![allow(clippy::unwrap_used)]

use super::reference::ReferenceModel;
use super::run_inputs::RunInputs;
use super::*;

/// A WaveGRU problem that is small enough for tests.
pub const SMALL: &str = include_str!("../../../tests/kernels/wavegru/problem.toml");

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
    assert!(error_for("20, 21]", "20, 20]").contains("a seed is in the list twice"));
    assert!(error_for("[0.02, 0.12]", "0.0").contains("min_p = 0: it must be above 0"));
    assert!(
        error_for("[0.02, 0.12]", "[0.2, 1.2]").contains("min_p = [0.2, 1.2]: it must be above 0")
    );
    assert!(error_for("[0.7, 1.4]", "[1.4, 0.7]").contains("no range may end before it begins"));
    assert!(error_for("[0.7, 1.4]", "[0.7]").contains("expected a number, or a range [LOW, HIGH]"));
    assert!(
        error_for("[0, 255]", "[0, 256]")
            .contains("first_token = [0, 256]: it must be from 0 to 255")
    );
    assert!(error_for("orders = 2", "order = 2").contains("unknown field `order`"));
    assert!(
        error_for("steps = 48", "steps = 0").starts_with("wavegru/problem.toml:4:9: error: steps")
    );
}

/// The form of problem.toml before the parameters were drawn.
#[test]
fn fixed_parameters_can_still_be_read_and_a_temperature_of_one_is_a_caveat() {
    let old = SMALL
        .replace("[0.7, 1.4]", "1.0")
        .replace("[0.02, 0.12]", "0.05")
        .replace("[0, 255]", "128")
        .replace("teacher_score_diff = 1e-4\n", "");
    let config = WaveGruConfig::read(Path::new("problem.toml"), &old).unwrap();
    let drawn = RunInputs::draw(256, 24, &config.ranges(), 77).sampling;
    assert_eq!(
        (drawn.temperature, drawn.min_p, drawn.first_token),
        (1.0, 0.05, 128)
    );
    assert_eq!(config.limits.teacher_score_diff, Some(config.margin));
    assert!(
        config
            .ignorable()
            .unwrap()
            .contains("ignores the temperature")
    );
    let config = WaveGruConfig::read(Path::new("problem.toml"), SMALL).unwrap();
    assert_eq!(config.ignorable(), None);
}

/// The committed problem, and the small one of the tests: no token of the published runs depends on
/// a rounding, the distributions are neither flat nor sharp, and min-p matters.
#[test]
fn the_chosen_seeds_keep_their_promises() {
    let committed = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../kernels/wavegru/problem.toml"
    );
    let committed = std::fs::read_to_string(committed).unwrap();
    for (text, steps) in [(committed.as_str(), None), (SMALL, Some(48))] {
        let config = WaveGruConfig::read(Path::new("problem.toml"), text).unwrap();
        let steps = steps.unwrap_or(config.steps_cpu);
        let inputs: Vec<RunInputs> = config
            .run_seeds
            .iter()
            .map(|seed| RunInputs::draw(config.hidden, steps, &config.ranges(), *seed))
            .collect();
        assert_eq!(inputs.len(), 8);
        let weights = Weights::draw(config.hidden, config.weight_seed);
        for (inputs, run) in
            inputs
                .iter()
                .zip(ReferenceModel::new(&weights).run(&inputs, 2, &mut |_, _| {}))
        {
            let what = format!("run seed {} at H = {}", inputs.seed, config.hidden);
            assert!(run.margin >= config.margin, "{what}: margin {}", run.margin);
            assert!(
                (3.0..=6.5).contains(&run.entropy),
                "{what}: median entropy {} bits",
                run.entropy
            );
            if config.hidden == 1024 {
                assert!(
                    run.min_p_changed >= 10,
                    "{what}: min-p changes {} tokens",
                    run.min_p_changed
                );
            }
        }
    }
}
