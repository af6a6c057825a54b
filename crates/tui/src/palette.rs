//! The palette: every action by its name, with its key; those that cannot be used now say why. A number is no action,
//! but the row to go to, as vim has it.

use super::app::App;
use super::keymap::{Binding, Place, TABLE};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// One row.
#[derive(Clone, Debug)]
pub struct Offer {
    pub binding: &'static Binding,
    /// `Err` is the reason why not.
    pub usable: Result<(), String>,
}

/// What fits the words that were typed, the best first; all in the table's order where none were.
pub fn offers(app: &App, typed: &str) -> Vec<Offer> {
    let performed = |b: &&Binding| matches!(b.place, Place::Screen | Place::In(_));
    let table: Vec<&'static Binding> = TABLE.iter().filter(performed).collect();
    let texts = table.iter().map(|b| [b.name, b.hint, b.doc]);
    let order = best(typed, texts);
    order.into_iter().map(|at| Offer { binding: table[at], usable: usable(app, table[at]) }).collect()
}

/// The row that is meant, from 1, where a number was typed.
pub fn number(typed: &str) -> Option<usize> {
    let typed = typed.trim();
    let is_number = !typed.is_empty() && typed.bytes().all(|b| b.is_ascii_digit());
    // One that is too large for any text means the last row.
    is_number.then(|| typed.parse().unwrap_or(usize::MAX))
}

fn usable(app: &App, binding: &Binding) -> Result<(), String> {
    match binding.place {
        Place::In(view) if view != app.panes.view => Err(format!("in the view {}", view.name())),
        _ => app.usable(binding.action),
    }
}

/// Places of the texts that fit, the best first: each is a name, which may be abbreviated (`pp` is
/// `previous-pane`), and words about it, of which whole parts must fit.
pub fn best<'a, const N: usize>(typed: &str, texts: impl Iterator<Item = [&'a str; N]>) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = |kind| Pattern::new(typed, CaseMatching::Ignore, Normalization::Never, kind);
    let (by_name, by_words) = (pattern(AtomKind::Fuzzy), pattern(AtomKind::Substring));
    let mut letters = Vec::new();
    let mut score =
        |pattern: &Pattern, text: &str| pattern.score(Utf32Str::new(text, &mut letters), &mut matcher);
    let mut found: Vec<(u32, usize)> = Vec::new();
    for (at, words) in texts.enumerate() {
        // A name goes before any other word.
        const NAME: u32 = 100_000;
        let name = words.first().and_then(|name| score(&by_name, name)).map(|score| score + NAME);
        let others = words.iter().skip(1).filter_map(|text| score(&by_words, text)).max();
        found.extend(name.or(others).map(|score| (score, at)));
    }
    // Stable: of equals the table's order.
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
        let texts = [["keep", "commit the bytes"], ["previous-pane", "focus it"], ["stop", "do not keep on"]];
        let best = |typed: &str| best(typed, texts.into_iter());
        assert_eq!(best(""), [0, 1, 2]);
        assert_eq!(best("keep"), [0, 2]);
        assert_eq!(best("pp"), [1]);
        assert_eq!(best("COMMIT"), [0]);
        assert_eq!(best("zzz"), [0; 0]);
    }
}
