//! The sections of one experiment: result, evidence, measurements, device, changes, and its run's
//! log.

use super::{Page, peers};
use crate::diff::DiffView;
use crate::format;
use crate::text::{pad, printable, width, wrap};
use crate::theme::Theme;
use crate::widgets::document::{Body, Document, Section};
use crate::widgets::evidence::{self, device_state};
use crate::widgets::{Lines, joined, labelled, mark, paragraph, prefixed};
use lab_history::details::ExperimentDetails;
use lab_project::objective::Objective;
use lab_protocol::report::Report;
use lab_run::experiment::Experiment;
use lab_run::message::Trailer;
use lab_run::record::{HeldOut, Record};
use lab_run::verdict::{Outcome, Verdict};
use ratatui::prelude::*;

/// Columns of a label.
const LABEL: usize = 12;

impl Page<'_> {
    /// A fact of one row beside its label.
    fn fact(&self, label: &str, text: &str) -> Line<'static> {
        let theme = self.data.theme();
        let label = format!("  {}  ", pad(label, LABEL));
        let text = printable(text);
        Line::from(vec![
            Span::styled(label, theme.quiet()),
            Span::styled(text, theme.text()),
        ])
    }
}

pub fn sections<'a>(
    experiment: &Experiment,
    details: Option<&'a ExperimentDetails>,
    view: &'a DiffView,
    page: Page,
) -> Document<'a> {
    let (columns, theme) = (page.columns, page.data.theme());
    let record = details.and_then(|d| d.record.as_ref());
    let mut all = vec![Section::new("", head(experiment, record, page))];
    let mut add = |title: &str, lines| all.push(Section::new(title, lines));
    let Some(details) = details else {
        add("trailers", trailers(&experiment.trailers, columns, theme));
        add("", paragraph("reading …", columns, theme.quiet()));
        return Document::new(all);
    };
    add("trailers", trailers(&details.trailers, columns, theme));
    match record {
        Some(record) => all.extend(measured(record, page)),
        None => {
            let text = "Its record is not here: neither the runs of this repository nor its git notes hold it. `lab fetch` \
                        fetches records of other clones, from a bundle in the repository or from its remote.";
            add("", paragraph(text, columns, theme.quiet()));
        }
    }
    let benches = benches(details, columns, theme);
    all.push(Section::new("benches of these bytes", benches));
    all.push(changes(&details.diff, view, "what it changed", page));
    all.push(Section {
        title: "run.log".to_owned(),
        body: Body::Log(&details.log),
    });
    Document::new(all)
}

/// One line for each bench.
fn benches(details: &ExperimentDetails, columns: usize, theme: &Theme) -> Lines {
    let mut out = Vec::new();
    for bench in &details.benches {
        let style = match bench.passed < bench.workloads {
            true => theme.bad(),
            false => theme.text(),
        };
        out.extend(paragraph(&bench.to_string(), columns, style));
    }
    if details.benches.iter().any(|bench| bench.emulated) {
        out.push(Line::styled(
            "emulated: the times say nothing about a GPU",
            theme.warn(),
        ));
    }
    out
}

/// A diff, or why there is none.
pub fn changes<'a>(
    diff: &Result<String, String>,
    view: &'a DiffView,
    title: &str,
    page: Page,
) -> Section<'a> {
    let quiet = |text| Body::Lines(paragraph(text, page.columns, page.data.theme().quiet()));
    let body = match diff {
        Ok(diff) if diff.is_empty() => quiet("nothing: the kernel is the same"),
        Ok(_) => Body::Diff(view),
        Err(why) => quiet(why),
    };
    Section {
        title: joined([title, page.around.note()]),
        body,
    }
}

fn head(experiment: &Experiment, record: Option<&Record>, page: Page) -> Lines {
    let Page { data, columns, .. } = page;
    let theme = data.theme();
    let row = &experiment.row;
    let status = format!("{} {}", mark(row.status), row.status.word());
    let mut out = Vec::new();
    let room = columns.saturating_sub(width(&status) + 2);
    for (at, text) in wrap(&printable(&row.description), room)
        .into_iter()
        .enumerate()
    {
        let sign = if at == 0 {
            format!("{status}  ")
        } else {
            " ".repeat(status.chars().count() + 2)
        };
        out.push(Line::from(vec![
            Span::styled(sign, theme.experiment(row.status)),
            Span::styled(text, theme.strong()),
        ]));
    }
    if out.is_empty() {
        out.push(Line::styled(status, theme.experiment(row.status)));
    }
    out.extend(figures(experiment, &data.setup.objective, theme));
    let verdict = record.and_then(|r| r.verdict.as_ref());
    if let Some(slower) = verdict.and_then(Verdict::slower_workloads) {
        out.extend(prefixed("! ", &slower, columns, theme.warn()));
    }
    if let Some(verdict) = verdict.filter(|v| !v.why.is_empty()) {
        let text = format!("{} {}", verdict.word(), verdict.why);
        out.extend(paragraph(&text, columns, theme.verdict(verdict.outcome)));
    }
    let mut facts = Vec::new();
    facts.extend(experiment.run.map(|run| format!("run {run}")));
    facts.extend(record.map(|r| r.start.reason.word().to_owned()));
    facts.extend(
        experiment
            .decided
            .map(|at| format!("decided {}", format::date(at, &data.appearance.zone))),
    );
    facts.extend(record.and_then(|r| r.seconds).map(format::seconds));
    facts.extend(experiment.device.clone());
    facts.extend(experiment.kernel.clone());
    out.extend(paragraph(&facts.join(" · "), columns, theme.quiet()));
    for caveat in verdict.iter().flat_map(|v| &v.caveats) {
        out.extend(prefixed("! ", caveat, columns, theme.warn()));
    }
    out
}

