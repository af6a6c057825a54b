//! Suggestions for mistyped words: "did you mean …?".

/// The known word nearest to `unknown`, if it is near enough for a typing error: at most a third of
/// its letters differ, and at least one may. Letters that are inserted, left out, replaced or
/// swapped with a neighbour each count as one. Case counts. A word that begins with `unknown`, if
/// that has at least three letters, is near too.
///
/// ```
/// use lab_text::suggest::nearest;
/// assert_eq!(nearest("objectve", ["objective", "budget_ms"]), Some("objective"));
/// assert_eq!(nearest("kepe", ["keep", "discard"]), Some("keep"));
/// assert_eq!(nearest("solarized", ["nord", "solarized-dark"]), Some("solarized-dark"));
/// assert_eq!(nearest("colour", ["keep", "discard"]), None);
/// ```
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(unknown, word), word))
        .filter(|(distance, word)| {
            let begins_it = unknown.chars().count() >= 3 && word.starts_with(unknown);
            begins_it || *distance <= word.chars().count().max(3) / 3
        })
        .min_by_key(|(distance, word)| (*distance, word.len()))
        .map(|(_, word)| word)
}

/// The part of an error message that suggests the [`nearest`] word: ` (did you mean keep?)`. Empty
/// where no word is near.
///
/// ```
/// use lab_text::suggest::did_you_mean;
/// assert_eq!(did_you_mean("kepe", ["keep", "discard"]), " (did you mean keep?)");
/// assert_eq!(did_you_mean("colour", ["keep", "discard"]), "");
/// ```
pub fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    meant(nearest(unknown, known))
}

/// [`did_you_mean`] of a word that was found already.
pub fn meant(word: Option<&str>) -> String {
    word.map_or_else(String::new, |word| format!(" (did you mean {word}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_distant_one_is_not() {
        assert_eq!(nearest("ctl-k", ["ctrl-k", "ctrl-l"]), Some("ctrl-k"));
        assert_eq!(
            nearest("ab", ["abc", "abd"]),
            Some("abc"),
            "of equally near words the first"
        );
        assert_eq!(nearest("xyz", ["abc"]), None);
        assert_eq!(nearest("", ["up", "f1"]), None);
        assert_eq!(nearest("anything", []), None);
        assert_eq!(
            nearest("gru", ["gruvbox-light", "gruvbox", "nord"]),
            Some("gruvbox")
        );
        assert_eq!(nearest("gr", ["gruvbox", "nord"]), None);
    }
}
