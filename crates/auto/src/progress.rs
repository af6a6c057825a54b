//! Where a loop stands: the best kept experiment, the incumbent's time beside the floor, and older
//! kept kernels to start from. Every figure is of a record.

use lab_git::Repo;
use lab_history::bounds::Bounds;
use lab_project::Project;
use lab_protocol::report::Measure;
use lab_run::RunId;
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::Status;
use lab_run::record::Origin;
use lab_store::{Fact, RunIndex, RunSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most kept kernels that the state names at a plateau.
const KEPT_POINTS: usize = 10;

/// The best kept experiment, among those of the device and the measure of the newest one.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Best {
    pub run: RunId,
    /// Full id.
    pub commit: String,
    pub description: String,
    /// The measure that the figure is of.
    pub objective: String,
    pub value: f64,
    /// Ends of the 95 % interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub device: Option<String>,
}

/// An older kept kernel, from which `lab auto --from COMMIT` starts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KeptPoint {
    pub run: RunId,
    /// Full id.
    pub commit: String,
    pub description: String,
}

/// Whether a run is of the loop's own device, given as [`RunSummary::target`] names it. Only lanes
/// have to ask: their records are in one place.
pub fn is_of_lane(project: &Project, run: &RunSummary, target: &str) -> bool {
    project.lane.is_none() || run.target.as_deref() == Some(target)
}

/// The kept runs of a kernel that this user's lab judged, the newest first; of a lane its own.
fn kept<'i>(
    project: &'i Project,
    index: &'i RunIndex,
    target: &'i str,
) -> impl Iterator<Item = &'i RunSummary> {
    let is_kept = move |run: &&RunSummary| {
        let decision = run.decision.as_ref();
        run.origin == Origin::Own
            && decision.is_some_and(|decision| {
                decision.status == Status::Keep && decision.commit.is_some()
            })
            && is_of_lane(project, run, target)
    };
    index
        .newest_of_kernel(&project.kernel_name, |keys| keys.is(Fact::IsKept))
        .filter(is_kept)
}

/// Returns the best kept experiment. Call [`RunIndex::refresh`] first.
pub fn best(project: &Project, index: &RunIndex, target: &str) -> Option<Best> {
    let newest = kept(project, index, target).find(|run| figure(run).is_some())?;
    let alike @ (_, chosen) = newest.measured().alike();
    let goal = chosen.map_or(project.config.goal, ChosenMeasure::goal);
    let comparable = kept(project, index, target)
        .filter(|run| run.device == newest.device && run.measured().alike() == alike);
    let (best, measure) = comparable
        .filter_map(|run| Some((run, figure(run)?)))
        .reduce(|best, other| {
            // Of equal ones the oldest counts, and the newest comes first.
            if goal.prefers(best.1.value, other.1.value) {
                best
            } else {
                other
            }
        })?;
    let decision = best.decision.as_ref()?;
    let objective = chosen.map_or_else(
        || project.config.objective.clone(),
        ChosenMeasure::objective,
    );
    Some(Best {
        run: best.id,
        commit: decision.commit.clone()?,
        description: decision.description.clone(),
        objective: objective.to_string(),
        value: measure.value,
        low: measure.low,
        high: measure.high,
        device: best.device.clone(),
    })
}

/// The figure of a run that was timed on a real device.
fn figure(run: &RunSummary) -> Option<Measure> {
    let is_emulated = run.verdict.is_none_or(|verdict| verdict.emulated);
    run.measured()
        .shown()
        .filter(|measure| !is_emulated && measure.value.is_finite() && measure.value > 0.0)
}

/// Returns the bounds of the newest run of the incumbent's bytes that tells a floor. `None` if no
/// run does.
pub fn bounds(project: &Project, index: &RunIndex, target: &str) -> Option<Bounds> {
    let blob = lab_git::incumbent(&Repo::open(project).ok()?).ok()??;
    let own = |run: &&RunSummary| {
        run.judges(project)
            && run.origin == Origin::Own
            && run.verdict.is_some()
            && is_of_lane(project, run, target)
    };
    index
        .newest_of_blob(&blob)
        .filter(own)
        .take(LOOK_AT)
        .find_map(|run| Bounds::of(&index.store().read(run.id).ok()?))
}

/// Most records that are read for the bounds.
const LOOK_AT: usize = 8;

/// Kept kernels other than the incumbent, the newest first.
pub fn older_kept(project: &Project, index: &RunIndex, target: &str) -> Vec<KeptPoint> {
    let repo = Repo::open(project).ok();
    let head = repo
        .as_ref()
        .and_then(|repo| lab_git::head(repo).ok()?.commit);
    let incumbent = repo
        .as_ref()
        .and_then(|repo| lab_git::incumbent(repo).ok()?);
    let points = kept(project, index, target)
        .filter(|run| Some(&run.blob) != incumbent.as_ref())
        .filter_map(|run| {
            let decision = run.decision.as_ref()?;
            let commit = decision
                .commit
                .clone()
                .filter(|commit| Some(commit) != head.as_ref())?;
            Some(KeptPoint {
                run: run.id,
                commit,
                description: decision.description.clone(),
            })
        });
    points.take(KEPT_POINTS).collect()
}
