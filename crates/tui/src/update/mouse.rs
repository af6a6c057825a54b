//! The mouse, if the user turned it on; and the borders, which keys move too.

use crate::effect::Redraw;
use crate::keymap::Action;
use crate::model::Model;
use crate::panes::workloads;
use crate::table::Column;
use crate::views::Pane;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Direction, Position};

/// Rows that one notch of the wheel scrolls.
const NOTCH: isize = 3;

/// How far one press of a key moves a border: columns, rows.
const STEP: (i32, i32) = (4, 2);

impl Model {
    pub(super) fn on_mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        let wheel = match event.kind {
            MouseEventKind::ScrollUp => Some(-NOTCH),
            MouseEventKind::ScrollDown => Some(NOTCH),
            _ => None,
        };
        if !self.appearance.mouse || self.frame.geometry.too_small {
            return self.ignore();
        }
        self.frame.redraw = Redraw::AtOnce;
        let is_release = event.kind == MouseEventKind::Up(MouseButton::Left);
        if is_release {
            self.panes.dragged = None;
        }
        match (self.overlays.last_mut(), wheel, event.kind) {
            (Some(overlay), Some(by), _) => match overlay.scroll() {
                Some(scroll) => *scroll = scroll.saturating_add_signed(by),
                None => self.step_pick(by.signum()),
            },
            (Some(_), None, _) => {}
            (None, Some(by), _) => self.scroll_under(at, by),
            (None, None, MouseEventKind::Down(MouseButton::Left)) => self.click(at),
            (None, None, MouseEventKind::Drag(MouseButton::Left)) => self.drag(at),
            (None, None, _) if is_release => {}
            (None, None, _) => self.ignore(),
        }
    }

    /// A click on the name of a view or on a hint performs its action; on a border it takes hold of
    /// it. Anywhere else it focuses the pane and selects what is there: the row of a list, the line
    /// of the source, the experiment of the chart. A click on a column heading sorts by the column.
    fn click(&mut self, at: Position) {
        self.message.acknowledge();
        let geometry = &self.frame.geometry;
        if let Some(action) = geometry.button_at(at) {
            return self.perform(action);
        }
        self.panes.dragged = geometry.border_at(at).map(|border| border.split);
        let Some((pane, area)) = geometry.pane_at(at) else {
            return;
        };
        self.panes.set_focus(pane);
        if self.panes.dragged.is_some() {
            return;
        }
        match pane {
            Pane::Source => {
                // The first row of text is below the title.
                if let Some(row) = at.y.checked_sub(area.y + 1) {
                    self.panes.source.click(usize::from(row));
                }
            }
            Pane::History => {
                if let Some(experiment) = self.panes.history.experiment_at(at) {
                    self.select_comparable(experiment);
                }
            }
            _ => {
                let head = geometry.head_at(pane, at);
                match (pane, head) {
                    (Pane::Experiments, Some(at)) => return self.sort_by_head(Column::ALL[at]),
                    (Pane::Workloads, Some(at)) => {
                        let column = workloads::Column::ALL[at];
                        return self.panes.workloads.sort_by_head(column);
                    }
                    _ => {}
                }
                let Some(list) = geometry.list_at(pane, at) else {
                    return;
                };
                let row = usize::from(at.y - list.rows.y);
                self.scroll(row as isize - list.selected as isize);
            }
        }
    }

    fn drag(&mut self, at: Position) {
        let Some(split) = self.panes.dragged else {
            return;
        };
        let borders = &self.frame.geometry.borders;
        let Some(border) = borders.iter().find(|border| border.split == split) else {
            return;
        };
        let place = if border.direction == Direction::Horizontal {
            at.x
        } else {
            at.y
        };
        self.panes.shares.insert(split, border.share_at(place));
    }

    /// Scrolls the pane under the pointer; the focus stays.
    fn scroll_under(&mut self, at: Position, by: isize) {
        let Some((pane, _)) = self.frame.geometry.pane_at(at) else {
            return;
        };
        let focus = self.panes.focus();
        self.panes.set_focus(pane);
        self.scroll(by);
        self.panes.set_focus(focus);
    }

    /// Moves the border beside the focused pane.
    pub(super) fn move_border(&mut self, action: Action) {
        let (direction, by) = match action {
            Action::BorderLeft => (Direction::Horizontal, -STEP.0),
            Action::BorderRight => (Direction::Horizontal, STEP.0),
            Action::BorderUp => (Direction::Vertical, -STEP.1),
            _ => (Direction::Vertical, STEP.1),
        };
        let Some(border) = self.border(direction) else {
            return;
        };
        let place = i32::from(border.place()) + by;
        let share = border.share_at(u16::try_from(place.max(0)).unwrap_or(u16::MAX));
        self.panes.shares.insert(border.split, share);
    }
}
