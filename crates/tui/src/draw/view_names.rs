//! The names of the views with their keys, the present one marked: in the head of a large screen,
//! in the foot of a small one.

use super::action_for;
use crate::geometry::Button;
use crate::model::Model;
use crate::views::View;
use ratatui::prelude::*;

/// Which of the names are shown. A narrow screen keeps the keys of all views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewNames {
    /// ` 1 Bench  2 Source ▸3 Results  4 Git  5 Device `
    All,
    /// `1 2 ▸3 Results 4 5 `
    Present,
    /// `1 2 ▸3 4 5 `
    None,
}

impl ViewNames {
    /// The widest first.
    pub(super) const ALL: [ViewNames; 3] = [ViewNames::All, ViewNames::Present, ViewNames::None];
}

fn view_names(model: &Model, names: ViewNames) -> Vec<(View, Span<'static>)> {
    let theme = &model.appearance.theme;
    let named = View::ALL.into_iter().filter_map(|view| {
        let key = model.appearance.keymap.key(action_for(view));
        let is_here = view == model.panes.view;
        let is_named = names == ViewNames::All || (names == ViewNames::Present && is_here);
        let sign = match (is_here, names) {
            (true, _) => "▸",
            (false, ViewNames::All) => " ",
            (false, _) => "",
        };
        let text = match (is_named, key.is_empty()) {
            (true, true) => format!("{sign}{} ", view.name()),
            (true, false) => format!("{sign}{key} {} ", view.name()),
            (false, true) => return None,
            (false, false) => format!("{sign}{key} "),
        };
        let style = match is_here {
            true => theme.title(true),
            false => theme.quiet(),
        };
        Some((view, Span::styled(text, style)))
    });
    named.collect()
}

/// Draws the names as buttons at the right end of a row, the first of the forms that fits.
pub(super) fn draw_views(
    model: &Model,
    frame: &mut Frame,
    row: Rect,
    forms: &[ViewNames],
) -> Vec<Button> {
    let columns =
        |named: &[(View, Span)]| named.iter().map(|(_, name)| name.width()).sum::<usize>();
    let all = forms.iter().map(|names| view_names(model, *names));
    let fits = |named: &Vec<(View, Span)>| columns(named) <= usize::from(row.width);
    let named = all.into_iter().find(fits).unwrap_or_default();
    let mut x = row.right() - columns(&named) as u16;
    let button = |(view, name): (View, Span)| {
        let width = name.width() as u16;
        let place = Rect {
            x,
            width,
            height: 1,
            ..row
        };
        frame.render_widget(name, place);
        x += width;
        (place, action_for(view))
    };
    named.into_iter().map(button).collect()
}
