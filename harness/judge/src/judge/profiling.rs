//! `lab profile`: launches one workload of the candidate under ncu and writes
//! profile.json. Where no counters can be read, it writes what the image says. Compares no results
//! and times nothing.

mod counters;
mod durations;
mod least;
mod proof;
mod under_ncu;

use super::session::Session;

use crate::device_lock::DeviceUse;
use crate::outcome::{OrLab, Result, Stop};
use crate::problem::Problem;
use crate::profile::file;
use crate::profile::image::{self, BuiltImage};
use crate::profile::ncu::{self, Ncu};
use crate::profile::workload::{self, ProfileCase};
use crate::sink::SharedSink;
use crate::worker::{Launched, Worker};
use lab_protocol::profile::{ImageFacts, LaunchShape, ListedKernel, Origin, Profile, VERSION};
use lab_protocol::report::Stage;
use lab_protocol::{JudgeRequest, Language, ProfileRequest};
use lab_system::atomic_file;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use proof::counters_are_readable;

/// Profiles one launch, or times a launch of each workload, and writes the file into the folder of
/// the request.
pub fn profile(request: &Arc<JudgeRequest>, asked: &ProfileRequest, sink: &SharedSink) -> Result {
    let (mut session, mut problem) = Session::open_for_tool(
        request,
        sink,
        "`lab profile` reads the counters of CUDA C++ kernels: profile the interpreter with ncu itself",
    )?;
    if session.device.emulated && asked.ncu.is_none() {
        let why = "the cpu device has no counters: profile on a machine with an NVIDIA GPU";
        return Err(Stop::Lab(why.to_owned()));
    }
    let cases = problem.profile_cases(&session.device);
    let wanted = asked.workload.as_deref();
    let wanted = wanted.filter(|_| !asked.is_of_all_workloads());
    let chosen = workload::choose(&cases, wanted).map_err(Stop::Lab)?;
    let snapshot = session.snapshot()?;
    let needs = problem.build_needs(&session.device);
    let Session { builder, out, .. } = &mut session;
    let built = builder.candidate(&snapshot, &needs)?;
    let reported = ImageFacts {
        registers: built.resources.registers,
        spill_bytes: built.resources.spill_bytes,
        static_shared_bytes: built.resources.shared_bytes,
        ..ImageFacts::default()
    };
    let path = builder.write_build(built, out)?;
    let bytes = std::fs::read(&path).or_lab(|| format!("{} cannot be read", path.display()))?;

    // Another run's launches would change the counters, and the replays its times.
    let _access = session.wait(DeviceUse::Measuring)?;
    session.out.stage(Stage::Measure)?;
    let tool = match installed_ncu(asked) {
        Ok(ncu) => proof::prove(&mut session, &ncu, asked.proof_limit, false)?.map(|()| ncu),
        Err(why) => Err(why),
    };
    session.builder.compiler = None;
    let mut profiling = Profiling {
        session,
        asked,
        path,
        arch: lab_device::image_target(&bytes).unwrap_or_default(),
        kernels: lab_device::image_kernels(&bytes),
        reported,
    };
    if asked.is_of_all_workloads() {
        return profiling.time_all(&mut problem, &cases, tool);
    }
    profiling.profile_one(&mut problem, (chosen, &cases[chosen]), tool)
}

/// The ncu to use, or why there is none, and what to do.
fn installed_ncu(asked: &ProfileRequest) -> Result<Ncu, String> {
    if let Some(named) = &asked.ncu {
        return Ncu::at(named.clone());
    }
    Ncu::at(ncu::find().ok_or_else(|| ncu::REMEDY.to_owned())?)
}

/// What stays the same for all launches of a profile.
struct Profiling<'a> {
    session: Session,
    asked: &'a ProfileRequest,
    /// The image.
    path: PathBuf,
    /// The image's target; empty on the cpu device.
    arch: String,
    /// The functions of the image; empty on the cpu device.
    kernels: Vec<String>,
    /// What the compiler reports of the image.
    reported: ImageFacts,
}

