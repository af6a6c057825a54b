//! The names of the views with their keys, the present one marked: in the head of a large screen,
//! in the foot of a small one.

use super::action_for;
use crate::geometry::Button;
use crate::model::Model;
use crate::prelude::*;
use crate::views::View;

/// Which of the names are shown. A narrow screen keeps the keys of all views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewNames {
    /// ` 1 Bench  2 Source ▸3 Results  4 Git  5 Device `
    All,
    /// `1Bench 2Source ▸3Results 4Git 5Device `
    Close,
    /// `1 2 ▸3 Results 4 5 `
    Present,
    /// `1 2 ▸3 4 5 `
    None,
}

impl ViewNames {
    /// The widest first.
    pub(super) const ALL: [ViewNames; 4] = [
        ViewNames::All,
        ViewNames::Close,
        ViewNames::Present,
        ViewNames::None,
    ];

    /// The columns that the names need in a row of so many: all names if they fit at all.
    pub(super) fn needed(model: &Model, columns: u16) -> usize {
        let close = ViewNames::Close.columns(model);
        match close <= usize::from(columns) {
            true => close,
            false => ViewNames::Present.columns(model),
        }
    }

    /// Columns of the names.
    pub(super) fn columns(self, model: &Model) -> usize {
        columns(&view_names(model, self), 0)
    }
}

/// Texts that perform actions when they are clicked.
pub(super) type ButtonTexts = Vec<(Action, Line<'static>)>;

fn view_names(model: &Model, names: ViewNames) -> ButtonTexts {
    let named = View::ALL.iter().filter_map(|&view| {
        let action = action_for(view);
        let key = model.appearance.keymap.key(action);
        let is_here = view == model.panes.view;
        let is_named = match names {
            ViewNames::All | ViewNames::Close => true,
            ViewNames::Present => is_here,
            ViewNames::None => false,
        };
        let gap = if names == ViewNames::Close { "" } else { " " };
        let sign = match (is_here, names) {
            (true, _) => "▸",
            (false, ViewNames::All) => " ",
            (false, _) => "",
        };
        let text = match (is_named, key.is_empty()) {
            (true, true) => format!("{sign}{} ", view.name()),
            (true, false) => format!("{sign}{key}{gap}{} ", view.name()),
            (false, true) => return None,
            (false, false) => format!("{sign}{key} "),
        };
        let style = if is_here { KEY } else { QUIET };
        Some((action, Line::styled(text, style)))
    });
    named.collect()
}

/// Columns of texts that have so many blanks behind each.
pub(super) fn columns(texts: &[(Action, Line)], gap: usize) -> usize {
    texts.iter().map(|(_, text)| text.width() + gap).sum()
}

/// Draws texts as buttons side by side.
pub(super) fn draw_buttons(
    frame: &mut Frame,
    row: Rect,
    texts: ButtonTexts,
    gap: u16,
) -> Vec<Button> {
    let mut x = row.x;
    let button = |(action, text): (Action, Line)| {
        let width = text.width() as u16;
        let place = Rect { x, width, ..row }.intersection(row);
        frame.render_widget(text, place);
        x = x.saturating_add(width + gap);
        (place, action)
    };
    texts.into_iter().map(button).collect()
}

/// Draws the names as buttons at the right end of a row, the first of the forms that fits.
pub(super) fn draw_views(
    model: &Model,
    frame: &mut Frame,
    row: Rect,
    forms: &[ViewNames],
) -> Vec<Button> {
    let all = forms.iter().map(|names| view_names(model, *names));
    let fits = |named: &ButtonTexts| columns(named, 0) <= usize::from(row.width);
    let named = all.into_iter().find(fits).unwrap_or_default();
    let width = columns(&named, 0) as u16;
    let place = Rect {
        x: row.right() - width,
        width,
        height: 1,
        ..row
    };
    draw_buttons(frame, place, named, 0)
}
