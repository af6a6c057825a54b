//! What a run did not check, in words.

use lab_protocol::report::{Report, attribute, first_word};
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_text::figures;

/// One line for each thing that the run left out and that is no caveat.
pub fn lines(record: &Record, verdict: &Verdict) -> impl Iterator<Item = String> {
    let report = record.report();
    let passed = verdict.outcome == Outcome::Pass;
    let as_drawn = as_drawn(&report).filter(|_| passed);
    too_large(&report).into_iter().chain(as_drawn)
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

/// The inputs in which the kernel met no number larger than drawn ones.
fn as_drawn(report: &Report) -> Option<String> {
    let names = attribute(report.value("planted")?, "as_drawn")?.replace(',', ", ");
    Some(format!(
        "{names}: no number was larger than drawn ones (`planted = true` of the tensor asks for such)"
    ))
}
