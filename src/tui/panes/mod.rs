//! Where everything is on the screen. One file a pane; no pane knows another.
//!
//! At 100×30 and more, all of it (the words of the verdict are three rows tall):
//! ```text
//!  lab  rmsnorm  NVIDIA H200  exp/rmsnorm @ a1b2c3d                         run 42 · saved 14:03:22
//!
//!  █▀█ ▄▀█ █▀▀ █▀▀    ▀█ █▄▄ █▀  …          ● PASS   4 of 4 gates
//!  █▀▀ █▀█ ▄▄█ ▄▄█   …                      165,210 sps   +3.1 % ± 0.3 vs incumbent
//! ━ Correctness ━━━━━━━━━━━━━━━━━━━━━━┬─ Throughput ──────────────────────────────────────────────
//!  ✓ build   0.38 s   168 regs        │ 180k ┤                     ●━━━━━━━━━━━━━●
//!  ✓ h0_max_diff    3.0e-06 ≤ 3e-05   │      │     ●━━━━━━━━━━━━━━━┛   ·
//! ─ Git log ──────────────────────────┼─ run.log ─────────────────────────────────────────────────
//!  a1b2c3d ● 165.2k  overlap gather   │ stage: measure
//!  · kept as a1b2c3d                                                          watching kernel.cu
//!  c commit  d discard  r rerun  e edit  / search  Tab focus  ? help  q quit
//! ```
//! Down to 60×16 the verdict takes one row, Correctness is above, and the focused one of the other
//! panes below. Down to 40×10 only the focused pane is shown. Below that the screen says so.

mod banner;
mod big;
mod commits;
mod correctness;
mod dialogs;
mod foot;
mod history;
mod run_log;

pub use commits::CommitsState;
pub use correctness::CorrectnessState;
pub use history::HistoryState;

use super::app::App;
use super::theme::Theme;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

/// Smaller than this nothing can be read.
const SMALLEST: (u16, u16) = (40, 10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Correctness,
    History,
    Commits,
    Log,
}

impl Pane {
    /// In the order of the focus: as one reads.
    pub const ALL: [Pane; 4] = [Pane::Correctness, Pane::History, Pane::Commits, Pane::Log];

    pub fn name(self) -> &'static str {
        match self {
            Pane::Correctness => "Correctness",
            Pane::History => "Throughput",
            Pane::Commits => "Git log",
            Pane::Log => "run.log",
        }
    }

    pub fn next(self) -> Pane {
        Pane::ALL[(self as usize + 1) % Pane::ALL.len()]
    }

    pub fn previous(self) -> Pane {
        Pane::ALL[(self as usize + Pane::ALL.len() - 1) % Pane::ALL.len()]
    }
}

/// What the panes remember between frames.
#[derive(Clone, Debug, Default)]
pub struct Panes {
    pub focus: Pane,
    pub zoom: bool,
    pub correctness: CorrectnessState,
    pub history: HistoryState,
    pub commits: CommitsState,
    /// Rows of the focused pane at the last frame.
    height: usize,
    /// At the last frame nothing could be shown.
    too_small: bool,
}

impl Panes {
    pub fn height(&self) -> usize {
        self.height
    }

    /// Nobody sees what keys would act on.
    pub fn too_small(&self) -> bool {
        self.too_small
    }
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, app: &mut App) {
    let area = frame.area();
    frame.render_widget(Block::new().style(app.theme.text()), area);
    app.panes.too_small = area.width < SMALLEST.0 || area.height < SMALLEST.1;
    if app.panes.too_small {
        too_small(frame, area, &app.theme);
        return;
    }
    let is_large = area.width >= 100 && area.height >= 30;
    let rows = if is_large { [1, 4] } else { [0, 1] };
    let foot = foot::rows(app, area);
    let [head, verdict, body, foot] = Layout::vertical([
        Constraint::Length(rows[0]),
        Constraint::Length(rows[1]),
        Constraint::Fill(1),
        Constraint::Length(foot),
    ])
    .areas(area);
    if is_large {
        banner::draw_head(frame, head, app);
        banner::draw_large(frame, verdict, app);
    } else {
        banner::draw_line(frame, verdict, app);
    }
    draw_body(frame, body, app, is_large);
    foot::draw(frame, foot, app, is_large);
    dialogs::draw(frame, body, app);
}

