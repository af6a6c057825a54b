//! The sections of one experiment: result, evidence, measurements, device, changes, and its run's
//! log.

use super::Shown;
use super::document::{Body, Document, Section, labelled};
use super::peers;
use crate::diff::{ContextLines, DiffView};
use crate::format;
use crate::state::ScreenSettings;
use crate::text::{printable, width, wrap};
use crate::theme::Theme;
use crate::widgets::evidence::{self, device_state};
use crate::widgets::mark;
use lab_core::history::details::ExperimentDetails;
use lab_core::message::Trailer;
use lab_core::objective::Objective;
use lab_core::run::experiment::Experiment;
use lab_core::run::record::{HeldOut, Record};
use lab_core::run::verdict::{Outcome, Verdict};
use lab_protocol::report::Report;
use ratatui::text::{Line, Span};

/// Columns of a label.
const LABEL: usize = 12;

pub fn sections<'a>(
    experiment: &Experiment,
    details: Option<&'a ExperimentDetails>,
    view: &'a DiffView,
    shown: Shown,
    columns: usize,
    appearance: &ScreenSettings,
) -> Document<'a> {
    let theme = &appearance.theme;
    let objective = shown.objective;
    let record = details.and_then(|d| d.record.as_ref());
    let mut all = vec![Section::new(
        "",
        head(experiment, record, objective, columns, appearance),
    )];
    let Some(details) = details else {
        all.push(Section::new(
            "trailers",
            trailers(&experiment.trailers, columns, theme),
        ));
        all.push(Section::new(
            "",
            vec![Line::styled("reading …", theme.quiet())],
        ));
        return Document::new(all);
    };
    all.push(Section::new(
        "trailers",
        trailers(&details.trailers, columns, theme),
    ));
    match record {
        Some(record) => all.extend(measured(record, objective, columns, appearance)),
        None => {
            let text = "Its record is not here: neither the runs of this repository nor its git notes hold it. `lab fetch` \
                        fetches records of other clones, from a bundle in the repository or from its remote.";
            let lines = wrap(text, columns)
                .into_iter()
                .map(|l| Line::styled(l, theme.quiet()));
            all.push(Section::new("", lines.collect()));
        }
    }
    if !details.benches.is_empty() {
        all.push(Section::new(
            "benches of these bytes",
            benches(details, columns, theme),
        ));
    }
    let title = diff_title("what it changed", shown.around);
    all.push(changes(&details.diff, view, &title, columns, theme));
    all.push(Section {
        title: "run.log".to_owned(),
        body: Body::Log(&details.log),
    });
    Document::new(all)
}

/// One line for each bench.
fn benches(details: &ExperimentDetails, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for bench in &details.benches {
        let style = if bench.passed < bench.workloads {
            theme.bad()
        } else {
            theme.text()
        };
        let text = wrap(&printable(&bench.to_string()), columns);
        out.extend(text.into_iter().map(|line| Line::styled(line, style)));
    }
    if details.benches.iter().any(|bench| bench.emulated) {
        out.push(Line::styled(
            "emulated: the times say nothing about a GPU",
            theme.warn(),
        ));
    }
    out
}

/// The title of a diff, with the lines around its changes where they are not the usual ones.
pub fn diff_title(title: &str, around: ContextLines) -> String {
    let around = around.note();
    if around.is_empty() {
        title.to_owned()
    } else {
        format!("{title} · {around}")
    }
}

/// A diff, or why there is none.
pub fn changes<'a>(
    diff: &Result<String, String>,
    view: &'a DiffView,
    title: &str,
    columns: usize,
    theme: &Theme,
) -> Section<'a> {
    let text_of = |text: &str| {
        let lines = wrap(&printable(text), columns)
            .into_iter()
            .map(|l| Line::styled(l, theme.quiet()));
        Body::Lines(lines.collect())
    };
    let body = match diff {
        Ok(diff) if diff.is_empty() => text_of("nothing: the kernel is the same"),
        Ok(_) => Body::Diff(view),
        Err(why) => text_of(why),
    };
    Section {
        title: title.to_owned(),
        body,
    }
}

fn head(
    experiment: &Experiment,
    record: Option<&Record>,
    objective: &Objective,
    columns: usize,
    appearance: &ScreenSettings,
) -> Vec<Line<'static>> {
    let theme = &appearance.theme;
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
    out.extend(figures(experiment, objective, theme));
    let verdict = record.and_then(|r| r.verdict.as_ref());
    if let Some(slower) = verdict.and_then(Verdict::slower_workloads) {
        let text = wrap(&printable(&slower), columns.saturating_sub(2));
        out.extend(
            text.into_iter()
                .map(|l| Line::styled(format!("! {l}"), theme.warn())),
        );
    }
    if let Some(verdict) = verdict.filter(|v| !v.why.is_empty()) {
        let style = theme.verdict(verdict.outcome);
        let text = format!("{} {}", verdict.word(), printable(&verdict.why));
        out.extend(
            wrap(&text, columns)
                .into_iter()
                .map(|l| Line::styled(l, style)),
        );
    }
    let mut facts = Vec::new();
    facts.extend(experiment.run.map(|run| format!("run {run}")));
    facts.extend(record.map(|r| r.start.reason.word().to_owned()));
    facts.extend(
        experiment
            .decided
            .map(|at| format!("decided {}", format::date(at, &appearance.zone))),
    );
    facts.extend(record.and_then(|r| r.seconds).map(format::seconds));
    facts.extend(
        experiment
            .device
            .as_deref()
            .map(|d| printable(d).into_owned()),
    );
    facts.extend(
        experiment
            .kernel
            .as_deref()
            .map(|k| printable(k).into_owned()),
    );
    let facts = wrap(&facts.join(" · "), columns);
    out.extend(facts.into_iter().map(|l| Line::styled(l, theme.quiet())));
    for caveat in verdict.iter().flat_map(|v| &v.caveats) {
        let text = wrap(&printable(caveat), columns.saturating_sub(2));
        out.extend(
            text.into_iter()
                .map(|l| Line::styled(format!("! {l}"), theme.warn())),
        );
    }
    out
}

