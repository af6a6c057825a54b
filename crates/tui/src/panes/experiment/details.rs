//! The sections of one experiment: result, evidence, measurements, device, changes, and its run's
//! log.

use super::{Page, peers};
use crate::diff::DiffView;
use crate::prelude::*;
use crate::state::Setup;
use crate::widgets::evidence::{self, device_state};
use lab_history::details::ExperimentDetails;
use lab_protocol::report::Report;
use lab_run::experiment::{Experiment, Status};
use lab_run::message::Trailer;
use lab_run::record::{HeldOut, Record};
use lab_run::verdict::{Change, Outcome, Verdict};

/// Columns of a label.
const LABEL: usize = 12;

const EMULATED: &str = "emulated: the times say nothing about a GPU";

/// A fact of one row beside its label.
fn fact(label: &str, text: &str) -> Line<'static> {
    let label = format!("  {}  ", pad(label, LABEL));
    Line::from(vec![label.quiet(), Span::raw(printable(text))])
}

pub fn sections<'a>(
    experiment: &Experiment,
    details: Option<&'a ExperimentDetails>,
    view: &'a DiffView,
    page: Page,
) -> Document<'a> {
    let columns = page.columns;
    let record = details.and_then(|d| d.record.as_ref());
    let mut all = vec![Section::new("", head(experiment, record, page))];
    let mut add = |title: &str, lines| all.push(Section::new(title, lines));
    let Some(details) = details else {
        add("trailers", trailers(&experiment.trailers, columns));
        add("", paragraph("reading …", columns, QUIET));
        return Document::new(all);
    };
    // The present trailers; the commit's own where neither a record nor a note has any.
    let present = match experiment.trailers.as_slice() {
        [] => &details.trailers,
        present => present,
    };
    add("trailers", trailers(present, columns));
    match record {
        Some(record) => all.extend(measured(record, page)),
        None if experiment.row.status == Status::Rules => {
            let text = "A change of the rules is no run: it has no record. The figures before it and after it were judged \
                        by different rules.";
            add("", paragraph(text, columns, QUIET));
        }
        None => {
            let text = "Its record is not here: neither the runs of this repository nor its git notes hold it. `lab fetch` \
                        fetches records of other clones, from a bundle in the repository or from its remote.";
            add("", paragraph(text, columns, QUIET));
        }
    }
    let benches = benches(details, columns);
    all.push(Section::new("benches of these bytes", benches));
    let title = joined(["what it changed", page.around.note()]);
    all.push(changes(&details.diff, view, title, columns));
    all.push(Section::new("run.log", Body::Log(&details.log)));
    Document::new(all)
}

/// One line for each bench.
fn benches(details: &ExperimentDetails, columns: usize) -> Lines {
    let mut out = Vec::new();
    for bench in &details.benches {
        let has_failed = bench.passed < bench.workloads;
        let style = if has_failed { BAD } else { TEXT };
        out.extend(paragraph(&bench.to_string(), columns, style));
    }
    if details.benches.iter().any(|bench| bench.emulated) {
        out.push(Line::styled(EMULATED, WARN));
    }
    out
}

/// A diff, or why there is none.
pub fn changes<'a>(
    diff: &Result<String, String>,
    view: &'a DiffView,
    title: String,
    columns: usize,
) -> Section<'a> {
    let quiet = |text| Body::Lines(paragraph(text, columns, QUIET));
    let body = match diff {
        Ok(diff) if diff.is_empty() => quiet("nothing: it is the same"),
        Ok(_) => Body::Diff(view),
        Err(why) => quiet(why),
    };
    Section { title, body }
}

fn head(experiment: &Experiment, record: Option<&Record>, page: Page) -> Lines {
    let Page { data, columns, .. } = page;
    let row = &experiment.row;
    let status_style = style::experiment(row.status);
    let status = Span::styled(format!("{}  ", decided(row.status)), status_style);
    let room = columns.saturating_sub(status.width());
    let described = wrap(&printable(&row.description), room);
    let mut out = if described.is_empty() {
        vec![status.into()]
    } else {
        hanging(status, described, STRONG)
    };
    out.extend(figures(experiment, data.setup));
    let verdict = record.and_then(|r| r.verdict.as_ref());
    if let Some(slower) = verdict.and_then(Verdict::slower_workloads) {
        out.extend(prefixed("! ", &slower, columns, WARN));
    }
    if let Some(verdict) = verdict.filter(|v| !v.why.is_empty()) {
        let text = format!("{} {}", verdict.word(), verdict.why);
        out.extend(paragraph(&text, columns, style::verdict(verdict.outcome)));
    }
    let decided = experiment.decided.map(|at| data.date(at));
    let facts = [
        experiment.run.map(|run| format!("run {run}")),
        record.map(|r| r.start.reason.word().to_owned()),
        decided.map(|at| format!("decided {at}")),
        record.and_then(|r| r.seconds).map(format::seconds),
        experiment.device.clone(),
        experiment.kernel.clone(),
    ];
    let facts = joined(facts.into_iter().flatten());
    out.extend(paragraph(&facts, columns, QUIET));
    for caveat in verdict.iter().flat_map(|v| &v.caveats) {
        out.extend(prefixed("! ", caveat, columns, WARN));
    }
    out
}

