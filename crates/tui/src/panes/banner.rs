//! The verdict, to be read from across the room: one word, one colour, one number, the change
//! against the incumbent. While a run goes on, where it is; the last verdict stays beside it.

use super::super::app::{App, Judged, Live, Running};
use super::super::keymap::Action;
use super::super::text::{fit, printable, width};
use super::super::views::View;
use super::super::{format, theme::Theme};
use super::{Button, big};
use lab_core::run::experiment::Status;
use lab_core::run::verdict::{Change, Outcome};
use lab_core::run::{Reason, RunStart};
use lab_protocol::report::{Report, Speed, attribute};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Cells of the progress bar.
const BAR: u64 = 16;

/// The project, the device and the branch; on the right which run this is and why it started. Returns where the
/// views are named.
pub fn draw_head(frame: &mut Frame, area: Rect, app: &App) -> Vec<Button> {
    let theme = &app.theme;
    let mut left = vec![
        Span::styled(" lab ", theme.title(true)),
        Span::styled(format!(" {} ", app.setup.name), theme.strong()),
    ];
    if let Some(device) = report(app).and_then(Report::device) {
        left.push(Span::raw(format!(" {} ", printable(device_name(device)))));
    }
    if let Some(status) = &app.status {
        left.push(Span::styled(format!(" {}", printable(&status.head.label())), theme.quiet()));
        if let Some(operation) = &status.head.operation {
            left.push(Span::styled(format!("  {operation} in progress"), theme.warn()));
        }
    }
    let left = Line::from(left);
    let right = Line::styled(format!("{} ", which_run(app)), theme.quiet());
    let taken = (right.width() as u16).min(area.width / 2);
    let room = usize::from(area.width - taken).saturating_sub(left.width());
    // Two columns lie between them and what is on the right.
    let fits =
        |named: &Vec<(View, Span)>| named.iter().map(|(_, name)| name.width()).sum::<usize>() + 4 <= room;
    let named = [views(app, true), views(app, false)].into_iter().find(fits).unwrap_or_default();
    let columns: usize = named.iter().map(|(_, name)| name.width()).sum();
    frame.render_widget(left, area);
    let mut buttons = Vec::new();
    let mut x = area.right().saturating_sub(taken + columns as u16 + 2);
    for (view, name) in named {
        let place = Rect { x, width: name.width() as u16, ..area };
        frame.render_widget(name, place);
        buttons.push((place, view.action()));
        x = place.right();
    }
    frame.render_widget(right.right_aligned(), Rect { x: area.right() - taken, width: taken, ..area });
    buttons
}

/// The views with their keys, the present one marked; or that one alone.
fn views(app: &App, all: bool) -> Vec<(View, Span<'static>)> {
    let here = app.panes.view;
    let shown = View::ALL.into_iter().filter(|view| all || *view == here);
    let named = shown.map(|view| {
        let sign = if view == here { "▸" } else { " " };
        let style = if view == here { app.theme.title(true) } else { app.theme.quiet() };
        (view, Span::styled(format!("{sign}{} {} ", app.keymap.key(view.action()), view.name()), style))
    });
    named.collect()
}

/// `NVIDIA H200 emulated=1` without its attributes.
fn device_name(device: &str) -> &str {
    let end = device.split_whitespace().find(|word| word.contains('='));
    end.map_or(device, |word| device[..device.find(word).unwrap_or(device.len())].trim_end())
}

/// What is shown now: of the run that goes on, else of the last.
fn report(app: &App) -> Option<&Report> {
    match &app.running {
        Running::Live(live) if live.report.device().is_some() => Some(&live.report),
        _ => app.last.as_ref().map(|last| &*last.report),
    }
}

fn which_run(app: &App) -> String {
    match (&app.running, &app.last) {
        (Running::Live(live), _) => why(app, &live.start),
        (Running::Asked(reason, _), _) => format!("{} · starting", reason.word()),
        (Running::No, Some(last)) => why(app, &last.start),
        (Running::No, None) => String::new(),
    }
}

fn why(app: &App, start: &RunStart) -> String {
    format!("run {} · {} {}", start.id, start.reason.word(), format::clock(start.started, &app.zone))
}

