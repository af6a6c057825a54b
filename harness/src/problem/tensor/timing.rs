//! Timing a tensor problem: trials in a budget of time, and the measures' lines.

use super::bench::Bench;
use super::spec::{Case, Spec};
use super::tally::Tally;
use super::{Prepared, check_breaches};
use crate::device::Order;
use crate::measure::{self, Summary};
use crate::problem::{Context, Stop};
use crate::process::worker::{ModuleId, Worker};
use crate::report::Writer;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// What a case took.
pub struct Timed<'a> {
    case: &'a Case,
    seconds: Summary,
}

/// How long a case is timed: whichever of the two ends it first, after the least trials.
struct Budget {
    warm_up: usize,
    least: usize,
    most: usize,
    time: Duration,
}

const GPU: Budget = Budget { warm_up: 3, least: 7, most: 100, time: Duration::from_millis(50) };

/// Times there say nothing about a GPU: two, to show that it ran.
const EMULATED: Budget = Budget { warm_up: 1, least: 2, most: 2, time: Duration::ZERO };

/// Launches the case many times. Outputs are poisoned before each launch, outside the timed
/// window; the last launch is checked, and others that the kernel cannot foresee.
///
/// The first launch finds the module as the gates left it, and is checked: a kernel that does its work in other launches
/// only is found out there. Before each timed one the module is loaded anew and warmed up by a launch on other
/// inputs, so that a result remembered from an earlier launch is of no use.
pub fn time_case<'a>(
    spec: &Spec,
    prepared: &Prepared<'a>,
    tally: &mut Tally,
    cx: &mut Context,
    worker: &mut Worker,
    module: ModuleId,
) -> Result<Timed<'a>, Stop> {
    let budget = if cx.device.emulated { EMULATED } else { GPU };
    let bench = Bench::set_up(spec, prepared.case, worker, module, &prepared.sets)?;
    let mut rng = ChaCha8Rng::seed_from_u64(cx.seed);
    let launch =
        |worker: &mut Worker, set: usize| bench.launch(worker, set, &prepared.sets[set], Order::Forward);
    for i in 0..budget.warm_up {
        let set = i % prepared.sets.len();
        launch(worker, set)?;
        if i + 1 == budget.warm_up {
            let got = bench.outputs(worker)?;
            tally.compare(spec, prepared.case, "timed launch 0", &got, &prepared.expected[set], cx.out)?;
        }
    }
    let started = Instant::now();
    let mut seconds = Vec::new();
    loop {
        let set = (rng.next_u32() as usize) % prepared.sets.len();
        worker.renew(module)?;
        if !cx.device.emulated && prepared.sets.len() > 1 {
            launch(worker, (set + 1) % prepared.sets.len())?;
        }
        seconds.push(launch(worker, set)?);
        let enough = seconds.len() >= budget.most
            || (seconds.len() >= budget.least && started.elapsed() >= budget.time);
        if enough || rng.next_u32().is_multiple_of(CHECKED_ONE_IN) {
            let how = format!("timed launch {}", seconds.len());
            let got = bench.outputs(worker)?;
            tally.compare(spec, prepared.case, &how, &got, &prepared.expected[set], cx.out)?;
        }
        if enough {
            break;
        }
    }
    check_breaches(&bench, prepared.case, "timed launches", tally, cx, worker)?;
    bench.take_down(worker)?;
    let seconds = measure::summarise(&seconds)
        .ok_or_else(|| Stop::Lab(format!("{}: the device gave no time", prepared.case.label)))?;
    Ok(Timed { case: prepared.case, seconds })
}

/// Comparing each output would take longer than the launches; a kernel that writes nonsense now
/// and then is still found.
const CHECKED_ONE_IN: u32 = 8;

/// One `workload:` line each, and the measures over all: geometric means, so that each workload
/// weighs the same.
pub fn write(timed: &[Timed], out: &mut Writer) -> Result<(), Stop> {
    for Timed { case, seconds } in timed {
        let mut line = format!("{} kernel_us={:.3}", case.label, seconds.median * 1e6);
        line += &format!(" mad_us={:.3} n={}", seconds.mad * 1e6, seconds.n);
        line += &format!(" gbps={:.2}", case.bytes / seconds.median / 1e9);
        if let Some(flops) = case.flops {
            line += &format!(" gflops={:.2}", flops / seconds.median / 1e9);
        }
        out.line("workload", line + " correctness=pass")?;
    }
    let mean = |value: &dyn Fn(&Timed) -> Option<f64>| {
        let values: Option<Vec<f64>> = timed.iter().map(value).collect();
        values.and_then(measure::geometric_mean)
    };
    let ends = |t: &Timed| t.seconds.interval;
    let rate = |t: &Timed, seconds: f64| t.case.samples / seconds;
    write_measure(
        out,
        "throughput_sps",
        mean(&|t| Some(rate(t, t.seconds.median))),
        mean(&|t| ends(t).map(|(_, high)| rate(t, high))),
        mean(&|t| ends(t).map(|(low, _)| rate(t, low))),
    )?;
    write_measure(
        out,
        "kernel_us",
        mean(&|t| Some(t.seconds.median * 1e6)),
        mean(&|t| ends(t).map(|(low, _)| low * 1e6)),
        mean(&|t| ends(t).map(|(_, high)| high * 1e6)),
    )
}

fn write_measure(
    out: &mut Writer,
    key: &str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
) -> Result<(), Stop> {
    let Some(value) = value else { return Ok(()) };
    match (low, high) {
        (Some(low), Some(high)) => out.line(key, format_args!("{value:.3} low={low:.3} high={high:.3}"))?,
        _ => out.line(key, format_args!("{value:.3}"))?,
    }
    Ok(())
}
