//! `lab fetch`: fetches the commits and records of other people's experiments.

use super::output::{FAILED, complain};
use super::{JsonArg, answer, failed, here, is_json, say};
use anyhow::Result;
use clap::Args;
use itertools::Itertools;
use lab_git::{Fetched, Repo};
use lab_history::elsewhere;
use lab_project::Project;
use lab_protocol::Exit;
use lab_system::{lifetime, threads};
use schemars::JsonSchema;
use serde::Serialize;
use std::iter::successors;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct FetchArgs {
    /// A bundle, a remote or another repository [default: the bundles of this repository, else its
    /// remote]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab fetch` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct FetchAnswer<'a> {
    /// The result of each source.
    fetched: Vec<FetchedReport<'a>>,
}

/// What one source brought.
#[derive(JsonSchema, Serialize)]
struct FetchedReport<'a> {
    /// The bundle, remote or repository.
    from: &'a str,
    #[serde(flatten)]
    fetched: &'a Fetched,
}

/// After how many seconds a fetch that goes on is told. Then after twice as many, and so on.
const FIRST_TOLD: u64 = 5;

/// Says from time to time that the fetch goes on, until the command ends.
fn say_that_it_waits() {
    let mut slept = 0;
    for seconds in successors(Some(FIRST_TOLD), |seconds| seconds.checked_mul(2)) {
        thread::sleep(Duration::from_secs(seconds - slept));
        slept = seconds;
        complain(&format!(
            "git has been fetching for {seconds} s, and goes on: Ctrl-C ends it"
        ));
    }
}

/// Exits with 1 if nothing was there to fetch.
pub fn main(options: &FetchArgs) -> Result<ExitCode> {
    lifetime::kill_own_on_signals()?;
    let here = here()?;
    let project = Project::of_any(&here)?;
    // git says nothing while it waits for a remote. Without a thread, lab says nothing either.
    let _ = threads::start("waiting", say_that_it_waits);
    let brought = elsewhere::fetch(&Repo::open(&project)?, &here, options.from.as_deref())?;
    // Each fetched ref is a file of its own.
    let packed = lab_decide::pack_many_refs(&project);
    let nothing = |from: &str| {
        format!(
            "{from} has neither commits nor records of experiments. In the clone that has them: `git push REMOTE refs/notes/lab \
             'refs/lab/*:refs/lab/*'`"
        )
    };
    if is_json() {
        if brought.iter().all(|(_, fetched)| fetched.is_empty()) {
            let mut texts = brought.iter().map(|(from, _)| nothing(from));
            return Ok(failed(&texts.join("\n"), FAILED));
        }
        let reports = brought
            .iter()
            .map(|(from, fetched)| FetchedReport { from, fetched });
        let fetched = reports.collect();
        return Ok(answer(Exit::Passed, FetchAnswer { fetched }));
    }
    let mut any = false;
    for (from, fetched) in &brought {
        if fetched.is_empty() {
            say(&nothing(from));
            continue;
        }
        any = true;
        let (refs, records, folder) = (fetched.refs, fetched.records, &fetched.folder);
        say(&format!(
            "{from}: {records} records, {refs} refs, in {folder}"
        ));
    }
    packed.iter().for_each(|text| say(text));
    Ok(if any {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
