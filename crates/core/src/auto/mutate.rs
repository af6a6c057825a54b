//! An editor without a model, for tests and benchmarks: one seeded change of a kernel. It changes a
//! number, swaps two statements that look independent of each other, or changes the count of a
//! `#pragma unroll`. Such a kernel is seldom better and often wrong, and that is its use: the loop
//! has to judge it.

use super::source_code::{Code, Span};
use crate::inputs;
use lab_protocol::Language;

/// Attempts with one change, then as many with two, and so on, until a kernel is found that was not
/// tried.
const ATTEMPTS: u64 = 64;

/// Most changes of one kernel.
const MOST_CHANGES: u64 = 4;

/// The counts that an unrolled loop may get.
const UNROLL_COUNTS: [&str; 5] = ["1", "2", "4", "8", "16"];

/// A changed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutation {
    pub bytes: Vec<u8>,
    /// What was changed, in a line.
    pub what: String,
}

/// What a change is drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw<'a> {
    pub seed: u64,
    /// The lane's device; `None` outside of lanes.
    pub lane: Option<&'a str>,
    pub turn: u64,
}

/// Returns a changed copy of a kernel whose tokens differ from the kernel's. The same kernel and
/// draw give the same copy as long as `is_tried` answers the same; a copy for which it says true is
/// returned only if no other is found soon. `None` if there is nothing to change.
pub(super) fn mutate(
    kernel: &[u8],
    language: Language,
    draw: Draw,
    mut is_tried: impl FnMut(&[u8]) -> bool,
) -> Option<Mutation> {
    let tokens = inputs::tokens_of(kernel, language);
    let mut tried = None;
    for attempt in 0..ATTEMPTS * MOST_CHANGES {
        let mut chance = Chance::new(draw, attempt);
        let mut found = Mutation {
            bytes: kernel.to_vec(),
            what: String::new(),
        };
        for _ in 0..=attempt / ATTEMPTS {
            let (bytes, what) = change(&found.bytes, language, &mut chance)?;
            let join = if found.what.is_empty() { "" } else { "; " };
            found = Mutation {
                bytes,
                what: format!("{}{join}{what}", found.what),
            };
        }
        if found.bytes.len() as u64 > inputs::SIZE_LIMIT
            || inputs::tokens_of(&found.bytes, language) == tokens
        {
            continue;
        }
        if !is_tried(&found.bytes) {
            return Some(found);
        }
        tried.get_or_insert(found);
    }
    tried
}

/// Numbers that follow from a seed alone.
struct Chance {
    bytes: blake3::OutputReader,
}

impl Chance {
    fn new(draw: Draw, attempt: u64) -> Chance {
        let mut hasher = blake3::Hasher::new_derive_key("lab auto: the seeded mutator");
        for part in [draw.seed, draw.turn, attempt] {
            hasher.update(&part.to_le_bytes());
        }
        hasher.update(draw.lane.unwrap_or_default().as_bytes());
        Chance {
            bytes: hasher.finalize_xof(),
        }
    }

    /// A number below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize {
        let mut bytes = [0; 8];
        self.bytes.fill(&mut bytes);
        (u64::from_le_bytes(bytes) % count as u64) as usize
    }

    fn one_of<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        if all.is_empty() {
            None
        } else {
            all.get(self.below(all.len()))
        }
    }
}

/// The kinds of changes, with the places where each is possible.
enum Places {
    Numbers(Vec<Span>),
    Swaps(Vec<(Span, Span)>),
    Unrolls(Vec<Span>),
}

