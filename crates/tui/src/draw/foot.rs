//! The foot of the screen: a message or the state of the screen, and below it the hints with their
//! reasons.

use super::view_names::{ButtonTexts, ViewNames, columns, draw_buttons, draw_views};
use crate::geometry::Button;
use crate::keymap::{Binding, KeyScope, TABLE};
use crate::model::Model;
use crate::overlay::Overlay;
use crate::palette::Offer;
use crate::prelude::*;
use crate::status::MessageLevel;
use crate::views::{Pane, View};

/// Columns of a reason in a hint: the first width at which everything fits. Pressing the key shows
/// the reason in full.
const REASONS: [usize; 4] = [60, 36, 20, 0];

/// Most rows of a message. The end of a long message often says what to do.
const MESSAGE_ROWS: usize = 4;

/// Least rows of a screen with hints below the message. On a smaller screen a message replaces the
/// hints.
const HINT_ROWS: u16 = 16;

/// Blanks behind a hint.
const GAP: usize = 2;

/// Actions of every view that matter most in one view, with their words there. They come first.
const LEADING: [(View, Action, &str); 13] = [
    (View::Results, Action::Close, "back"),
    (View::Results, Action::NextSection, "next"),
    (View::Results, Action::Context, "context"),
    (View::Git, Action::Open, "commit"),
    (View::Git, Action::NextChange, "next"),
    (View::Git, Action::Context, "context"),
    (View::Device, Action::Profile, "profile"),
    (View::Device, Action::Cite, "add evidence"),
    (View::Decisions, Action::Open, "evidence"),
    (View::Decisions, Action::Cite, "add evidence"),
    (View::Loop, Action::PauseLoop, "pause loop"),
    (View::Loop, Action::EndTurn, "end turn"),
    (View::Loop, Action::Context, "context"),
];

/// The place of an action among those that lead in the present view, and its word.
fn leads(model: &Model, action: Action) -> Option<(usize, &'static str)> {
    let is_it = |(view, of, _): &(View, Action, &str)| *view == model.panes.view && *of == action;
    let at = LEADING.iter().position(is_it)?;
    Some((at, LEADING[at].2))
}

/// Rows of the foot on a screen of this size. `is_large`: the head names the views.
pub(super) fn rows(model: &Model, screen: Rect, is_large: bool) -> u16 {
    let lines = lines(model, screen.width);
    let has_hints = screen.height >= HINT_ROWS;
    let has_views =
        has_hints && !is_large && room_beside(&lines, model, screen.width, is_large).is_none();
    lines.len().max(1) as u16 + u16::from(has_hints) + u16::from(has_views)
}

/// Columns beside the message, where it has one row and the views fit there.
fn room_beside(lines: &[Line], model: &Model, columns: u16, is_large: bool) -> Option<u16> {
    let taken = lines.first().map_or(0, Line::width) + 2;
    let room = usize::from(columns).checked_sub(taken)?;
    let views = if is_large {
        0
    } else {
        ViewNames::needed(model, columns)
    };
    (lines.len() < 2 && room >= views).then_some(room as u16)
}

/// Returns the hints as buttons. `is_large`: the screen has a head, which may name the branch.
pub(super) fn draw(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    is_large: bool,
    names_branch: bool,
) -> Vec<Button> {
    let standing = standing(model, names_branch);
    let hints = row_of(area, area.bottom().saturating_sub(1));
    if frame.area().height >= HINT_ROWS {
        let height = area.height.saturating_sub(1);
        let mut buttons = draw_message(model, frame, Rect { height, ..area }, standing, is_large);
        buttons.extend(draw_hints(model, frame, hints, is_large));
        buttons
    } else if message(model).is_some() {
        draw_message(model, frame, area, standing, is_large)
    } else {
        draw_hints(model, frame, hints, is_large)
    }
}

