//! `lab decisions`: the board of decisions, its evidence, and whether both are true.

use super::output::{FAILED, say_each};
use super::sweep::map;
use super::{JsonArg, any, bench, complain, say, sweep, told, told_with};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use lab_bench::{BenchId, BenchState, BenchStore};
use lab_board::{Board, Evidence, Source, words};
use lab_git::Repo;
use lab_history::kernels;
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::RunId;
use lab_sweep::{SweepId, SweepStore};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DecisionsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// One decision, whole [default: the board]
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Write evidence/ID.json, signed, from a run, a bench, a sweep or a profile of your own
    Add(AddArgs),
    /// Prove signatures, commits and kernels of the evidence, and that each status keeps to its
    /// rule; exits with 1 if something is false, and warns of what is stale
    Check(JsonArg),
    /// Print the line of evidence/allowed_signers for your key
    Key(JsonArg),
}

#[derive(Args, Debug)]
struct AddArgs {
    /// What placeholders call the evidence: small letters, digits, - and _
    id: String,
    #[command(flatten)]
    source: SourceArgs,
    /// Also list it in this decision of decisions.toml; one that is not there is made
    #[arg(long, value_name = "DECISION")]
    to: Option<String>,
    /// Replace the evidence of this id, though it was made of another record
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct SourceArgs {
    /// A run, decided or not
    #[arg(long, value_name = "N")]
    run: Option<u64>,
    /// A bench
    #[arg(long, value_name = "N")]
    bench: Option<u64>,
    /// A sweep
    #[arg(long, value_name = "N")]
    sweep: Option<u64>,
    /// The profile of run N
    #[arg(long, value_name = "N")]
    profile: Option<u64>,
}

/// What `lab decisions` and `lab decisions check` print with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct DecisionsAnswer<'a> {
    #[serde(flatten)]
    board: &'a Board,
}

/// What `lab decisions add` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct AddedAnswer {
    id: String,
    /// The file that was written.
    path: String,
    evidence: Evidence,
    /// What was to be measured in the decision, and is done by it.
    done: Vec<String>,
}

/// What `lab decisions key` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct KeyAnswer {
    /// A line for evidence/allowed_signers.
    line: String,
}

pub fn main(options: &DecisionsArgs) -> Result<ExitCode> {
    let repo = Repo::open(&any()?)?;
    match &options.action {
        None => show(&repo, options.id.as_deref()),
        Some(Action::Check(_)) => check(&repo),
        Some(Action::Add(options)) => add(&repo, options),
        Some(Action::Key(_)) => {
            let line = lab_board::public_line(&repo)?;
            Ok(told(KeyAnswer { line: line.clone() }, || say(&line)))
        }
    }
}

fn show(repo: &Repo, id: Option<&str>) -> Result<ExitCode> {
    let mut board = Board::read(repo)?;
    if let Some(id) = id {
        let chosen = board.named(id)?.clone();
        board.evidence.retain(|name, _| chosen.uses(name));
        board.decisions = vec![chosen];
    }
    let exit = told(DecisionsAnswer { board: &board }, || {
        say_each(match board.decisions.as_slice() {
            [only] if id.is_some() => words::whole(only, &board),
            _ => words::board(&board),
        });
    });
    let problems = board.problems.iter();
    problems.for_each(|problem| complain(&problem.text));
    Ok(exit)
}

fn check(repo: &Repo) -> Result<ExitCode> {
    let board = Board::read(repo)?;
    let exit = if board.is_true() {
        Exit::Passed as u8
    } else {
        FAILED
    };
    let exit = told_with(exit, DecisionsAnswer { board: &board }, || {
        say(&words::counts(&board));
    });
    for problem in &board.problems {
        let word = if problem.is_false { "false" } else { "warning" };
        complain(&format!("{word}: {}", problem.text));
    }
    Ok(exit)
}

fn add(repo: &Repo, options: &AddArgs) -> Result<ExitCode> {
    let AddArgs {
        id,
        source,
        to,
        replace,
        ..
    } = options;
    let run = source.run.map(|run| Source::Run(RunId(run)));
    let bench = source.bench.map(|bench| Source::Bench(BenchId(bench)));
    let sweep = source.sweep.map(|sweep| Source::Sweep(SweepId(sweep)));
    let profile = source.profile.map(|run| Source::Profile(RunId(run)));
    let source = run.or(bench).or(sweep).or(profile);
    let source = source.context("name the record: --run N, --bench N, --sweep N or --profile N")?;
    to.as_deref().map_or(Ok(()), lab_board::check_id)?;
    let (path, evidence) = lab_board::add(repo, id, source, *replace)?;
    let listed = to.as_ref();
    let listed = listed.map(|decision| lab_board::list(repo, decision, id, &evidence));
    let done = listed.transpose()?.unwrap_or_default();
    let path = path.display().to_string();
    let mut lines = words::added(id, &path, &evidence);
    lines.extend(done.iter().map(|what| format!("done: {what}")));
    let added = AddedAnswer {
        id: id.clone(),
        path,
        evidence,
        done,
    };
    Ok(told(added, || say_each(lines)))
}

/// A bench or a sweep as text, if this clone has it: the one that was begun at this time.
pub fn record(project: &Project, source: Source, begun: Timestamp) -> Option<Vec<String>> {
    match source {
        Source::Bench(id) => {
            let found = BenchStore::of(project).read(id).ok()?;
            let of = kernels::open(project, &found.start.kernel).ok()?.project;
            let lines = |found| bench::text::lines(&of, &BenchState::found(found));
            (found.start.started == begun).then(|| lines(found))
        }
        Source::Sweep(id) => {
            let found = SweepStore::of(project).read(id).ok()?;
            let of = kernels::open(project, &found.start.kernel).ok()?.project;
            let pair = map::pair(&found, None).ok()?;
            let lines = || sweep::text::lines(&of, &found, None, pair);
            (found.start.started == begun).then(lines)
        }
        Source::Run(_) | Source::Profile(_) => None,
    }
}
