//! `lab harness --profile`: launches one workload of the candidate under ncu and writes
//! profile.json. Where no counters can be read, it writes what the image says. Compares no results
//! and times nothing.

mod counters;
mod durations;
mod least;
mod proof;
mod under_ncu;

use super::kernel_snapshot::KernelSnapshot;
use super::session::Session;
use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::outcome::Stop;
use crate::problem::Problem;
use crate::profile::file;
use crate::profile::image::{self, BuiltImage};
use crate::profile::ncu::{self, Ncu};
use crate::profile::workload::{self, ProfileCase};
use crate::sink::SharedSink;
use crate::worker::{Launched, Worker};
use counters::Counted;
use lab_device::{DeviceInfo, Image};
use lab_protocol::profile::{LaunchShape, ListedKernel, Origin, Profile, VERSION};
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{JudgeRequest, Language, ProfileRequest};
use lab_system::atomic_file;
use least::differences;
use proof::Proving;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use proof::counters_are_readable;

/// Profiles one launch, or times a launch of each workload, and writes the file into the folder of
/// the request.
pub fn profile(
    request: &Arc<JudgeRequest>,
    asked: &ProfileRequest,
    sink: &SharedSink,
) -> Result<(), Stop> {
    let out = &mut sink.writer();
    let (session, mut builder, mut problem) = Session::open_for_tool(
        request,
        sink,
        "`lab profile` reads the counters of CUDA C++ kernels: profile the interpreter with ncu itself",
        out,
    )?;
    let cases = problem.profile_cases(&session.device);
    let wanted = asked.workload.as_deref();
    let wanted = wanted.filter(|_| !asked.is_of_all_workloads());
    let chosen = workload::choose(&cases, wanted).map_err(Stop::Lab)?;
    let snapshot = KernelSnapshot::take(request, &session.cache_dir.join(SNAPSHOTS))?;
    let built = builder.candidate(&snapshot, &problem.build_needs(&session.device))?;
    let resources = Resources {
        registers: built.registers,
        spill_bytes: built.spill_bytes,
        shared_bytes: built.shared_bytes,
    };
    let image = builder.write_build(built, out)?;
    let bytes = std::fs::read(&image.path)
        .map_err(|e| Stop::Lab(format!("{} cannot be read: {e}", image.path.display())))?;

    // Another run's launches would change the counters, and the replays its times.
    let _access = session.access.wait(DeviceUse::Measuring, out)?;
    let mut profiling = Profiling {
        session: &session,
        asked,
        image: &image,
        arch: lab_device::image_target(&bytes).unwrap_or_default(),
        kernels: lab_device::image_kernels(&bytes),
        resources,
    };
    out.stage(Stage::Measure)?;
    let tool = match installed_ncu(asked, &session.device) {
        Ok(ncu) => {
            let proving = Proving {
                session: &session,
                ncu: &ncu,
                limit: asked.proof_limit,
            };
            proving.prove(&mut builder, false, out)?.map(|()| ncu)
        }
        Err(why) => Err(why),
    };
    drop(builder);
    if asked.is_of_all_workloads() {
        return profiling.time_all(&mut *problem, &cases, tool, out);
    }
    profiling.profile_one(&mut *problem, (chosen, &cases[chosen]), tool, out)
}

/// The ncu to use, or why there is none, and what to do.
fn installed_ncu(asked: &ProfileRequest, device: &DeviceInfo) -> Result<Ncu, String> {
    if let Some(named) = &asked.ncu {
        return Ncu::at(named.clone());
    }
    if device.emulated {
        return Err(
            "the cpu device has no counters: profile on a machine with an NVIDIA GPU".into(),
        );
    }
    Ncu::at(ncu::find().ok_or_else(|| ncu::REMEDY.to_owned())?)
}

/// What the compiler reports of the image.
struct Resources {
    registers: Option<u32>,
    spill_bytes: Option<u32>,
    shared_bytes: Option<u32>,
}

/// What stays the same for all launches of a profile.
struct Profiling<'a> {
    session: &'a Session,
    asked: &'a ProfileRequest,
    image: &'a Image,
    /// The image's target; empty on the cpu device.
    arch: String,
    /// The functions of the image; empty on the cpu device.
    kernels: Vec<String>,
    resources: Resources,
}