fn message(model: &Model) -> Option<(String, Style)> {
    if let Some(Overlay::Preparing { action, .. }) = model.overlays.last() {
        return Some((format!("◐ {}: reading …", action.binding().words()), ACCENT));
    }
    let doing = model.decision.in_progress.map(|deciding| match deciding {
        // A commit's hooks may take their time.
        Action::Keep => "◐ keeping …",
        Action::Undo => "◐ undoing …",
        Action::Describe => "◐ writing …",
        Action::Restore | Action::ApplyPoint => "◐ restoring …",
        _ => "◐ discarding …",
    });
    if let Some(doing) = doing {
        return Some((doing.to_owned(), ACCENT));
    }
    let message = model.message.message.as_ref()?;
    let style = match message.level {
        MessageLevel::Info => Style::new(),
        MessageLevel::Warning => WARN,
        MessageLevel::Error => BAD,
    };
    Some((format!("{} {}", message.level.sign(), message.text), style))
}

fn lines(model: &Model, columns: u16) -> Lines {
    let (text, style) = message(model).unwrap_or_default();
    let rows = wrap_to(&text, usize::from(columns).saturating_sub(2), MESSAGE_ROWS);
    let line = |row| Line::styled(format!(" {row}"), style);
    rows.into_iter().map(line).collect()
}

/// The state of the screen, the longest text first.
fn standing(model: &Model, names_branch: bool) -> Vec<String> {
    let watching = match (&model.runs.other_screen, model.runs.paused) {
        (Some(_), _) => "only showing",
        (None, true) => "not watching",
        (None, false) => "watching",
    };
    let kernel = format!("{watching} {} ", printable(&model.setup.kernel));
    if model.loops.any_runs() && model.panes.view != View::Loop {
        let loops = format!("a loop runs here: {} shows it", model.way(Action::Loop));
        return vec![
            format!("{loops} · {kernel}"),
            format!("{loops} "),
            "a loop runs ".to_owned(),
        ];
    }
    if model.decision.auto {
        let rule = "by rule: keeps faster, discards slower, same, wrong";
        return vec![
            format!("{rule} · {kernel}"),
            format!("{rule} "),
            "by rule: keeps faster, discards the rest ".to_owned(),
        ];
    }
    let status = model.repository.status.as_ref();
    let Some(status) = status.filter(|_| !names_branch) else {
        return vec![kernel];
    };
    let mut place = printable(&status.head.label());
    if let Some(operation) = &status.head.operation {
        place.push_str(&format!(" · {operation} in progress"));
    }
    vec![
        format!("{place} · {kernel}"),
        format!("{place} · {watching} "),
        format!("{place} "),
        kernel,
    ]
}

/// Draws the message; behind a short one the state of the screen, and on a middle-sized screen the
/// views, which have a row below a long one. Returns the views as buttons.
fn draw_message(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    standing: Vec<String>,
    is_large: bool,
) -> Vec<Button> {
    let lines = lines(model, area.width);
    let beside = room_beside(&lines, model, area.width, is_large);
    let mut right = match beside {
        Some(width) => Rect {
            x: area.right() - width,
            width,
            ..area
        },
        None => row_of(area, area.y + lines.len() as u16).intersection(area),
    };
    let mut buttons = Vec::new();
    if !is_large && frame.area().height >= HINT_ROWS {
        buttons = draw_views(model, frame, right, &ViewNames::ALL);
        right.width -= buttons.iter().map(|(place, _)| place.width).sum::<u16>();
    }
    let fits = |text: &String| width(text) < usize::from(right.width);
    if let Some(text) = standing.into_iter().find(fits) {
        frame.render_widget(Line::styled(text, QUIET).right_aligned(), right);
    }
    draw_rows(frame, area, lines);
    buttons
}