impl Profiling<'_> {
    /// Profiles one workload and writes profile.json.
    fn profile_one(
        &mut self,
        problem: &mut Problem,
        (number, case): (usize, &ProfileCase),
        tool: Result<Ncu, String>,
    ) -> Result {
        self.session.out.line("profile_workload", &case.label)?;
        let counted = match tool {
            Ok(ncu) => {
                let used = format_args!("ncu {} set={}", ncu.version, self.asked.set.name());
                self.session.out.line("profiler", used)?;
                let counted = self.count(problem, &ncu, (number, case))?;
                if counted.is_err() {
                    proof::forget(&mut self.session, &ncu)?;
                }
                counted
            }
            Err(why) => Err(why),
        };
        let profile = match counted {
            Ok(profile) => profile,
            Err(why) => {
                self.session.out.text(&format!("no counters: {why}"))?;
                self.of_image(problem, (number, case), why)?
            }
        };
        self.write(file::PROFILE, &profile)
    }

    /// Makes launches on this worker, and returns what each did.
    fn launch(
        session: &mut Session,
        image: &Path,
        problem: &mut Problem,
        worker: &mut Worker,
        cases: &[usize],
    ) -> Result<Vec<Launched>> {
        let module = worker.load(image)?;
        session.with_fixed_inputs(|cx| {
            let launch = |case: &usize| {
                problem.launch_for_profile(cx, worker, module, *case)?;
                Ok(worker.launched().cloned().unwrap_or_default())
            };
            cases.iter().map(launch).collect()
        })
    }

    /// The static view. A GPU launches the workload once, because the launch statement says the
    /// size of a block.
    fn of_image(
        &mut self,
        problem: &mut Problem,
        (number, case): (usize, &ProfileCase),
        why: String,
    ) -> Result<Profile> {
        let missing =
            vec!["counters, findings and lines of source: nothing ran under a profiler".to_owned()];
        let mut launched = None;
        if !self.session.device.emulated {
            let (session, image) = (&mut self.session, &self.path);
            let mut worker = session.start_worker(Language::Cuda)?;
            launched = Self::launch(session, image, problem, &mut worker, &[number])?.pop();
        }
        let all = launched.iter().flat_map(|launched| &launched.kernels);
        let first = all.clone().next();
        let entry = first.map_or(&case.entry, |kernel| &kernel.entry).clone();
        let listed = all.clone().map(|kernel| ListedKernel {
            entry: kernel.entry.clone(),
            us: None,
        });
        Ok(Profile {
            launch: first.map(|kernel| LaunchShape {
                grid: kernel.shape.grid,
                block: kernel.shape.block,
            }),
            kernels: several(listed.collect()),
            ..self.profile(
                case,
                Origin::Image { why },
                (entry, launched.as_ref()),
                missing,
            )
        })
    }

    /// What a profile says without counters: of the workload, of the image, and of `entry`, the
    /// kernel that it is about.
    fn profile(
        &self,
        case: &ProfileCase,
        origin: Origin,
        (entry, launched): (String, Option<&Launched>),
        mut missing: Vec<String>,
    ) -> Profile {
        let kernels = launched.iter().flat_map(|launched| &launched.kernels);
        let shape = kernels
            .filter(|kernel| kernel.entry == entry)
            .map(|kernel| &kernel.shape)
            .next();
        let image = BuiltImage {
            path: &self.path,
            arch: &self.arch,
            entry: &entry,
            reported: &self.reported,
            block: shape.map(|shape| (shape.block.iter().product(), shape.shared_bytes)),
        };
        Profile {
            version: VERSION,
            origin,
            device: self.session.device.name.clone(),
            arch: self.arch.clone(),
            image: image::read(&image, &mut missing),
            entry,
            workload: case.label.clone(),
            launch: None,
            metrics: BTreeMap::new(),
            findings: Vec::new(),
            lines: Vec::new(),
            missing,
            taken_unix_s: now(),
            kernels: Vec::new(),
            least: self.least(case),
            differences: Vec::new(),
        }
    }

    /// Writes a file of the profile in one step, so that whoever reads it finds the old one or the
    /// new one, and the line `profile:`.
    fn write(&mut self, name: &str, content: &impl Serialize) -> Result {
        let path = self.asked.out.join(name);
        let written = serde_json::to_vec(content)
            .map_err(std::io::Error::from)
            .and_then(|text| atomic_file::replace(&path, &text));
        written.or_lab(|| cannot_write(&path))?;
        Ok(self.session.out.line("profile", name)?)
    }
}

/// The kernels of a launch that has several; nothing of a single one, which the profile is about.
fn several(kernels: Vec<ListedKernel>) -> Vec<ListedKernel> {
    Some(kernels)
        .filter(|kernels| kernels.len() > 1)
        .unwrap_or_default()
}

fn cannot_write(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}

/// Seconds since 1970; `None` if the clock is before that.
fn now() -> Option<u64> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}