fn draw_body(frame: &mut Frame, area: Rect, app: &mut App, is_large: bool) {
    let focus = app.panes.focus;
    if app.panes.zoom || area.width < 60 || area.height < 13 {
        draw_pane(frame, area, app, focus);
    } else if is_large {
        draw_four(frame, area, app);
    } else {
        let other = if focus == Pane::Correctness { Pane::Log } else { focus };
        let wanted = correctness::rows(app) as u16 + 1;
        let above = wanted.clamp(5, area.height / 2);
        let [top, bottom] = Layout::vertical([Constraint::Length(above), Constraint::Fill(1)]).areas(area);
        draw_pane(frame, top, app, Pane::Correctness);
        draw_pane(frame, bottom, app, other);
    }
}

/// All four: left what is right, right what is fast.
fn draw_four(frame: &mut Frame, area: Rect, app: &mut App) {
    let [left, bar, right] =
        Layout::horizontal([Constraint::Percentage(44), Constraint::Length(1), Constraint::Fill(1)])
            .areas(area);
    let wanted = correctness::rows(app) as u16 + 1;
    let half = area.height / 2;
    // What does not need its half leaves it to the other.
    let upper_left = wanted.clamp(half, (area.height * 3 / 4).max(half));
    let [correctness, commits] =
        Layout::vertical([Constraint::Length(upper_left), Constraint::Fill(1)]).areas(left);
    let [history, log] = Layout::vertical([Constraint::Length(half), Constraint::Fill(1)]).areas(right);
    for (pane, area) in [
        (Pane::Correctness, correctness),
        (Pane::History, history),
        (Pane::Commits, commits),
        (Pane::Log, log),
    ] {
        draw_pane(frame, area, app, pane);
    }
    draw_bar(frame, bar, app, &[commits.y, log.y]);
}

/// The line between left and right, with a joint where a pane's title meets it.
fn draw_bar(frame: &mut Frame, area: Rect, app: &App, titles: &[u16]) {
    let style = app.theme.quiet();
    for y in area.top()..area.bottom() {
        let sign = match (y == area.top(), titles.iter().filter(|t| **t == y).count()) {
            (true, _) => "┬",
            (false, 0) => "│",
            (false, 2..) => "┼",
            (false, _) if titles.first() == Some(&y) => "┤",
            (false, _) => "├",
        };
        frame.buffer_mut().set_string(area.x, y, sign, style);
    }
}

fn draw_pane(frame: &mut Frame, area: Rect, app: &mut App, pane: Pane) {
    if area.height == 0 {
        return;
    }
    if app.panes.focus == pane {
        app.panes.height = usize::from(area.height.saturating_sub(1));
    }
    match pane {
        Pane::Correctness => correctness::draw(frame, area, app),
        Pane::History => history::draw(frame, area, app),
        Pane::Commits => commits::draw(frame, area, app),
        Pane::Log => run_log::draw(frame, area, app),
    }
}

/// A pane's title in a rule; returns the room below it, with a blank column at either side.
fn titled(frame: &mut Frame, area: Rect, app: &App, pane: Pane, note: &str) -> Rect {
    let is_focused = app.panes.focus == pane;
    let rule = if is_focused { "━" } else { "─" };
    let style = app.theme.rule(is_focused);
    let row = Rect { height: 1, ..area };
    let mut title = vec![
        Span::styled(rule, style),
        Span::styled(format!(" {} ", pane.name()), app.theme.title(is_focused)),
    ];
    if !note.is_empty() {
        title.push(Span::styled(format!("{note} "), app.theme.quiet()));
    }
    title.push(Span::styled(rule.repeat(usize::from(area.width)), style));
    frame.render_widget(Line::from(title), row);
    Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(1),
    }
}

fn too_small(frame: &mut Frame, area: Rect, theme: &Theme) {
    let text = format!(
        "{}×{} is too small: lab needs {}×{}; q quits",
        area.width, area.height, SMALLEST.0, SMALLEST.1
    );
    let lines: Vec<Line> = super::text::wrap(&text, usize::from(area.width))
        .into_iter()
        .map(|l| Line::styled(l, theme.warn()))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}