/// Makes one change; says which. `None` if there is nothing to change.
fn change(kernel: &[u8], language: Language, chance: &mut Chance) -> Option<(Vec<u8>, String)> {
    let code = Code::of(kernel, language);
    let mut numbers = code.numbers();
    numbers.retain(|at| !variants(text(kernel, at)).is_empty());
    let mut kinds = Vec::new();
    if !numbers.is_empty() {
        kinds.push(Places::Numbers(numbers));
    }
    if language == Language::Cuda {
        let (swaps, unrolls) = (code.swaps(), code.unrolls());
        if !swaps.is_empty() {
            kinds.push(Places::Swaps(swaps));
        }
        if !unrolls.is_empty() {
            kinds.push(Places::Unrolls(unrolls));
        }
    }
    let line = |at: usize| 1 + kernel[..at].iter().filter(|byte| **byte == b'\n').count();
    match chance.one_of(&kinds)? {
        Places::Numbers(numbers) => {
            let at = chance.one_of(numbers)?;
            let old = text(kernel, at);
            let new = chance.one_of(&variants(old))?.clone();
            Some((
                replaced(kernel, at, new.as_bytes()),
                format!("line {}: {old} to {new}", line(at.start)),
            ))
        }
        Places::Unrolls(unrolls) => {
            let at = chance.one_of(unrolls)?;
            let old = text(kernel, at).trim();
            let others: Vec<&&str> = UNROLL_COUNTS
                .iter()
                .filter(|count| **count != old)
                .collect();
            let new = chance.one_of(&others)?;
            let said = if old.is_empty() {
                "unroll".to_owned()
            } else {
                format!("unroll {old}")
            };
            let with_blank = format!(" {new}");
            Some((
                replaced(kernel, at, with_blank.as_bytes()),
                format!("line {}: {said} to unroll {new}", line(at.start)),
            ))
        }
        Places::Swaps(swaps) => {
            let (first, second) = chance.one_of(swaps)?;
            let mut bytes = kernel[..first.start].to_vec();
            bytes.extend_from_slice(&kernel[second.clone()]);
            bytes.extend_from_slice(&kernel[first.end..second.start]);
            bytes.extend_from_slice(&kernel[first.clone()]);
            bytes.extend_from_slice(&kernel[second.end..]);
            Some((
                bytes,
                format!(
                    "lines {} and {} swapped",
                    line(first.start),
                    line(second.start)
                ),
            ))
        }
    }
}

/// The text of a number or a count; empty if it is no UTF-8.
fn text<'k>(kernel: &'k [u8], at: &Span) -> &'k str {
    kernel
        .get(at.clone())
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

fn replaced(kernel: &[u8], at: &Span, new: &[u8]) -> Vec<u8> {
    [&kernel[..at.start], new, &kernel[at.end..]].concat()
}

/// Other numbers near a number, written as it is. Empty for a form that is not understood.
fn variants(number: &str) -> Vec<String> {
    let plain = number.replace(['\'', '_'], "");
    let lower = plain.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(digits) => (16, digits),
        None => (10, lower.as_str()),
    };
    let is_float = radix == 10 && digits.contains(['.', 'e']);
    let suffix_letters: &[char] = if radix == 16 {
        &['u', 'l']
    } else {
        &['u', 'l', 'f', 'z']
    };
    let body = digits.trim_end_matches(suffix_letters);
    let suffix = &plain[plain.len() - (digits.len() - body.len())..];
    let mut found: Vec<String> = Vec::new();
    if is_float || suffix.contains(['f', 'F']) {
        let Ok(value) = body.parse::<f64>() else {
            return found;
        };
        let values = if value == 0.0 {
            vec![1.0]
        } else {
            vec![value * 2.0, value * 0.5, value * 1.25, value / 1.25]
        };
        let other = values
            .into_iter()
            .filter(|other| other.is_finite() && *other != value && *other != 0.0);
        // Six digits: 0.1 * 3 is to be 0.3.
        let short = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
        found.extend(other.map(|other| format!("{:?}{suffix}", short(other))));
        return found;
    }
    // An octal number stays away: another digit may end it.
    if radix == 10 && body.len() > 1 && body.starts_with('0') {
        return found;
    }
    let Ok(value) = u64::from_str_radix(body, radix) else {
        return found;
    };
    let values = [
        value.checked_add(1),
        value.checked_sub(1),
        value.checked_mul(2),
        Some(value / 2),
    ];
    for other in values.into_iter().flatten().filter(|other| *other != value) {
        let written = if radix == 16 {
            format!("0x{other:x}{suffix}")
        } else {
            format!("{other}{suffix}")
        };
        if !found.contains(&written) {
            found.push(written);
        }
    }
    found
}

#[cfg(test)]
mod tests;