/// `165,210 sps (164,880 … 165,540)  6.05 µs  faster +3.1 % (+2.8 … +3.4) vs incumbent`.
fn figures(experiment: &Experiment, objective: &Objective, theme: &Theme) -> Option<Line<'static>> {
    let figure = experiment.figure()?;
    let unit = printable(experiment.objective(objective).unit());
    let about = if experiment.emulated { "~" } else { "" };
    let measured = &experiment.measured;
    let (figure, ends) = format::measure(figure, measured.shown().and_then(|m| m.low.zip(m.high)));
    let mut spans = vec![Span::styled(
        format!("{about}{figure} {unit}"),
        theme.strong(),
    )];
    if let Some(ends) = ends {
        spans.push(Span::styled(format!(" {ends}"), theme.quiet()));
    }
    if experiment.row.kernel_us > 0.0 {
        spans.push(Span::raw(format!(
            "  {} µs",
            format::count(experiment.row.kernel_us)
        )));
    }
    if let Some(change) = &measured.change {
        spans.push(Span::raw(format!("  {change} vs {}", change.against())));
    }
    if experiment.emulated {
        spans.push(Span::styled(
            "  emulated: the times say nothing about a GPU",
            theme.warn(),
        ));
    }
    if experiment.foreign {
        spans.push(Span::styled(
            "  foreign: another's lab recorded it",
            theme.warn(),
        ));
    }
    Some(Line::from(spans))
}

/// `Constraint  fits into 48 kB of shared memory`.
fn trailers(trailers: &[Trailer], columns: usize, theme: &Theme) -> Lines {
    let labels = trailers.iter().map(|(key, _)| width(key.word()));
    let label_columns = labels.max().unwrap_or(0).min(columns / 3);
    let mut out = Vec::new();
    for (key, value) in trailers {
        for (at, line) in value.lines().enumerate() {
            let key = if at == 0 { key.word() } else { "" };
            let key = printable(key);
            out.extend(labelled(&key, label_columns, line, columns, theme));
        }
    }
    out
}

/// What the record holds of the run.
fn measured(record: &Record, page: Page) -> Vec<Section<'static>> {
    let (columns, appearance) = (page.columns, page.data.appearance);
    let (theme, symbols) = (page.data.theme(), appearance.symbols);
    let report = record.report();
    let failed = record.verdict.as_ref().is_some_and(|v| v.build_failed);
    let objective = page.data.setup.objective.name();
    let held_out = record.held_out.as_ref();
    [
        (
            "what proves it",
            evidence::proof(&report, failed, columns, theme, symbols),
        ),
        (
            "measured",
            evidence::others(&report, objective, columns, theme),
        ),
        (
            "beside the peers",
            peers::lines(&record.peers, columns, appearance),
        ),
        ("on", device(&report, page)),
        (
            "on what was held out",
            held_out.map_or_else(Vec::new, |held_out| held_out_check(held_out, page)),
        ),
    ]
    .map(|(title, lines)| Section::new(title, lines))
    .into()
}

/// The device's state during the measurement, one row for each figure; compiler and driver.
fn device(report: &Report, page: Page) -> Lines {
    let mut out = Vec::new();
    let mut say = |label: &str, text: &str| out.push(page.fact(label, text));
    if let Some(device) = report.device() {
        say("device", device);
    }
    for (key, label, unit) in [
        ("sm_clock_mhz", "SM clock", "MHz"),
        ("memory_clock_mhz", "memory clock", "MHz"),
        ("temperature_c", "temperature", "°C"),
        ("power_w", "power", "W"),
    ] {
        if let Some(measure) = report.measure(key) {
            let value = device_state::rounded(measure.value);
            let range = device_state::range(&measure);
            say(label, &format!("{value} {unit}{range}"));
        }
    }
    for (key, label) in [("throttle", "throttle"), ("foreign_processes", "strangers")] {
        if let Some(value) = report.value(key) {
            say(label, value);
        }
    }
    out.extend(evidence::provenance(report, page.data.theme()));
    out
}

/// The check on held-out inputs before the keep.
fn held_out_check(held_out: &HeldOut, page: Page) -> Lines {
    let Page { data, columns, .. } = page;
    let theme = data.theme();
    let outcome = held_out.outcome;
    let mut text = format!("{} {}", outcome.sign(), outcome.word());
    if outcome != Outcome::Pass {
        text.push_str(&format!("  {}", printable(&held_out.why)));
    }
    let mut out = vec![Line::from(vec![
        Span::styled(text, theme.verdict(outcome)),
        Span::styled(
            format!(
                "  {}",
                format::date(held_out.checked, &data.appearance.zone)
            ),
            theme.quiet(),
        ),
    ])];
    out.push(page.fact("sealed runs", &format!("{} passed", held_out.sealed_runs)));
    if let Some(measured) = &held_out.measured {
        let mut figure = format::count(measured.shown().value);
        figure.extend(
            measured
                .chosen
                .map(|chosen| format!(" {}", chosen.of.objective().unit())),
        );
        figure.extend(
            measured
                .change
                .map(|change| format!("  {change} vs {}", change.against())),
        );
        out.push(page.fact("figure", &figure));
    }
    if let Some(slower) = &held_out.mixed {
        out.push(page.fact("slower", slower));
    }
    for caveat in &held_out.caveats {
        out.push(page.fact("caveat", caveat));
    }
    let mut report = Report::default();
    for (key, value) in &held_out.results {
        report.push_line(&format!("{key}: {value}"));
    }
    let symbols = data.appearance.symbols;
    out.extend(evidence::proof(&report, false, columns, theme, symbols));
    out
}
