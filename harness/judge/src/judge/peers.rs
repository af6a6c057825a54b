//! The problem's peers: other implementations of it, each in a worker of its own, checked by the
//! same gates and timed in turns with the candidate. [`files`] reads their files, [`prepared`]
//! checks them.
//!
//! A peer that fails never counts against the candidate: its line says why there is no comparison.
//! A candidate that fails in these turns has failed.

mod captured;
mod files;
mod prepared;

pub use files::PeerFiles;

use super::incumbent::Incumbent;
use super::kernel_builder::KernelBuilder;
use super::measuring::{self, Candidate};
use super::session::Session;
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, LeftOut, PeerSpec, Problem, Timed, WorkerRole, WorkloadFigures};
use captured::Captured;
use lab_protocol::report::{Measure, Report, Writer};
use lab_stats::abba::{AbbaBlock, Ratio};
use prepared::PreparedPeer;
use std::time::Instant;

/// Blocks of turns on the cpu device. Its times say nothing about a GPU.
const BLOCKS_ON_CPU: usize = 2;

/// What a comparison came to.
enum Compared {
    /// The candidate's speed over the peer's.
    Ratio(Box<PeerFigures>),
    /// There is none, for this reason.
    Failed(String),
    /// A launch of the candidate was wrong. What was wrong is in these lines.
    CandidateFailed(String),
}

/// What the lines of a peer say.
struct PeerFigures {
    whole: Measure,
    own_us: Option<f64>,
    launched_as: Option<String>,
    workloads: Vec<String>,
    /// The workloads that the peer does not compute, of how many.
    left_out: Vec<LeftOut>,
    of: usize,
}

impl PeerFigures {
    fn write(&self, name: &str, out: &mut Writer) -> Result<(), Stop> {
        for workload in &self.workloads {
            out.line("peer_workload", format_args!("{name} {workload}"))?;
        }
        for LeftOut { label, why } in &self.left_out {
            out.line(
                "peer_left_out",
                format_args!("{name} {label} why={}", in_a_word(why)),
            )?;
        }
        let mut line = format!("{name} ratio={:.4}", self.whole.value);
        if let (Some(low), Some(high)) = (self.whole.low, self.whole.high) {
            line += &format!(" low={low:.4} high={high:.4}");
        }
        if let Some(own) = self.own_us {
            line += &format!(" us={:.3} own_us={own:.3}", own * self.whole.value);
        }
        if let Some(how) = &self.launched_as {
            line += &format!(" launched_as={how}");
        }
        if !self.left_out.is_empty() {
            let compared = self.of.saturating_sub(self.left_out.len());
            line += &format!(" workloads={compared} of={}", self.of);
        }
        Ok(out.line("peer", line)?)
    }
}

/// The first line of a text, with `~` for blanks: a value of a result line.
fn in_a_word(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace(' ', "~")
}

