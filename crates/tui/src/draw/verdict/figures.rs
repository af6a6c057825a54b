//! The figures of the verdict: the objective with its unit and aggregate, the change against the
//! incumbent, the fastest peer; and the line below them.

use super::Banner;
use crate::format;
use crate::state::{FinishedRun, Running, peers};
use crate::text::printable;
use lab_protocol::report::{Measure, Speed};
use lab_run::experiment::Status;
use lab_run::verdict::{Change, Figure, Outcome};
use ratatui::prelude::*;

impl Banner<'_> {
    /// What the run in progress has measured so far, with its interval.
    pub(super) fn so_far(&self) -> Option<Vec<Span<'static>>> {
        let Running::Live(live) = &self.model.runs.running else {
            return None;
        };
        let theme = self.theme();
        let figure = Figure::so_far(&live.report, &self.model.setup.objective)?;
        let Measure { value, low, high } = figure.measure;
        let (value, ends) = format::measure(value, low.zip(high));
        let ends = ends.map_or_else(String::new, |ends| format!(" {ends}"));
        let mut line = vec![
            Span::styled("so far  ", theme.quiet()),
            Span::styled(value, theme.strong()),
            Span::styled(format!("{ends} {}", unit_of(&figure)), theme.quiet()),
        ];
        if let Some(change) = Change::in_turns(&live.report, &self.model.setup.objective) {
            line.push(Span::styled(
                format!("  {change}"),
                self.change_style(&change),
            ));
        }
        Some(line)
    }

    /// The figure and its change; of a run that did not pass, the reason.
    pub(super) fn figures(&self, last: &FinishedRun) -> Vec<Span<'static>> {
        let theme = self.theme();
        let verdict = &last.verdict;
        if verdict.outcome != Outcome::Pass {
            return vec![Span::raw(printable(&verdict.why))];
        }
        let mut line = Vec::new();
        match verdict.figure(&self.model.setup.objective) {
            Some(figure) => {
                let style = if verdict.emulated {
                    theme.quiet()
                } else {
                    theme.strong()
                };
                line.push(Span::styled(format::count(figure.measure.value), style));
                line.push(Span::styled(
                    format!(" {}", unit_of(&figure)),
                    theme.quiet(),
                ));
                if verdict.emulated {
                    line.push(Span::styled(
                        ", which says nothing about a GPU",
                        theme.quiet(),
                    ));
                }
            }
            None => line.push(Span::styled(
                format!("no {}", self.model.setup.objective),
                theme.warn(),
            )),
        }
        if let Some(change) = verdict.change {
            line.push(Span::styled(
                format!("  {change}"),
                self.change_style(&change),
            ));
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

    /// Which workloads are slower, a caveat, or what the verdict rests on.
    pub(super) fn third_line(&self) -> Vec<Span<'static>> {
        let theme = self.theme();
        if let Some(text) = self.qualifies() {
            return vec![Span::styled(
                format!("! {}", printable(&text)),
                theme.warn(),
            )];
        }
        // Beside the figures of the run in progress, those of the last run would be mistaken for
        // its own.
        let Some(last) = self
            .model
            .runs
            .last
            .as_ref()
            .filter(|_| self.so_far().is_none())
        else {
            return Vec::new();
        };
        let mut parts: Vec<String> = self.beside_peers(last).into_iter().collect();
        if last.verdict.outcome == Outcome::Void {
            parts.push("void: the run says nothing about the bytes".to_owned());
        }
        let gates = last.report.gates();
        if !gates.is_empty() {
            let good = gates.iter().filter(|g| g.passes()).count();
            parts.push(format!("{good} of {} gates", gates.len()));
        }
        if let Some(time) = last.verdict.kernel_us {
            parts.push(format!("kernel {} µs", format::count(time)));
        }
        if let Some(time) = last.seconds {
            parts.push(format!("verdict after {}", format::seconds(time)));
        }
        // During a run these belong to the last verdict, like the line above.
        let indent = if self.model.runs.is_idle() {
            ""
        } else {
            "      "
        };
        vec![Span::styled(
            format!("{indent}{}", parts.join("   ")),
            theme.quiet(),
        )]
    }

    /// Which workloads are slower, or the first caveat.
    pub(super) fn qualifies(&self) -> Option<String> {
        let last = self
            .model
            .runs
            .last
            .as_ref()
            .filter(|_| self.model.runs.is_idle());
        let mixed = last.and_then(|last| last.verdict.mixed());
        mixed.or_else(|| self.report()?.caveats().first().cloned())
    }

    /// The fastest peer, behind the figures.
    pub(super) fn peers_behind(&self, last: &FinishedRun) -> Option<Span<'static>> {
        let text = self.beside_peers(last)?;
        Some(Span::styled(format!("  {text}"), self.theme().quiet()))
    }

    /// How fast a kernel that passed is beside the fastest peer.
    fn beside_peers(&self, last: &FinishedRun) -> Option<String> {
        let known = peers::of(last, &self.model.repository)
            .filter(|_| last.verdict.outcome == Outcome::Pass)?;
        let text = known.in_words(self.model.repository.time_of_day(self.model.now))?;
        Some(printable(&text))
    }

    pub(super) fn change_style(&self, change: &Change) -> Style {
        let is_better =
            (change.ratio > 0.0) == (self.model.setup.goal == lab_project::config::Goal::Maximize);
        match (change.speed, change.ratio) {
            (Some(Speed::Same), _) | (None, 0.0) => self.theme().quiet(),
            (Some(Speed::Faster), _) => self.theme().good(),
            (Some(Speed::Slower | Speed::Undecided | Speed::Mixed), _) => self.theme().warn(),
            (None, _) if is_better => self.theme().good(),
            (None, _) => self.theme().warn(),
        }
    }
}

/// The unit of a figure, as in `sps`, of several workloads with their aggregate:
/// `sps (geometric mean of 54)`.
fn unit_of(figure: &Figure) -> String {
    let unit = printable(figure.objective.unit());
    match figure.aggregate {
        Some(aggregate) => format!("{unit} ({aggregate})"),
        None => unit,
    }
}
