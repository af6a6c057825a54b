//! `lab log`: lists the experiments, oldest first.

use super::{KernelArg, complain, here, open, say, say_json_with_list};
use anyhow::Result;
use clap::Args;
use lab_core::decide;
use lab_core::history::Listing;
use lab_core::history::elsewhere::Elsewhere;
use lab_core::project::Project;
use lab_core::repo::{self, Present, Repo};
use lab_core::run::experiment::Experiment;
use lab_core::status::{self, ProjectStatus};
use lab_core::store::RunIndex;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct LogArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// List the experiments of every kernel
    #[arg(long)]
    all: bool,
    /// Print JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,
    /// Add the rows that could not be written when their run was decided
    #[arg(long)]
    append_missing: bool,
}

pub fn main(options: &LogArgs) -> Result<ExitCode> {
    let meant = open(options.kernel.kernel.as_deref());
    // Outside of a kernel's folder all experiments can still be listed.
    let is_meant = meant.is_ok() || options.kernel.kernel.is_some();
    let project = match meant {
        Err(_) if !is_meant && (options.all || options.append_missing) => Project::of_any(&here()?)?,
        meant => meant?,
    };
    if let Some(done) = decide::resume(&project)? {
        complain(&done);
    }
    if options.append_missing {
        let added = decide::append_missing(&project)?;
        complain(&format!("{added} missing rows added"));
    }
    let mut index = RunIndex::open(&project);
    let repo = Repo::open(&project)?;
    let listing = Listing::read(&repo, &project, &mut index);
    let status = status::look(&repo, &project, &index)?;
    let show_all = options.all || !is_meant;
    // A row without a record may belong to any kernel.
    let ours =
        |e: &Experiment| show_all || e.kernel.as_ref().is_none_or(|kernel| *kernel == project.kernel_name);
    // A ledger may have a million rows: each experiment is made, printed and dropped.
    let experiments = || listing.experiments(&index).filter(ours);
    if options.json {
        let present = Present::of(&repo, listing.without_record(&index))?;
        let elsewhere = Elsewhere::look(&repo, &project, &listing, &index)?;
        say_json_with_list(
            &json!({
                "head": status.head.label(),
                "kernel": is_meant.then_some(&project.kernel_name),
                "undecided_run": undecided(&status),
                "rows_of_other_clones": elsewhere.map_or(0, |elsewhere| elsewhere.rows),
                "problems": listing.problems,
            }),
            "experiments",
            experiments().map(|e| as_json(&repo, &present, &e)),
        );
    } else {
        let name = if is_meant { &project.kernel_name } else { "every kernel" };
        say(&format!("{name}  {}", status.head.label()));
        let mut shown = 0;
        let mut lines = String::new();
        for experiment in experiments() {
            shown += 1;
            lines.push_str(&as_text(&experiment, show_all));
            lines.push('\n');
            if lines.len() > BATCH {
                say(lines.trim_end_matches('\n'));
                lines.clear();
            }
        }
        if !lines.is_empty() {
            say(lines.trim_end_matches('\n'));
        }
        if shown == 0 {
            let this = if is_meant { &project.argument } else { " KERNEL" };
            say(&format!(
                "no experiment yet: `lab run{this}`, then `lab keep{this} -m TEXT` or `lab discard{this} -m TEXT`"
            ));
        }
        let others = listing.len() - shown;
        if others > 0 {
            say(&format!("{others} of other kernels: `lab log --all`"));
        }
        if let Some(elsewhere) = Elsewhere::look(&repo, &project, &listing, &index)? {
            say(&elsewhere.text());
        }
        if let Some(run) = undecided(&status) {
            say(&format!("run {run} is undecided"));
        }
    }
    listing.problems.iter().for_each(|problem| complain(problem));
    Ok(ExitCode::SUCCESS)
}

/// Rows are printed in pieces of about this many bytes.
const BATCH: usize = 64 * 1024;

fn undecided(status: &ProjectStatus) -> Option<u64> {
    status.last.as_ref().filter(|r| decide::is_undecided(r)).map(|r| r.start.id.0)
}

fn as_text(experiment: &Experiment, with_kernel: bool) -> String {
    let row = &experiment.row;
    let figures = if row.correctness.passed() {
        format!("{:>12.1} {:>10.3} us", row.throughput_sps, row.kernel_us)
    } else {
        format!("{:>12} {:>13}", "-", "-")
    };
    let emulated = if experiment.emulated { "  (emulated)" } else { "" };
    let kernel = experiment.kernel.as_deref().filter(|_| with_kernel).map(|k| format!("{k}  "));
    let kernel = kernel.unwrap_or_default();
    format!("{:<8} {:<7} {figures}  {kernel}{}{emulated}", row.commit, row.status.word(), row.description)
}

fn as_json(repo: &Repo, present: &Present, experiment: &Experiment) -> Value {
    let row = &experiment.row;
    let correct = row.correctness.passed();
    // Without a record, the commit itself may hold the trailers.
    let trailers = match experiment.decided {
        Some(_) => experiment.trailers.clone(),
        None if present.holds(&row.commit) => repo::trailers_of(repo, &row.commit).unwrap_or_default(),
        None => Vec::new(),
    };
    json!({
        "commit": row.commit,
        "throughput_sps": correct.then_some(row.throughput_sps),
        "kernel_us": correct.then_some(row.kernel_us),
        "correctness": row.correctness,
        "status": row.status,
        "description": row.description,
        "run": experiment.run,
        "kernel": experiment.kernel,
        "device": experiment.device,
        "emulated": experiment.emulated,
        "decided": experiment.decided.map(|t| t.to_string()),
        "trailers": trailers.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect::<Vec<_>>(),
    })
}
