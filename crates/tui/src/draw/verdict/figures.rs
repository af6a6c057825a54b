//! The figures of the verdict: the objective with its unit and aggregate, and the change against the incumbent.

use super::Banner;
use crate::format;
use crate::state::{FinishedRun, Running};
use crate::text::printable;
use lab_core::run::experiment::Status;
use lab_core::run::verdict::{Change, Figure, Outcome};
use lab_protocol::report::{Measure, Speed};
use ratatui::style::Style;
use ratatui::text::Span;

impl Banner<'_> {
    /// What the run in progress has measured so far, with its interval.
    pub(super) fn so_far(&self) -> Option<Vec<Span<'static>>> {
        let Running::Live(live) = &self.runs.running else { return None };
        let theme = &self.appearance.theme;
        let figure = Figure::so_far(&live.report, &self.setup.objective)?;
        let Measure { value, low, high } = figure.measure;
        let (value, ends) = format::measure(value, low.zip(high));
        let ends = ends.map_or_else(String::new, |ends| format!(" {ends}"));
        let mut line = vec![
            Span::styled("so far  ", theme.quiet()),
            Span::styled(value, theme.strong()),
            Span::styled(format!("{ends} {}", unit_of(&figure)), theme.quiet()),
        ];
        if let Some(change) = Change::in_turns(&live.report, &self.setup.objective) {
            line.push(Span::styled(format!("  {change}"), self.change_style(&change)));
        }
        Some(line)
    }

    /// The figure and its change; of a run that did not pass, the reason.
    pub(super) fn figures(&self, last: &FinishedRun) -> Vec<Span<'static>> {
        let theme = &self.appearance.theme;
        let verdict = &last.verdict;
        if verdict.outcome != Outcome::Pass {
            return vec![Span::raw(printable(&verdict.why).into_owned())];
        }
        let mut line = Vec::new();
        match verdict.figure(&self.setup.objective) {
            Some(figure) => {
                let style = if verdict.emulated { theme.quiet() } else { theme.strong() };
                line.push(Span::styled(format::count(figure.measure.value), style));
                line.push(Span::styled(format!(" {}", unit_of(&figure)), theme.quiet()));
                if verdict.emulated {
                    line.push(Span::styled(", which says nothing about a GPU", theme.quiet()));
                }
            }
            None => line.push(Span::styled(format!("no {}", self.setup.objective), theme.warn())),
        }
        if let Some(change) = verdict.change {
            line.push(Span::styled(format!("  {change}"), self.change_style(&change)));
            // A kept kernel is the incumbent now; its change is against the one that it replaced.
            let against = match (last.decided == Some(Status::Keep), change.speed) {
                (true, _) => format!(" vs {} before", change.against()),
                // The word for the speed already names the incumbent's side.
                (false, Some(_)) => String::new(),
                (false, None) => format!(" vs {}", change.against()),
            };
            line.push(Span::styled(against, theme.quiet()));
        }
        line
    }

    pub(super) fn change_style(&self, change: &Change) -> Style {
        let is_better = (change.ratio > 0.0) == (self.setup.goal == lab_core::config::Goal::Maximize);
        match (change.speed, change.ratio) {
            (Some(Speed::Same), _) | (None, 0.0) => self.appearance.theme.quiet(),
            (Some(Speed::Faster), _) => self.appearance.theme.good(),
            (Some(Speed::Slower | Speed::Undecided | Speed::Mixed), _) => self.appearance.theme.warn(),
            (None, _) if is_better => self.appearance.theme.good(),
            (None, _) => self.appearance.theme.warn(),
        }
    }
}

/// The unit of a figure, as in `sps`, of several workloads with their aggregate: `sps (geometric mean of 54)`.
fn unit_of(figure: &Figure) -> String {
    let unit = printable(format::unit(&figure.objective)).into_owned();
    match figure.aggregate {
        Some(aggregate) => format!("{unit} ({aggregate})"),
        None => unit,
    }
}
