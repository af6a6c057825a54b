//! Makes evidence from what this lab recorded.

use crate::evidence::{Evidence, EvidenceKind, Source, metric_name, plain, to_text};
use crate::file::{check_id, list};
use crate::parts::{call, named_figure, ratio};
use crate::proof::{LIMIT, is_id, path_of};
use crate::{EVIDENCE, ID_FORM};
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use lab_bench::{Bench, BenchId, BenchStore, Summary};
use lab_git::Repo;
use lab_history::bounds::workloads_of;
use lab_history::profile::{facts, read};
use lab_project::Project;
use lab_protocol::profile::Origin as ProfileOrigin;
use lab_protocol::report::Measure;
use lab_run::experiment::Status;
use lab_run::record::{InputFile, Origin, Record, VERSION};
use lab_run::verdict::{Figure, Outcome};
use lab_run::{RunId, inputs};
use lab_store::RunStore;
use lab_store::signature::public::{self, Statement};
use lab_sweep::summary::{self, PointCounts};
use lab_sweep::{Sweep, SweepId, SweepStore};
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::root::Root;
use lab_text::shell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The best points of a sweep that its evidence names.
const POINTS: usize = 12;

/// Writes evidence/ID.json from a record that this lab made, signed by this user's key. Evidence of
/// that id that was made of another record stays, unless `replaces`. Returns the file and what it
/// holds. The error says why nothing was written.
pub fn add(repo: &Repo, id: &str, source: Source, replaces: bool) -> Result<(PathBuf, Evidence)> {
    ensure!(is_id(id), "'{id}' is no id of evidence: {ID_FORM}");
    let project = &repo.project;
    let mut evidence = match source {
        Source::Run(run) => of_run(repo, run),
        Source::Bench(bench) => of_bench(repo, bench),
        Source::Sweep(sweep) => of_sweep(repo, sweep),
        Source::Profile(run) => of_profile(repo, run),
    }?;
    let (files, path) = (Root::new(&project.root), path_of(&project.root, id));
    let present = files.read(&path, LIMIT).ok();
    let present = present.and_then(|text| serde_json::from_slice::<Evidence>(&text).ok());
    if let Some(other) = present.filter(|it| !replaces && it.record() != evidence.record()) {
        let (kind, number, measured) = other.record();
        bail!(
            "evidence {id} is there, of {kind} {number} of {measured}, and decisions may cite it: choose another id, or \
             pass --replace"
        );
    }
    let figures = evidence.workloads.values_mut().map(|it| &mut it.figures);
    for figures in figures.chain([&mut evidence.figures]) {
        figures.retain(|_, figure| figure.value.is_finite());
    }
    // The numbers as a reader will find them in the text.
    let value = serde_json::from_str(&to_text(&serde_json::to_value(&evidence)?))?;
    evidence.signature = Some(public::sign(Statement::Evidence, &value)?);
    let text = to_text(&serde_json::to_value(&evidence)?);
    let made = files.create_dir_all(&project.root.join(EVIDENCE));
    leftovers::sweep(&files, Path::new(EVIDENCE));
    made.and_then(|()| files.replace(&path, text.as_bytes()))
        .cannot("write", &path)?;
    Ok((path, evidence))
}

/// Makes evidence of a record, or of the newest bench of the kernel, and lists it in a decision,
/// which is made if it is not there. Returns what was done, in words.
pub fn cite(repo: &Repo, decision: &str, source: Option<Source>) -> Result<String> {
    check_id(decision)?;
    let kernel = &repo.project.kernel_name;
    let newest = || {
        let benches = BenchStore::of(&repo.project);
        let newest = benches.starts(|start| start.kernel == *kernel).next();
        let newest = newest.map(|start| Source::Bench(start.bench));
        newest.with_context(|| format!("{kernel} has no bench yet: `lab bench` makes one"))
    };
    let source = source.map_or_else(newest, Ok)?;
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let id: String = format!("{decision}-{source}").chars().map(plain).collect();
    let (_, evidence) = add(repo, &id, source, false)?;
    let done = list(repo, decision, &id, &evidence)?;
    let done = done.iter().map(|what| format!("; done: {what}"));
    Ok(format!(
        "{source} is evidence {id} of decision {decision}{}: commit {EVIDENCE}/ and decisions.toml",
        done.collect::<String>()
    ))
}

