//! Recognises a kernel that was judged before: the same tokens, with the same rules and other
//! inputs, on the same device.

use lab_project::Project;
use lab_run::inputs::Inputs;
use lab_run::record::{Origin, Record};
use lab_run::verdict::Outcome;
use lab_store::{RunIndex, RunSummary};

/// Most records that are read for one answer.
const LOOK_AT: usize = 8;

/// An earlier run that judged the same kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedBefore {
    /// Its record, which has a verdict about the kernel. The verdict on speed is against the
    /// incumbent of that time.
    pub record: Record,
    /// The bytes are the same too.
    pub same_bytes: bool,
}

/// Returns the newest run of this user's lab that judged the same kernel as `inputs`, comments and
/// blanks aside, by the same harness and other inputs, on the device that was asked for as
/// `target`. `None` without one, or if the device is another one by now. Call
/// [`RunIndex::refresh`] first. Reads few records.
pub fn judged_before(
    project: &Project,
    index: &RunIndex,
    inputs: &Inputs,
    target: &str,
) -> Option<JudgedBefore> {
    let command = project.config.harness_command();
    let is_verdict =
        |run: &&RunSummary| run.judges(project) && run.outcome().is_some_and(Outcome::is_verdict);
    let tokens = inputs.token_fingerprint();
    let same = index
        .newest_of_tokens(&tokens)
        .filter(|run| run.token_fingerprint.as_ref() == Some(&tokens));
    let record = same
        .filter(is_verdict)
        .take(LOOK_AT)
        .filter_map(|run| index.store().read(run.id).ok())
        .find(|record| {
            record.origin == Origin::Own
                && record.ending.is_some()
                && record
                    .verdict
                    .as_ref()
                    .is_some_and(|verdict| verdict.outcome.is_verdict())
                && record.command == command
                && record.target.as_deref() == Some(target)
                && record.lab == env!("CARGO_PKG_VERSION")
        })?;
    if is_another_device(project, index, target, &record) {
        return None;
    }
    let same_bytes = record.start.fingerprint == inputs.fingerprint;
    Some(JudgedBefore { record, same_bytes })
}

/// Whether the newest run on this target was on another device: `auto` and `cuda:0` may be another
/// GPU than then.
fn is_another_device(project: &Project, index: &RunIndex, target: &str, record: &Record) -> bool {
    let newer = index
        .newest_of_kernel(&project.kernel_name, |_| true)
        .take_while(|run| run.id > record.start.id);
    let newer = newer
        .take(8 * LOOK_AT)
        .filter(|run| run.judges(project) && run.device.is_some())
        .take(LOOK_AT);
    let newest = newer
        .filter_map(|run| index.store().read(run.id).ok())
        .find(|newer| newer.target.as_deref() == Some(target) && newer.origin == Origin::Own);
    newest.is_some_and(|newest| record.device.is_some() && newest.device != record.device)
}
