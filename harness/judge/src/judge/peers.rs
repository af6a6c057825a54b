//! The problem's peers: other implementations of it, each in a worker of its own, checked by the same gates and timed in turns
//! with the candidate. [`files`] reads their files, [`prepared`] checks them.
//!
//! A peer that fails never counts against the candidate: its line says why there is no comparison. A candidate that fails in these
//! turns has failed.

mod captured;
mod files;
mod prepared;

pub use files::PeerFiles;

use super::incumbent::Incumbent;
use super::kernel_builder::KernelBuilder;
use super::measuring::{self, Candidate};
use super::run_environment::RunEnvironment;
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, PeerSpec, Timed, WorkerRole};
use captured::Captured;
use lab_protocol::report::{Measure, Report, Writer};
use lab_stats::abba::{AbbaBlock, Ratio};
use prepared::PreparedPeer;
use std::time::Instant;

/// Blocks of turns on the cpu device. Its times say nothing about a GPU.
const BLOCKS_ON_CPU: usize = 2;

/// What a comparison came to.
enum Compared {
    /// The candidate's speed over the peer's, and what else its line says.
    Ratio { whole: Measure, own_us: Option<f64>, launched_as: Option<String>, workloads: Vec<String> },
    /// There is none, for this reason.
    Failed(String),
    /// A launch of the candidate was wrong. What was wrong is in these lines.
    CandidateFailed(String),
}

/// Times the candidate beside each peer, and writes their lines. Returns `Fail` if the candidate was wrong in one of these turns.
pub fn measure(
    env: &RunEnvironment,
    builder: &mut KernelBuilder,
    candidate: Candidate,
    files: &PeerFiles,
    out: &mut Writer,
) -> Result<Correctness, Stop> {
    let Candidate { problem, worker, module, image } = candidate;
    let (peers, began) = (problem.peers().to_vec(), Instant::now());
    for (number, peer) in (1..).zip(&peers) {
        out.progress(number, peers.len() as u64)?;
        let candidate = Candidate { problem: &mut *problem, worker: &mut *worker, module, image };
        let (name, taken) = (&peer.name, began.elapsed());
        let compared = match taken > 2 * env.options.peer_limit {
            true => Compared::Failed(format!(
                "there is no time for it: the peers before it took {} s",
                taken.as_secs()
            )),
            false => compare(env, builder, candidate, (peer, files), out)?,
        };
        match compared {
            Compared::Ratio { whole, own_us, launched_as, workloads } => {
                for workload in workloads {
                    out.line("peer_workload", format_args!("{name} {workload}"))?;
                }
                let mut line = format!("{name} ratio={:.4}", whole.value);
                if let (Some(low), Some(high)) = (whole.low, whole.high) {
                    line += &format!(" low={low:.4} high={high:.4}");
                }
                if let Some(own) = own_us {
                    line += &format!(" us={:.3} own_us={own:.3}", own * whole.value);
                }
                if let Some(how) = launched_as {
                    line += &format!(" launched_as={how}");
                }
                out.line("peer", line)?;
            }
            Compared::Failed(why) => {
                let why = why.lines().next().unwrap_or_default().replace(' ', "~");
                out.line("peer", format_args!("{name} failed={why}"))?;
            }
            Compared::CandidateFailed(lines) => {
                for line in lines.lines() {
                    match line.split_once(": ") {
                        Some((key, value)) => out.line(key, value)?,
                        None => out.text(line)?,
                    }
                }
                return Ok(Correctness::Fail);
            }
        }
    }
    Ok(Correctness::Pass)
}

