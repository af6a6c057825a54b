//! The palette: every action by its name, with its key. Actions that cannot be used now say why. A
//! number is a row to go to, as in vim.

use crate::keymap::{Binding, KeyScope, TABLE};
use crate::theme::Theme;
use crate::views::Pane;
use lab_history::kernels::ListedKernel;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// One action.
#[derive(Clone, Debug)]
pub struct Offer {
    pub binding: &'static Binding,
    /// `Err` is the reason why it cannot be used now.
    pub usable: Result<(), String>,
}

/// The rows of a list to pick from that fit what is typed.
#[derive(Clone, Debug)]
pub enum PickRows<'a> {
    Actions(Vec<Offer>),
    /// A number was typed. `target` is the pane whose row has it and how many rows the pane has, or
    /// why there is none.
    Line {
        number: usize,
        target: Result<(Pane, usize), String>,
    },
    Themes(Vec<&'a (String, Theme)>),
    Kernels(Vec<&'a ListedKernel>),
    Evidence(Vec<&'a (String, String)>),
}

impl PickRows<'_> {
    pub fn count(&self) -> usize {
        match self {
            PickRows::Actions(offers) => offers.len(),
            PickRows::Line { .. } => 1,
            PickRows::Themes(themes) => themes.len(),
            PickRows::Kernels(kernels) => kernels.len(),
            PickRows::Evidence(records) => records.len(),
        }
    }
}

/// The actions that the palette lists.
fn actions() -> Vec<&'static Binding> {
    let is_listed = |b: &&Binding| matches!(b.scope, KeyScope::Screen | KeyScope::In(_));
    TABLE.iter().filter(is_listed).collect()
}

/// How many actions the palette lists.
pub fn count() -> usize {
    actions().len()
}

/// The actions that match the typed words, the best first; all in the table's order without words.
pub fn offers(typed: &str, usable: impl Fn(&Binding) -> Result<(), String>) -> Vec<Offer> {
    let table = actions();
    let texts = table.iter().map(|b| [b.name, b.hint, b.doc]);
    let order = best(typed, texts);
    order
        .into_iter()
        .map(|at| Offer {
            binding: table[at],
            usable: usable(table[at]),
        })
        .collect()
}

/// The typed number of a row, counted from 1; `None` where the text is no number.
pub fn number(typed: &str) -> Option<usize> {
    let typed = typed.trim();
    let is_number = !typed.is_empty() && typed.bytes().all(|b| b.is_ascii_digit());
    // A number beyond `usize` means the last row.
    is_number.then(|| typed.parse().unwrap_or(usize::MAX))
}

/// Indices of the texts that match, the best first. Each text is a name, which may be abbreviated
/// (`pp` is `previous-pane`), and words about it, which must contain what was typed.
pub fn best<'a, const N: usize>(
    typed: &str,
    texts: impl Iterator<Item = [&'a str; N]>,
) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = |kind| Pattern::new(typed, CaseMatching::Ignore, Normalization::Never, kind);
    let (by_name, by_words) = (pattern(AtomKind::Fuzzy), pattern(AtomKind::Substring));
    let mut letters = Vec::new();
    let mut score = |pattern: &Pattern, text: &str| {
        pattern.score(Utf32Str::new(text, &mut letters), &mut matcher)
    };
    let mut found: Vec<(u32, usize)> = Vec::new();
    for (at, words) in texts.enumerate() {
        // A match in the name precedes any other.
        const NAME: u32 = 100_000;
        let name = words
            .first()
            .and_then(|name| score(&by_name, name))
            .map(|score| score + NAME);
        let others = words
            .iter()
            .skip(1)
            .filter_map(|text| score(&by_words, text))
            .max();
        found.extend(name.or(others).map(|score| (score, at)));
    }
    // The sort is stable: equal matches keep the table's order.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_row() {
        assert_eq!(
            ["120", " 7 ", "99999999999999999999999"].map(number),
            [Some(120), Some(7), Some(usize::MAX)]
        );
        assert_eq!(["", " ", "1a", "-1", "1 2"].map(number), [None; 5]);
    }

    #[test]
    fn a_name_may_be_abbreviated_and_goes_before_words() {
        let texts = [
            ["keep", "commit the bytes"],
            ["previous-pane", "focus it"],
            ["stop", "do not keep on"],
        ];
        let best = |typed: &str| best(typed, texts.into_iter());
        assert_eq!(best(""), [0, 1, 2]);
        assert_eq!(best("keep"), [0, 2]);
        assert_eq!(best("pp"), [1]);
        assert_eq!(best("COMMIT"), [0]);
        assert_eq!(best("zzz"), [0; 0]);
    }
}