/// `165,210 sps (164,880 … 165,540)  6.05 µs  faster +3.1 % (+2.8 … +3.4) vs incumbent`.
fn figures(experiment: &Experiment, setup: &Setup) -> Option<Line<'static>> {
    let unit = printable(experiment.objective(&setup.objective).heading());
    let about = if experiment.emulated { "~" } else { "" };
    let measured = &experiment.measured;
    let ends = measured.shown().and_then(|m| m.low.zip(m.high));
    let (figure, ends) = format::measure(experiment.figure()?, ends);
    let time = time_beside(experiment, setup);
    let time = time.map(|time| format!("  {}", format::us(time)));
    let spans = [
        Some(format!("{about}{figure} {unit}").strong()),
        ends.map(|ends| format!(" {ends}").quiet()),
        time.map(Span::raw),
        measured.change.map(|change| against(&change, setup).into()),
        experiment.emulated.then(|| format!("  {EMULATED}").warn()),
        foreign(experiment).map(Meaning::warn),
    ];
    Some(Line::from_iter(spans.into_iter().flatten()))
}

/// Why the figures are not vouched for by a record of this user's.
fn foreign(experiment: &Experiment) -> Option<&'static str> {
    let has_record = experiment.run.is_some() || experiment.decided.is_some();
    experiment.foreign.then_some(if has_record {
        "  foreign: another's lab recorded it"
    } else {
        "  foreign: no record here says so"
    })
}

fn against(change: &Change, setup: &Setup) -> String {
    format!("  {} vs {}", setup.in_words(change), change.against())
}

/// `Constraint  fits into 48 kB of shared memory`.
fn trailers(trailers: &[Trailer], columns: usize) -> Lines {
    let labels = widest(trailers.iter().map(|(key, _)| key.word()));
    let label_columns = labels.min(columns / 3);
    let room = columns.saturating_sub(label_columns + 4);
    let rows = |(key, value): &Trailer| {
        let label = format!("  {}  ", pad(&printable(key.word()), label_columns));
        let rows = value.lines().flat_map(|line| wrap(&printable(line), room));
        hanging(label.quiet(), rows.collect(), TEXT)
    };
    trailers.iter().flat_map(rows).collect()
}

/// What the record holds of the run.
fn measured(record: &Record, page: Page) -> Vec<Section<'static>> {
    let Page { data, columns, .. } = page;
    let report = record.report();
    let verdict = record.verdict.as_ref();
    let ended = (
        verdict.map(|v| v.outcome),
        verdict.is_some_and(|v| v.build_failed),
    );
    let proof = evidence::proof(&report, ended, columns, data.appearance.symbols);
    let objective = data.setup.objective.name();
    let held_out = record.held_out.as_ref();
    let held_out = held_out.map(|held_out| held_out_check(held_out, page));
    // Emulated times are not compared.
    let beside = if record.emulated() {
        Vec::new()
    } else {
        peers::lines(&record.peers, columns, data)
    };
    let sections = [
        ("what proves it", proof),
        ("measured", evidence::others(&report, objective, columns)),
        ("beside the peers", beside),
        ("on", device(&report)),
        ("on what was held out", held_out.unwrap_or_default()),
    ];
    sections
        .map(|(title, lines)| Section::new(title, lines))
        .into()
}

/// The device's state during the measurement, one row for each figure; compiler and driver.
fn device(report: &Report) -> Lines {
    let measured = |key, unit| {
        let measure = report.measure(key)?;
        let value = device_state::rounded(measure.value);
        Some(format!("{value} {unit}{}", device_state::range(&measure)))
    };
    let value = |key| report.value(key).map(str::to_owned);
    let facts = [
        ("device", report.device().map(str::to_owned)),
        ("SM clock", measured("sm_clock_mhz", "MHz")),
        ("memory clock", measured("memory_clock_mhz", "MHz")),
        ("temperature", measured("temperature_c", "°C")),
        ("power", measured("power_w", "W")),
        ("throttle", value("throttle")),
        ("strangers", value("foreign_processes")),
    ];
    let rows = facts.into_iter();
    rows.filter_map(|(label, text)| Some(fact(label, &text?)))
        .chain(evidence::provenance(report))
        .collect()
}

/// The check on held-out inputs before the keep.
fn held_out_check(held_out: &HeldOut, page: Page) -> Lines {
    let Page { data, columns, .. } = page;
    let outcome = held_out.outcome;
    let mut text = format!("{} {}", outcome.sign(), outcome.word());
    if outcome != Outcome::Pass {
        text.push_str(&format!("  {}", printable(&held_out.why)));
    }
    let mut out = vec![
        Line::from(vec![
            Span::styled(text, style::verdict(outcome)),
            format!("  {}", data.date(held_out.checked)).quiet(),
        ]),
        fact("sealed runs", &format!("{} passed", held_out.sealed_runs)),
    ];
    if let Some(measured) = &held_out.measured {
        let mut figure = format::count(measured.shown().value);
        let chosen = measured.chosen.as_ref();
        figure.extend(chosen.map(|chosen| format!(" {}", chosen.of.objective().unit())));
        let change = measured.change.as_ref();
        figure.extend(change.map(|change| against(change, data.setup)));
        out.push(fact("figure", &figure));
    }
    out.extend(held_out.mixed.iter().map(|slower| fact("slower", slower)));
    out.extend(held_out.caveats.iter().map(|caveat| fact("caveat", caveat)));
    let mut report = Report::default();
    for (key, value) in &held_out.results {
        report.push_line(&format!("{key}: {value}"));
    }
    let symbols = data.appearance.symbols;
    let ended = (Some(outcome), false);
    out.extend(evidence::proof(&report, ended, columns, symbols));
    out
}
