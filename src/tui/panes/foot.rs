//! The two rows at the foot: a message or where things stand, and the hints with their reasons.

use super::super::app::App;
use super::super::keymap::{Action, Binding, Place, TABLE, label};
use super::super::status::Level;
use super::super::text::{fit, printable, width};
use super::Pane;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns a reason may take: the first that lets everything fit. Pressing the key says it whole.
const REASONS: [usize; 4] = [60, 36, 20, 0];

pub fn draw(frame: &mut Frame, area: Rect, app: &App) {
    let hints = Rect { y: area.bottom() - 1, height: 1, ..area };
    if area.height > 1 {
        draw_message(frame, Rect { height: 1, ..area }, app);
        draw_hints(frame, hints, app);
    } else if app.message.message().is_some() {
        draw_message(frame, hints, app);
    } else {
        draw_hints(frame, hints, app);
    }
}

fn draw_message(frame: &mut Frame, area: Rect, app: &App) {
    let theme = &app.theme;
    let watching = if app.paused { "not watching" } else { "watching" };
    let right = format!("{watching} {} ", printable(&app.setup.kernel));
    let mut room = usize::from(area.width);
    let needed = app.message.message().map_or(0, |m| width(&m.text) + 4);
    if needed + width(&right) < room {
        frame.render_widget(Line::styled(right.clone(), theme.quiet()).right_aligned(), area);
        room -= width(&right);
    }
    if let Some(message) = app.message.message() {
        let style = match message.level {
            Level::Info => theme.text(),
            Level::Warning => theme.warn(),
            Level::Error => theme.bad(),
        };
        let text = format!(" {} {}", message.level.sign(), message.text);
        let line = Line::styled(fit(&text, room.saturating_sub(1)).into_owned(), style);
        frame.render_widget(line, Rect { width: room as u16, ..area });
    }
}

/// Every hint of the table; one that cannot be used now is dim and says why. Where the row is too
/// short the reasons are cut first, then left out, then hints from the back; help and quit stay.
fn draw_hints(frame: &mut Frame, area: Rect, app: &App) {
    let in_log = app.panes.focus == Pane::Log;
    let mut shown: Vec<&Binding> =
        TABLE.iter().filter(|b| !b.hint.is_empty() && (b.place == Place::Screen || in_log)).collect();
    let too_long = |spans: &[Span]| spans.iter().map(Span::width).sum::<usize>() > usize::from(area.width);
    let mut spans = Vec::new();
    for reason_columns in REASONS {
        spans = hints(app, &shown, reason_columns);
        if !too_long(&spans) {
            break;
        }
    }
    while too_long(&spans)
        && let Some(last) = shown.iter().rposition(|b| !matches!(b.action, Action::Help | Action::Quit))
    {
        shown.remove(last);
        spans = hints(app, &shown, 0);
    }
    frame.render_widget(Line::from(spans), area);
}

fn hints(app: &App, shown: &[&Binding], reason_columns: usize) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let mut spans = vec![Span::raw(" ")];
    for binding in shown {
        let key = label(binding.action.key());
        match app.usable(binding.action) {
            Ok(()) => {
                spans.push(Span::styled(key, theme.key()));
                spans.push(Span::styled(format!(" {}  ", word(app, binding)), theme.text()));
            }
            Err(reason) if reason_columns > 0 => {
                let reason = fit(&reason, reason_columns);
                spans.push(Span::styled(format!("{key} {} ({reason})  ", binding.hint), theme.quiet()));
            }
            Err(_) => spans.push(Span::styled(format!("{key} {}  ", binding.hint), theme.quiet())),
        }
    }
    spans
}

/// A switch says what its key would do now.
fn word(app: &App, binding: &Binding) -> &'static str {
    match binding.action {
        Action::Pause if app.paused => "watch",
        Action::Zoom if app.panes.zoom => "unzoom",
        Action::Freeze if app.log.is_frozen() => "let go",
        _ => binding.hint,
    }
}
