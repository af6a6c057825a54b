//! `lab run --ncu`: judges the present bytes, then prints what ncu itself says of them.

use super::interrupt::end_on_signals;
use super::profile;
use super::run::{RunArgs, verdict_line};
use super::{code, complain, failed, open, say};
use crate::confinement;
use lab_core::project::Project;
use lab_core::run::Reason;
use lab_core::run::record::Record;
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::process::Control;
use lab_core::runner::profiling::ProfileSpec;
use lab_core::runner::spec::RunSpec;
use lab_core::store::RunIndex;
use lab_protocol::profile::ProfileSet;
use lab_protocol::{Exit, Target};
use std::process::ExitCode;
use std::sync::Arc;

/// Judges the kernel with the verdict on stderr, then prints ncu's text of a full profile. The exit
/// code is that of the verdict.
pub fn main(options: &RunArgs) -> ExitCode {
    let device = options.device;
    let project = match open(options.kernel.kernel.as_deref()) {
        Ok(project) => project,
        Err(error) => return failed(&format!("{error:#}"), Exit::Usage),
    };
    let judged = judge(&project, device);
    let exit = match &judged {
        Ok(record) => match record.verdict.as_ref() {
            Some(verdict) => {
                complain(&verdict_line(&project, record, verdict));
                verdict.exit()
            }
            None => return failed("the run has no verdict", Exit::Crashed),
        },
        Err(error) => return failed(&error.to_string(), error.exit()),
    };
    let spec = ProfileSpec {
        device,
        wants_text: true,
        ..ProfileSpec::new(ProfileSet::Full)
    };
    match profile::make(&project, spec, false) {
        Ok(profiled) => match profiled.text {
            Some(text) => {
                text.lines().for_each(say);
                code(exit)
            }
            None => failed(
                "there are no counters here: `lab profile` says why",
                Exit::NOT_JUDGED,
            ),
        },
        Err(error) => failed(&error.to_string(), error.exit()),
    }
}

/// Judges the kernel without a word.
fn judge(project: &Project, device: Option<Target>) -> Result<Record, NotRun> {
    let control = Arc::new(Control::new().map_err(anyhow::Error::from)?);
    end_on_signals(control.clone())?;
    let spec = RunSpec {
        device,
        confinement: confinement::missing,
        ..RunSpec::new(Reason::Command)
    };
    execute::execute(
        project,
        &spec,
        &mut RunIndex::new(project),
        &control,
        |_| {},
    )
}
