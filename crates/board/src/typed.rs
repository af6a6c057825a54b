//! What a text says in words, beside its placeholders: numbers, cards, workloads and peers.

use crate::evidence::Evidence;
use crate::filled::{Cited, Filled, Piece};
use crate::proof::Held;
use std::collections::{BTreeMap, BTreeSet};

/// The words of the texts between placeholders, each with the two before and the one behind it.
fn words(pieces: &[Piece]) -> impl Iterator<Item = [&str; 4]> {
    let texts = pieces.iter().filter_map(|piece| match piece {
        // A placeholder that names nothing is told as such.
        Piece::Text(text) => (!text.starts_with('{')).then_some(text),
        Piece::Figure(_) => None,
    });
    texts.flat_map(|text| {
        let words = text.split(|c: char| c.is_whitespace() || "()[],;/".contains(c));
        let words = words.map(|word| word.trim_matches(['.', ':', '"', '\'', '?', '!']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let at = |at: usize| words.get(at).copied().unwrap_or_default();
        let each = (0..words.len()).map(|i| {
            [
                at(i.wrapping_sub(2)),
                at(i.wrapping_sub(1)),
                at(i),
                at(i + 1),
            ]
        });
        each.collect::<Vec<_>>()
    })
}

/// The numbers that somebody typed into a text. A word with a digit is no such number if
/// - it names a card, a type of numbers, a cache, an architecture or another acronym, as `H200`,
///   `f16`, `L2`, `sm_90` and `GPT2`;
/// - the evidence names a workload, a device or a peer so, as in `4096x8192` and `rows=4096`. Digits
///   alone are no name: they could be any figure;
/// - it is the version of the package that the word before it names, as in `PyTorch 2.11.0`.
///
/// A number in letters counts where a measure follows: `ten times`, `twice`.
pub fn typed_numbers<'p>(
    pieces: &'p [Piece],
    evidence: &BTreeMap<&str, &Held>,
) -> impl Iterator<Item = &'p str> + use<'p> {
    let evidence = || evidence.values().map(|held| &held.evidence);
    let known: Vec<String> = evidence().flat_map(names).collect();
    let versions: Vec<(String, String)> = evidence().flat_map(versions).collect();
    let typed = words(pieces).filter(move |[earlier, before, word, behind]| {
        if !word.contains(char::is_numeric) {
            return is_in_letters([earlier, before], word, behind);
        }
        // Whatever it looks like, a measure makes a figure of it: `GPT12 times`. But `H200 × 2` are cards.
        if MEASURES.contains(&behind.to_lowercase().as_str()) && !is_card(word) {
            return true;
        }
        let is_bare = word.chars().all(|c| c.is_ascii_digit());
        let is_known = || known.contains(&word.replace('×', "x").to_lowercase());
        let before = before.to_lowercase();
        let is_version = || {
            let of = |(package, version): &(String, String)| {
                version == word && before.ends_with(package.as_str())
            };
            !before.is_empty() && versions.iter().any(of)
        };
        !is_name(word) && (is_bare || !is_known()) && !is_version()
    });
    typed.map(|[_, _, word, _]| word)
}

/// What makes a figure of the number before it.
pub const MEASURES: [&str; 11] = [
    "times",
    "fold",
    "percent",
    "microseconds",
    "milliseconds",
    "seconds",
    "tflops",
    "gbps",
    "x",
    "×",
    "%",
];

/// Whether a word is a number in letters, and a word beside it makes a figure of it: `a dozen times`,
/// `a factor of twelve`, `thirteen percent`.
fn is_in_letters(before: [&str; 2], word: &str, behind: &str) -> bool {
    const NUMBERS: [&str; 30] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
        "ninety", "hundred", "thousand", "half", "thirteen", "fourteen", "sixteen", "eighteen",
        "dozen", "million",
    ];
    const FIGURES: [&str; 9] = [
        "twice", "thrice", "tenfold", "tripled", "doubled", "halved", "thirds", "quarter",
        "quarters",
    ];
    const OF_A_WHOLE: [&str; 4] = ["the", "as", "of", "that"];
    let (word, behind) = (word.to_lowercase(), behind.to_lowercase());
    let is_number = |word: &str| NUMBERS.contains(&word);
    // `a cluster of eight blocks` is no figure, `a factor of eight` is one.
    let is_of = |nouns: &[&str]| {
        let [noun, of] = before.map(str::to_lowercase);
        of == "of" && nouns.contains(&noun.as_str())
    };
    let is_roman = word.len() > 1 && word.chars().all(|c| "ivxlcdm".contains(c));
    let is_counted = (word.split('-').all(is_number) || is_roman)
        && (MEASURES.contains(&behind.as_str()) || is_of(&["factor", "factors"]));
    let is_order = word == "magnitude" && is_of(&["order", "orders"]);
    let is_joined = ["fold", "times", "x", "×"].iter().any(|measure| {
        let number = word.strip_suffix(measure);
        number.is_some_and(|number| is_number(number.trim_end_matches('-')))
    });
    let last = word.rsplit('-').next().unwrap_or_default();
    let is_half = last == "half" && OF_A_WHOLE.contains(&behind.as_str());
    // `quadruple`, `decupled`.
    let stem = last.strip_suffix('d').unwrap_or(last);
    let is_multiple = stem.ends_with("uple") && !["couple", "tuple"].contains(&stem);
    is_counted || is_order || is_joined || is_half || is_multiple || FIGURES.contains(&last)
}

