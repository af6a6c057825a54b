//! Draws the model. [`view`] changes nothing: it returns where everything was drawn, and the next
//! update uses that.
//!
//! At 100×30 and more, all of it (the words of the verdict are three rows tall):
//! ```text
//!  lab  rmsnorm  NVIDIA H200  exp/rmsnorm @ a1b2c3d                         run 42 · saved 14:03:22   head
//!
//!  █▀█ ▄▀█ █▀▀ █▀▀    ▀█ █▄▄ █▀  …          ● PASS   4 of 4 gates                                     verdict
//!  █▀▀ █▀█ ▄▄█ ▄▄█   …                      165,210 sps   +3.1 % ± 0.3 vs incumbent
//! ━ Correctness ━━━━━━━━━━━━━━━━━━━━━━┬─ Throughput ──────────────────────────────────────────────    panes
//!  ✓ build   0.38 s   168 regs        │ 180k ┤                     ●━━━━━━━━━━━━━●
//!  ✓ h0_max_diff    3.0e-06 ≤ 3e-05   │      │     ●━━━━━━━━━━━━━━━┛   ·
//! ─ Git log ──────────────────────────┼─ run.log ─────────────────────────────────────────────────
//!  a1b2c3d ● 165.2k  overlap gather   │ stage: measure
//!  · kept as a1b2c3d                                                          watching kernel.cu      foot
//!  c keep  d discard  r rerun  e edit  / search  Tab focus  ? help  q quit
//! ```
//! Down to 60×16 the verdict takes one row, Correctness is above, and the focused one of the other
//! panes below. Down to 40×10 only the focused pane is shown. On a smaller screen a sentence says
//! that it is too small.

mod ascii;
mod big_letters;
mod dialog;
mod dialogs;
mod foot;
mod head;
mod help;
mod message_dialog;
mod pick_list;
mod trust_dialog;
mod verdict;
mod view_names;
mod views;

use crate::chart::SymbolSet;
use crate::geometry::FrameGeometry;
use crate::model::Model;
use crate::overlay::Overlay;
use crate::prelude::*;
use crate::views::split::{Split, cut};
use crate::views::{Pane, View};
use ratatui::widgets::Block;

/// Least size at which anything can be read: columns, rows.
const SMALLEST: (u16, u16) = (40, 10);

/// Least size of a view with several panes: columns, rows.
const SEVERAL_PANES: (u16, u16) = (60, 13);

/// Draws the whole screen. Returns where everything is.
pub fn view(model: &Model, frame: &mut Frame) -> FrameGeometry {
    let area = frame.area();
    frame.render_widget(Block::new().style(SCREEN), area);
    let geometry = if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        draw_too_small(model, frame, area)
    } else {
        draw(model, frame, area)
    };
    if model.appearance.symbols == SymbolSet::Ascii {
        ascii::replace(frame.buffer_mut());
    }
    model.appearance.theme.paint(frame.buffer_mut());
    geometry
}

fn draw(model: &Model, frame: &mut Frame, area: Rect) -> FrameGeometry {
    let mut geometry = FrameGeometry::default();
    let is_large = area.width >= 100 && area.height >= 30;
    // The big letters are for Bench, which is read from a distance.
    let is_tall = is_large && model.panes.view == View::Bench;
    let [head, verdict, body, foot] = Layout::vertical([
        Constraint::Length(if is_large {
            head::rows(model, area.width)
        } else {
            0
        }),
        Constraint::Length(if is_tall { 4 } else { 1 }),
        Constraint::Fill(1),
        Constraint::Length(foot::rows(model, area, is_large)),
    ])
    .areas(area);
    let mut names_branch = false;
    if is_large {
        (geometry.buttons, names_branch) = head::draw(model, frame, head);
    }
    if is_tall {
        verdict::draw_large(model, frame, verdict);
    } else {
        verdict::draw_line(model, frame, verdict, is_large);
    }
    PanePainter {
        model,
        frame,
        geometry: &mut geometry,
    }
    .draw_panes(body, is_large);
    let hints = foot::draw(model, frame, foot, is_large, names_branch);
    geometry.buttons.extend(hints);
    match model.overlays.last() {
        Some(Overlay::Trust { request, reading }) => {
            geometry.question = Some(trust_dialog::draw(model, frame, body, request, *reading));
        }
        Some(Overlay::Cells(cells)) => {
            geometry.cells = dialogs::draw_cells(model, frame, body, cells);
        }
        Some(overlay) => geometry.scrolled_row = dialogs::draw(model, frame, body, overlay),
        None => {}
    }
    geometry
}

