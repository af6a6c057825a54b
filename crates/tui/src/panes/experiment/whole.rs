//! The sections of one experiment: what it came to, what proves it, what was measured and on what, what was changed,
//! and what its run printed.

use super::super::super::app::App;
use super::super::super::diff::View;
use super::super::super::format;
use super::super::super::text::{printable, width, wrap};
use super::super::super::theme::Theme;
use super::super::commits::mark;
use super::super::correctness::{self, state};
use super::document::{Body, Document, Section, labelled};
use lab_core::history::details::Whole;
use lab_core::message::Trailer;
use lab_core::run::experiment::Experiment;
use lab_core::run::record::{HeldOut, Record};
use lab_core::run::verdict::Outcome;
use lab_protocol::report::Report;
use ratatui::text::{Line, Span};

/// Columns of what stands before a value.
const LABEL: usize = 12;

pub fn sections<'a>(
    experiment: &Experiment,
    whole: Option<&'a Whole>,
    app: &'a App,
    columns: usize,
) -> Document<'a> {
    let theme = &app.theme;
    let record = whole.and_then(|w| w.record.as_ref());
    let mut all = vec![Section::new("", head(experiment, record, app, columns))];
    let Some(whole) = whole else {
        all.push(Section::new("trailers", trailers(&experiment.trailers, columns, theme)));
        all.push(Section::new("", vec![Line::styled("reading …", theme.quiet())]));
        return Document::new(all);
    };
    all.push(Section::new("trailers", trailers(&whole.trailers, columns, theme)));
    match record {
        Some(record) => all.extend(measured(record, app, columns)),
        None => {
            let text = "Its record is not here: neither the runs of this repository nor refs/notes/lab hold it (`git \
                        fetch origin refs/notes/lab:refs/notes/lab`).";
            let lines = wrap(text, columns).into_iter().map(|l| Line::styled(l, theme.quiet()));
            all.push(Section::new("", lines.collect()));
        }
    }
    let title = titled("what it changed", app);
    all.push(changes(&whole.diff, &app.panes.experiment.change, &title, columns, theme));
    all.push(Section { title: "run.log".to_owned(), body: Body::Log(&whole.log) });
    Document::new(all)
}

/// The title of a diff, with how much is shown around its changes where that is unusual.
pub fn titled(title: &str, app: &App) -> String {
    let around = app.panes.around.note();
    if around.is_empty() { title.to_owned() } else { format!("{title} · {around}") }
}

/// A diff, or why there is none.
pub fn changes<'a>(
    diff: &Result<String, String>,
    view: &'a View,
    title: &str,
    columns: usize,
    theme: &Theme,
) -> Section<'a> {
    let says = |text: &str| {
        let lines = wrap(&printable(text), columns).into_iter().map(|l| Line::styled(l, theme.quiet()));
        Body::Lines(lines.collect())
    };
    let body = match diff {
        Ok(diff) if diff.is_empty() => says("nothing: the kernel is the same"),
        Ok(_) => Body::Diff(view),
        Err(why) => says(why),
    };
    Section { title: title.to_owned(), body }
}

fn head(experiment: &Experiment, record: Option<&Record>, app: &App, columns: usize) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let row = &experiment.row;
    let status = format!("{} {}", mark(row.status), row.status.word());
    let mut out = Vec::new();
    let room = columns.saturating_sub(width(&status) + 2);
    for (at, text) in wrap(&printable(&row.description), room).into_iter().enumerate() {
        let sign = if at == 0 { format!("{status}  ") } else { " ".repeat(status.chars().count() + 2) };
        out.push(Line::from(vec![
            Span::styled(sign, theme.experiment(row.status)),
            Span::styled(text, theme.strong()),
        ]));
    }
    if out.is_empty() {
        out.push(Line::styled(status, theme.experiment(row.status)));
    }
    out.extend(figures(experiment, app));
    let verdict = record.and_then(|r| r.verdict.as_ref());
    if let Some(verdict) = verdict.filter(|v| !v.why.is_empty()) {
        let style = theme.verdict(verdict.outcome);
        let text = format!("{} {}", verdict.word(), printable(&verdict.why));
        out.extend(wrap(&text, columns).into_iter().map(|l| Line::styled(l, style)));
    }
    let mut facts = Vec::new();
    facts.extend(experiment.run.map(|run| format!("run {run}")));
    facts.extend(record.map(|r| r.start.reason.word().to_owned()));
    facts.extend(experiment.decided.map(|at| format!("decided {}", format::date(at, &app.zone))));
    facts.extend(record.and_then(|r| r.seconds).map(format::seconds));
    facts.extend(experiment.device.as_deref().map(|d| printable(d).into_owned()));
    facts.extend(experiment.kernel.as_deref().map(|k| printable(k).into_owned()));
    let facts = wrap(&facts.join(" · "), columns);
    out.extend(facts.into_iter().map(|l| Line::styled(l, theme.quiet())));
    for caveat in verdict.iter().flat_map(|v| &v.caveats) {
        let text = wrap(&printable(caveat), columns.saturating_sub(2));
        out.extend(text.into_iter().map(|l| Line::styled(format!("! {l}"), theme.warn())));
    }
    out
}

