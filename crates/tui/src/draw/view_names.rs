//! The names of the views with their keys, the present one marked: in the head of a large screen,
//! in the foot of a small one.

use crate::keymap::Keymap;
use crate::theme::Theme;
use crate::views::View;
use ratatui::text::Span;

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

pub(super) fn view_names(
    here: View,
    names: ViewNames,
    keymap: &Keymap,
    theme: &Theme,
) -> Vec<(View, Span<'static>)> {
    let named = View::ALL.into_iter().filter_map(|view| {
        let key = keymap.key(super::action_for(view));
        let is_here = view == here;
        let is_named = names == ViewNames::All || (names == ViewNames::Present && is_here);
        let sign = match (is_here, names) {
            (true, _) => "▸",
            (false, ViewNames::All) => " ",
            (false, _) => "",
        };
        let text = match (is_named, key.is_empty()) {
            (true, true) => format!("{sign}{} ", view.name()),
            (true, false) => format!("{sign}{key} {} ", view.name()),
            // Without its key and its name nothing is left of a view.
            (false, true) => return None,
            (false, false) => format!("{sign}{key} "),
        };
        let style = if is_here {
            theme.title(true)
        } else {
            theme.quiet()
        };
        Some((view, Span::styled(text, style)))
    });
    named.collect()
}
