//! Where everything was drawn. Drawing returns this value, and the next update uses it: for clicks,
//! for page sizes, and to store how the panes were scrolled.

use crate::keymap::Action;
use crate::overlay::QuestionFit;
use crate::panes::{PaneFit, workloads};
use crate::table::Column;
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
    /// The headings of the table of experiments.
    pub column_heads: Vec<(Rect, Column)>,
    /// The headings of the table of workloads.
    pub workload_heads: Vec<(Rect, workloads::Column)>,
    /// Rows of the focused pane, without its title.
    pub focused_rows: usize,
    /// The first visible row of the help or of a listing.
    pub scrolled_row: Option<usize>,
    /// How much of a long question is visible.
    pub question: Option<QuestionFit>,
    /// How the visible panes' contents fit. The update that gets the frame takes them out.
    pub fits: Vec<PaneFit>,
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

    pub fn column_at(&self, at: Position) -> Option<Column> {
        self.column_heads
            .iter()
            .find(|(area, _)| area.contains(at))
            .map(|(_, column)| *column)
    }

    pub fn workload_column_at(&self, at: Position) -> Option<workloads::Column> {
        self.workload_heads
            .iter()
            .find(|(area, _)| area.contains(at))
            .map(|(_, column)| *column)
    }

    pub fn list_at(&self, pane: Pane, at: Position) -> Option<&ListArea> {
        self.lists
            .iter()
            .find(|list| list.pane == pane && list.rows.contains(at))
    }
}
