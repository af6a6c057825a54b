//! Finds seeds for `run_seeds`, the published runs of a WaveGRU problem. Computes the reference of
//! each seed on every core, for the steps of a GPU and of the cpu device, and shows which seeds
//! have the margin, the entropy and the min-p changes that the tests ask for. Judged runs are not
//! taken from there.
//!
//!     cargo run --release -p lab-judge --example wavegru_seeds -- kernels/wavegru/problem.toml [FIRST [COUNT]]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

use lab_judge::problem::wavegru::config::WaveGruConfig;
use lab_judge::problem::wavegru::reference::{ReferenceModel, ReferenceOutput};
use lab_judge::problem::wavegru::run_inputs::RunInputs;
use lab_judge::problem::wavegru::weights::Weights;
use std::ops::Range;
use std::path::PathBuf;

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let path = PathBuf::from(words.next().ok_or("which problem.toml?")?);
    let mut number = |default| {
        words.next().map_or(Ok(default), |w| {
            w.parse().map_err(|_| "FIRST and COUNT are numbers")
        })
    };
    let (first, count): (u64, u64) = (number(1)?, number(32)?);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let config = WaveGruConfig::read(&path, &text).map_err(|e| e.to_string())?;

    let model = ReferenceModel::new(&Weights::draw(config.hidden, config.weight_seed));
    let of = |steps| references(&model, &config, first..first + count, steps);
    let (long, short) = (of(config.steps), of(config.steps_cpu));

    println!(
        "seed  temp  min-p  first   margin  at step  bits  min-p  T≠1 | in {:>4} steps: bits  min-p",
        config.steps_cpu
    );
    for ((inputs, long), (_, short)) in long.iter().zip(&short) {
        let tells = short.tells(inputs, &config.ranges());
        let promises = [long, short]
            .into_iter()
            .all(|run| keeps_its_promises(run, config.hidden));
        let good = long.margin >= config.margin && tells && promises;
        let sampling = &inputs.sampling;
        print!(
            "{:>4}  {:.2}  {:.3}  {:>5}",
            inputs.seed, sampling.temperature, sampling.min_p, sampling.first_token
        );
        println!(
            " {:.2e}  {:>7}  {:.2}  {:>5}  {:>3} |                {:.2}  {:>5}  {}",
            long.margin,
            long.margin_step,
            long.entropy,
            long.min_p_changed,
            long.temperature_changed,
            short.entropy,
            short.min_p_changed,
            if good { "good" } else { "" }
        );
    }
    Ok(())
}

fn references(
    model: &ReferenceModel,
    config: &WaveGruConfig,
    seeds: Range<u64>,
    steps: usize,
) -> Vec<(RunInputs, ReferenceOutput)> {
    let inputs: Vec<RunInputs> = seeds
        .map(|seed| RunInputs::draw(config.hidden, steps, &config.ranges(), seed))
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut percent = None;
    let found = model.run(&inputs, threads, &mut |done, all| {
        let now = Some(100 * done / all);
        if now != percent {
            percent = now;
            eprint!("\r{steps} steps: {} %", 100 * done / all);
        }
    });
    inputs.into_iter().zip(found).collect()
}

/// As the test of the published seeds asks.
fn keeps_its_promises(reference: &ReferenceOutput, hidden: usize) -> bool {
    (3.0..=6.5).contains(&reference.entropy) && (hidden < 1024 || reference.min_p_changed >= 10)
}