fn draw_too_small(model: &Model, frame: &mut Frame, area: Rect) -> FrameGeometry {
    let quit = model.appearance.keymap.key(Action::Quit);
    let text = format!(
        "{}×{} is too small: lab needs {}×{}; {quit} quits",
        area.width, area.height, SMALLEST.0, SMALLEST.1
    );
    draw_rows(frame, area, paragraph(&text, usize::from(area.width), WARN));
    FrameGeometry {
        too_small: true,
        ..FrameGeometry::default()
    }
}

/// Draws panes and notes where they are.
struct PanePainter<'a, 'f> {
    model: &'a Model,
    frame: &'a mut Frame<'f>,
    geometry: &'a mut FrameGeometry,
}

impl PanePainter<'_, '_> {
    /// Draws the panes of the present view. `is_large` describes the whole screen.
    fn draw_panes(&mut self, area: Rect, is_large: bool) {
        let panes = &self.model.panes;
        if panes.zoom() || area.width < SEVERAL_PANES.0 || area.height < SEVERAL_PANES.1 {
            self.draw_pane(area, panes.focus());
            return;
        }
        self.draw_view(area, is_large);
    }

    /// Cuts an area in two and notes the border. The first part has `first` columns or rows where
    /// the user chose nothing.
    fn cut(&mut self, split: Split, direction: Direction, area: Rect, first: u16) -> [Rect; 2] {
        let gap = u16::from(direction == Direction::Horizontal);
        let (parts, border) = cut(&self.model.panes.shares, split, direction, area, first, gap);
        self.geometry.borders.push(border);
        parts
    }

    fn draw_pane(&mut self, area: Rect, pane: Pane) {
        if area.height == 0 {
            return;
        }
        let is_focused = self.model.panes.focus() == pane;
        if is_focused {
            self.geometry.focused_rows = usize::from(area.height.saturating_sub(1));
        }
        self.geometry.panes.push((pane, area));
        let area = self.draw_search_line(area, pane);
        let filter = match self.model.overlays.last() {
            Some(Overlay::Filter { input, problem, .. }) => Some((input, problem.as_deref())),
            _ => None,
        };
        let mut canvas = Canvas {
            frame: self.frame,
            pane,
            area,
            is_focused,
            needle: self.model.panes.needle(pane),
            data: self.model.data(),
            list: None,
            heads: Vec::new(),
        };
        let fit = self.model.panes.draw(&mut canvas, filter);
        self.geometry.lists.extend(canvas.list);
        let heads = canvas.heads.into_iter();
        self.geometry
            .heads
            .extend(heads.map(|(area, column)| (pane, area, column)));
        self.geometry.fits.push((pane, fit));
    }

    /// Draws the line that is typed into where this pane is searched, at its foot. Returns the area
    /// above.
    fn draw_search_line(&mut self, mut area: Rect, pane: Pane) -> Rect {
        if let Some(Overlay::Search {
            pane: searched,
            input,
            ..
        }) = self.model.overlays.last()
            && *searched == pane
            && area.height > 1
        {
            area.height -= 1;
            let line = row_of(area, area.bottom()).inner(Margin::new(1, 0));
            draw_input(self.frame, line, "/", input);
        }
        area
    }
}

/// The action that shows a view.
fn action_for(view: View) -> Action {
    match view {
        View::Bench => Action::Bench,
        View::Source => Action::Source,
        View::Results => Action::Results,
        View::Git => Action::Git,
        View::Device => Action::Device,
        View::Decisions => Action::Decisions,
        View::Loop => Action::Loop,
        View::Sweep => Action::Sweep,
    }
}