/// Evidence of a kind that holds nothing yet but the kernel and when it was measured.
fn begun(kind: EvidenceKind, number: u64, kernel: &str, blob: &str, then: Timestamp) -> Evidence {
    Evidence {
        version: VERSION,
        lab: env!("CARGO_PKG_VERSION").to_owned(),
        kind,
        number,
        kernel: kernel.to_owned(),
        blob: blob.to_owned(),
        outcome: Outcome::Pass,
        measured: then,
        ..Evidence::default()
    }
}

fn require_own(is_own: bool, what: &str) -> Result<()> {
    ensure!(
        is_own,
        "{what} is foreign: somebody else's lab wrote its record, or it was changed since. Evidence is made of your \
         own records: measure again"
    );
    Ok(())
}

fn own_record(project: &Project, run: RunId) -> Result<Record> {
    let record = RunStore::of(project).read(run)?;
    require_own(!record.is_foreign(), &format!("run {run}"))?;
    Ok(record)
}

fn of_run(repo: &Repo, run: RunId) -> Result<Evidence> {
    let project = &repo.project;
    let record = own_record(project, run)?;
    let command = match record.start.reason {
        lab_run::Reason::Measure => "bench --verdict",
        _ => "run",
    };
    let mut evidence = of_record(repo, &record, EvidenceKind::Experiment, command)?;
    let (report, verdict) = (record.report(), record.verdict.clone().unwrap_or_default());
    evidence.runs = u32::from(verdict.outcome == Outcome::Pass);
    // A lab.toml that cannot be read is passed over: opening the kernel reports it.
    let kernel = project.root.join(&record.start.kernel);
    let own = Project::open(&project.root, Some(&kernel));
    let config = own.as_ref().map_or(&project.config, |own| &own.config);
    let figure = verdict.figure(&config.objective);
    let goal = verdict.chosen.as_ref().map_or(config.goal, Figure::goal);
    evidence.speed = verdict.change.and_then(|change| change.speed);
    let figures = &mut evidence.figures;
    figures.extend(verdict.kernel_us.map(|us| ("us".to_owned(), plain(us))));
    figures.extend(figure.map(named_figure));
    figures.extend(verdict.change.map(|change| ratio(change.improvement(goal))));
    for workload in workloads_of(&report) {
        let tflops = workload.gflops.map(|gflops| plain(gflops / 1e3));
        let all = [
            ("us", workload.us),
            ("gbps", workload.gbps.map(plain)),
            ("tflops", tflops),
            ("of_floor", workload.of_floor.map(plain)),
            ("vs_incumbent", workload.ratio),
        ];
        let all = all.into_iter();
        let all = all.filter_map(|(metric, figure)| Some((metric.to_owned(), figure?)));
        evidence.of_workload(&workload.name).extend(all);
    }
    evidence.take_peers(&record.peers);
    Ok(evidence)
}

/// What evidence of a run and of its profile have in common.
fn of_record(repo: &Repo, record: &Record, kind: EvidenceKind, command: &str) -> Result<Evidence> {
    let (start, report) = (&record.start, record.report());
    let Some(verdict) = &record.verdict else {
        bail!("run {} is in progress: wait for its end", start.id);
    };
    ensure!(
        verdict.outcome.is_verdict() && !start.is_check(),
        "run {} gave no verdict on its kernel, so it shows nothing",
        start.id
    );
    let mut evidence = begun(kind, start.id.0, &start.kernel, &start.blob, start.started);
    let value = |key| report.value(key).map(str::to_owned);
    evidence.device = record.device.clone();
    (evidence.driver, evidence.compiler) = (value("driver"), value("compiler"));
    evidence.device_state = report.device_state();
    (evidence.emulated, evidence.outcome) = (verdict.emulated, verdict.outcome);
    evidence.caveats.clone_from(&verdict.caveats);
    evidence.command = call(command, &start.kernel, record.target.as_deref());
    let kept = record.decision.as_ref();
    let kept = kept.filter(|decision| decision.status == Status::Keep);
    evidence.clean_tree = record.clean_tree;
    evidence.commit_of(repo, &record.inputs, kept.and_then(|it| it.commit.clone()))?;
    Ok(evidence)
}