/// `H200`, `f16`, `float4`, `e4m3`, `L2`, `sm_90a` and `GPT2`; neither `x10` nor `faster12x`.
fn is_name(word: &str) -> bool {
    const TYPES: [&str; 8] = ["f", "bf", "tf", "fp", "i", "u", "int", "uint"];
    let digit = word.find(|c: char| c.is_ascii_digit()).unwrap_or_default();
    let (as_written, number) = word.split_at(digit);
    let letters = as_written.to_lowercase();
    let letters = letters.as_str();
    let is_number = number.chars().all(|c| c.is_ascii_digit());
    let is_type = TYPES.contains(&letters) && ["4", "8", "16", "32", "64"].contains(&number);
    const VECTORS: [&str; 8] = [
        "float", "double", "int", "uint", "half", "char", "short", "bfloat16",
    ];
    let is_vector = VECTORS.contains(&letters) && ["2", "3", "4"].contains(&number);
    let is_float8 = letters == "e" && number.len() == 3 && number.as_bytes()[1] == b'm';
    let is_arch = ["sm_", "compute_"].contains(&letters);
    let is_acronym = as_written.len() > 1 && as_written.chars().all(|c| c.is_ascii_uppercase());
    let is_cache = ["L1", "L2"].contains(&word);
    is_card(word)
        || is_type
        || is_vector
        || is_float8
        || is_arch
        || is_cache
        || is_acronym && is_number
}

/// Names with digits that the evidence holds, in small letters.
fn names(evidence: &Evidence) -> Vec<String> {
    let mut texts = Vec::new();
    texts.extend(evidence.device.clone());
    for (key, workload) in &evidence.workloads {
        texts.extend(key.rsplit('.').next().map(str::to_owned));
        texts.extend([key.clone(), workload.name.clone()]);
    }
    texts.extend(evidence.peers.values().map(|peer| peer.name.clone()));
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    words.map(str::to_lowercase).collect()
}

/// Packages that peers use, and their versions.
fn versions(evidence: &Evidence) -> Vec<(String, String)> {
    let peers = evidence.peers.values();
    let each = peers.flat_map(|peer| peer.versions.split_whitespace());
    let each = each.filter_map(|word| word.split_once('='));
    each.map(|(package, version)| (package.to_lowercase(), version.to_owned()))
        .collect()
}

/// The workloads and peers that a text names in words and cites no figure of, each in a sentence: what
/// the evidence shows there was not looked at.
pub fn uncited(texts: [&Filled; 2], evidence: &BTreeMap<&str, &Held>) -> Vec<String> {
    let cited: Vec<&Cited> = texts.iter().flat_map(|filled| filled.cited()).collect();
    let of = |figure: &Cited| {
        evidence
            .get(figure.evidence.as_str())
            .map(|held| &held.evidence)
    };
    let (mut workloads, mut peers) = (BTreeSet::new(), BTreeSet::new());
    for figure in &cited {
        let Some(of) = of(figure) else { continue };
        match &figure.workload {
            Some(key) => workloads.extend([key.to_lowercase()]),
            None => workloads.extend(of.workloads.keys().map(|key| key.to_lowercase())),
        }
        peers.extend(of.peer(&figure.metric).map(|peer| peer.name.to_lowercase()));
    }
    let all = || evidence.values().map(|held| &held.evidence);
    let is_workload = |word: &str| all().any(|of| of.workloads.keys().any(|key| key == word));
    let is_peer = |word: &str| {
        let mut names = all().flat_map(|of| of.peers.values());
        names.any(|peer| peer.name.to_lowercase() == word)
    };
    let mut found = BTreeSet::new();
    for [_, before, word, _] in texts.iter().flat_map(|filled| words(&filled.pieces)) {
        let word = word.replace('×', "x").to_lowercase();
        let word = word.trim_end_matches("'s");
        let has_digit = word.contains(|c: char| !c.is_ascii_digit());
        if has_digit && is_workload(word) && !workloads.contains(word) {
            found.insert(format!("its claim names {word}, and cites no figure of it"));
        }
        // `add` and `graph` are words too: such a peer is named where something is compared with it.
        let is_plain = word.chars().all(|c| c.is_ascii_alphabetic());
        let is_compared = ["as", "beside", "beats", "over", "than"].contains(&before);
        if (!is_plain || is_compared) && is_peer(word) && !peers.contains(word) {
            found.insert(format!(
                "its claim names {word}, and cites no figure beside it"
            ));
        }
    }
    found.into_iter().collect()
}

