//! What a run did not check, in words.

use lab_protocol::report::{GPU_PATH, Report, attribute, first_word};
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_text::figures;

/// One line for each thing that the run left out and that is no caveat.
pub fn lines(record: &Record, verdict: &Verdict) -> impl Iterator<Item = String> {
    let report = record.report();
    let passed = verdict.outcome == Outcome::Pass;
    let as_drawn = as_drawn(&report).filter(|_| passed);
    let gpu_path = gpu_path(&report).filter(|_| passed);
    let left_out = too_large(&report).into_iter();
    left_out.chain(as_drawn).chain(gpu_path)
}

/// The workloads that `cpu_max_cells` kept from the emulated device.
fn too_large(report: &Report) -> Option<String> {
    let line = report.value("emulated_workloads")?;
    let ran: usize = first_word(line).parse().ok()?;
    let left = attribute(line, "of")?
        .parse::<usize>()
        .ok()?
        .checked_sub(ran)?;
    let left = figures::counted(left, "workload");
    Some(format!(
        "{left} left out: too large for the emulated device (cpu_max_cells)"
    ))
}

/// The code that only a GPU runs.
fn gpu_path(report: &Report) -> Option<String> {
    let place = report.value(GPU_PATH)?;
    Some(format!("another path than a GPU runs was judged: {place}"))
}

/// The inputs in which the kernel met no number larger than drawn ones.
fn as_drawn(report: &Report) -> Option<String> {
    let names = attribute(report.value("planted")?, "as_drawn")?.replace(',', ", ");
    Some(format!(
        "{names}: no number was larger than drawn ones (`planted = true` of the tensor asks for such)"
    ))
}
