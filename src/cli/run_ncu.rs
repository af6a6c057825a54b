//! `lab run --ncu`: judges the present bytes, then prints what ncu itself says of them.

use super::run::{NO_VERDICT, RunArgs, judge};
use super::verdict::Judged;
use super::{code, complain, failed, profile, say};
use crate::confinement;
use anyhow::{Context, Result};
use lab_protocol::Exit;
use lab_protocol::profile::ProfileSet;
use lab_run::Reason;
use lab_runner::profiling::ProfileSpec;
use lab_store::RunIndex;
use std::process::ExitCode;

/// Judges the kernel with the verdict on stderr, then prints ncu's text of a full profile. The exit
/// code is that of the verdict.
pub fn main(options: &RunArgs) -> Result<ExitCode> {
    let (project, device) = (options.kernel.open()?, options.device);
    let mut index = RunIndex::new(&project);
    let run = confinement::spec(Reason::Command, device);
    let record = judge(&project, run, &mut index, |_| {})?;
    let judged = Judged::of(&project, None, &index, &record).context(NO_VERDICT)?;
    complain(&judged.line());
    let exit = judged.verdict.exit();
    let mut spec = ProfileSpec::new(ProfileSet::Full);
    (spec.run.device, spec.wants_text) = (device, true);
    Ok(match profile::make(&project, spec, |_| {})?.text {
        Some(text) => {
            text.lines().for_each(say);
            code(exit)
        }
        None => failed(
            "there are no counters here: `lab profile` says why",
            Exit::NOT_JUDGED,
        ),
    })
}
