//! Beginning a sweep, or going on with one.

use crate::points::Budget;
use crate::record::{SLURM, Sweep, SweepParameter, SweepStart};
use crate::session::Session;
use crate::slurm::{self, Cluster};
use crate::store::SweepStore;
use crate::strategy::Strategy;
use itertools::Itertools;
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::{Language, Target};
use lab_run::Fingerprint;
use lab_run::inputs::{self, Inputs};
use lab_run::record::Origin;
use lab_runner::execute::{self, NotRun};
use lab_runner::spec::RunSpec;
use lab_source::tune::{Space, Syntax};
use lab_store::series::{OpenFolder, SeriesStart, own_origin};
use lab_system::random;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct SweepRequest {
    /// A lane judges on each of these devices; without one, a single lane on that of the run.
    pub devices: Vec<Target>,
    pub strategy: Strategy,
    pub budget: Budget,
    /// Begins a new sweep where an earlier one could go on.
    pub anew: bool,
    /// Processes that build ahead; `None` is one for each core on the cpu device, else for each
    /// four. With 0, nothing is done ahead: a point is built and judged after the one before it.
    pub builders: Option<usize>,
    /// The points to try, if not all.
    pub only: Option<Vec<usize>>,
}

/// The kernel's text and the space of its tune lines. The error names the line that is wrong.
pub fn space_of(project: &Project, kernel: &[u8]) -> Result<(String, Space), NotRun> {
    let name = &project.kernel_name;
    let Ok(source) = String::from_utf8(kernel.to_vec()) else {
        return Err(NotRun::Refused(format!(
            "{name} is not UTF-8, so its tune lines cannot be read"
        )));
    };
    let language = Language::of(&project.kernel);
    let syntax = match language {
        Language::Cuda => Syntax::Cpp,
        Language::Python => Syntax::Python,
    };
    let space = Space::read(&source, syntax)
        .map_err(|mistake| NotRun::Refused(format!("{name}, {mistake}")))?;
    if space.parameters.is_empty() {
        return Err(NotRun::Refused(format!(
            "{name} has no tune line: write `{} lab: tune NAME = 64, 128` for a constant NAME of the kernel \
             (`lab help sweep`)",
            language.comment()
        )));
    }
    Ok((source, space))
}

/// The hash of everything that a verdict on any point depends on, but for the point's values: it is
/// the same whichever point is on disk.
pub fn fingerprint_of(inputs: &Inputs, source: &str, space: &Space) -> Fingerprint {
    let first = space.source(source, 0);
    inputs::fingerprint_with(first.as_bytes(), &inputs.files())
}

impl<'a> Session<'a> {
    /// Goes on with the newest sweep of these tune lines, rules and device, or begins one. Checks
    /// first what a run needs.
    pub fn begin(
        project: &'a Project,
        spec: RunSpec,
        request: &SweepRequest,
    ) -> Result<Self, NotRun> {
        let inputs = execute::inputs_of(project, &spec)?;
        if project.external() {
            return Err(NotRun::Refused(format!(
                "this kernel is judged by `{}`, which reads the kernel on disk, and a sweep judges copies: `lab sweep` needs \
                 the built-in harness (a problem.toml beside the kernel)",
                project.config.harness_command()
            )));
        }
        let (source, mut space) = space_of(project, inputs.kernel())?;
        let fingerprint = fingerprint_of(&inputs, &source, &space);
        if let Some(only) = &request.only {
            space.points.retain(|point| only.contains(point));
        }
        let spec = RunSpec {
            inputs: Some(Arc::clone(&inputs)),
            ..spec
        };
        let lanes = lanes(&spec, &request.devices)?;
        let cluster = cluster(project, request)?;
        let repo = Repo::open(project)?;
        // Without it git would show .lab as untracked. The sweep is right all the same.
        let _ = lab_git::exclude(&repo);
        let store = SweepStore::of(project);
        let targets = lanes.iter().map(|spec| spec.target(project)).join(",");
        let of_cluster = cluster.as_ref().map_or("", |_| SLURM);
        let target = format!("{of_cluster}{targets}");
        let (sweep, open) = match found(project, &target, &store, &fingerprint, request)? {
            Some(found) => found,
            None => begun(project, target, &store, fingerprint, &space, request)?,
        };
        Ok(Session {
            project,
            lanes,
            inputs,
            source,
            space,
            open,
            sweep,
            strategy: request.strategy,
            budget: request.budget,
            builders: request.builders,
            cluster,
        })
    }
}