/// `165,210 sps (164,880 … 165,540)  6.05 µs  faster +3.1 % (+2.8 … +3.4) vs incumbent`.
fn figures(experiment: &Experiment, objective: &Objective, theme: &Theme) -> Option<Line<'static>> {
    let figure = experiment.figure()?;
    let unit = printable(format::unit(&experiment.objective(objective))).into_owned();
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
fn trailers(trailers: &[Trailer], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let label = trailers
        .iter()
        .map(|(key, _)| width(key.word()))
        .max()
        .unwrap_or(0)
        .min(columns / 3);
    let mut out = Vec::new();
    for (key, value) in trailers {
        let rows = value
            .lines()
            .flat_map(|line| wrap(&printable(line), columns.saturating_sub(label + 4)));
        for (at, text) in rows.enumerate() {
            let key = if at == 0 {
                printable(key.word())
            } else {
                "".into()
            };
            out.push(labelled(&key, label, text, theme));
        }
    }
    out
}

/// What the record holds of the run.
fn measured(
    record: &Record,
    objective: &Objective,
    columns: usize,
    appearance: &ScreenSettings,
) -> Vec<Section<'static>> {
    let theme = &appearance.theme;
    let report = record.report();
    let failed = record.verdict.as_ref().is_some_and(|v| v.build_failed);
    let mut all = vec![
        Section::new(
            "what proves it",
            evidence::proof(&report, failed, columns, theme, appearance.symbols),
        ),
        Section::new(
            "measured",
            evidence::others(&report, objective.name(), columns, theme),
        ),
        Section::new(
            "beside the peers",
            peers::lines(&record.peers, columns, appearance),
        ),
        Section::new("on", device(&report, theme)),
    ];
    if let Some(held_out) = &record.held_out {
        all.push(Section::new(
            "on what was held out",
            held_out_check(held_out, columns, appearance),
        ));
    }
    all
}

/// The device's state during the measurement, one row for each figure; compiler and driver.
fn device(report: &Report, theme: &Theme) -> Vec<Line<'static>> {
    let mut out: Vec<Line> = Vec::new();
    let mut say = |label: &str, text: String| out.push(labelled(label, LABEL, text, theme));
    if let Some(device) = report.device() {
        say("device", printable(device).into_owned());
    }
    for (key, label, unit) in [
        ("sm_clock_mhz", "SM clock", "MHz"),
        ("memory_clock_mhz", "memory clock", "MHz"),
        ("temperature_c", "temperature", "°C"),
        ("power_w", "power", "W"),
    ] {
        if let Some(measure) = report.measure(key) {
            say(
                label,
                format!(
                    "{} {unit}{}",
                    device_state::rounded(measure.value),
                    device_state::range(&measure)
                ),
            );
        }
    }
    for (key, label) in [("throttle", "throttle"), ("foreign_processes", "strangers")] {
        if let Some(value) = report.value(key) {
            say(label, printable(value).into_owned());
        }
    }
    out.extend(evidence::provenance(report, theme));
    out
}

/// The check on held-out inputs before the keep.
fn held_out_check(
    held_out: &HeldOut,
    columns: usize,
    appearance: &ScreenSettings,
) -> Vec<Line<'static>> {
    let theme = &appearance.theme;
    let outcome = held_out.outcome;
    let mut text = format!("{} {}", outcome.sign(), outcome.word());
    if outcome != Outcome::Pass {
        text.push_str(&format!("  {}", printable(&held_out.why)));
    }
    let mut out = vec![Line::from(vec![
        Span::styled(text, theme.verdict(outcome)),
        Span::styled(
            format!("  {}", format::date(held_out.checked, &appearance.zone)),
            theme.quiet(),
        ),
    ])];
    if let Some(runs) = held_out.sealed_runs {
        out.push(labelled(
            "sealed runs",
            LABEL,
            format!("{runs} passed"),
            theme,
        ));
    }
    if let Some(measured) = &held_out.measured {
        let mut figure = format::count(measured.shown().value);
        figure.extend(
            measured
                .chosen
                .map(|chosen| format!(" {}", format::unit(&chosen.of.objective()))),
        );
        figure.extend(
            measured
                .change
                .map(|change| format!("  {change} vs {}", change.against())),
        );
        out.push(labelled("figure", LABEL, figure, theme));
    }
    if let Some(slower) = &held_out.mixed {
        out.push(labelled(
            "slower",
            LABEL,
            printable(slower).into_owned(),
            theme,
        ));
    }
    for caveat in &held_out.caveats {
        out.push(labelled(
            "caveat",
            LABEL,
            printable(caveat).into_owned(),
            theme,
        ));
    }
    let mut report = Report::default();
    for (key, value) in &held_out.results {
        report.push_line(&format!("{key}: {value}"));
    }
    out.extend(evidence::proof(
        &report,
        false,
        columns,
        theme,
        appearance.symbols,
    ));
    out
}
