//! Where everything was drawn. Drawing returns this value, and the next update uses it: for clicks,
//! for page sizes, and to store how the panes were scrolled.

use crate::keymap::Action;
use crate::overlay::QuestionFit;
use crate::panes::PaneFit;
use crate::views::Pane;
use crate::views::split::Border;
use crate::widgets::ListArea;
use ratatui::layout::{Position, Rect};

/// A text that performs an action when it is clicked.
pub type Button = (Rect, Action);

/// The geometry of one frame.
#[derive(Debug, Default)]
pub struct FrameGeometry {
    /// The screen was too small to show anything.
    pub too_small: bool,
    /// The visible panes.
    pub panes: Vec<(Pane, Rect)>,
    /// The borders between them.
    pub borders: Vec<Border>,
    /// The visible rows of lists.
    pub lists: Vec<ListArea>,
    pub buttons: Vec<Button>,
    /// The headings of the tables: their places in the list of the columns.
    pub heads: Vec<(Pane, Rect, usize)>,
    /// Rows of the focused pane, without its title.
    pub focused_rows: usize,
    /// The first visible row of the help or of a listing.
    pub scrolled_row: Option<usize>,
    /// The rows and columns of an output that the dialog with its cells shows.
    pub cells: [usize; 2],
    /// How much of a long question is visible.
    pub question: Option<QuestionFit>,
    /// How the visible panes' contents fit. The update that gets the frame takes them out.
    pub fits: Vec<(Pane, PaneFit)>,
}

impl FrameGeometry {
    pub fn pane_at(&self, at: Position) -> Option<(Pane, Rect)> {
        self.panes
            .iter()
            .find(|(_, area)| area.contains(at))
            .copied()
    }

    pub fn area_of(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(p, _)| *p == pane)
            .map(|(_, area)| *area)
    }

    pub fn button_at(&self, at: Position) -> Option<Action> {
        self.buttons
            .iter()
            .find(|(area, _)| area.contains(at))
            .map(|(_, action)| *action)
    }

    pub fn border_at(&self, at: Position) -> Option<&Border> {
        self.borders.iter().find(|border| border.line.contains(at))
    }

    pub fn head_at(&self, pane: Pane, at: Position) -> Option<usize> {
        let is_there = |(of, area, _): &&(Pane, Rect, usize)| *of == pane && area.contains(at);
        self.heads
            .iter()
            .find(is_there)
            .map(|(_, _, column)| *column)
    }

    pub fn list_at(&self, pane: Pane, at: Position) -> Option<&ListArea> {
        self.lists
            .iter()
            .find(|list| list.pane == pane && list.rows.contains(at))
    }
}
