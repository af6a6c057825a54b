//! The palette and the chooser of themes: a line to type, and below it what fits.

use super::super::app::App;
use super::super::keymap::{Action, Place};
use super::super::overlay::Pick;
use super::super::palette;
use super::super::text::{fit, pad, printable, width};
use super::dialogs::{draw_input, window_of};
use lab_core::text::figures::thousands;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns of the palette and of the list of themes, where there is room.
const PALETTE: u16 = 104;
const THEMES: u16 = 44;

pub fn palette(frame: &mut Frame, area: Rect, app: &App, pick: &Pick) {
    if let Some(number) = palette::number(pick.input.value()) {
        return numbered(frame, area, app, pick, number);
    }
    let offers = palette::offers(app, pick.input.value());
    let here = Place::In(app.panes.view);
    let key = |action: Action| {
        let heard = app.keymap.key_in(here, action);
        if heard.is_empty() { app.keymap.key(action) } else { heard }
    };
    let key_columns = offers.iter().map(|o| width(&key(o.binding.action))).max().unwrap_or(0).max(3);
    let name_columns = offers.iter().map(|o| width(o.binding.name)).max().unwrap_or(0);
    let theme = &app.theme;
    let row = |at: usize, columns: usize| {
        let offer = &offers[at];
        let binding = offer.binding;
        let (is, says) = match &offer.usable {
            Ok(()) => (true, binding.doc.to_owned()),
            Err(reason) => (false, format!("({})  {}", printable(reason), binding.doc)),
        };
        let room = columns.saturating_sub(key_columns + name_columns + 5);
        let style = |style| if is { style } else { theme.quiet() };
        Line::from(vec![
            Span::styled(format!(" {}  ", pad(&key(binding.action), key_columns)), style(theme.key())),
            Span::styled(format!("{}  ", pad(binding.name, name_columns)), style(theme.strong())),
            Span::styled(fit(&says, room).into_owned(), style(theme.text())),
        ])
    };
    list(frame, area, app, "Actions", size_of_palette(app), pick, offers.len(), row);
}

/// With every action in it: it stays as large while words are typed.
fn size_of_palette(app: &App) -> (u16, usize) {
    (PALETTE, palette::offers(app, "").len() + 1)
}

/// The row that a number stands for.
fn numbered(frame: &mut Frame, area: Rect, app: &App, pick: &Pick, number: usize) {
    let row = |_, columns: usize| {
        let (says, style) = match app.numbered() {
            Ok((pane, count)) => {
                let rows = thousands(count as f64);
                let number = thousands(number.clamp(1, count) as f64);
                (format!("line {number} of {rows} in {}", pane.name()), app.theme.text())
            }
            Err(why) => (format!("({why})"), app.theme.quiet()),
        };
        Line::styled(fit(&format!(" :{}  {says}", pick.input.value().trim()), columns).into_owned(), style)
    };
    list(frame, area, app, "Actions", size_of_palette(app), pick, 1, row);
}

pub fn themes(frame: &mut Frame, area: Rect, app: &App, pick: &Pick) {
    let fitting = app.fitting_themes(pick.input.value());
    let row = |at: usize, columns: usize| {
        let name = printable(&app.themes[fitting[at]].0);
        Line::styled(format!(" {}", fit(&name, columns.saturating_sub(1))), app.theme.text())
    };
    // At the side, so that most of what is coloured is seen.
    let right =
        Rect { x: area.x + area.width.saturating_sub(THEMES + 4), width: area.width.min(THEMES + 4), ..area };
    let size = (THEMES, app.themes.len().max(1) + 1);
    list(frame, right, app, "Themes", size, pick, fitting.len(), row);
}

#[expect(clippy::too_many_arguments, reason = "they are the parts of one list")]
fn list(
    frame: &mut Frame,
    area: Rect,
    app: &App,
    title: &str,
    size: (u16, usize),
    pick: &Pick,
    count: usize,
    row: impl Fn(usize, usize) -> Line<'static>,
) {
    let theme = &app.theme;
    let inner = window_of(frame, area, title, size, theme);
    if inner.height == 0 {
        return;
    }
    draw_input(frame, Rect { height: 1, ..inner }, "› ", &pick.input, theme);
    let body = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let rows = usize::from(body.height);
    if count == 0 {
        let loading = title == "Themes" && app.themes.is_empty();
        let nothing = format!(" nothing fits: {} closes", app.keymap.key(Action::Abandon));
        let text = if loading { " reading …".to_owned() } else { nothing };
        frame.render_widget(Line::styled(text, theme.quiet()), body);
    }
    let at = pick.at.min(count.saturating_sub(1));
    // The chosen one in the middle, as far as the list's ends allow.
    let first = at.saturating_sub(rows / 2).min(count.saturating_sub(rows));
    for (line, index) in (first..count.min(first + rows)).enumerate() {
        let place = Rect { y: body.y + line as u16, height: 1, ..body };
        let mut drawn = row(index, usize::from(body.width));
        if index == at {
            drawn = theme.select(drawn);
            drawn.spans.insert(0, Span::styled("▸", theme.key()));
            drawn.spans[1].content = drawn.spans[1].content.trim_start_matches(' ').to_owned().into();
        }
        frame.render_widget(drawn, place);
    }
}