/// Compares with one peer. An error is the candidate's or the lab's.
fn compare(
    env: &RunEnvironment,
    builder: &mut KernelBuilder,
    candidate: Candidate,
    (spec, files): (&PeerSpec, &PeerFiles),
    out: &mut Writer,
) -> Result<Compared, Stop> {
    let file = match files.of(spec) {
        Ok(file) => file,
        Err(why) => return Ok(Compared::Failed(why)),
    };
    if let Some(changed) = files.changed() {
        let why = format!("{changed} changed while the peers ran, and so nothing is compared with it");
        return Ok(Compared::Failed(why));
    }
    let failed = |why: &str| Compared::Failed(prepared::with_place(why, spec, &file.text()));
    let peer = match PreparedPeer::set_up(env, builder, &*candidate.problem, (spec, file), out) {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(why)) => return Ok(failed(&why)),
        Err(stop) => return Ok(failed(&stop.to_string())),
    };
    let _access = env.access.wait(DeviceUse::Measuring, out)?;
    let (log, mut lines) = Captured::new();
    let compared = if env.device.emulated {
        env.with_context(builder, &mut lines, |cx| on_cpu(cx, candidate, peer.ready))?
    } else {
        let mut beside = Some(peer.ready);
        let plan = &env.options.plan;
        let verdict = env.with_context(builder, &mut lines, |cx| {
            measuring::measure(cx, plan, candidate, &mut beside, &mut |_| Ok(false))
        })?;
        match verdict {
            Correctness::Fail => None,
            Correctness::Pass => Some(of_report(&Report::read(&log.text()))),
        }
    };
    Ok(match compared {
        Some(Compared::Failed(why)) => failed(&why),
        Some(compared) => compared,
        None => Compared::CandidateFailed(log.text()),
    })
}

/// What the lines of a measurement with an incumbent say of the peer in its place.
fn of_report(report: &Report) -> Compared {
    let Some(comparison) = report.comparison() else {
        let why =
            report.caveats().last().cloned().unwrap_or_else(|| "there was no time for its turns".into());
        return Compared::Failed(why);
    };
    let workloads = report.workload_figures().into_iter().filter_map(|workload| {
        let ratio = workload.ratio?;
        let us = workload.us.map_or_else(String::new, |own| format!(" us={:.3}", own.value * ratio.value));
        let ends = ratio.low.zip(ratio.high);
        let ends =
            ends.map_or_else(String::new, |(low, high)| format!(" ratio_low={low:.4} ratio_high={high:.4}"));
        Some(format!("{}{us} ratio={:.4}{ends}", workload.name, ratio.value))
    });
    Compared::Ratio {
        whole: comparison.ratio,
        own_us: report.number("kernel_us").filter(|us| us.is_finite()),
        launched_as: report.value("launched_as").map(str::to_owned),
        workloads: workloads.collect(),
    }
}

/// A few turns of both on the emulated device. `None` if the candidate was wrong.
fn on_cpu(
    cx: &mut problem::ProblemContext,
    candidate: Candidate,
    mut peer: Incumbent,
) -> Result<Option<Compared>, Stop> {
    let Candidate { problem, worker, module, .. } = candidate;
    let mut own = problem.set_up(cx, worker, module, WorkerRole::Verified)?;
    let mut inputs = own.inputs();
    let mut blocks = Vec::new();
    let mut turns = Vec::new();
    for _ in 0..BLOCKS_ON_CPU {
        let (Some(first), Some(second)) = (inputs.next(), inputs.next()) else { break };
        let before = peer.turn(first);
        let mut between = [0.0; 2];
        for (seconds, inputs) in between.iter_mut().zip([first, second]) {
            let Some(turn) = own.turn(worker, inputs, cx.out)? else { return Ok(None) };
            *seconds = own.seconds_of_turn(&turn).unwrap_or(f64::NAN);
            turns.push(turn);
        }
        let after = peer.turn(second);
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(why), _) | (_, Err(why)) => return Ok(Some(Compared::Failed(why))),
        };
        let whole = |turn: &[f64]| own.seconds_of_turn(turn).unwrap_or(f64::NAN);
        blocks.push(AbbaBlock { a: [whole(&before), whole(&after)], b: between });
    }
    if own.check(worker, cx.out)? == Correctness::Fail {
        return Ok(None);
    }
    Ok(Some(match Ratio::of_blocks(&blocks) {
        Some(ratio) => {
            let whole = Measure { value: ratio.value(), low: None, high: None };
            Compared::Ratio { whole, own_us: own_us(&*own, &turns), launched_as: None, workloads: Vec::new() }
        }
        None => Compared::Failed("the problem has too few inputs for its turns".into()),
    }))
}

/// Microseconds that stand for a launch of a turn.
fn own_us(timed: &dyn Timed, turns: &[Vec<f64>]) -> Option<f64> {
    let mut seconds: Vec<f64> = turns.iter().filter_map(|turn| timed.seconds_of_turn(turn)).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).map(|seconds| seconds * 1e6)
}
