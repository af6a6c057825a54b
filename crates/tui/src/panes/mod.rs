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
mod build;
mod commit;
mod commits;
mod correctness;
mod dialogs;
mod experiment;
mod experiments;
mod foot;
mod gauges;
mod graph;
mod history;
mod message;
mod pick;
mod reading;
mod run_log;
mod source;

pub use build::rows as build_rows;
pub use commit::{CommitState, rows as commit_rows};
pub use commits::CommitsState;
pub use correctness::{CorrectnessState, rows as correctness_rows};
pub use experiment::{ExperimentState, rows as experiment_rows};
pub use experiments::ExperimentsState;
pub use gauges::rows as gauges_rows;
pub use graph::{Goal, GraphState};
pub use history::{Course, HistoryState};
pub use reading::Reading;
pub use source::{Mode, SourceState};

use super::app::App;
use super::diff::Around;
use super::keymap::Action;
use super::overlay::Overlay;
use super::table::Column;
use super::text::printable;
use super::theme::Theme;
use super::views::split::{Border, Shares, Split};
use super::views::{self, View};
use crate::search_highlight as found;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use std::collections::HashMap;

/// Smaller than this nothing can be read.
const SMALLEST: (u16, u16) = (40, 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    // Bench
    Correctness,
    History,
    Commits,
    Log,
    // Source
    Source,
    // Results
    Experiments,
    Experiment,
    // Git
    Graph,
    Commit,
    // Device
    Gauges,
    Build,
}

impl Pane {
    pub fn name(self) -> &'static str {
        match self {
            Pane::Correctness => "Correctness",
            Pane::History => "Throughput",
            Pane::Commits => "Git log",
            Pane::Log => "run.log",
            Pane::Source => "Source",
            Pane::Experiments => "Experiments",
            Pane::Experiment => "Experiment",
            Pane::Graph => "Commits",
            Pane::Commit => "Commit",
            Pane::Gauges => "Device",
            Pane::Build => "Kernel as built",
        }
    }

    /// The pane whose rows are gone through where this one has the focus: itself, but for a digest of run.log and for
    /// the chart beside it.
    pub fn text(self) -> Pane {
        match self {
            Pane::Correctness | Pane::History => Pane::Log,
            Pane::Commits | Pane::Log | Pane::Source | Pane::Experiments | Pane::Experiment => self,
            Pane::Graph | Pane::Commit | Pane::Gauges | Pane::Build => self,
        }
    }
}

/// The rows of a list that are seen, and which of them is selected, or is the one where selecting would begin.
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub pane: Pane,
    pub rows: Rect,
    pub selected: usize,
}

/// A text that stands for an action.
pub type Button = (Rect, Action);

/// What the panes remember between frames.
#[derive(Clone, Debug, Default)]
pub struct Panes {
    pub view: View,
    /// Which pane of each view has the focus, as a place in [`View::panes`].
    focus: [usize; View::ALL.len()],
    /// Which views show their focused pane alone.
    zoomed: [bool; View::ALL.len()],
    pub correctness: CorrectnessState,
    pub history: HistoryState,
    pub commits: CommitsState,
    pub experiments: ExperimentsState,
    pub experiment: ExperimentState,
    pub source: SourceState,
    /// What every diff shows around its changes.
    pub around: Around,
    pub graph: GraphState,
    pub commit: CommitState,
    pub gauges: Reading,
    pub build: Reading,
    /// Borders that the user moved.
    pub shares: Shares,
    /// The one that the mouse moves.
    pub dragged: Option<Split>,
    /// What the rows of each were searched for.
    pub needles: HashMap<Pane, String>,
    /// Where everything was at the last frame: panes, borders, lists, and what performs an action where it is
    /// clicked at.
    pub places: Vec<(Pane, Rect)>,
    pub borders: Vec<Border>,
    pub lists: Vec<List>,
    pub buttons: Vec<Button>,
    /// The heads of the table's columns.
    pub heads: Vec<(Rect, Column)>,
    /// Rows of the focused pane at the last frame.
    height: usize,
    /// At the last frame nothing could be shown.
    too_small: bool,
}

impl Panes {
    /// The pane that hears the keys.
    pub fn focus(&self) -> Pane {
        let panes = self.view.panes();
        panes[self.focus[self.view as usize].min(panes.len() - 1)]
    }

    /// Focuses a pane of the present view; any other is left alone.
    pub fn set_focus(&mut self, pane: Pane) {
        if let Some(at) = self.view.panes().iter().position(|p| *p == pane) {
            self.focus[self.view as usize] = at;
        }
    }

    /// The focused pane of the present view has the whole screen.
    pub fn zoom(&self) -> bool {
        self.zoomed[self.view as usize]
    }

    pub fn set_zoom(&mut self, zoom: bool) {
        self.zoomed[self.view as usize] = zoom;
    }

    /// Moves the focus among the panes of the view, round the end.
    pub fn step_focus(&mut self, forward: bool) {
        let count = self.view.panes().len();
        let at = &mut self.focus[self.view as usize];
        *at = (*at + if forward { 1 } else { count - 1 }) % count;
    }

    /// A list says so that a click can select: `area` is its room, of which `count` rows are taken.
    fn note_list(&mut self, pane: Pane, area: Rect, count: usize, selected: usize) {
        let height = area.height.min(u16::try_from(count).unwrap_or(u16::MAX));
        self.lists.push(List { pane, rows: Rect { height, ..area }, selected });
    }

