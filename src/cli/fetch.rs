//! `lab fetch`: fetches the commits and records of other people's experiments.

use super::{here, say};
use anyhow::Result;
use clap::Args;
use lab_core::history::elsewhere;
use lab_core::project::Project;
use lab_core::repo::Repo;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct FetchArgs {
    /// A bundle, a remote or another repository [default: the bundles of this repository, else its remote]
    #[arg(value_name = "FROM")]
    from: Option<String>,
}

/// Exits with 1 if nothing was there to fetch.
pub fn main(options: &FetchArgs) -> Result<ExitCode> {
    let here = here()?;
    let project = Project::of_any(&here)?;
    let brought = elsewhere::fetch(&Repo::open(&project)?, &project, &here, options.from.as_deref())?;
    let mut any = false;
    for (from, fetched) in &brought {
        if fetched.refs + fetched.records == 0 {
            say(&format!(
                "{from} has neither commits nor records of experiments. In the clone that has them: `git push REMOTE \
                 refs/notes/lab 'refs/lab/*:refs/lab/*'`"
            ));
            continue;
        }
        any = true;
        let (refs, records, folder) = (fetched.refs, fetched.records, &fetched.folder);
        say(&format!("{from}: {records} records, {refs} refs, in {folder}"));
    }
    Ok(if any { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