/// Times the candidate beside each peer, and writes their lines. Returns `Fail` if the candidate
/// was wrong in one of these turns.
pub fn measure(
    env: &Session,
    builder: &mut KernelBuilder,
    mut candidate: Candidate,
    files: &PeerFiles,
    out: &mut Writer,
) -> Result<Correctness, Stop> {
    let (peers, began) = (candidate.problem.peers().to_vec(), Instant::now());
    for (number, peer) in (1..).zip(&peers) {
        out.progress(number, peers.len() as u64)?;
        let (name, taken) = (&peer.name, began.elapsed());
        let compared = match number > 1 && taken > 2 * env.request.peer_limit {
            true => Compared::Failed(format!(
                "there is no time for it: the peers before it took {} s",
                taken.as_secs()
            )),
            false => compare(env, builder, candidate.again(), (peer, files), out)?,
        };
        match compared {
            Compared::Ratio(figures) => figures.write(name, out)?,
            Compared::Failed(why) => {
                out.line("peer", format_args!("{name} failed={}", in_a_word(&why)))?;
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
    env: &Session,
    builder: &mut KernelBuilder,
    mut candidate: Candidate,
    (spec, files): (&PeerSpec, &PeerFiles),
    out: &mut Writer,
) -> Result<Compared, Stop> {
    let file = match files.of(spec) {
        Ok(file) => file,
        Err(why) => return Ok(Compared::Failed(why)),
    };
    if let Some(changed) = files.changed() {
        let why =
            format!("{changed} changed while the peers ran, and so nothing is compared with it");
        return Ok(Compared::Failed(why));
    }
    let failed = |why: &str| Compared::Failed(prepared::with_place(why, spec, &file.text()));
    let peer = match PreparedPeer::set_up(env, builder, &*candidate.problem, (spec, file), out) {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(why)) => return Ok(failed(&why)),
        Err(stop) => return Ok(failed(&stop.to_string())),
    };
    let PreparedPeer {
        ready,
        mut left_out,
        of,
    } = peer;
    for left in &mut left_out {
        left.why = prepared::with_place(&left.why, spec, &file.text());
    }
    let mut part = None;
    if !left_out.is_empty() {
        let (log, mut lines) = Captured::new();
        match without(env, builder, &mut candidate, &left_out, out, &mut lines)? {
            Ok((problem, Correctness::Pass)) => part = Some(problem),
            Ok((_, Correctness::Fail)) => return Ok(Compared::CandidateFailed(log.text())),
            Err(why) => return Ok(Compared::Failed(why)),
        }
    }
    let candidate = match &mut part {
        Some(problem) => Candidate {
            problem: &mut **problem,
            ..candidate.again()
        },
        None => candidate.again(),
    };
    let _access = env.access.wait(DeviceUse::Measuring, out)?;
    let (log, mut lines) = Captured::new();
    let compared = if env.device.emulated {
        env.with_context(builder, &mut lines, |cx| on_cpu(cx, candidate, ready))?
    } else {
        let mut beside = Some(ready);
        let plan = &env.request.plan;
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
        Some(Compared::Ratio(figures)) => Compared::Ratio(Box::new(PeerFigures {
            left_out,
            of,
            ..*figures
        })),
        Some(compared) => compared,
        None => Compared::CandidateFailed(log.text()),
    })
}

/// A problem, and whether the candidate passes it.
type JudgedProblem = (Box<dyn Problem>, Correctness);

/// The problem without these workloads, which the candidate has passed. `Err(why)` where the lab
/// has no place for its buffers beside those of all workloads.
fn without(
    env: &Session,
    builder: &mut KernelBuilder,
    candidate: &mut Candidate,
    left_out: &[LeftOut],
    out: &mut Writer,
    lines: &mut Writer,
) -> Result<Result<JudgedProblem, String>, Stop> {
    let mut problem = problem::open(&env.request.folder)?;
    problem.use_workloads(env.request.when);
    problem.leave_out(&prepared::labels(left_out));
    let _access = env.access.wait(DeviceUse::Launching, out)?;
    let verdict = env.with_context(builder, lines, |cx| {
        problem.prepare(cx, candidate.worker)?;
        problem.verify(cx, candidate.worker, candidate.module)
    });
    match verdict {
        Ok(verdict) => Ok(Ok((problem, verdict))),
        Err(Stop::Lab(why) | Stop::Problem(why)) => Ok(Err(why)),
        Err(stop) => Err(stop),
    }
}

/// What the lines of a measurement with an incumbent say of the peer in its place.
fn of_report(report: &Report) -> Compared {
    let Some(comparison) = report.comparison() else {
        let why = report
            .caveats()
            .last()
            .cloned()
            .unwrap_or_else(|| "there was no time for its turns".into());
        return Compared::Failed(why);
    };
    let workloads = report
        .workload_figures()
        .into_iter()
        .filter_map(|workload| {
            let ratio = workload.ratio?;
            let us = workload.us.map_or_else(String::new, |own| {
                format!(" us={:.3}", own.value * ratio.value)
            });
            let ends = ratio.low.zip(ratio.high);
            let ends = ends.map_or_else(String::new, |(low, high)| {
                format!(" ratio_low={low:.4} ratio_high={high:.4}")
            });
            Some(format!(
                "{}{us} ratio={:.4}{ends}",
                workload.name, ratio.value
            ))
        });
    Compared::Ratio(Box::new(PeerFigures {
        whole: comparison.ratio,
        own_us: report.number("kernel_us").filter(|us| us.is_finite()),
        launched_as: report.value("launched_as").map(str::to_owned),
        workloads: workloads.collect(),
        left_out: Vec::new(),
        of: 0,
    }))
}

/// A few turns of both on the emulated device. `None` if the candidate was wrong.
fn on_cpu(
    cx: &mut problem::ProblemContext,
    candidate: Candidate,
    mut peer: Incumbent,
) -> Result<Option<Compared>, Stop> {
    let Candidate {
        problem,
        worker,
        module,
        ..
    } = candidate;
    let mut own = problem.set_up(cx, worker, module, WorkerRole::Verified)?;
    let mut inputs = own.inputs();
    let mut blocks = Vec::new();
    let (mut turns, mut of_each) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS_ON_CPU {
        let (Some(first), Some(second)) = (inputs.next(), inputs.next()) else {
            break;
        };
        let before = peer.turn(first);
        let mut between = [0.0; 2];
        for (seconds, inputs) in between.iter_mut().zip([first, second]) {
            let Some(turn) = own.turn(worker, inputs, cx.out)? else {
                return Ok(None);
            };
            *seconds = own.seconds_of_turn(&turn).unwrap_or(f64::NAN);
            turns.push(turn);
        }
        let after = peer.turn(second);
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(why), _) | (_, Err(why)) => return Ok(Some(Compared::Failed(why))),
        };
        of_each.push([before.clone(), after.clone()]);
        let whole = |turn: &[f64]| own.seconds_of_turn(turn).unwrap_or(f64::NAN);
        blocks.push(AbbaBlock {
            a: [whole(&before), whole(&after)],
            b: between,
        });
    }
    if own.check(worker, cx.out)? == Correctness::Fail {
        return Ok(None);
    }
    Ok(Some(match Ratio::of_blocks(&blocks) {
        Some(ratio) => {
            let whole = Measure {
                value: ratio.value(),
                low: None,
                high: None,
            };
            Compared::Ratio(Box::new(PeerFigures {
                whole,
                own_us: own_us(&*own, &turns),
                launched_as: None,
                workloads: of_workloads(&*own, &turns, &of_each),
                left_out: Vec::new(),
                of: 0,
            }))
        }
        None => Compared::Failed("the problem has too few inputs for its turns".into()),
    }))
}