/// Draws every hint of the table. A hint that cannot be used now is dim and says why. Where the row
/// is too short, reasons are cut first, then left out, then hints from the back; help and quit
/// stay.
fn draw_hints(model: &Model, frame: &mut Frame, area: Rect, is_large: bool) -> Vec<Button> {
    let here = KeyScope::In(model.panes.view);
    let is_here = |b: &Binding| b.scope == KeyScope::Screen || b.scope == here;
    let only_shows = model.runs.other_screen.is_some();
    // The details or a comparison have the whole screen: how to go on in them, and back.
    let reads = model.panes.view == View::Results
        && model.panes.focus() == Pane::Experiment
        && model.panes.zoom();
    let is_heard = |b: &&Binding| match b.action {
        _ if only_shows && b.is_change => false,
        // Elsewhere it zooms.
        Action::Open => match model.panes.focus() {
            Pane::Graph => true,
            Pane::Board | Pane::Decision => !model.repository.decisions().is_empty(),
            _ => false,
        },
        Action::Close | Action::NextSection => reads,
        Action::Context => reads || model.panes.view != View::Results,
        Action::Freeze => model.panes.focus() == Pane::Log,
        // The hint that runs are decided by rule stands in front already.
        Action::ByRule => !model.decision.auto,
        // These stand among the hints only where they can be used.
        Action::Stop | Action::PauseLoop | Action::EndTurn | Action::EndLoop => {
            is_here(b) && model.usable(b.action).is_ok()
        }
        Action::Undo => model.allowed().undo.is_ok(),
        Action::Exchange => is_here(b) && !is_large && !model.panes.zoom(),
        _ => is_here(b),
    };
    let has_word = |b: &&Binding| !b.hint.is_empty() || leads(model, b.action).is_some();
    let listed = TABLE.iter().filter(has_word).filter(is_heard);
    let mut shown: Vec<Offer> = listed
        .map(|binding| Offer {
            binding,
            usable: model.usable(binding.action),
        })
        .collect();
    // The view's own actions come first, except in Bench.
    if model.panes.view != View::Bench {
        let place = |offer: &Offer| match leads(model, offer.binding.action) {
            Some((at, _)) => at,
            None => LEADING.len() + usize::from(offer.binding.scope == KeyScope::Screen),
        };
        shown.sort_by_key(place);
    }
    let row = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(1),
        ..area
    };
    let fits = |hints: &ButtonTexts| columns(hints, GAP) <= usize::from(row.width);
    let mut reasons = REASONS
        .into_iter()
        .map(|columns| hints(model, &shown, columns));
    let mut all = reasons
        .find(fits)
        .unwrap_or_else(|| hints(model, &shown, 0));
    while !fits(&all) {
        let rule = shown
            .iter()
            .position(|o| o.binding.action == Action::ByRule);
        let last = || shown.iter().rposition(|o| !stays(o.binding.action));
        let Some(at) = rule.or_else(last) else { break };
        shown.remove(at);
        all = hints(model, &shown, 0);
    }
    draw_buttons(frame, row, all, GAP as u16)
}

fn hints(model: &Model, shown: &[Offer], reason_columns: usize) -> ButtonTexts {
    let keymap = &model.appearance.keymap;
    let mut hints = Vec::new();
    // This hint comes first, so that every width shows that runs are decided by rule.
    if model.decision.auto {
        let text = format!("{} decide yourself", keymap.key(Action::ByRule));
        hints.push((Action::ByRule, Line::styled(text, WARN)));
    }
    for Offer { binding, usable } in shown {
        let key = keymap.key_in(KeyScope::In(model.panes.view), binding.action);
        if key.is_empty() {
            continue;
        }
        let word = word(model, binding);
        let text = match usable {
            Ok(()) => vec![key.key(), Span::raw(format!(" {word}"))].into(),
            Err(reason) if reason_columns > 0 => {
                let reason = fit(reason, reason_columns);
                Line::styled(format!("{key} {word} ({reason})"), QUIET)
            }
            Err(_) => Line::styled(format!("{key} {word}"), QUIET),
        };
        hints.push((binding.action, text));
    }
    hints
}

/// The word of a hint. The hint of a switch says what its key would do now.
fn word(model: &Model, binding: &Binding) -> &'static str {
    match binding.action {
        Action::Pause if model.runs.paused => "watch",
        Action::Zoom if model.panes.zoom() => "unzoom",
        Action::Exchange if model.panes.has_charts => "gates",
        Action::Freeze if model.panes.log.is_frozen() => "unfreeze",
        Action::PauseLoop if model.loops.is_pausing() => "resume loop",
        action => leads(model, action).map_or(binding.hint, |(_, word)| word),
    }
}

/// The hint of this action is shown at every width.
fn stays(action: Action) -> bool {
    matches!(
        action,
        Action::Help | Action::Quit | Action::Stop | Action::Exchange
    )
}