/// Three rows of big letters, and the same in small beside them.
pub fn draw_large(frame: &mut Frame, area: Rect, app: &App) {
    let theme = &app.theme;
    let mut x = area.x + 2;
    for (text, style) in big_words(app) {
        let Some(rows) = big::rows(&text) else { continue };
        let columns = big::width(&text) as u16;
        // The small text needs its room.
        if x + columns + 40 > area.right() {
            continue;
        }
        for (row, line) in rows.iter().enumerate() {
            frame.buffer_mut().set_string(x, area.y + 1 + row as u16, line, style);
        }
        x += columns + 4;
    }
    let lines = [first_line(app), second_line(app), third_line(app)];
    for (row, line) in lines.into_iter().enumerate() {
        let y = area.y + 1 + row as u16;
        let room = Rect { x, y, width: area.right().saturating_sub(x + 1), height: 1 };
        frame.render_widget(Line::from(line).style(theme.text()), room);
    }
}

fn big_words(app: &App) -> Vec<(String, Style)> {
    let theme = &app.theme;
    match (&app.running, &app.last) {
        (Running::Live(live), _) => vec![(stage_word(live).to_uppercase(), theme.accent())],
        (Running::Asked(..), _) => vec![("START".to_owned(), theme.accent())],
        (Running::No, Some(last)) => {
            let verdict = &last.verdict;
            let is_stale = app.is_stale();
            let faded = |style: Style| if is_stale { theme.quiet() } else { style };
            let mut words = vec![(verdict.word().to_owned(), faded(theme.verdict(verdict.outcome)))];
            // An emulated device's time is no figure to be read from across the room.
            let counts = verdict.outcome == Outcome::Pass && !verdict.emulated;
            if let Some(measure) = verdict.objective.filter(|_| counts) {
                words.push((format::count(measure.value), faded(theme.strong())));
            }
            if let Some(change) = verdict.change {
                let text = format!("{:+.1}%", change.ratio * 100.0);
                words.push((text, faded(change_style(app, &change))));
            }
            words
        }
        (Running::No, None) => Vec::new(),
    }
}

/// Where it is, or the sign and the word again; then what qualifies it.
fn first_line(app: &App) -> Vec<Span<'static>> {
    let mut line = match (&app.running, &app.last) {
        _ if app.checking.is_some() => progress(app),
        (Running::No, Some(last)) => verdict_word(app, last),
        (Running::No, None) => vec![nothing_yet(app)],
        _ => progress(app),
    };
    line.extend(tags(app));
    line
}

fn second_line(app: &App) -> Vec<Span<'static>> {
    let Some(last) = &app.last else { return so_far(app).unwrap_or_default() };
    if matches!(app.running, Running::No) {
        return figures(app, last);
    }
    if let Some(line) = so_far(app) {
        return line;
    }
    let mut line = vec![Span::styled("last  ", app.theme.quiet())];
    line.extend(verdict_word(app, last));
    line.push(Span::raw("  "));
    line.extend(figures(app, last));
    line
}

/// What the run that goes on has measured, with its interval, which narrows.
fn so_far(app: &App) -> Option<Vec<Span<'static>>> {
    let Running::Live(live) = &app.running else { return None };
    let theme = &app.theme;
    let measure = live.report.measure(app.setup.objective.name()).filter(|m| m.value.is_finite())?;
    let ends = measure.low.zip(measure.high).map_or_else(String::new, |(low, high)| {
        format!(" ({} … {})", format::count(low), format::count(high))
    });
    let mut line = vec![
        Span::styled("so far  ", theme.quiet()),
        Span::styled(format::count(measure.value), theme.strong()),
        Span::styled(format!("{ends} {}", format::unit(&app.setup.objective)), theme.quiet()),
    ];
    if let Some(change) = Change::in_turns(&live.report, &app.setup.objective) {
        line.push(Span::styled(format!("  {}", change.words()), change_style(app, &change)));
    }
    Some(line)
}