/// The ratios that a text puts beside another peer than the one they were measured beside, each in a
/// sentence: the words behind `as fast as` must name the peer.
pub fn misnamed(texts: [&Filled; 2], evidence: &BTreeMap<&str, &Held>) -> Vec<String> {
    let mut found = Vec::new();
    for filled in texts {
        for two in filled.pieces.windows(2) {
            let [Piece::Figure(figure), Piece::Text(text)] = two else {
                continue;
            };
            let Some(beside) = text.trim_start().strip_prefix("as fast as ") else {
                continue;
            };
            let held = evidence.get(figure.evidence.as_str());
            let Some(peer) = held.and_then(|held| held.evidence.peer(&figure.metric)) else {
                continue;
            };
            let name = peer.name.to_lowercase();
            let names = |word: &str| {
                let word = word
                    .trim_matches(['.', ',', ':', ';', '(', ')'])
                    .to_lowercase();
                let word = word.trim_end_matches("'s");
                word == name || word.ends_with(&format!(".{name}"))
            };
            if !beside.split_whitespace().any(names) {
                found.push(format!(
                    "its claim does not say that {} is beside {}",
                    figure.text, peer.name
                ));
            }
        }
    }
    found
}

/// What a title and a claim say of cards that their evidence denies: each card that they name must
/// have been measured, and then each figure must be of one of them.
pub fn cards(texts: [&Filled; 2], evidence: &BTreeMap<&str, &Held>) -> Vec<String> {
    let typed = texts.iter().flat_map(|filled| &filled.pieces);
    let typed = typed.filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.split(|c: char| !c.is_ascii_alphanumeric())),
        Piece::Figure(_) => None,
    });
    let named: BTreeSet<&str> = typed.flatten().filter(|word| is_card(word)).collect();
    let mut faults = Vec::new();
    for card in &named {
        if !evidence.values().any(|held| is_of(&held.evidence, card)) {
            faults.push(format!(
                "it names {card}, and none of its evidence was measured there"
            ));
        }
    }
    let cited = texts.iter().flat_map(|filled| filled.cited());
    for id in cited
        .map(|figure| figure.evidence.as_str())
        .collect::<BTreeSet<_>>()
    {
        let of = evidence.get(id).map(|held| &held.evidence);
        let of = of.filter(|of| !named.is_empty() && !named.iter().any(|card| is_of(of, card)));
        faults.extend(of.map(|of| {
            let device = of
                .device
                .as_deref()
                .unwrap_or("a device that it does not tell");
            format!("{id} was measured on {device}, which its claim does not name")
        }));
    }
    faults
}

/// Whether evidence was measured on a card.
fn is_of(evidence: &Evidence, card: &str) -> bool {
    let device = evidence.device.as_deref().unwrap_or_default();
    // `RTX4090` is `NVIDIA GeForce RTX 4090` too.
    let words: Vec<&str> = device.split([' ', '-']).collect();
    words.contains(&card) || words.windows(2).any(|two| two.concat() == card)
}

/// The cards that a text names, and on which the evidence was not measured.
pub fn unmeasured_cards<'t>(text: &'t str, evidence: &Evidence) -> Vec<&'t str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| is_card(word) && !is_of(evidence, word))
        .collect()
}

/// `H200`, `A10G`, `RTX4090`, `T4`; neither `L2` nor `F16`.
fn is_card(word: &str) -> bool {
    let digit = word.find(|c: char| c.is_ascii_digit()).unwrap_or_default();
    let (series, number) = word.split_at(digit);
    let is_series = ["A", "B", "GB", "GH", "GTX", "H", "L", "RTX", "T", "V"].contains(&series);
    let digits = number.chars().take_while(char::is_ascii_digit).count();
    is_series && (digits > 1 || ["L4", "T4"].contains(&word))
}
