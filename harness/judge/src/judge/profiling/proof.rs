//! The proof that counters can be read here: ncu reads one counter of a tiny kernel. The answer is
//! kept for a while.

use super::under_ncu::{Ran, UnderNcu, WorkerStart};
use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::judge::device_access::DeviceAccess;
use crate::judge::kernel_builder::KernelBuilder;
use crate::judge::processes::{arch, cache_dir, start_compiler, start_worker};
use crate::options::JudgeOptions;
use crate::outcome::Stop;
use crate::process::private_folder::{self, PrivateFolder};
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::profile::proofs::{self, Subject};
use crate::profile::{PROOF_LIMIT, metrics, permission, raw, tiny};
use crate::sink::SharedSink;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Target};
use lab_system::lifetime;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The device and the programs of a proof.
pub struct Proving<'a> {
    pub options: &'a JudgeOptions,
    pub target: Target,
    pub device: &'a DeviceInfo,
    pub cache_dir: &'a Path,
    pub ncu: &'a Ncu,
    /// How long ncu may take.
    pub limit: Duration,
}

impl Proving<'_> {
    /// Whether counters can be read, from an answer that was kept or else by trying. The inner
    /// error says why not, and what to do. With `tries_again` a refusal that was kept does not
    /// count. The builder has a compiler.
    pub fn prove(
        &self,
        builder: &mut KernelBuilder,
        tries_again: bool,
        out: &mut Writer,
    ) -> Result<Result<(), String>, Stop> {
        let subject = Subject::of(self.device, self.ncu);
        let now = super::now().unwrap_or(0);
        let kept = proofs::load(self.cache_dir, &subject, now);
        match kept {
            Some((proof, age)) if !(tries_again && proof.refused.is_some()) => {
                return Ok(proof.refused.map_or(Ok(()), |why| Err(with_age(&why, age))));
            }
            Some(_) | None => {}
        }
        let began = Instant::now();
        let shown = self.try_tiny_kernel(builder);
        if shown.is_ok() {
            let took = began.elapsed().as_secs_f64();
            out.text(&format!(
                "counters can be read: ncu counted a tiny kernel in {took:.1} s"
            ))?;
        }
        if let Err(error) = proofs::store(self.cache_dir, &subject, now, &shown) {
            let folder = self.cache_dir.display();
            out.text(&format!(
                "whether counters can be read is not kept: {folder} cannot be written: {error}"
            ))?;
        }
        Ok(shown)
    }

    /// Counts the tiny kernel. The error says what ncu said, and what to do.
    fn try_tiny_kernel(&self, builder: &mut KernelBuilder) -> Result<(), String> {
        let ncu = self.ncu;
        let cannot = |why: String| {
            // Linux shows it, but ncu may have failed before it came to that.
            let refused = permission::look() == permission::Permission::Refused;
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
        let mut run = || -> Result<Ran, Stop> {
            let image = self.build(builder)?;
            let under_ncu = UnderNcu::new(ncu, vec![tiny::ENTRY.to_owned()], self.cache_dir)?;
            let start = WorkerStart {
                options: self.options,
                target: self.target,
                cache_dir: self.cache_dir,
                forward: Arc::new(|_: &str| {}),
            };
            let ran = under_ncu.run(&start, Counters::Duration, self.limit, |worker| {
                let module = worker.load(&image.path)?;
                worker.launch(&tiny::launch(module)).map(drop)
            })?;
            if let Ran::Reported = ran {
                let launches = raw::read(&under_ncu.page(Page::Raw)?).map_err(Stop::Lab)?;
                if launches
                    .iter()
                    .all(|launch| launch.value(metrics::DURATION).is_none())
                {
                    return Err(Stop::Lab(format!(
                        "its report has no {}",
                        metrics::DURATION
                    )));
                }
            }
            Ok(ran)
        };
        match run() {
            Ok(Ran::Reported) => Ok(()),
            Ok(Ran::NoCounters(why)) => Err(why),
            Ok(Ran::TookTooLong) => {
                let limit = self.limit.as_secs_f64();
                Err(cannot(format!(
                    "it did not end within {limit} s and was ended. Run `{} --version` and an ncu of your own on any program: if that \
                     hangs, install Nsight Compute anew",
                    ncu.path.display()
                )))
            }
            Err(stop) => Err(cannot(stop.to_string())),
        }
    }

    fn build(&self, builder: &mut KernelBuilder) -> Result<lab_device::Image, Stop> {
        let failed = |e: std::io::Error| {
            Stop::Lab(format!(
                "tiny.cu cannot be written in {}: {e}",
                self.cache_dir.display()
            ))
        };
        let folder = PrivateFolder::new_in(&self.cache_dir.join(SNAPSHOTS)).map_err(failed)?;
        let source = folder.path().join("tiny.cu");
        std::fs::write(&source, tiny::SOURCE).map_err(failed)?;
        builder.reference(&source, tiny::HEADER)
    }
}

/// Forgets that counters can be read, because a launch of the candidate has shown otherwise.
pub fn forget(
    device: &DeviceInfo,
    ncu: &Ncu,
    cache_dir: &Path,
    out: &mut Writer,
) -> Result<(), Stop> {
    match proofs::forget(cache_dir, &Subject::of(device, ncu)) {
        Ok(()) => Ok(()),
        Err(error) => Ok(out.text(&format!(
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
pub fn counters_are_readable(options: &JudgeOptions, ncu: &Ncu) -> Result<(), String> {
    try_to_prove(options, ncu).unwrap_or_else(|stop| Err(stop.to_string()))
}

fn try_to_prove(options: &JudgeOptions, ncu: &Ncu) -> Result<Result<(), String>, Stop> {
    lifetime::kill_children_on_signals(private_folder::remove_own)?;
    // `lab doctor` prints findings and nothing else.
    let sink = SharedSink::new(std::io::sink());
    let cache_dir = cache_dir(options)?;
    let target = lab_device::resolve(options.device);
    let device = start_worker(options, Language::Cuda, target, &sink)?
        .ready()?
        .info()
        .clone();
    // Held to the end: a profiled launch beside a measurement would disturb it.
    let lock = DeviceAccess::of(&device, &cache_dir).try_get(DeviceUse::Launching)?;
    if lock.is_none() && !device.emulated {
        return Ok(Err(
            "another run measures on the GPU now, so it was not tried: `lab doctor` again after its end"
                .into(),
        ));
    }
    let compiler = start_compiler(options, target, &sink)?;
    let arch = arch(options, &device);
    let mut builder = KernelBuilder {
        compiler: Some(compiler),
        options,
        cache_dir: &cache_dir,
        arch,
    };
    let proving = Proving {
        options,
        target,
        device: &device,
        cache_dir: &cache_dir,
        ncu,
        limit: PROOF_LIMIT,
    };
    proving.prove(&mut builder, true, &mut sink.writer())
}
