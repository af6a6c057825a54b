//! The proof that counters can be read here: ncu reads one counter of a tiny kernel. The answer is
//! kept for a while.

use super::under_ncu::{Ran, UnderNcu};
use crate::device_lock::DeviceUse;
use crate::judge::processes::no_output;
use crate::judge::session::Session;
use crate::outcome::{Result, Stop};
use crate::process::private_folder;
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::profile::proofs::{self, Subject};
use crate::profile::{metrics, permission, raw, tiny};
use crate::sink::SharedSink;
use lab_protocol::{JudgeRequest, Language, ProfileRequest};
use lab_system::lifetime;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whether counters can be read, from an answer that was kept or else by trying, for which ncu may
/// take `limit`. The inner error says why not, and what to do. With `tries_again` a refusal that was
/// kept does not count. The session has a compiler.
pub fn prove(
    session: &mut Session,
    ncu: &Ncu,
    limit: Duration,
    tries_again: bool,
) -> Result<Result<(), String>> {
    let subject = Subject::of(&session.device, ncu);
    let now = super::now().unwrap_or(0);
    let kept = proofs::load(&session.cache_dir, &subject, now);
    match kept {
        Some((proof, age)) if !(tries_again && proof.refused.is_some()) => {
            return Ok(proof.refused.map_or(Ok(()), |why| Err(with_age(&why, age))));
        }
        Some(_) | None => {}
    }
    let began = Instant::now();
    let shown = try_tiny_kernel(session, ncu, limit);
    if shown.is_ok() {
        let took = began.elapsed().as_secs_f64();
        session.out.text(&format!(
            "counters can be read: ncu counted a tiny kernel in {took:.1} s"
        ))?;
    }
    if let Err(error) = proofs::store(&session.cache_dir, &subject, now, &shown) {
        let folder = session.cache_dir.display();
        session.out.text(&format!(
            "whether counters can be read is not kept: {folder} cannot be written: {error}"
        ))?;
    }
    Ok(shown)
}

/// Counts the tiny kernel. The error says what ncu said, and what to do.
fn try_tiny_kernel(session: &mut Session, ncu: &Ncu, limit: Duration) -> Result<(), String> {
    let cannot = |why: String| {
        // Linux shows the refusal, but ncu may have failed before the driver refused it.
        let refused = permission::is_allowed() == Some(false);
        let remedy = if refused {
            format!(". And {}", permission::refused())
        } else {
            String::new()
        };
        format!(
            "{} (ncu {}) counts no tiny kernel: {why}{remedy}",
            ncu.path.display(),
            ncu.version
        )
    };
    match run_tiny_kernel(session, ncu, limit) {
        Ok(Ran::Reported) => Ok(()),
        Ok(Ran::NoCounters(why)) => Err(why),
        Ok(Ran::TookTooLong) => Err(cannot(format!(
            "it did not end within {} s and was ended. Run `{} --version` and an ncu of your own on any program: if that hangs, \
             install Nsight Compute anew",
            limit.as_secs_f64(),
            ncu.path.display()
        ))),
        Err(stop) => Err(cannot(stop.to_string())),
    }
}

fn run_tiny_kernel(session: &mut Session, ncu: &Ncu, limit: Duration) -> Result<Ran> {
    let image = session
        .builder
        .own_source("tiny.cu", tiny::SOURCE, tiny::HEADER)?;
    let under_ncu = UnderNcu::new(ncu, vec![tiny::ENTRY.to_owned()], &session.cache_dir)?;
    let counters = Counters::Duration;
    let ran = under_ncu.run(session, no_output(), counters, limit, |_, worker| {
        let module = worker.load(&image)?;
        worker.launch(&tiny::launch(module)).map(drop)
    })?;
    if let Ran::Reported = ran {
        let launches = under_ncu.read(Page::Raw, raw::read)?;
        let mut durations = launches
            .iter()
            .filter_map(|launch| launch.value(metrics::DURATION));
        if durations.next().is_none() {
            let missing = format!("its report has no {}", metrics::DURATION);
            return Err(Stop::Lab(missing));
        }
    }
    Ok(ran)
}

/// Forgets that counters can be read, because a launch of the candidate has shown otherwise.
pub fn forget(session: &mut Session, ncu: &Ncu) -> Result {
    let cache_dir = &session.cache_dir;
    match proofs::forget(cache_dir, &Subject::of(&session.device, ncu)) {
        Ok(()) => Ok(()),
        Err(error) => Ok(session.out.text(&format!(
            "{} cannot be written, so the next profile starts with this ncu, too: {error}",
            cache_dir.display()
        ))?),
    }
}

/// A refusal with its age, so that nobody takes it for a new one.
fn with_age(why: &str, seconds: u64) -> String {
    let age = if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min", seconds / 60)
    };
    format!("{why} (seen {age} ago; `lab doctor` tries again)")
}

/// Whether this user can read counters with this ncu, for `lab doctor`: a refusal that was kept
/// does not count. The error says why not, and what to do. If a signal ends the calling process, it
/// ends its children first.
pub fn counters_are_readable(request: JudgeRequest, ncu: &Ncu) -> Result<(), String> {
    try_to_prove(request, ncu).unwrap_or_else(|stop| Err(stop.to_string()))
}

fn try_to_prove(request: JudgeRequest, ncu: &Ncu) -> Result<Result<(), String>> {
    lifetime::kill_children_on_signals(private_folder::remove_own)?;
    // `lab doctor` prints findings and nothing else.
    let sink = SharedSink::new(std::io::sink());
    let (mut session, worker) =
        Session::open(&Arc::new(request), &sink, (Language::Cuda, None), true)?;
    drop(worker);
    // Held to the end: a profiled launch beside a measurement would disturb it.
    let lock = session.access.try_take(DeviceUse::Launching)?;
    if lock.is_none() && !session.device.emulated {
        return Ok(Err(
            "another run measures on the GPU now, so it was not tried: `lab doctor` again after its end"
                .into(),
        ));
    }
    prove(&mut session, ncu, ProfileRequest::PROOF_LIMIT, true)
}
