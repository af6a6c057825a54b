//! The foot: a message or where things stand, and below it the hints with their reasons.

use super::super::app::{App, Deciding};
use super::super::keymap::{Action, Binding, Place, TABLE};
use super::super::status::Level;
use super::super::text::{fit, printable, width, wrap_to};
use super::super::views::View;
use super::{Button, Pane};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns a reason may take: the first that lets everything fit. Pressing the key says it whole.
const REASONS: [usize; 4] = [60, 36, 20, 0];

/// Rows that a long message may take: its end often says what to do.
const MESSAGE_ROWS: usize = 4;

/// Rows that the foot takes of a screen of this size.
pub fn rows(app: &App, area: Rect) -> u16 {
    let message = lines(app, area.width).len().max(1) as u16;
    if has_hints(area) { message + 1 } else { message }
}

/// On a small screen a message takes the place of the hints.
fn has_hints(screen: Rect) -> bool {
    screen.height >= 16
}

/// Returns where the hints are.
pub fn draw(frame: &mut Frame, area: Rect, app: &App, is_large: bool) -> Vec<Button> {
    let hints = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    if has_hints(frame.area()) {
        draw_message(frame, Rect { height: area.height.saturating_sub(1), ..area }, app, is_large);
        draw_hints(frame, hints, app, is_large)
    } else if message(app).is_some() {
        draw_message(frame, area, app, is_large);
        Vec::new()
    } else {
        draw_hints(frame, hints, app, is_large)
    }
}

/// What is said now.
fn message(app: &App) -> Option<(String, Style)> {
    let theme = &app.theme;
    match app.deciding {
        // Hooks may take their time.
        Some(Deciding::Keep) => return Some(("◐ committing …".to_owned(), theme.accent())),
        Some(Deciding::Undo) => return Some(("◐ undoing …".to_owned(), theme.accent())),
        Some(Deciding::Describe) => return Some(("◐ writing …".to_owned(), theme.accent())),
        Some(Deciding::Restore) => return Some(("◐ restoring …".to_owned(), theme.accent())),
        Some(Deciding::Discard) => return Some(("◐ discarding …".to_owned(), theme.accent())),
        None => {}
    }
    let message = app.message.message()?;
    let style = match message.level {
        Level::Info => theme.text(),
        Level::Warning => theme.warn(),
        Level::Error => theme.bad(),
    };
    Some((format!("{} {}", message.level.sign(), message.text), style))
}

fn lines(app: &App, columns: u16) -> Vec<Line<'static>> {
    let Some((text, style)) = message(app) else { return Vec::new() };
    let columns = usize::from(columns).saturating_sub(2);
    let rows = wrap_to(&text, columns, MESSAGE_ROWS);
    rows.into_iter().map(|row| Line::styled(format!(" {row}"), style)).collect()
}

/// Where things stand, the longest words first. A large screen names the branch in its head.
fn standing(app: &App, is_large: bool) -> Vec<String> {
    let watching = if app.paused { "not watching" } else { "watching" };
    let kernel = format!("{watching} {} ", printable(&app.setup.kernel));
    if app.auto {
        let rule = "auto: keeps faster, discards slower, same, wrong";
        return vec![
            format!("{rule} · {kernel}"),
            format!("{rule} "),
            "auto: keeps faster, discards the rest ".to_owned(),
        ];
    }
    let head = app.status.as_ref().filter(|_| !is_large).map(|status| &status.head);
    let Some(head) = head else { return vec![kernel] };
    let mut place = printable(&head.label()).into_owned();
    if let Some(operation) = &head.operation {
        place.push_str(&format!(" · {operation} in progress"));
    }
    vec![format!("{place} · {kernel}"), format!("{place} · {watching} "), format!("{place} "), kernel]
}

fn draw_message(frame: &mut Frame, area: Rect, app: &App, is_large: bool) {
    let lines = lines(app, area.width);
    let taken = lines.first().map_or(0, Line::width);
    let fits = |right: &String| taken + 2 + width(right) < usize::from(area.width);
    if let Some(right) = standing(app, is_large).into_iter().find(fits).filter(|_| lines.len() < 2) {
        frame.render_widget(Line::styled(right, app.theme.quiet()).right_aligned(), area);
    }
    for (row, line) in lines.into_iter().take(usize::from(area.height)).enumerate() {
        frame.render_widget(line, Rect { y: area.y + row as u16, height: 1, ..area });
    }
}