/// How jobs are sent; `None` of a sweep on this machine.
fn cluster(project: &Project, request: &SweepRequest) -> Result<Option<Cluster>, NotRun> {
    let Some(options) = slurm::options(project, &request.devices)? else {
        return Ok(None);
    };
    if request.strategy == Strategy::Tpe {
        return Err(NotRun::Refused(
            "tpe chooses a point by the results of those before it, and an array of tasks is sent as a whole: choose random or \
             grid"
                .to_owned(),
        ));
    }
    slurm::check().map_err(NotRun::Refused)?;
    let devices: Vec<String> = request.devices.iter().map(Target::to_string).collect();
    let device = (!devices.is_empty()).then(|| format!("--device={}", devices.join(",")));
    let builders = request
        .builders
        .map(|number| format!("--builders={number}"));
    Ok(Some(Cluster {
        options,
        words: device.into_iter().chain(builders).collect(),
    }))
}

/// How each lane judges. Two lanes on one GPU would wait for one another.
fn lanes(spec: &RunSpec, devices: &[Target]) -> Result<Vec<RunSpec>, NotRun> {
    let is_twice =
        |(at, device): (usize, &Target)| *device != Target::Cpu && devices[..at].contains(device);
    if devices.iter().enumerate().any(is_twice) {
        return Err(NotRun::Refused(
            "--device names a GPU twice, and a GPU measures one point after the other: name each once"
                .to_owned(),
        ));
    }
    let of_device = |device: &Target| RunSpec {
        device: Some(*device),
        ..spec.clone()
    };
    Ok(match devices {
        [] => vec![spec.clone()],
        several => several.iter().map(of_device).collect(),
    })
}

/// The newest sweep that can go on. An error if it goes on in another process.
fn found(
    project: &Project,
    target: &str,
    store: &SweepStore,
    fingerprint: &Fingerprint,
    request: &SweepRequest,
) -> Result<Option<(Sweep, OpenFolder)>, NotRun> {
    let (_, lab) = SweepStart::written_by();
    let fits = |start: &SweepStart| {
        let is_of = start.kernel == project.kernel_name && start.target == target;
        let is_own = start.origin == Origin::Own;
        is_of && is_own && start.fingerprint == *fingerprint && start.lab == lab
    };
    let of_kernel = |start: &SweepStart| start.kernel == project.kernel_name;
    let in_progress = |start: &SweepStart| store.is_in_progress(start.sweep);
    // Two would share the folders of the judges that stand by, also on two devices.
    if let Some(other) = store.starts(of_kernel).find(in_progress) {
        return Err(NotRun::Refused(format!(
            "sweep {} of {} goes on in another process: wait for its end, or end that process",
            other.sweep, project.kernel_name
        )));
    }
    let Some(newest) = store.starts(fits).next().filter(|_| !request.anew) else {
        return Ok(None);
    };
    let id = newest.sweep;
    let Some(open) = store.open(id)? else {
        return Err(NotRun::Refused(format!(
            "sweep {id} goes on in another process: wait for its end"
        )));
    };
    let sweep = newest.with_lines(store, &mut 0)?;
    let goes_on = sweep.is_own() && sweep.points.len() < sweep.start.points;
    Ok(goes_on.then_some((sweep, open)))
}

fn begun(
    project: &Project,
    target: String,
    store: &SweepStore,
    fingerprint: Fingerprint,
    space: &Space,
    request: &SweepRequest,
) -> Result<(Sweep, OpenFolder), NotRun> {
    let parameters = space.parameters.iter().map(|parameter| SweepParameter {
        name: parameter.name.clone(),
        values: parameter.values.clone(),
    });
    let (version, lab) = SweepStart::written_by();
    let repo = Repo::open(project)?;
    let (start, open) = store.create(|sweep| SweepStart {
        version,
        lab,
        origin: own_origin(),
        sweep,
        kernel: project.kernel_name.clone(),
        fingerprint,
        clean_tree: lab_git::is_clean(&repo),
        target,
        parameters: parameters.collect(),
        requires: space.requires.clone(),
        excluded: match &request.only {
            None if !space.requires.is_empty() => space.excluded_pairs(),
            _ => BTreeSet::new(),
        },
        points: space.points.len(),
        seed: random::number(),
        started: lab_run::now(),
    })?;
    let points = Vec::new();
    Ok((Sweep { start, points }, open))
}