/// `165,210 sps (164,880 … 165,540)  6.05 µs  faster +3.1 % (+2.8 … +3.4) vs incumbent`.
fn figures(experiment: &Experiment, app: &App) -> Option<Line<'static>> {
    let theme = &app.theme;
    let figure = experiment.figure()?;
    let unit = printable(format::unit(&app.setup.objective)).into_owned();
    let about = if experiment.emulated { "~" } else { "" };
    let mut spans = vec![Span::styled(format!("{about}{} {unit}", format::count(figure)), theme.strong())];
    let measured = &experiment.measured;
    if let Some((low, high)) = measured.objective.and_then(|m| m.low.zip(m.high)) {
        let ends = format!(" ({} … {})", format::count(low), format::count(high));
        spans.push(Span::styled(ends, theme.quiet()));
    }
    if experiment.row.kernel_us > 0.0 {
        spans.push(Span::raw(format!("  {} µs", format::count(experiment.row.kernel_us))));
    }
    if let Some(change) = &measured.change {
        spans.push(Span::raw(format!("  {} vs {}", change.words(), change.against())));
    }
    if experiment.emulated {
        spans.push(Span::styled("  emulated: the times say nothing about a GPU", theme.warn()));
    }
    Some(Line::from(spans))
}

/// `Constraint  fits into 48 kB of shared memory`.
fn trailers(trailers: &[Trailer], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let label = trailers.iter().map(|(key, _)| width(key.word())).max().unwrap_or(0).min(columns / 3);
    let mut out = Vec::new();
    for (key, value) in trailers {
        let rows = value.lines().flat_map(|line| wrap(&printable(line), columns.saturating_sub(label + 4)));
        for (at, text) in rows.enumerate() {
            let key = if at == 0 { printable(key.word()) } else { "".into() };
            out.push(labelled(&key, label, text, theme));
        }
    }
    out
}

/// What the record holds of the run.
fn measured(record: &Record, app: &App, columns: usize) -> Vec<Section<'static>> {
    let theme = &app.theme;
    let report = record.report();
    let failed = record.verdict.as_ref().is_some_and(|v| v.build_failed);
    let mut all = vec![
        Section::new("what proves it", correctness::proof(&report, failed, columns, theme, app.glyphs)),
        Section::new("measured", correctness::others(&report, app.setup.objective.name(), columns, theme)),
        Section::new("on", device(&report, theme)),
    ];
    if let Some(held_out) = &record.held_out {
        all.push(Section::new("on what was held out", checked(held_out, app, columns)));
    }
    all
}

/// The device's state while it was measured, a row each; and what compiled and drove it.
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
            say(label, format!("{} {unit}{}", state::whole(measure.value), state::ends(&measure)));
        }
    }
    for (key, label) in [("throttle", "throttle"), ("foreign_processes", "strangers")] {
        if let Some(value) = report.value(key) {
            say(label, printable(value).into_owned());
        }
    }
    out.extend(correctness::provenance(report, theme));
    out
}

/// The check before the keep.
fn checked(held_out: &HeldOut, app: &App, columns: usize) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let outcome = held_out.outcome;
    let mut says = format!("{} {}", outcome.sign(), outcome.word());
    if outcome != Outcome::Pass {
        says.push_str(&format!("  {}", printable(&held_out.why)));
    }
    let mut out = vec![Line::from(vec![
        Span::styled(says, theme.verdict(outcome)),
        Span::styled(format!("  {}", format::date(held_out.checked, &app.zone)), theme.quiet()),
    ])];
    let mut report = Report::default();
    for (key, value) in &held_out.results {
        report.push_line(&format!("{key}: {value}"));
    }
    out.extend(correctness::proof(&report, false, columns, theme, app.glyphs));
    out
}
