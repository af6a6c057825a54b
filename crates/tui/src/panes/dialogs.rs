//! What lies on top: help, questions, the line to type a description.

use super::super::app::{App, Judged};
use super::super::format;
use super::super::keymap::{Action, Binding, Place, TABLE};
use super::super::overlay::Overlay;
use super::super::text::{fit, pad, printable, slice, width, wrap};
use super::super::theme::Theme;
use super::message;
use super::pick;
use super::run_log::cursor;
use lab_core::run::RunId;
use lab_core::run::verdict::Outcome;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph};
use tui_input::Input;

/// Columns of a dialog, where there is room.
const WINDOW: u16 = 84;

/// Keys and what they do need more.
const HELP_WINDOW: u16 = 104;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let first = top(frame, area, app);
    // Beyond the help's end there is nothing to come back from.
    if let (Some(first), Some(Overlay::Help { scroll })) = (first, app.overlays.last_mut()) {
        *scroll = first;
    }
}

/// Draws what is on top; of the help, its first row in sight.
fn top(frame: &mut Frame, area: Rect, app: &App) -> Option<usize> {
    match app.overlays.last()? {
        Overlay::Help { scroll } => return Some(help(frame, area, *scroll, app)),
        Overlay::Keep { draft } => {
            let held = |last: &Judged| {
                let incumbent = app.status.as_ref().and_then(|status| status.snapshot.incumbent.as_ref());
                incumbent == Some(&last.start.blob)
            };
            let ask = match app.last.as_ref().is_some_and(held) {
                // No commit is made of what HEAD holds already: the words go into the row and the record.
                true => {
                    "What did you try? HEAD holds these bytes already: a row is written, and no commit is made."
                }
                false => "What did you try? This becomes the commit's subject.",
            };
            message::draw(frame, area, app, "Keep", ask, draft);
        }
        Overlay::Discard { draft, .. } => {
            let ask = format!("What did you try? Left empty: \"{}\".", app.own_words());
            message::draw(frame, area, app, "Discard", &ask, draft);
        }
        Overlay::DiscardNewer { text, .. } => {
            let title = match app.present {
                Some(Err(_)) => "Discard?",
                _ => "Discard newer bytes?",
            };
            question(frame, area, title, std::slice::from_ref(text), app);
        }
        Overlay::Undo { text, .. } => {
            question(frame, area, "Undo?", std::slice::from_ref(text), app);
        }
        Overlay::Describe { commit, input, problem } => {
            describe(frame, area, commit, input, problem.as_deref(), app);
        }
        Overlay::Restore { text, .. } => {
            question(frame, area, "Put it back?", std::slice::from_ref(text), app);
        }
        Overlay::Refused { title, text } => notice(frame, area, title, text, app),
        Overlay::Trust { command } => {
            let text = [
                "This lab.toml wants to run a command that you have not trusted yet:".to_owned(),
                String::new(),
                format!("    {}", printable(command)),
                String::new(),
                "It runs with your rights at every save. Run it?".to_owned(),
            ];
            question(frame, area, "Trust this harness?", &text, app);
        }
        Overlay::Palette(pick) => pick::palette(frame, area, app, pick),
        Overlay::Themes { pick, .. } => pick::themes(frame, area, app, pick),
        // Drawn by the pane that is searched.
        Overlay::Search { .. } | Overlay::Filter { .. } => {}
    }
    None
}

/// A box in the middle; returns the room inside.
pub fn window(frame: &mut Frame, area: Rect, title: &str, rows: usize, theme: &Theme) -> Rect {
    window_of(frame, area, title, (WINDOW, rows), theme)
}

pub(super) fn window_of(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    (columns, rows): (u16, usize),
    theme: &Theme,
) -> Rect {
    let columns = area.width.saturating_sub(4).min(columns);
    let rows = (rows as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - columns) / 2,
        y: area.y + (area.height - rows) / 3,
        width: columns,
        height: rows,
    };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.rule(true))
        .style(theme.text())
        .title(Span::styled(format!(" {title} "), theme.title(true)))
        .padding(Padding::horizontal(1));
    let inner = block.inner(place);
    frame.render_widget(Clear, place);
    frame.render_widget(block, place);
    inner
}

fn wrapped(texts: &[String], columns: usize) -> Vec<String> {
    let mut out = Vec::new();
    for text in texts {
        let indent = text.len() - text.trim_start().len();
        let lines = wrap(text, columns.saturating_sub(indent));
        if lines.is_empty() {
            out.push(String::new());
        }
        out.extend(lines.into_iter().map(|line| " ".repeat(indent) + &line));
    }
    out
}

/// Keys and what they do here.
fn keys(app: &App, words: &[(Action, &str)]) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (action, word) in words {
        spans.push(Span::styled(app.keymap.key(*action), app.theme.key()));
        spans.push(Span::raw(format!(" {word}    ")));
    }
    spans
}

fn question(frame: &mut Frame, area: Rect, title: &str, texts: &[String], app: &App) {
    let keys = keys(app, &[(Action::Yes, "yes"), (Action::No, "no")]);
    say(frame, area, title, texts, keys, &app.theme);
}

fn notice(frame: &mut Frame, area: Rect, title: &str, text: &str, app: &App) {
    let text = printable(text).into_owned();
    let keys = keys(app, &[(Action::Accept, "go back")]);
    say(frame, area, title, std::slice::from_ref(&text), keys, &app.theme);
}