/// What a reader should know before believing the number.
fn third_line(app: &App) -> Vec<Span<'static>> {
    let theme = &app.theme;
    if let Some(caveat) = report(app).and_then(|r| r.caveats().first()) {
        return vec![Span::styled(format!("! {}", printable(caveat)), theme.warn())];
    }
    // Beside the figures of the run that goes on those of the last one would be mistaken for its own.
    let Some(last) = app.last.as_ref().filter(|_| so_far(app).is_none()) else { return Vec::new() };
    let mut parts = Vec::new();
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
    // While a run goes on these belong to the last verdict, as the line above says.
    let indent = if matches!(app.running, Running::No) { "" } else { "      " };
    vec![Span::styled(format!("{indent}{}", parts.join("   ")), theme.quiet())]
}

/// All of it in one row; below a head that names the run it does not say so again.
pub fn draw_line(frame: &mut Frame, area: Rect, app: &App, has_head: bool) {
    let theme = &app.theme;
    let mut line = vec![Span::raw(" ")];
    match (&app.running, &app.last) {
        _ if app.checking.is_some() => line.extend(progress(app)),
        (Running::No, Some(last)) => {
            let verdict = &last.verdict;
            let style = if app.is_stale() { theme.quiet() } else { theme.verdict_block(verdict.outcome) };
            line.push(Span::styled(format!(" {} {} ", verdict.sign(), verdict.word()), style));
            line.extend(stale(app));
            // Before the figures: what qualifies them must not be cut off.
            line.extend(tags(app));
            line.push(Span::raw("  "));
            line.extend(figures(app, last));
        }
        (Running::No, None) => line.push(nothing_yet(app)),
        (_, last) => {
            line.extend(progress(app));
            if let Some(last) = last {
                line.push(Span::styled("  last ", theme.quiet()));
                line.extend(verdict_word(app, last));
            }
            line.extend(tags(app));
        }
    }
    let right = if has_head { String::new() } else { which_run(app) };
    let used: usize = line.iter().map(Span::width).sum();
    frame.render_widget(Line::from(line), area);
    if used + width(&right) + 3 < usize::from(area.width) {
        let right = Line::styled(format!("{right} "), theme.quiet()).right_aligned();
        frame.render_widget(right, Rect { x: area.x + used as u16, width: area.width - used as u16, ..area });
    }
}

fn nothing_yet(app: &App) -> Span<'static> {
    let theme = &app.theme;
    let rerun = app.keymap.way(Action::Rerun);
    match (&app.present, app.untrusted.is_some(), app.loaded) {
        (_, true, _) => {
            let text = format!("no verdict: the harness command is not trusted, {rerun} asks again  ");
            Span::styled(text, theme.warn())
        }
        (Some(Err(why)), ..) => Span::styled(format!("no verdict: {}  ", printable(why)), theme.warn()),
        (_, _, false) => Span::styled("looking at the repository …  ", theme.quiet()),
        _ => {
            let text = format!("no verdict yet: save {}, or press {rerun}  ", app.setup.file());
            Span::styled(text, theme.quiet())
        }
    }
}

fn verdict_word(app: &App, last: &Judged) -> Vec<Span<'static>> {
    let verdict = &last.verdict;
    let style = if app.is_stale() { app.theme.quiet() } else { app.theme.verdict(verdict.outcome) };
    let mut word = vec![Span::styled(format!("{} {}", verdict.sign(), verdict.word()), style)];
    word.extend(stale(app));
    word
}

/// The mark of a verdict on other bytes than those on disk.
fn stale(app: &App) -> Option<Span<'static>> {
    app.is_stale().then(|| Span::styled("  stale", app.theme.warn()))
}

/// The number and its change; of anything but a pass the reason.
fn figures(app: &App, last: &Judged) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let verdict = &last.verdict;
    if verdict.outcome != Outcome::Pass {
        return vec![Span::raw(printable(&verdict.why).into_owned())];
    }
    let mut line = Vec::new();
    match verdict.objective {
        Some(measure) => {
            let style = if verdict.emulated { theme.quiet() } else { theme.strong() };
            line.push(Span::styled(format::count(measure.value), style));
            line.push(Span::styled(format!(" {}", format::unit(&app.setup.objective)), theme.quiet()));
            if verdict.emulated {
                line.push(Span::styled(", which says nothing about a GPU", theme.quiet()));
            }
        }
        None => line.push(Span::styled(format!("no {}", app.setup.objective), theme.warn())),
    }
    if let Some(change) = verdict.change {
        line.push(Span::styled(format!("  {}", change.words()), change_style(app, &change)));
        // What was kept is the incumbent now; its change is against the one that it replaced.
        let against = match (last.decided == Some(Status::Keep), change.speed) {
            (true, _) => format!(" vs {} before", change.against()),
            // The word on speed says it, and there is no room to say it twice.
            (false, Some(_)) => String::new(),
            (false, None) => format!(" vs {}", change.against()),
        };
        line.push(Span::styled(against, theme.quiet()));
    }
    line
}