impl Profiling<'_> {
    /// Profiles one workload and writes profile.json.
    fn profile_one(
        &mut self,
        problem: &mut dyn Problem,
        (number, case): (usize, &ProfileCase),
        tool: Result<Ncu, String>,
        out: &mut Writer,
    ) -> Result<(), Stop> {
        out.line("profile_workload", &case.label)?;
        let counted = match tool {
            Ok(ncu) => {
                let set = self.asked.set.name();
                out.line("profiler", format_args!("ncu {} set={set}", ncu.version))?;
                let counted = self.count(problem, &ncu, (number, case), out)?;
                if counted.is_err() {
                    proof::forget(self.session, &ncu, out)?;
                }
                counted
            }
            Err(why) => Err(why),
        };
        let profile = match counted {
            Ok(counted) => self.with_counters(case, counted),
            Err(why) => {
                out.text(&format!("no counters: {why}"))?;
                self.of_image(problem, (number, case), why, out)?
            }
        };
        write(&self.asked.out, file::PROFILE, &profile)?;
        out.line("profile", file::PROFILE)?;
        Ok(())
    }

    /// Makes launches on this worker.
    fn launch(
        &self,
        problem: &mut dyn Problem,
        worker: &mut Worker,
        cases: &[usize],
        launched: &mut Vec<Launched>,
        out: &mut Writer,
    ) -> Result<(), Stop> {
        let module = worker.load(&self.image.path)?;
        self.session.with_one_worker("a profile", out, |cx| {
            for case in cases {
                problem.launch_for_profile(cx, worker, module, *case)?;
                launched.push(worker.launched().cloned().unwrap_or_default());
            }
            Ok(())
        })
    }

    /// The profile with counters.
    fn with_counters(&self, case: &ProfileCase, counted: Counted) -> Profile {
        let Counted {
            origin,
            longest,
            kernels,
            findings,
            lines,
            mut missing,
            launched,
        } = counted;
        let image = self.image_facts(&longest.entry, launched.as_ref(), &mut missing);
        Profile {
            version: VERSION,
            origin,
            device: longest
                .device
                .clone()
                .unwrap_or_else(|| self.session.device.name.clone()),
            arch: self.arch.clone(),
            entry: longest.entry,
            workload: case.label.clone(),
            launch: longest.launch,
            metrics: longest.metrics,
            findings,
            lines,
            image,
            missing,
            taken_unix_s: now(),
            kernels,
            least: self.least(case),
            differences: differences(case),
        }
    }

    /// The static view. A GPU launches the workload once, because the launch statement says the
    /// size of a block.
    fn of_image(
        &self,
        problem: &mut dyn Problem,
        (number, case): (usize, &ProfileCase),
        why: String,
        out: &mut Writer,
    ) -> Result<Profile, Stop> {
        let mut missing =
            vec!["counters, findings and lines of source: nothing ran under a profiler".to_owned()];
        let mut launched = Vec::new();
        if !self.session.device.emulated {
            let mut worker = self.session.start_worker(Language::Cuda)?;
            self.launch(problem, &mut worker, &[number], &mut launched, out)?;
        }
        let launched = launched.pop();
        let listed = launched.iter().flat_map(|launched| &launched.kernels);
        let kernels: Vec<ListedKernel> = listed
            .map(|kernel| ListedKernel {
                entry: kernel.entry.clone(),
                us: None,
            })
            .collect();
        let entry = kernels
            .first()
            .map_or_else(|| case.entry.clone(), |kernel| kernel.entry.clone());
        let image = self.image_facts(&entry, launched.as_ref(), &mut missing);
        let first = launched
            .as_ref()
            .and_then(|launched| launched.kernels.first());
        Ok(Profile {
            version: VERSION,
            origin: Origin::Image { why },
            device: self.session.device.name.clone(),
            arch: self.arch.clone(),
            entry,
            workload: case.label.clone(),
            launch: first.map(|kernel| LaunchShape {
                grid: kernel.shape.grid,
                block: kernel.shape.block,
            }),
            metrics: std::collections::BTreeMap::new(),
            findings: Vec::new(),
            lines: Vec::new(),
            image,
            missing,
            taken_unix_s: now(),
            kernels: if kernels.len() > 1 {
                kernels
            } else {
                Vec::new()
            },
            least: self.least(case),
            differences: Vec::new(),
        })
    }

    fn image_facts(
        &self,
        entry: &str,
        launched: Option<&Launched>,
        missing: &mut Vec<String>,
    ) -> lab_protocol::profile::ImageFacts {
        let kernel = launched
            .and_then(|launched| launched.kernels.iter().find(|kernel| kernel.entry == entry));
        let block = kernel.map(|kernel| {
            (
                kernel.shape.block.iter().product(),
                kernel.shape.shared_bytes,
            )
        });
        let Resources {
            registers,
            spill_bytes,
            shared_bytes,
        } = self.resources;
        let image = BuiltImage {
            path: &self.image.path,
            arch: &self.arch,
            entry,
            registers,
            spill_bytes,
            shared_bytes,
            block,
        };
        image::read(&image, missing)
    }
}

/// Seconds since 1970; `None` if the clock is before that.
fn now() -> Option<u64> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}

/// Writes a file of the profile in one step: whoever reads it finds the old one or the new one.
fn write(folder: &Path, name: &str, content: &impl Serialize) -> Result<(), Stop> {
    let failed = |error: String| {
        Stop::Lab(format!(
            "{} cannot be written: {error}",
            folder.join(name).display()
        ))
    };
    let text = serde_json::to_vec(content).map_err(|error| failed(error.to_string()))?;
    atomic_file::replace(&folder.join(name), &text).map_err(|error| failed(error.to_string()))
}