/// The ratio of each of several workloads, over the turns of both. `of_peer` has two turns for each
/// two of the candidate.
fn of_workloads(own: &dyn Timed, turns: &[Vec<f64>], of_peer: &[[Vec<f64>; 2]]) -> Vec<String> {
    let named = own.workloads(turns);
    if named.len() < 2 {
        return Vec::new();
    }
    let of = |(at, workload): (usize, WorkloadFigures)| {
        let at = |turn: &[f64]| turn.get(at).copied().unwrap_or(f64::NAN);
        let pairs = of_peer.iter().zip(turns.chunks_exact(2));
        let blocks = pairs.map(|(a, b)| AbbaBlock {
            a: [at(&a[0]), at(&a[1])],
            b: [at(&b[0]), at(&b[1])],
        });
        let ratio = Ratio::of_blocks(&blocks.collect::<Vec<_>>())?.value();
        Some(format!(
            "{} us={:.3} ratio={ratio:.4}",
            workload.label,
            workload.seconds.median * 1e6 * ratio
        ))
    };
    named.into_iter().enumerate().filter_map(of).collect()
}

/// Microseconds that stand for a launch of a turn.
fn own_us(timed: &dyn Timed, turns: &[Vec<f64>]) -> Option<f64> {
    let mut seconds: Vec<f64> = turns
        .iter()
        .filter_map(|turn| timed.seconds_of_turn(turn))
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).map(|seconds| seconds * 1e6)
}