/// Text, and below it the keys that answer.
fn say(frame: &mut Frame, area: Rect, title: &str, texts: &[String], keys: Vec<Span>, theme: &Theme) {
    let columns = usize::from(area.width.saturating_sub(8)).min(80);
    let mut text = wrapped(texts, columns);
    // The keys must be seen, however long the text is.
    text.truncate(usize::from(area.height).saturating_sub(4));
    let inner = window(frame, area, title, text.len() + 2, theme);
    let mut lines: Vec<Line> = text.into_iter().map(Line::from).collect();
    lines.push(Line::default());
    lines.push(Line::from(keys));
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Another description for the experiment of a commit.
fn describe(frame: &mut Frame, area: Rect, commit: &str, input: &Input, problem: Option<&str>, app: &App) {
    let theme = &app.theme;
    let columns = usize::from(area.width.saturating_sub(8)).min(80);
    let ask =
        "The row of the experiment and its record are put in these words; its commit keeps its message.";
    let mut lines: Vec<Line> =
        wrap(ask, columns).into_iter().map(|l| Line::styled(l, theme.quiet())).collect();
    // The line that is typed into must be seen, and its keys.
    lines.truncate(usize::from(area.height).saturating_sub(6));
    let at = lines.len();
    lines.push(Line::default());
    let says = wrap(problem.unwrap_or_default(), columns);
    lines.extend(says.into_iter().map(|l| Line::styled(format!("✗ {l}"), theme.bad())));
    lines.push(Line::default());
    lines.push(Line::from(keys(app, &[(Action::Accept, "write"), (Action::Abandon, "go back")])));
    let inner = window(frame, area, &format!("Describe {}", printable(commit)), lines.len(), theme);
    frame.render_widget(Paragraph::new(lines), inner);
    let row = inner.y + at as u16;
    if row < inner.bottom() {
        draw_input(frame, Rect { y: row, height: 1, ..inner }, "› ", input, theme);
    }
}

/// What the decision is about: the verdict and its number.
pub fn subject(app: &App, run: RunId) -> Line<'static> {
    let Some(last) = app.last.as_ref().filter(|last| last.start.id == run) else {
        return Line::styled("a newer run has ended meanwhile", app.theme.warn());
    };
    let verdict = &last.verdict;
    let mut spans = vec![Span::styled(
        format!("{} {}", verdict.sign(), verdict.word()),
        app.theme.verdict(verdict.outcome),
    )];
    if verdict.outcome == Outcome::Pass {
        if let Some(measure) = verdict.objective {
            let unit = format::unit(&app.setup.objective);
            spans
                .push(Span::styled(format!("  {} {unit}", format::count(measure.value)), app.theme.strong()));
        }
        if verdict.emulated {
            spans.push(Span::styled("  emulated", app.theme.warn()));
        }
        if let Some(change) = verdict.change {
            spans.push(Span::raw(format!("  {} vs {}", change.words(), change.against())));
        }
    } else {
        spans.push(Span::raw(format!("  {}", printable(&verdict.why))));
    }
    Line::from(spans)
}

/// A line that is typed into: the part around the cursor, and the terminal's cursor in it.
pub fn draw_input(frame: &mut Frame, area: Rect, prompt: &str, input: &Input, theme: &Theme) {
    let room = usize::from(area.width).saturating_sub(width(prompt) + 1);
    let from = input.visual_scroll(room);
    let shown = slice(input.value(), from, room).into_owned();
    frame.render_widget(
        Line::from(vec![Span::styled(prompt.to_owned(), theme.key()), Span::raw(shown)]),
        area,
    );
    let column = width(prompt) + input.visual_cursor().saturating_sub(from);
    frame.set_cursor_position(cursor(area, column));
}

/// The row that is its first one in sight.
fn help(frame: &mut Frame, area: Rect, scroll: usize, app: &App) -> usize {
    let theme = &app.theme;
    let labels = |binding: &Binding| match app.keymap.keys(binding.action) {
        none if none.is_empty() => app.keymap.way(binding.action),
        keys => keys,
    };
    let mut lines = Vec::new();
    let key_columns = TABLE.iter().map(|b| width(&labels(b))).max().unwrap_or(0);
    for place in Place::ALL {
        if TABLE.iter().all(|b| b.place != place) {
            continue;
        }
        lines.push(Line::styled(place.heading(), theme.strong()));
        for binding in TABLE.iter().filter(|b| b.place == place) {
            let room = usize::from(area.width.saturating_sub(8).min(HELP_WINDOW - 4));
            for (row, text) in wrap(binding.doc, room.saturating_sub(key_columns + 4)).into_iter().enumerate()
            {
                let keys = if row == 0 { labels(binding) } else { String::new() };
                lines.push(Line::from(vec![
                    Span::styled(format!("  {}  ", pad(&keys, key_columns)), theme.key()),
                    Span::raw(text),
                ]));
            }
        }
        lines.push(Line::default());
    }
    lines.pop();
    let title = "Keys";
    let rows = lines.len();
    let inner = window_of(frame, area, title, (HELP_WINDOW, rows), theme);
    let last = rows.saturating_sub(usize::from(inner.height));
    let first = scroll.min(last);
    let shown: Vec<Line> = lines.into_iter().skip(first).collect();
    frame.render_widget(Paragraph::new(shown), inner);
    let mut hint = format!(" {} closes ", app.keymap.way(Action::Close));
    if last > first {
        hint = format!(" {} for more ·{hint}", app.keymap.way(Action::Down));
    }
    let place = Rect { y: inner.bottom(), height: 1, ..inner };
    if place.y < area.bottom() {
        let hint = fit(&hint, usize::from(inner.width)).into_owned();
        frame.render_widget(Line::styled(hint, theme.quiet()).right_aligned(), place);
    }
    first
}
