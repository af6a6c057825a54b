//! A verdict on stdout as the screen says it: the word, the gates, the workloads, the caveats, what can
//! be done next. With colours and strips where stdout is a terminal.

use super::output::{columns, say_styled};
use super::say;
use super::theme::painted;
use super::verdict::Judged;
use crate::screen::preferences;
use lab_protocol::console;
use lab_protocol::report::{Report, Speed, Workload};
use lab_run::verdict::Outcome;
use lab_text::figures::figure;
use lab_tui::chart::SymbolSet;
use lab_tui::panes::workloads;
use lab_tui::text::{pad, pad_left, printable, width};
use lab_tui::theme::style::{self, BAD, QUIET, STRONG, TEXT, WARN};
use lab_tui::theme::{AppearanceChoice, Theme};
use lab_tui::widgets::evidence;
use ratatui::text::{Line, Span};

/// Most workloads that are listed.
const LISTED: usize = 12;

/// The correctness of a workload that a run ended before.
const NOT_JUDGED: &str = "not_judged";

/// Columns of text that is no terminal's.
const COLUMNS: usize = 100;

/// Where the text goes.
pub struct Paper {
    /// `None` where stdout is no terminal.
    theme: Option<Theme>,
    pub symbols: SymbolSet,
    pub columns: usize,
}

impl Paper {
    pub fn stdout() -> Paper {
        let appearance = console::stdout_is_terminal()
            .then(|| preferences::appearance(AppearanceChoice::default()).ok())
            .flatten();
        let columns = columns(COLUMNS);
        Paper {
            symbols: SymbolSet::choose(None, |name| std::env::var(name).ok()),
            columns: appearance.as_ref().map_or(COLUMNS, |_| columns),
            theme: appearance.map(|it| it.theme),
        }
    }

    /// The report, without what only a terminal's strips show.
    fn report(&self, judged: &Judged) -> Report {
        let whole = judged.record.report();
        if self.theme.is_some() {
            return whole;
        }
        let mut report = Report::default();
        let plain = whole.entries().filter(|(key, _)| !key.ends_with("_series"));
        plain.for_each(|(key, value)| report.push(key, value));
        let rows = &judged.record.workloads;
        rows.iter().for_each(|row| report.push("workload", row));
        report
    }

    pub fn say(&self, line: &Line) {
        let Some(theme) = &self.theme else {
            return say(line.to_string().trim_end());
        };
        let spans = line.spans.iter();
        let spans =
            spans.map(|span| painted(&span.content, theme.shown(line.style.patch(span.style))));
        say_styled(&spans.collect::<String>());
    }
}

/// Prints the verdict of a run with its evidence.
pub fn tell(judged: &Judged) {
    let paper = Paper::stdout();
    for line in lines(judged, &paper) {
        paper.say(&line);
    }
}

fn lines(judged: &Judged, paper: &Paper) -> Vec<Line<'static>> {
    let verdict = judged.verdict;
    let report = paper.report(judged);
    let mut said = judged.lines().into_iter();
    let mut lines: Vec<Line> = said.by_ref().take(1).map(Line::from).collect();
    lines.extend(said.next().map(|head| {
        let word = format!("{} {}", verdict.sign(), verdict.word());
        let rest = head.strip_prefix(&word).unwrap_or(&head).to_owned();
        Line::from(vec![
            Span::styled(word, style::verdict(verdict.outcome)),
            Span::raw(rest),
        ])
    }));
    let failure = judged.failure().and_then(|_| said.next());
    lines.extend(failure.map(|text| Line::styled(text, BAD)));
    let shown = match verdict.outcome {
        Outcome::Pass | Outcome::Fail => true,
        Outcome::Crash => !verdict.build_failed,
        Outcome::Void | Outcome::NotJudged => false,
    };
    if shown {
        let columns = paper.columns.saturating_sub(2);
        let gates = evidence::gates(&report, &[], columns, paper.symbols);
        let build = evidence::build(&report, false).into_iter();
        lines.extend(build.chain(gates).map(indented));
        lines.extend(
            evidence::wrong_cells::summary(&report, columns)
                .into_iter()
                .map(indented),
        );
        if let Some(tensor) = report.wrong_tensors().first() {
            let text = format!(
                "`lab show {} --tensor {tensor}` shows them",
                judged.record.start.id
            );
            lines.push(indented(Line::styled(text, QUIET)));
        }
        lines.extend(workload_rows(&report, verdict.emulated, paper.symbols));
    }
    lines.extend(said.map(|text| {
        let style = if text.trim_start().starts_with("caveat: ") {
            WARN
        } else {
            TEXT
        };
        Line::styled(text, style)
    }));
    lines
}

fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}

/// A row for each workload: those that failed first, then the slower ones. Emulated times are not
/// compared.
fn workload_rows(report: &Report, emulated: bool, symbols: SymbolSet) -> Vec<Line<'static>> {
    let mut all = report.workload_figures();
    if all.len() < 2 {
        return Vec::new();
    }
    let rank = |it: &Workload| match (it.correctness.as_deref(), it.speed) {
        (Some(NOT_JUDGED), _) => 3,
        (Some("pass") | None, Some(Speed::Slower)) => 1,
        (Some("pass") | None, _) => 2,
        _ => 0,
    };
    all.sort_by_key(rank);
    let left = all.len().saturating_sub(LISTED);
    all.truncate(LISTED);
    let names = all.iter().map(|it| width(&it.name)).max().unwrap_or(0);
    let row = |it: &Workload| {
        let (sign, sign_style) = match it.correctness.as_deref() {
            None => ("· ", QUIET),
            Some(NOT_JUDGED) => ("– ", QUIET),
            Some(word) => evidence::sign(word == "pass"),
        };
        let us = match it.us {
            Some(us) => format!("{} µs", figure(us.value)),
            None => match it.correctness.as_deref() {
                Some(NOT_JUDGED) => "not judged".to_owned(),
                Some("crash") => "crashed here".to_owned(),
                _ => String::new(),
            },
        };
        let mut spans = vec![
            Span::raw("  "),
            Span::styled(sign, sign_style),
            Span::raw(pad(&printable(&it.name), names)),
            Span::styled(
                format!("  {}", pad_left(&us, 12)),
                if emulated { QUIET } else { STRONG },
            ),
        ];
        let beside = workloads::comparison(it, symbols);
        spans.extend(beside.map(|(text, style)| Span::styled(format!("  {text}"), style)));
        Line::from(spans)
    };
    let mut lines: Vec<Line> = all.iter().map(row).collect();
    lines.extend(
        (left > 0).then(|| Line::styled(format!("  … {left} more: `--log` shows all"), QUIET)),
    );
    lines
}