fn of_bench(repo: &Repo, id: BenchId) -> Result<Evidence> {
    let bench = BenchStore::of(&repo.project).read(id)?;
    let peers = bench.peers.as_ref();
    let is_own = bench.is_own() && peers.is_none_or(|peers| peers.origin == Origin::Own);
    require_own(is_own, &format!("bench {id}"))?;
    let Bench { start, runs, .. } = &bench;
    let first = runs.first();
    let first = first.with_context(|| format!("no run of bench {id} has ended"))?;
    let (kernel, blob) = (&start.kernel, &start.blob);
    let mut evidence = begun(EvidenceKind::Bench, id.0, kernel, blob, start.started);
    let summary = Summary::of(&bench);
    evidence.device = first.device.name.clone();
    evidence.driver = first.device.driver.clone();
    evidence.compiler = first.device.compiler.clone();
    evidence.device_state = first.device_state.clone();
    evidence.emulated = bench.is_emulated();
    evidence.outcome = bench.failed_run().map_or(Outcome::Pass, |run| run.outcome);
    evidence.runs = summary.passed_runs as u32;
    let over_runs = |of: lab_bench::summary::TimeOverRuns| Measure {
        value: of.mean,
        low: Some(of.low),
        high: Some(of.high),
    };
    let figures = &mut evidence.figures;
    figures.extend(summary.mean.map(|us| ("us".to_owned(), over_runs(us))));
    let spread = summary.mean.map(|us| plain(us.spread_pct));
    figures.extend(spread.map(|spread| ("spread_pct".to_owned(), spread)));
    for workload in &summary.workloads {
        let us = workload.us.map(|us| ("us", over_runs(us)));
        let gbps = workload.gbps.map(|gbps| ("gbps", plain(gbps)));
        let tflops = workload
            .gflops
            .map(|gflops| ("tflops", plain(gflops / 1e3)));
        let all = us.into_iter().chain(gbps).chain(tflops);
        let all = all.map(|(metric, figure)| (metric.to_owned(), figure));
        evidence.of_workload(&workload.name).extend(all);
    }
    evidence.caveats = summary.caveats;
    if let Some(peers) = peers {
        let failed = peers.failure.iter().chain(&peers.caveats);
        let failed = failed.map(|why| format!("beside its peers: {why}"));
        evidence.caveats.extend(failed);
        evidence.take_peers(&peers.peers);
        evidence.mean_of_peers(&peers.peers);
    }
    evidence.command = call("bench", kernel, Some(&start.target));
    evidence.command += &format!(" --runs {}", start.runs);
    if let Some(of) = start.discipline {
        let (iterations, trials) = (of.iterations, of.trials);
        evidence.command += &format!(
            " --warm-up {} --iterations {iterations} --trials {trials}",
            of.warm_up
        );
    }
    evidence.clean_tree = start.clean_tree;
    evidence.commit_of(repo, &start.inputs, None)?;
    Ok(evidence)
}