/// Every hint of the table; one that cannot be used now is dim and says why. Where the row is too
/// short the reasons are cut first, then left out, then hints from the back; help and quit stay.
fn draw_hints(frame: &mut Frame, area: Rect, app: &App, is_large: bool) -> Vec<Button> {
    let here = Place::In(app.panes.view);
    let in_log = app.panes.focus() == Pane::Log;
    let is_heard = |b: &&Binding| match b.action {
        Action::Freeze => in_log,
        _ => b.place == Place::Screen || b.place == here,
    };
    let mut shown: Vec<&Binding> = TABLE.iter().filter(|b| !b.hint.is_empty()).filter(is_heard).collect();
    // What can be done here alone comes first, where it is not what one works at.
    if app.panes.view != View::Bench {
        shown.sort_by_key(|b| b.place == Place::Screen);
    }
    let too_long = |hints: &[Hint]| hints.iter().map(Hint::width).sum::<usize>() > usize::from(area.width);
    let mut all = Vec::new();
    for reason_columns in REASONS {
        all = hints(app, &shown, reason_columns, is_large);
        if !too_long(&all) {
            break;
        }
    }
    while too_long(&all)
        && let Some(last) = shown.iter().rposition(|b| !matches!(b.action, Action::Help | Action::Quit))
    {
        shown.remove(last);
        all = hints(app, &shown, 0, is_large);
    }
    let mut buttons = Vec::new();
    let mut x = area.x;
    for hint in &all {
        let width = hint.width() as u16;
        // Without the blanks behind it.
        let place = Rect { x, width: width.saturating_sub(2), ..area }.intersection(area);
        buttons.extend(hint.action.map(|action| (place, action)));
        x = x.saturating_add(width);
    }
    let spans: Vec<Span> = all.into_iter().flat_map(|hint| hint.spans).collect();
    frame.render_widget(Line::from(spans), area);
    buttons
}

/// What is said of an action, with two blanks behind it.
struct Hint {
    /// `None` of what tells where one is.
    action: Option<Action>,
    spans: Vec<Span<'static>>,
}

impl Hint {
    fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }
}

fn hints(app: &App, shown: &[&Binding], reason_columns: usize, is_large: bool) -> Vec<Hint> {
    let theme = &app.theme;
    let mut hints = vec![Hint { action: None, spans: vec![Span::raw(" ")] }];
    let mut hint = |action, spans| hints.push(Hint { action, spans });
    // Whatever else there is no room for: that nobody will be asked.
    if app.auto {
        let text = format!("{} auto on  ", app.keymap.key(Action::Auto));
        hint(Some(Action::Auto), vec![Span::styled(text, theme.warn())]);
    }
    // A large screen names the views in its head.
    if app.panes.view != View::Bench && !is_large {
        let view = app.panes.view;
        let name = format!("{} {}  ", app.keymap.key(view.action()), view.name());
        hint(None, vec![Span::styled(name, theme.title(true))]);
    }
    for binding in shown {
        let key = app.keymap.key_in(Place::In(app.panes.view), binding.action);
        if key.is_empty() {
            continue;
        }
        let spans = match app.usable(binding.action) {
            Ok(()) => vec![
                Span::styled(key, theme.key()),
                Span::styled(format!(" {}  ", word(app, binding)), theme.text()),
            ],
            Err(reason) if reason_columns > 0 => {
                let reason = fit(&reason, reason_columns);
                vec![Span::styled(format!("{key} {} ({reason})  ", binding.hint), theme.quiet())]
            }
            Err(_) => vec![Span::styled(format!("{key} {}  ", binding.hint), theme.quiet())],
        };
        hint(Some(binding.action), spans);
    }
    hints
}

/// A switch says what its key would do now.
fn word(app: &App, binding: &Binding) -> &'static str {
    match binding.action {
        Action::Pause if app.paused => "watch",
        Action::Zoom if app.panes.zoom() => "unzoom",
        Action::Freeze if app.log.is_frozen() => "let go",
        _ => binding.hint,
    }
}
