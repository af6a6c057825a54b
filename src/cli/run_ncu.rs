//! `lab run --ncu`: judges the present bytes, then prints what ncu itself says of them.

use super::run::{RunArgs, in_one_line};
use super::{code, complain, failed, profile, say};
use anyhow::Result;
use lab_protocol::Exit;
use lab_protocol::profile::ProfileSet;
use lab_runner::profiling::ProfileSpec;
use std::process::ExitCode;

/// Judges the kernel with the verdict on stderr, then prints ncu's text of a full profile. The exit
/// code is that of the verdict.
pub fn main(options: &RunArgs) -> Result<ExitCode> {
    let (project, device) = (options.kernel.open()?, options.device);
    let exit = in_one_line(&project, options, complain)?;
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