    /// Nothing is drawn yet.
    fn clear_places(&mut self) {
        self.places.clear();
        self.borders.clear();
        self.lists.clear();
        self.buttons.clear();
        self.heads.clear();
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Nobody sees what keys would act on.
    pub fn too_small(&self) -> bool {
        self.too_small
    }

    /// The pane is on the screen, as far as its view is.
    pub fn shows(&self, pane: Pane) -> bool {
        self.view.panes().contains(&pane)
    }
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, app: &mut App) {
    let area = frame.area();
    frame.render_widget(Block::new().style(app.theme.text()), area);
    app.panes.clear_places();
    app.panes.too_small = area.width < SMALLEST.0 || area.height < SMALLEST.1;
    if app.panes.too_small {
        too_small(frame, area, app);
        return;
    }
    let is_large = area.width >= 100 && area.height >= 30;
    // Only Bench is looked at from across the room.
    let is_tall = is_large && app.panes.view == View::Bench;
    let rows = match (is_large, is_tall) {
        (_, true) => [1, 4],
        (true, false) => [1, 1],
        _ => [0, 1],
    };
    let foot = foot::rows(app, area);
    let [head, verdict, body, foot] = Layout::vertical([
        Constraint::Length(rows[0]),
        Constraint::Length(rows[1]),
        Constraint::Fill(1),
        Constraint::Length(foot),
    ])
    .areas(area);
    if is_large {
        let buttons = banner::draw_head(frame, head, app);
        app.panes.buttons.extend(buttons);
    }
    if is_tall {
        banner::draw_large(frame, verdict, app);
    } else {
        banner::draw_line(frame, verdict, app, is_large);
    }
    views::draw(frame, body, app, is_large);
    let buttons = foot::draw(frame, foot, app, is_large);
    app.panes.buttons.extend(buttons);
    dialogs::draw(frame, body, app);
}

pub(super) fn draw_pane(frame: &mut Frame, area: Rect, app: &mut App, pane: Pane) {
    if area.height == 0 {
        return;
    }
    if app.panes.focus() == pane {
        app.panes.height = usize::from(area.height.saturating_sub(1));
    }
    app.panes.places.push((pane, area));
    let area = search_line(frame, area, app, pane);
    match pane {
        Pane::Correctness => correctness::draw(frame, area, app),
        Pane::History => history::draw(frame, area, app),
        Pane::Commits => commits::draw(frame, area, app),
        Pane::Log => run_log::draw(frame, area, app),
        Pane::Source => source::draw(frame, area, app),
        Pane::Experiments => experiments::draw(frame, area, app),
        Pane::Experiment => experiment::draw(frame, area, app),
        Pane::Graph => graph::draw(frame, area, app),
        Pane::Commit => commit::draw(frame, area, app),
        Pane::Gauges => gauges::draw(frame, area, app),
        Pane::Build => build::draw(frame, area, app),
    }
}

/// The line that is typed where this pane is searched, at its foot; returns the room above it.
fn search_line(frame: &mut Frame, area: Rect, app: &App, pane: Pane) -> Rect {
    match app.overlays.last() {
        Some(Overlay::Search { pane: searched, input, .. }) if *searched == pane && area.height > 1 => {
            let line =
                Rect { x: area.x + 1, y: area.bottom() - 1, width: area.width.saturating_sub(2), height: 1 };
            dialogs::draw_input(frame, line, "/", input, &app.theme);
            Rect { height: area.height - 1, ..area }
        }
        _ => area,
    }
}

/// A pane's title in a rule; returns the room below it, with a blank column at either side.
fn titled(frame: &mut Frame, area: Rect, app: &App, pane: Pane, note: &str) -> Rect {
    let is_focused = app.panes.focus() == pane;
    let rule = if is_focused { "━" } else { "─" };
    let style = app.theme.rule(is_focused);
    let row = Rect { height: 1, ..area };
    let mut title = vec![
        Span::styled(rule, style),
        Span::styled(format!(" {} ", pane.name()), app.theme.title(is_focused)),
    ];
    let needle = app.needle(pane);
    let searched = (!needle.is_empty()).then(|| format!("/{}", printable(needle)));
    let notes: Vec<&str> =
        [note, searched.as_deref().unwrap_or("")].into_iter().filter(|n| !n.is_empty()).collect();
    if !notes.is_empty() {
        title.push(Span::styled(format!("{} ", notes.join(" · ")), app.theme.quiet()));
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

/// A row of a text as it is drawn: what was searched for stands out, and so does the row that was gone to.
fn seen<'a>(line: Line<'a>, needle: &str, is_marked: bool, theme: &Theme) -> Line<'a> {
    let line = found::mark(line, needle, theme);
    if is_marked { theme.select(line) } else { line }
}

fn too_small(frame: &mut Frame, area: Rect, app: &App) {
    let quit = app.keymap.key(Action::Quit);
    let text = format!(
        "{}×{} is too small: lab needs {}×{}; {quit} quits",
        area.width, area.height, SMALLEST.0, SMALLEST.1
    );
    let lines: Vec<Line> = super::text::wrap(&text, usize::from(area.width))
        .into_iter()
        .map(|l| Line::styled(l, app.theme.warn()))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}
