//! Finds run seeds for a WaveGRU pool. Computes the reference of each seed on every core, for the steps of a GPU and
//! of the cpu device, and shows which seeds have the margin, the entropy and the min-p changes that the pool needs.
//!
//!     cargo run --release -p lab-judge --example wavegru_seeds -- kernels/wavegru/problem.toml [FIRST [COUNT]]

use lab_judge::problem::wavegru::config::WaveGruConfig;
use lab_judge::problem::wavegru::reference::{ReferenceModel, ReferenceOutput, SamplingParams, StartState};
use lab_judge::problem::wavegru::weights::Weights;
use std::path::PathBuf;

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let path = PathBuf::from(words.next().ok_or("which problem.toml?")?);
    let mut number =
        |default| words.next().map_or(Ok(default), |w| w.parse().map_err(|_| "FIRST and COUNT are numbers"));
    let (first, count): (u64, u64) = (number(1)?, number(32)?);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let config = WaveGruConfig::read(&path, &text).map_err(|e| e.to_string())?;

    let starts: Vec<StartState> =
        (first..first + count).map(|seed| StartState::draw(config.hidden, seed)).collect();
    let model = ReferenceModel::new(&Weights::draw(config.hidden, config.weight_seed));
    let long = references(&model, &starts, &config, config.steps);
    let short = references(&model, &starts, &config, config.steps_cpu);

    println!("seed    margin  at step  bits  min-p | in {:>4} steps: bits  min-p", config.steps_cpu);
    for ((start, long), short) in starts.iter().zip(&long).zip(&short) {
        let good = long.margin >= config.margin && [long, short].into_iter().all(keeps_its_promises);
        println!(
            "{:>4}  {:.2e}  {:>7}  {:.2}  {:>5} |                {:.2}  {:>5}  {}",
            start.seed,
            long.margin,
            long.margin_step,
            long.entropy,
            long.min_p_changed,
            short.entropy,
            short.min_p_changed,
            if good { "good" } else { "" }
        );
    }
    Ok(())
}

fn references(
    model: &ReferenceModel,
    starts: &[StartState],
    config: &WaveGruConfig,
    steps: usize,
) -> Vec<ReferenceOutput> {
    let sampling = SamplingParams {
        steps,
        first_token: config.first_token,
        temperature: config.temperature,
        min_p: config.min_p,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut percent = None;
    model.run(starts, sampling, threads, &mut |done, all| {
        let now = Some(100 * done / all);
        if now != percent {
            percent = now;
            eprint!("\r{steps} steps: {} %", 100 * done / all);
        }
    })
}

fn keeps_its_promises(reference: &ReferenceOutput) -> bool {
    (3.0..=6.5).contains(&reference.entropy) && reference.min_p_changed >= 10
}
