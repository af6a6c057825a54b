//! The head of the screen and the verdict: one word, one colour, one number, the change against the
//! incumbent. While a run is in progress, its stage; the last verdict stays beside it.

mod figures;

use super::big_letters;
use super::view_names::{ViewNames, draw_views};
use crate::geometry::Button;
use crate::keymap::Action;
use crate::model::Model;
use crate::state::{FinishedRun, LiveRun, Running};
use crate::text::{fit, printable, width};
use crate::{format, theme::Theme};
use lab_git::Head;
use lab_protocol::report::{Report, attribute};
use lab_run::experiment::Status;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunStart};
use ratatui::prelude::*;

/// Cells of the progress bar.
const BAR: u64 = 16;

/// What the head and the verdict show.
pub(super) struct Banner<'a> {
    model: &'a Model,
}

impl<'a> Banner<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        Banner { model }
    }

    fn theme(&self) -> &'a Theme {
        &self.model.appearance.theme
    }

    /// Draws project, device and branch; on the right the run and why it started. Returns the names
    /// of the views as buttons.
    pub(super) fn draw_head(
        &self,
        frame: &mut Frame,
        area: Rect,
        head: Option<&Head>,
    ) -> Vec<Button> {
        let theme = self.theme();
        let mut left = vec![
            Span::styled(" lab ", theme.title(true)),
            Span::styled(format!(" {} ", self.model.setup.name), theme.strong()),
        ];
        if let Some(device) = self.report().and_then(Report::device) {
            left.push(Span::raw(format!(" {} ", printable(device_name(device)))));
        }
        if let Some(head) = head {
            left.push(Span::styled(
                format!(" {}", printable(&head.label())),
                theme.quiet(),
            ));
            if let Some(operation) = &head.operation {
                left.push(Span::styled(
                    format!("  {operation} in progress"),
                    theme.warn(),
                ));
            }
        }
        let left = Line::from(left);
        let right = Line::styled(format!("{} ", self.which_run()), theme.quiet());
        let taken = (right.width() as u16).min(area.width / 2);
        // Two columns separate the names of the views from either part.
        let from = (left.width() as u16 + 2).min(area.width);
        let row = Rect {
            x: area.x + from,
            width: area.width.saturating_sub(from + taken + 2),
            ..area
        };
        frame.render_widget(left, area);
        let buttons = draw_views(self.model, frame, row, &ViewNames::ALL);
        let place = Rect {
            x: area.right() - taken,
            width: taken,
            ..area
        };
        frame.render_widget(right.right_aligned(), place);
        buttons
    }

    /// The report of the run in progress once it names its device, else of the last run.
    fn report(&self) -> Option<&Report> {
        match &self.model.runs.running {
            Running::Live(live) if live.report.device().is_some() => Some(&live.report),
            _ => self.model.runs.last.as_ref().map(|last| &*last.report),
        }
    }

    fn which_run(&self) -> String {
        match (&self.model.runs.running, &self.model.runs.last) {
            (Running::Live(live), _) => self.why(&live.start),
            (Running::Asked(reason, _), _) => format!("{} · starting", reason.word()),
            // It has no number.
            (Running::No, Some(last)) if last.is_not_judged() => self.when(&last.start),
            (Running::No, Some(last)) => self.why(&last.start),
            (Running::No, None) => String::new(),
        }
    }

    fn why(&self, start: &RunStart) -> String {
        format!("run {} · {}", start.id, self.when(start))
    }

    fn when(&self, start: &RunStart) -> String {
        format!(
            "{} {}",
            start.reason.word(),
            format::clock(start.started, &self.model.appearance.zone)
        )
    }

    /// Draws three rows of big letters, and three lines of text beside them.
    pub(super) fn draw_large(&self, frame: &mut Frame, area: Rect) {
        let theme = self.theme();
        let mut x = area.x + 2;
        for (text, style) in self.big_words() {
            let Some(rows) = big_letters::rows(&text) else {
                continue;
            };
            let columns = big_letters::width(&text) as u16;
            // The text beside the letters needs 40 columns.
            if x + columns + 40 > area.right() {
                continue;
            }
            for (row, line) in rows.iter().enumerate() {
                frame
                    .buffer_mut()
                    .set_string(x, area.y + 1 + row as u16, line, style);
            }
            x += columns + 4;
        }
        let lines = [self.first_line(), self.second_line(), self.third_line()];
        for (row, line) in lines.into_iter().enumerate() {
            let y = area.y + 1 + row as u16;
            let room = Rect {
                x,
                y,
                width: area.right().saturating_sub(x + 1),
                height: 1,
            };
            frame.render_widget(Line::from(line).style(theme.text()), room);
        }
    }

    fn big_words(&self) -> Vec<(String, Style)> {
        let theme = self.theme();
        match (&self.model.runs.running, &self.model.runs.last) {
            (Running::Live(live), _) => vec![(stage_word(live).to_uppercase(), theme.accent())],
            (Running::Asked(..), _) => vec![("START".to_owned(), theme.accent())],
            (Running::No, Some(last)) => {
                let verdict = &last.verdict;
                let is_stale = self.model.runs.is_stale();
                let faded = |style: Style| if is_stale { theme.quiet() } else { style };
                let mut words = vec![(
                    verdict.word().to_owned(),
                    faded(theme.verdict(verdict.outcome)),
                )];
                // Times of the emulated device say nothing about a GPU, so they are not shown big.
                let counts = verdict.outcome == Outcome::Pass && !verdict.emulated;
                if let Some(figure) = verdict
                    .figure(&self.model.setup.objective)
                    .filter(|_| counts)
                {
                    words.push((format::count(figure.measure.value), faded(theme.strong())));
                }
                if let Some(change) = verdict.change {
                    let text = format::percent(change.ratio).replace(' ', "");
                    words.push((text, faded(self.change_style(&change))));
                }
                words
            }
            (Running::No, None) => Vec::new(),
        }
    }

    /// The progress of a run or check, else the verdict's sign and word; then its tags.
    fn first_line(&self) -> Vec<Span<'static>> {
        let mut line = match (&self.model.runs.running, &self.model.runs.last) {
            _ if self.model.decision.held_out.is_some() => self.progress(),
            (Running::No, Some(last)) => self.verdict_word(last),
            (Running::No, None) => vec![self.nothing_yet()],
            _ => self.progress(),
        };
        line.extend(self.tags());
        line
    }

    fn second_line(&self) -> Vec<Span<'static>> {
        let Some(last) = &self.model.runs.last else {
            return self.so_far().unwrap_or_default();
        };
        if self.model.runs.is_idle() {
            let mut line = self.figures(last);
            // The third line has something more urgent to say.
            if self.qualifies().is_some() {
                line.extend(self.peers_behind(last));
            }
            return line;
        }
        if let Some(line) = self.so_far() {
            return line;
        }
        let mut line = vec![Span::styled("last  ", self.theme().quiet())];
        line.extend(self.verdict_word(last));
        line.push(Span::raw("  "));
        line.extend(self.figures(last));
        line
    }

    /// Draws all of it in one row. The head, where there is one, already names the run.
    pub(super) fn draw_line(&self, frame: &mut Frame, area: Rect, has_head: bool) {
        let theme = self.theme();
        let mut line = vec![Span::raw(" ")];
        match (&self.model.runs.running, &self.model.runs.last) {
            _ if self.model.decision.held_out.is_some() => line.extend(self.progress()),
            (Running::No, Some(last)) => {
                let verdict = &last.verdict;
                let style = if self.model.runs.is_stale() {
                    theme.quiet()
                } else {
                    theme.verdict_block(verdict.outcome)
                };
                line.push(Span::styled(
                    format!(" {} {} ", verdict.sign(), verdict.word()),
                    style,
                ));
                line.extend(self.stale());
                // The tags come before the figures, so that a narrow screen does not cut them off.
                line.extend(self.tags());
                line.push(Span::raw("  "));
                line.extend(self.figures(last));
                line.extend(self.peers_behind(last));
            }
            (Running::No, None) => line.push(self.nothing_yet()),
            (_, last) => {
                line.extend(self.progress());
                if let Some(last) = last {
                    line.push(Span::styled("  last ", theme.quiet()));
                    line.extend(self.verdict_word(last));
                }
                line.extend(self.tags());
            }
        }
        let right = if has_head {
            String::new()
        } else {
            self.which_run()
        };
        let used: usize = line.iter().map(Span::width).sum();
        frame.render_widget(Line::from(line), area);
        if used + width(&right) + 3 < usize::from(area.width) {
            let right = Line::styled(format!("{right} "), theme.quiet()).right_aligned();
            frame.render_widget(
                right,
                Rect {
                    x: area.x + used as u16,
                    width: area.width - used as u16,
                    ..area
                },
            );
        }
    }

    fn nothing_yet(&self) -> Span<'static> {
        let theme = self.theme();
        let rerun = self.model.way(Action::Rerun);
        match (
            &self.model.runs.present,
            self.model.runs.untrusted,
            self.model.repository.loaded,
        ) {
            (_, Some(subject), _) => {
                let text = format!("no verdict: {subject} is not trusted, {rerun} asks again  ");
                Span::styled(text, theme.warn())
            }
            (Some(Err(why)), ..) => {
                Span::styled(format!("no verdict: {}  ", printable(why)), theme.warn())
            }
            (_, _, false) => Span::styled("reading the repository …  ", theme.quiet()),
            _ => {
                let text = format!(
                    "no verdict yet: save {}, or press {rerun}  ",
                    self.model.setup.file()
                );
                Span::styled(text, theme.quiet())
            }
        }
    }

    fn verdict_word(&self, last: &FinishedRun) -> Vec<Span<'static>> {
        let verdict = &last.verdict;
        let style = if self.model.runs.is_stale() {
            self.theme().quiet()
        } else {
            self.theme().verdict(verdict.outcome)
        };
        let mut word = vec![Span::styled(
            format!("{} {}", verdict.sign(), verdict.word()),
            style,
        )];
        word.extend(self.stale());
        word
    }

    /// The mark of a verdict about other bytes than those on disk.
    fn stale(&self) -> Option<Span<'static>> {
        self.model
            .runs
            .is_stale()
            .then(|| Span::styled("  stale", self.theme().warn()))
    }

    /// Words that qualify the verdict, so that nothing depends on colour alone.
    fn tags(&self) -> Vec<Span<'static>> {
        let (theme, runs) = (self.theme(), &self.model.runs);
        let mut words: Vec<(String, Style)> = Vec::new();
        let mut tag = |is_set: bool, word: &str, style| {
            words.extend(is_set.then(|| (word.to_owned(), style)));
        };
        let ended = runs.last.as_ref().filter(|_| runs.is_idle());
        let decided = ended.and_then(|last| last.decided);
        let is_kept = decided == Some(Status::Keep);
        tag(is_kept, "kept", theme.good());
        tag(decided.is_some() && !is_kept, "discarded", theme.quiet());
        let is_foreign = ended.is_some_and(|last| last.record.is_foreign());
        tag(is_foreign, "foreign", theme.warn());
        let report = self.report();
        let names_emulated = |d: &str| attribute(d, "emulated").is_some();
        let is_emulated = |r: &Report| r.emulated() || r.device().is_some_and(names_emulated);
        tag(report.is_some_and(is_emulated), "emulated", theme.warn());
        let passed = ended.filter(|last| last.verdict.outcome == Outcome::Pass);
        let has_caveat = report.is_some_and(|r| !r.caveats().is_empty());
        tag(passed.is_some() && has_caveat, "caveated", theme.warn());
        let judged = passed.and_then(|last| last.verdict.judged);
        if let Some(some) = judged.filter(|judged| judged.judged < judged.of) {
            let text = format!("{} of {} workloads", some.judged, some.of);
            tag(true, &text, theme.quiet());
        }
        let is_external = self.model.setup.external.is_some();
        tag(is_external, "external", theme.accent());
        tag(runs.paused, "paused", theme.warn());
        tag(runs.check_follows, "a check follows", theme.accent());
        let spans = |(word, style)| [Span::raw("  "), Span::styled(word, style)];
        words.into_iter().flat_map(spans).collect()
    }

    /// `◐ VERIFY  ▰▰▰▱▱▱ 3/10  2.3 s`, of a run or of the held-out check before a keep.
    fn progress(&self) -> Vec<Span<'static>> {
        let theme = self.theme();
        let (word, since, done) = match (&self.model.runs.running, &self.model.decision.held_out) {
            (_, Some(checking)) => ("held out", checking.began, checking.report.progress()),
            (Running::Live(live), _) => (stage_word(live), live.began, live.report.progress()),
            (Running::Asked(reason, since), _) => (asked_word(*reason), *since, None),
            (Running::No, None) => return Vec::new(),
        };
        let turn = ["◐", "◓", "◑", "◒"][(self.model.now.as_millis() / 200 % 4) as usize];
        let mut line = vec![Span::styled(
            format!("{turn} {}", word.to_uppercase()),
            theme.title(true),
        )];
        if let Some((done, all)) = done.filter(|(_, all)| *all > 0) {
            let full = (done.min(all).saturating_mul(BAR) / all).min(BAR);
            line.push(Span::styled(
                format!("  {}", "▰".repeat(full as usize)),
                theme.accent(),
            ));
            line.push(Span::styled(
                "▱".repeat((BAR - full) as usize),
                theme.quiet(),
            ));
            line.push(Span::raw(format!(" {done}/{all}")));
        }
        let time = format::elapsed(self.model.now.saturating_sub(since));
        line.push(Span::styled(format!("  {}", fit(&time, 14)), theme.text()));
        if self.model.decision.held_out.is_some() {
            let cancel = self.model.way(Action::Close);
            let checking = self.model.decision.held_out.as_ref();
            let inputs = match checking.map_or(1, |checking| checking.sealed_runs) {
                1 => "held-out inputs".to_owned(),
                runs => format!("{runs} sealed runs"),
            };
            let text = format!("  the gates on {inputs}, then the commit ({cancel} cancels)");
            line.push(Span::styled(text, theme.quiet()));
        }
        line
    }
}

/// The device's name without its attributes: `NVIDIA H200` of `NVIDIA H200 emulated=1`.
fn device_name(device: &str) -> &str {
    let end = device.split_whitespace().find(|word| word.contains('='));
    end.map_or(device, |word| {
        device[..device.find(word).unwrap_or(device.len())].trim_end()
    })
}

fn stage_word(live: &LiveRun) -> &'static str {
    live.report
        .stage()
        .map_or("start", lab_protocol::report::Stage::word)
}

fn asked_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Restored => "restored",
        _ => "start",
    }
}