fn change_style(app: &App, change: &Change) -> Style {
    let is_better = (change.ratio > 0.0) == (app.setup.goal == lab_core::config::Goal::Maximize);
    match (change.speed, change.ratio) {
        (Some(Speed::Same), _) | (None, 0.0) => app.theme.quiet(),
        (Some(Speed::Faster), _) => app.theme.good(),
        (Some(Speed::Slower), _) => app.theme.warn(),
        (None, _) if is_better => app.theme.good(),
        (None, _) => app.theme.warn(),
    }
}

/// Words that qualify what is shown. Nothing hangs on colour alone.
fn tags(app: &App) -> Vec<Span<'static>> {
    let theme: &Theme = &app.theme;
    let mut words: Vec<(&str, Style)> = Vec::new();
    match app.last.as_ref().filter(|_| matches!(app.running, Running::No)).and_then(|last| last.decided) {
        Some(Status::Keep) => words.push(("kept", theme.good())),
        Some(_) => words.push(("discarded", theme.quiet())),
        None => {}
    }
    if report(app)
        .is_some_and(|r| r.emulated() || r.device().is_some_and(|d| attribute(d, "emulated").is_some()))
    {
        words.push(("emulated", theme.warn()));
    }
    // Of a verdict that stands: it was kept and marked, not thrown away.
    let stands = matches!(app.running, Running::No)
        && app.last.as_ref().is_some_and(|last| last.verdict.outcome == Outcome::Pass);
    if stands && report(app).is_some_and(|r| !r.caveats().is_empty()) {
        words.push(("caveated", theme.warn()));
    }
    if app.setup.external.is_some() {
        words.push(("external", theme.accent()));
    }
    if app.paused {
        words.push(("paused", theme.warn()));
    }
    words
        .into_iter()
        .flat_map(|(word, style)| [Span::raw("  "), Span::styled(word.to_owned(), style)])
        .collect()
}

fn stage_word(live: &Live) -> &'static str {
    live.report.stage().map_or("start", lab_protocol::report::Stage::word)
}

/// `◐ VERIFY  ▰▰▰▱▱▱ 3/10  2.3 s`, of a run or of the check before a keep.
fn progress(app: &App) -> Vec<Span<'static>> {
    let theme = &app.theme;
    let (word, since, done) = match (&app.running, &app.checking) {
        (_, Some(checking)) => ("held out", checking.began, checking.report.progress()),
        (Running::Live(live), _) => (stage_word(live), live.began, live.report.progress()),
        (Running::Asked(reason, since), _) => (asked_word(*reason), *since, None),
        (Running::No, None) => return Vec::new(),
    };
    let turn = ["◐", "◓", "◑", "◒"][(app.now.as_millis() / 200 % 4) as usize];
    let mut line = vec![Span::styled(format!("{turn} {}", word.to_uppercase()), theme.title(true))];
    if let Some((done, all)) = done.filter(|(_, all)| *all > 0) {
        let full = (done.min(all).saturating_mul(BAR) / all).min(BAR);
        line.push(Span::styled(format!("  {}", "▰".repeat(full as usize)), theme.accent()));
        line.push(Span::styled("▱".repeat((BAR - full) as usize), theme.quiet()));
        line.push(Span::raw(format!(" {done}/{all}")));
    }
    let time = format::elapsed(app.now.saturating_sub(since));
    line.push(Span::styled(format!("  {}", fit(&time, 14)), theme.text()));
    if app.checking.is_some() {
        let cancel = app.keymap.way(Action::Close);
        let text = format!("  the gates on what no run has shown, then the commit ({cancel} cancels)");
        line.push(Span::styled(text, theme.quiet()));
    }
    line
}

fn asked_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Restored => "restored",
        _ => "start",
    }
}
