//! The problem's peers: other implementations of it, each in a worker of its own, checked by the
//! same gates and timed in turns with the candidate. [`files`] reads their files, [`prepared`]
//! checks them.
//!
//! A peer that fails never counts against the candidate: its line says why there is no comparison.
//! A candidate that fails in these turns has failed.

mod files;
mod prepared;

pub use files::PeerFiles;

use super::incumbent::no_comparison;
use super::measuring::{self, Candidate};
use super::session::Session;
use crate::device_lock::DeviceUse;
use crate::outcome::{Result, Stop};
use crate::problem::{LeftOut, PeerSpec, Prepared};
use lab_protocol::plan::{Discipline, Plan};
use lab_protocol::report::{Measure, Report, Writer, ends_words};
use prepared::{LoadedPeer, PreparedPeer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The turns on the cpu device: two blocks. Its times say nothing about a GPU.
const ON_CPU: Discipline = Discipline {
    warm_up: 0,
    iterations: 4,
    trials: 1,
};

/// Turns of a peer that its budget holds at least: two in each of ten blocks, with as many of the
/// candidate between them. Three blocks decide which of the two is faster, but leave the interval
/// of a workload as wide as ±20 %.
const TURNS: u32 = 40;

/// Turns of a peer that its budget holds however long one takes. As many as decide fit into the
/// patience of such a budget.
const LEAST_TURNS: u32 = 4;

/// The most time that [`TURNS`] may take. A slower peer gets as many turns as decide.
const LONGEST: Duration = Duration::from_secs(6);

/// What a peer's comparison says, or why the two were not compared.
type Compared = Result<PeerFigures, String>;

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
    fn write(&self, name: &str, out: &mut Writer) -> Result {
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
        line += &ends_words("", self.whole.low.zip(self.whole.high));
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

/// Times the candidate beside each peer, and writes their lines. Returns [`Stop::Wrong`] if the
/// candidate was wrong in one of these turns.
pub fn measure(session: &mut Session, mut candidate: Candidate, files: &PeerFiles) -> Result {
    let (peers, began) = (candidate.problem.peers().to_vec(), Instant::now());
    session.out.progress(0, peers.len() as u64)?;
    let read = |peer| Ok((peer, files.of(peer).map_err(Stop::Problem)?));
    let read = peers.iter().map(read).collect();
    let loaded = LoadedPeer::load_all(session, &*candidate.problem, read);
    let loaded_s = format!("{:.1}", began.elapsed().as_secs_f64());
    session.out.line("peers_loaded_s", loaded_s)?;
    for ((number, peer), loaded) in (1..).zip(&peers).zip(loaded) {
        session.out.progress(number, peers.len() as u64)?;
        let (name, taken) = (&peer.name, began.elapsed());
        let compared = if number > 1 && taken > 2 * session.request.peer_limit {
            Err(format!(
                "there is no time for it: the peers before it took {} s",
                taken.as_secs()
            ))
        } else {
            compare(session, candidate.again(), (peer, files), loaded)?
        };
        let out = &mut session.out;
        match compared {
            Ok(figures) => figures.write(name, out)?,
            Err(why) => {
                out.line("peer", format_args!("{name} failed={}", in_a_word(&why)))?;
            }
        }
    }
    Ok(())
}

/// Compares with one peer. An error is the candidate's or the lab's.
fn compare(
    session: &mut Session,
    mut candidate: Candidate,
    (spec, files): (&PeerSpec, &PeerFiles),
    loaded: Result<LoadedPeer>,
) -> Result<Compared> {
    let file = match files.of(spec) {
        Ok(file) => file,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(changed) = files.changed() {
        let why =
            format!("{changed} changed while the peers ran, and so nothing is compared with it");
        return Ok(Err(why));
    }
    let source = String::from_utf8_lossy(file).into_owned();
    let failed = |why: &str| Err(prepared::with_place(why, spec, &source));
    let problem = &*candidate.problem;
    let peer = loaded.and_then(|peer| PreparedPeer::set_up(session, problem, (spec, file), peer));
    let peer = match peer {
        Ok(prepared) => prepared,
        Err(stop) => return Ok(failed(&stop.to_string())),
    };
    let PreparedPeer {
        ready,
        spent,
        mut left_out,
        of,
    } = peer;
    for left in &mut left_out {
        left.why = prepared::with_place(&left.why, spec, &source);
    }
    let mut part = None;
    if !left_out.is_empty() {
        match without(session, &mut candidate, &left_out)? {
            Ok(problem) => part = Some(problem),
            Err(why) => return Ok(Err(why)),
        }
    }
    let candidate = match &mut part {
        Some(problem) => Candidate {
            problem,
            ..candidate.again()
        },
        None => candidate.again(),
    };
    let _access = session.wait(DeviceUse::Measuring)?;
    let (request, emulated) = (Arc::clone(&session.request), session.device.emulated);
    let on_cpu = Plan {
        budget: Duration::MAX,
        trials: Some(ON_CPU),
        ..request.plan.clone()
    };
    // Nobody waits for a peer as for a save: its turns may take what they need.
    let turn = ready.turn_duration();
    let patient = Plan {
        budget: request
            .plan
            .budget
            .max((TURNS * turn).min(LONGEST))
            .max(LEAST_TURNS * turn),
        ..request.plan.clone()
    };
    let plan = if emulated { &on_cpu } else { &patient };
    let (mut beside, began) = (Some(ready), Instant::now());
    let (verdict, lines) = session
        .capture(|cx| measuring::measure(cx, plan, candidate, &mut beside, &mut |_| Ok(false)));
    let turns = began.elapsed().as_secs_f64();
    session.out.line(
        "peer_seconds",
        format_args!("{} {spent} turns={turns:.1}", spec.name),
    )?;
    if let Err(Stop::Wrong) = verdict {
        session.out.append(&lines)?;
    }
    verdict?;
    Ok(match of_report(&Report::read(&lines), emulated) {
        Ok(figures) => Ok(PeerFigures {
            left_out,
            of,
            ..figures
        }),
        Err(why) => failed(&why),
    })
}

/// The problem without these workloads, which the candidate has passed. `Err(why)` where the lab
/// has no place for its buffers beside those of all workloads.
fn without(
    session: &mut Session,
    candidate: &mut Candidate,
    left_out: &[LeftOut],
) -> Result<Result<Prepared, String>> {
    let mut problem = session.open_problem()?;
    problem.leave_out(&prepared::labels(left_out));
    let _access = session.wait(DeviceUse::Launching)?;
    let (verdict, lines) = session.capture(|cx| {
        let mut problem = problem.prepare(cx, candidate.worker)?;
        problem.verify(cx, candidate.worker, candidate.module)?;
        Ok(problem)
    });
    match verdict {
        Ok(problem) => Ok(Ok(problem)),
        Err(Stop::Lab(why) | Stop::Problem(why)) => Ok(Err(why)),
        Err(stop) => {
            if matches!(stop, Stop::Wrong) {
                session.out.append(&lines)?;
            }
            Err(stop)
        }
    }
}

/// What the lines of a measurement with an incumbent say of the peer in its place, or why there is
/// no comparison. Two blocks on the emulated device show no interval. A single workload is the whole
/// there.
fn of_report(report: &Report, emulated: bool) -> Result<PeerFigures, String> {
    let Some(comparison) = report.comparison() else {
        let why = report.caveats().last().map(String::as_str);
        let why = why.unwrap_or("there was no time for its turns");
        let own = why.strip_prefix(&no_comparison("")).filter(|_| emulated);
        return Err(own.unwrap_or(why).to_owned());
    };
    let shown = |ratio: Measure| {
        if emulated {
            Measure {
                low: None,
                high: None,
                ..ratio
            }
        } else {
            ratio
        }
    };
    let workloads = report
        .workload_figures()
        .into_iter()
        .filter_map(|workload| {
            let ratio = shown(workload.ratio?);
            let us = workload.us.map_or_else(String::new, |own| {
                format!(" us={:.3}", own.value * ratio.value)
            });
            let ends = ends_words("ratio_", ratio.low.zip(ratio.high));
            Some(format!(
                "{}{us} ratio={:.4}{ends}",
                workload.name, ratio.value
            ))
        });
    let mut workloads: Vec<String> = workloads.collect();
    if emulated && workloads.len() < 2 {
        workloads.clear();
    }
    let launched_as = report.value("launched_as").filter(|_| !emulated);
    Ok(PeerFigures {
        whole: shown(comparison.ratio),
        own_us: report.number("kernel_us").filter(|us| us.is_finite()),
        launched_as: launched_as.map(str::to_owned),
        workloads,
        left_out: Vec::new(),
        of: 0,
    })
}
