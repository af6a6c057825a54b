//! The measures: launches like those of the gates, timed, and their tokens checked too.
//!
//! The first launch finds the module as the gates left it: a kernel that does its work in other launches only is
//! found out there. Each further one finds it newly loaded, so that nothing computed in an earlier launch makes it faster.

use super::bench::Bench;
use super::pool::Run;
use super::verify::first_difference;
use crate::device::Order;
use crate::measure::summarise;
use crate::problem::{Context, Correctness, Stop};

pub fn measure(bench: &mut Bench, runs: &[&Run], cx: &mut Context) -> Result<Correctness, Stop> {
    let mut rates = Vec::new();
    for (launch, run) in runs.iter().enumerate() {
        cx.out.progress(launch as u64, runs.len() as u64)?;
        if launch > 0 {
            bench.renew()?;
        }
        let sampled = bench.sample(run, Order::Forward)?;
        if let Some((step, words)) = first_difference(run, &sampled.tokens) {
            let wrong = run.expected.tokens.iter().zip(&sampled.tokens).filter(|(a, b)| a != b).count();
            cx.out.count_gate("sample_mismatches", wrong as u64, 0)?;
            cx.out.line("sample_first_mismatch", step)?;
            cx.out.line("first_failure", format_args!("timed launch {launch}: {words}"))?;
            return Ok(Correctness::Fail);
        }
        if let Some(words) = sampled.broken.words.first() {
            cx.out.line("first_failure", format_args!("timed launch {launch}: {words}"))?;
            return Ok(Correctness::Fail);
        }
        rates.push(run.expected.tokens.len() as f64 / sampled.seconds);
    }
    let Some(rate) = summarise(&rates) else {
        return Err(Stop::Lab("the device gave no time for a launch".into()));
    };
    let (mut sps, mut us) = (format!("{:.1}", rate.median), format!("{:.4}", 1e6 / rate.median));
    if let Some((low, high)) = rate.interval {
        sps += &format!(" low={low:.1} high={high:.1} launches={}", runs.len());
        us += &format!(" low={:.4} high={:.4}", 1e6 / high, 1e6 / low);
    }
    cx.out.line("throughput_sps", sps)?;
    cx.out.line("kernel_us", us)?;
    Ok(Correctness::Pass)
}