fn of_sweep(repo: &Repo, id: SweepId) -> Result<Evidence> {
    let sweep = SweepStore::of(&repo.project).read(id)?;
    require_own(sweep.is_own(), &format!("sweep {id}"))?;
    let Sweep { start, points } = &sweep;
    let ranked = summary::ranked(points);
    let written = points.iter().find(|point| point.written);
    let shown = written.or(ranked.first().copied()).or(points.first());
    let shown = shown.with_context(|| format!("no point of sweep {id} was measured"))?;
    let (kernel, blob) = (&start.kernel, &shown.blob);
    let mut evidence = begun(EvidenceKind::Sweep, id.0, kernel, blob, start.started);
    evidence.device = shown.device.clone();
    evidence.driver = shown.driver.clone();
    evidence.compiler = shown.compiler.clone();
    evidence.device_state = shown.device_state.clone();
    evidence.emulated = sweep.is_emulated();
    evidence.runs = u32::from(!ranked.is_empty());
    if ranked.is_empty() {
        evidence.outcome = Outcome::Fail;
    }
    let counts = PointCounts::of(points);
    let counts = [
        ("points", points.len()),
        ("passed", ranked.len()),
        ("slower", counts.slower),
        ("wrong", counts.wrong),
        ("not_built", counts.not_built),
        ("crashed", counts.crashed),
    ];
    let counts = counts.map(|(metric, count)| (metric.to_owned(), plain(count as f64)));
    evidence.figures.extend(counts);
    let best = ranked.iter().take(POINTS);
    let caveats = best.clone().flat_map(|point| &point.caveats).cloned();
    evidence.caveats = caveats.collect::<BTreeSet<_>>().into_iter().collect();
    for (rank, point) in best.enumerate() {
        let mut figures: Vec<_> = point.figure.clone().map(named_figure).into_iter().collect();
        figures.extend(point.improvement().map(ratio));
        // On an emulated device no point is the best.
        if rank == 0 && !point.emulated {
            evidence.figures.extend(figures.clone());
            evidence.speed = point.change.and_then(|change| change.speed);
        }
        evidence.of_workload(&start.in_words(point)).extend(figures);
    }
    evidence.command = call("sweep", kernel, Some(&start.target));
    evidence.clean_tree = start.clean_tree;
    evidence.commit_of(repo, &files_of(repo, &sweep, blob), None)?;
    Ok(evidence)
}

/// The files that the verdicts of a sweep depend on, if those on disk are still the same and the
/// kernel is the one of this blob. A sweep records their common hash alone.
fn files_of(repo: &Repo, sweep: &Sweep, blob: &str) -> Vec<InputFile> {
    let (root, kernel) = (&repo.project.root, &sweep.start.kernel);
    let found = Project::open(root, Some(&root.join(kernel))).ok();
    let found = found.and_then(|project| {
        let inputs = inputs::read(&project).ok()?;
        let (source, space) = lab_sweep::space_of(&project, inputs.kernel()).ok()?;
        let is_same = lab_sweep::fingerprint_of(&inputs, &source, &space)
            == sweep.start.fingerprint
            && lab_git::blob_id(repo, kernel, inputs.kernel()).ok()? == blob;
        is_same.then(|| inputs.files())
    });
    found.unwrap_or_default()
}

fn of_profile(repo: &Repo, run: RunId) -> Result<Evidence> {
    let project = &repo.project;
    let record = own_record(project, run)?;
    let found = read::with_origin(project, run)?;
    let (profile, origin) =
        found.with_context(|| format!("run {run} has no profile: `lab profile` makes one"))?;
    let what = format!("the profile of run {run}");
    require_own(origin == Origin::Own, &what)?;
    let mut evidence = of_record(repo, &record, EvidenceKind::Profile, "profile")?;
    let words = format!(" --workload {}", shell::quote(&profile.workload));
    evidence.command += &words;
    evidence.device = Some(profile.device.clone());
    // The clocks and caveats are those of the run, which is evidence of its own.
    (evidence.device_state, evidence.caveats) = (None, Vec::new());
    if let ProfileOrigin::Image { why } = &profile.origin {
        let caveat = format!("nothing ran: the figures are of the built image. {why}");
        evidence.caveats.push(caveat);
    }
    if let Some(then) = profile.taken_unix_s {
        let then = Timestamp::from_second(then.try_into().unwrap_or(0));
        evidence.measured = then.unwrap_or(evidence.measured);
    }
    let occupancy = facts::occupancy(&profile);
    let loads = facts::loads(&profile).into_iter();
    let loads = loads.map(|load| (metric_name(load.part) + "_pct", Some(load.percent)));
    let others = [
        ("us", facts::microseconds(&profile)),
        ("sm_clock_mhz", facts::clock_mhz(&profile)),
        ("occupancy_pct", occupancy.achieved),
        ("registers", occupancy.registers),
        ("tensor_pct", facts::tensor_pipe(&profile)),
    ];
    let others = others.map(|(metric, value)| (metric.to_owned(), value));
    let all = loads.chain(others);
    let figures = all.filter_map(|(metric, value)| Some((metric, plain(value?))));
    evidence.figures = figures.collect();
    let figures = evidence.figures.clone();
    *evidence.of_workload(&profile.workload) = figures;
    Ok(evidence)
}
