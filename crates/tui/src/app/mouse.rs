//! What the mouse does, where the user wants it heard; and the borders, which keys move as well.

use super::super::effect::Effect;
use super::super::keymap::Action;
use super::super::overlay::Overlay;
use super::super::panes::Pane;
use super::App;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Direction, Position};

/// Rows that one notch of the wheel goes.
const NOTCH: isize = 3;

/// What one press of a key moves a border by: columns, rows.
const STEP: (i32, i32) = (4, 2);

impl App {
    pub(super) fn on_mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        let at = Position::new(event.column, event.row);
        let wheel = match event.kind {
            MouseEventKind::ScrollUp => Some(-NOTCH),
            MouseEventKind::ScrollDown => Some(NOTCH),
            _ => None,
        };
        if !self.mouse || self.panes.too_small() {
            self.dirty = false;
            return Vec::new();
        }
        self.urgent = true;
        if event.kind == MouseEventKind::Up(MouseButton::Left) {
            self.panes.dragged = None;
        }
        match (self.overlays.last_mut(), wheel, event.kind) {
            (Some(Overlay::Help { scroll }), Some(by), _) => *scroll = scroll.saturating_add_signed(by),
            (Some(_), Some(by), _) => self.step_pick(by.signum()),
            (Some(_), None, _) => {}
            (None, Some(by), _) => return self.scroll_under(at, by),
            (None, None, MouseEventKind::Down(MouseButton::Left)) => return self.click(at),
            (None, None, MouseEventKind::Drag(MouseButton::Left)) => self.drag(at),
            (None, None, kind) => self.dirty = kind == MouseEventKind::Up(MouseButton::Left),
        }
        Vec::new()
    }

    /// Does what a name of a view, or a hint, stands for, or takes hold of a border; anywhere else it focuses the
    /// pane, and selects what is there: the row of a list, the line of the source, the experiment of the chart; the head
    /// of a column sorts by it.
    fn click(&mut self, at: Position) -> Vec<Effect> {
        self.message.acknowledge();
        if let Some((_, action)) = self.panes.buttons.iter().find(|(area, _)| area.contains(at)) {
            return self.perform(*action);
        }
        self.panes.dragged = self.panes.borders.iter().find(|b| b.line.contains(at)).map(|b| b.split);
        let Some((pane, area)) = self.panes.places.iter().find(|(_, area)| area.contains(at)).copied() else {
            return Vec::new();
        };
        self.panes.set_focus(pane);
        if self.panes.dragged.is_some() {
            return Vec::new();
        }
        match pane {
            Pane::Source => {
                // The first row of text is below the title.
                if let Some(row) = at.y.checked_sub(area.y + 1) {
                    self.panes.source.click(usize::from(row));
                }
                Vec::new()
            }
            Pane::History => match self.panes.history.experiment_at(at) {
                Some(experiment) => self.choose_among(experiment),
                None => Vec::new(),
            },
            _ => {
                let head =
                    self.panes.heads.iter().find(|(area, _)| pane == Pane::Experiments && area.contains(at));
                if let Some((_, column)) = head.copied() {
                    return self.sort_by_head(column);
                }
                let list = self.panes.lists.iter().find(|list| list.pane == pane && list.rows.contains(at));
                let Some(list) = list else { return Vec::new() };
                let row = isize::try_from(at.y - list.rows.y).unwrap_or(0);
                self.scroll(row.saturating_sub_unsigned(list.selected))
            }
        }
    }

    fn drag(&mut self, at: Position) {
        let Some(split) = self.panes.dragged else { return };
        let Some(border) = self.panes.borders.iter().find(|b| b.split == split).copied() else { return };
        let place = if border.direction == Direction::Horizontal { at.x } else { at.y };
        self.panes.shares.insert(split, border.share_at(place));
    }

    /// The pane under the pointer scrolls; the focus stays where it is.
    fn scroll_under(&mut self, at: Position, by: isize) -> Vec<Effect> {
        let Some((pane, _)) = self.panes.places.iter().find(|(_, area)| area.contains(at)).copied() else {
            return Vec::new();
        };
        let focus = self.panes.focus();
        self.panes.set_focus(pane);
        let effects = self.scroll(by);
        self.panes.set_focus(focus);
        effects
    }

    /// Moves the border beside the focused pane.
    pub(super) fn move_border(&mut self, action: Action) {
        let (direction, by) = match action {
            Action::BorderLeft => (Direction::Horizontal, -STEP.0),
            Action::BorderRight => (Direction::Horizontal, STEP.0),
            Action::BorderUp => (Direction::Vertical, -STEP.1),
            _ => (Direction::Vertical, STEP.1),
        };
        let Some(border) = self.border(direction) else { return };
        let place = i32::from(border.place()) + by;
        let share = border.share_at(u16::try_from(place.max(0)).unwrap_or(u16::MAX));
        self.panes.shares.insert(border.split, share);
    }

    fn border(&self, direction: Direction) -> Option<super::super::views::split::Border> {
        let focus = self.panes.focus();
        let area = self.panes.places.iter().find(|(pane, _)| *pane == focus).map(|(_, area)| *area)?;
        self.panes.borders.iter().find(|b| b.direction == direction && b.touches(area)).copied()
    }

    pub(super) fn can_move_border(&self, action: Action) -> Result<(), String> {
        let sideways = matches!(action, Action::BorderLeft | Action::BorderRight);
        let direction = if sideways { Direction::Horizontal } else { Direction::Vertical };
        let word = if sideways { "left or right of" } else { "above or below" };
        self.border(direction).map(drop).ok_or_else(|| format!("no border {word} this pane"))
    }
}
