//! The foot of the screen: a message or the state of the screen, and below it the hints with their
//! reasons.

use super::view_names::{ViewNames, draw_views};
use crate::geometry::Button;
use crate::keymap::{Action, Binding, KeyScope, Keymap, TABLE};
use crate::model::Model;
use crate::palette::Offer;
use crate::status::MessageLevel;
use crate::text::{fit, printable, width, wrap_to};
use crate::theme::Theme;
use crate::views::{Pane, View};
use ratatui::prelude::*;

/// Columns of a reason in a hint: the first width at which everything fits. Pressing the key shows
/// the reason in full.
const REASONS: [usize; 4] = [60, 36, 20, 0];

/// Most rows of a message. The end of a long message often says what to do.
const MESSAGE_ROWS: usize = 4;

/// Least rows of a screen with hints below the message. On a smaller screen a message replaces the
/// hints.
const HINT_ROWS: u16 = 16;

/// What the foot shows.
pub(super) struct Foot<'a> {
    model: &'a Model,
    is_large: bool,
}

impl<'a> Foot<'a> {
    pub(super) fn new(model: &'a Model, is_large: bool) -> Self {
        Foot { model, is_large }
    }

    fn theme(&self) -> &'a Theme {
        &self.model.appearance.theme
    }

    fn keymap(&self) -> &'a Keymap {
        &self.model.appearance.keymap
    }

    /// Rows of the foot on a screen of this size.
    pub(super) fn rows(&self, screen: Rect) -> u16 {
        let message = self.lines(screen.width).len().max(1) as u16;
        if screen.height >= HINT_ROWS {
            message + 1
        } else {
            message
        }
    }

    /// Returns the hints as buttons.
    pub(super) fn draw(&self, frame: &mut Frame, area: Rect) -> Vec<Button> {
        let hints = Rect {
            y: area.bottom().saturating_sub(1),
            height: 1,
            ..area
        };
        if frame.area().height >= HINT_ROWS {
            let above = Rect {
                height: area.height.saturating_sub(1),
                ..area
            };
            let mut buttons = self.draw_views(frame, above);
            let taken: u16 = buttons.iter().map(|(place, _)| place.width).sum();
            self.draw_message(frame, above, taken);
            buttons.extend(self.draw_hints(frame, hints));
            buttons
        } else if self.text().is_some() {
            self.draw_message(frame, area, 0);
            Vec::new()
        } else {
            self.draw_hints(frame, hints)
        }
    }

    /// The message.
    fn text(&self) -> Option<(String, Style)> {
        let theme = self.theme();
        let doing = self.model.decision.in_progress.map(|action| match action {
            // A commit's hooks may take their time.
            Action::Keep => "◐ keeping …",
            Action::Undo => "◐ undoing …",
            Action::Describe => "◐ writing …",
            Action::Restore => "◐ restoring …",
            _ => "◐ discarding …",
        });
        if let Some(doing) = doing {
            return Some((doing.to_owned(), theme.accent()));
        }
        let message = self.model.message.message()?;
        let style = match message.level {
            MessageLevel::Info => theme.text(),
            MessageLevel::Warning => theme.warn(),
            MessageLevel::Error => theme.bad(),
        };
        Some((format!("{} {}", message.level.sign(), message.text), style))
    }

    fn lines(&self, columns: u16) -> Vec<Line<'static>> {
        let Some((text, style)) = self.text() else {
            return Vec::new();
        };
        let columns = usize::from(columns).saturating_sub(2);
        let rows = wrap_to(&text, columns, MESSAGE_ROWS);
        rows.into_iter()
            .map(|row| Line::styled(format!(" {row}"), style))
            .collect()
    }

    /// The state of the screen, the longest text first.
    fn standing(&self) -> Vec<String> {
        let watching = if self.model.runs.paused {
            "not watching"
        } else {
            "watching"
        };
        let kernel = format!("{watching} {} ", printable(&self.model.setup.kernel));
        if self.model.loops.any_runs() && self.model.panes.view != View::Loop {
            let loops = format!(
                "a loop runs here: {} shows it",
                self.keymap().way(Action::Loop)
            );
            return vec![
                format!("{loops} · {kernel}"),
                format!("{loops} "),
                "a loop runs ".to_owned(),
            ];
        }
        if self.model.decision.auto {
            let rule = "auto: keeps faster, discards slower, same, wrong";
            return vec![
                format!("{rule} · {kernel}"),
                format!("{rule} "),
                "auto: keeps faster, discards the rest ".to_owned(),
            ];
        }
        let status = self.model.repository.status.as_ref();
        let Some(status) = status.filter(|_| !self.is_large) else {
            return vec![kernel];
        };
        let head = &status.head;
        let mut place = printable(&head.label());
        if let Some(operation) = &head.operation {
            place.push_str(&format!(" · {operation} in progress"));
        }
        vec![
            format!("{place} · {kernel}"),
            format!("{place} · {watching} "),
            format!("{place} "),
            kernel,
        ]
    }

    /// Draws the views of a screen without a head at the right end of the message's row. A longer
    /// message hides them.
    fn draw_views(&self, frame: &mut Frame, area: Rect) -> Vec<Button> {
        let lines = self.lines(area.width);
        let taken = lines.first().map_or(0, Line::width) as u16 + 2;
        if self.is_large || lines.len() > 1 || taken > area.width {
            return Vec::new();
        }
        let row = Rect {
            x: area.x + taken,
            width: area.width - taken,
            ..area
        };
        let forms = [ViewNames::Present, ViewNames::None];
        draw_views(self.model, frame, row, &forms)
    }

    /// The last `views` columns of the first row are taken.
    fn draw_message(&self, frame: &mut Frame, area: Rect, views: u16) {
        let lines = self.lines(area.width);
        let taken = lines.first().map_or(0, Line::width);
        let left = Rect {
            width: area.width.saturating_sub(views),
            ..area
        };
        let fits = |right: &String| taken + 2 + width(right) < usize::from(left.width);
        if let Some(right) = self
            .standing()
            .into_iter()
            .find(fits)
            .filter(|_| lines.len() < 2)
        {
            frame.render_widget(
                Line::styled(right, self.theme().quiet()).right_aligned(),
                left,
            );
        }
        for (row, line) in lines.into_iter().take(usize::from(area.height)).enumerate() {
            frame.render_widget(
                line,
                Rect {
                    y: area.y + row as u16,
                    height: 1,
                    ..area
                },
            );
        }
    }

    /// Draws every hint of the table. A hint that cannot be used now is dim and says why. Where the
    /// row is too short, reasons are cut first, then left out, then hints from the back; help and
    /// quit stay.
    fn draw_hints(&self, frame: &mut Frame, area: Rect) -> Vec<Button> {
        let here = KeyScope::In(self.model.panes.view);
        let is_heard = |b: &&Binding| match b.action {
            Action::Freeze => self.model.panes.focus() == Pane::Log,
            // The hint that runs are decided by rule stands in front already.
            Action::Auto => !self.model.decision.auto,
            // These stand among the hints only where they can be used.
            Action::Stop | Action::PauseLoop | Action::EndTurn => {
                (b.scope == KeyScope::Screen || b.scope == here)
                    && self.model.usable(b.action).is_ok()
            }
            Action::Undo => self.model.allowed().undo.is_ok(),
            _ => b.scope == KeyScope::Screen || b.scope == here,
        };
        let listed = TABLE.iter().filter(|b| !b.hint.is_empty()).filter(is_heard);
        let mut shown: Vec<Offer> = listed
            .map(|binding| Offer {
                binding,
                usable: self.model.usable(binding.action),
            })
            .collect();
        // The view's own actions come first, except in Bench.
        if self.model.panes.view != View::Bench {
            shown.sort_by_key(|offer| offer.binding.scope == KeyScope::Screen);
        }
        let too_long = |hints: &[KeyHint]| {
            hints.iter().map(KeyHint::width).sum::<usize>() > usize::from(area.width)
        };
        let mut all = Vec::new();
        for reason_columns in REASONS {
            all = self.hints(&shown, reason_columns);
            if !too_long(&all) {
                break;
            }
        }
        while too_long(&all)
            && let Some(last) = shown
                .iter()
                .position(|offer| offer.binding.action == Action::Auto)
                .or_else(|| shown.iter().rposition(|offer| !stays(offer.binding.action)))
        {
            shown.remove(last);
            all = self.hints(&shown, 0);
        }
        let mut buttons = Vec::new();
        let mut x = area.x;
        for hint in &all {
            let width = hint.width() as u16;
            // The blanks behind a hint are not part of its button.
            let place = Rect {
                x,
                width: width.saturating_sub(2),
                ..area
            }
            .intersection(area);
            buttons.extend(hint.action.map(|action| (place, action)));
            x = x.saturating_add(width);
        }
        let spans: Vec<Span> = all.into_iter().flat_map(|hint| hint.spans).collect();
        frame.render_widget(Line::from(spans), area);
        buttons
    }

    fn hints(&self, shown: &[Offer], reason_columns: usize) -> Vec<KeyHint> {
        let theme = self.theme();
        let mut hints = vec![KeyHint {
            action: None,
            spans: vec![Span::raw(" ")],
        }];
        let mut hint = |action, spans| hints.push(KeyHint { action, spans });
        // This hint comes first, so that every width shows that runs are decided by rule.
        if self.model.decision.auto {
            let text = format!("{} auto on  ", self.keymap().key(Action::Auto));
            hint(Some(Action::Auto), vec![Span::styled(text, theme.warn())]);
        }
        for Offer { binding, usable } in shown {
            let key = self
                .keymap()
                .key_in(KeyScope::In(self.model.panes.view), binding.action);
            if key.is_empty() {
                continue;
            }
            let spans = match usable {
                Ok(()) => vec![
                    Span::styled(key, theme.key()),
                    Span::styled(format!(" {}  ", self.word(binding)), theme.text()),
                ],
                Err(reason) if reason_columns > 0 => {
                    let reason = fit(reason, reason_columns);
                    vec![Span::styled(
                        format!("{key} {} ({reason})  ", binding.hint),
                        theme.quiet(),
                    )]
                }
                Err(_) => vec![Span::styled(
                    format!("{key} {}  ", binding.hint),
                    theme.quiet(),
                )],
            };
            hint(Some(binding.action), spans);
        }
        hints
    }

    /// The word of a hint. The hint of a switch says what its key would do now.
    fn word(&self, binding: &Binding) -> &'static str {
        match binding.action {
            Action::Pause if self.model.runs.paused => "watch",
            Action::Zoom if self.model.panes.zoom() => "unzoom",
            Action::Freeze if self.model.panes.log.is_frozen() => "unfreeze",
            Action::PauseLoop if self.model.loops.is_pausing() => "resume loop",
            _ => binding.hint,
        }
    }
}

/// The hint of this action is shown at every width.
fn stays(action: Action) -> bool {
    matches!(action, Action::Help | Action::Quit | Action::Stop)
}

/// One hint, with two blanks behind it.
struct KeyHint {
    /// `None` for a text that is no action.
    action: Option<Action>,
    spans: Vec<Span<'static>>,
}

impl KeyHint {
    fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}
