//! Which parts of a published source a kernel needs: what it names, what that names, and so on.

use super::headers::{included, opened, stays};
use super::unit::{Place, Source, Unit};
use lab_source::cpp::directive::Directive;
use lab_source::cpp::items::ItemKind;
use lab_source::cpp::launches::SIGNS;
use lab_source::cpp::words;
use std::collections::BTreeSet;

/// The parts that stay.
pub struct Slice {
    kept: BTreeSet<Place>,
}

impl Slice {
    /// What the items at `kernels` need, and what `more` names.
    pub fn of(unit: &Unit, kernels: &[Place], more: &[String]) -> Slice {
        let mut slice = Slice {
            kept: BTreeSet::new(),
        };
        let mut waiting = kernels.to_vec();
        let named = more.iter().flat_map(|text| words(text));
        let named = named.flat_map(|name| unit.named(name));
        waiting
            .extend(named.filter(|place| is_constant(unit, **place) || is_device(unit, **place)));
        waiting.extend(
            unit.places()
                .filter(|place| is_device_operator(unit, *place)),
        );
        while let Some(place) = waiting.pop() {
            if !slice.kept.insert(place) {
                continue;
            }
            let (source, item) = unit.item(place);
            for word in words(&source.code.text[item.start..item.end]) {
                let named = unit.named(word).iter();
                waiting.extend(named.filter(|found| {
                    !slice.kept.contains(*found) && is_wanted(unit, place, **found, word)
                }));
            }
        }
        slice.keep_frames(unit);
        slice
    }

    pub fn keeps(&self, place: Place) -> bool {
        self.kept.contains(&place)
    }

    /// Keeps includes and what opens namespaces, and the conditions and namespaces around what is
    /// kept.
    fn keep_frames(&mut self, unit: &Unit) {
        let code = self.kept.iter().map(|place| unit.item(*place));
        let mut used: BTreeSet<&str> = code
            .flat_map(|(source, item)| words(&source.code.text[item.start..item.end]))
            .collect();
        let usings = unit.places().map(|place| unit.item(place));
        let usings = usings.filter(|(_, item)| item.kind == ItemKind::Using);
        let namespaces = usings
            .filter_map(|(source, item)| opened(&source.code.text[item.start..item.end], &used));
        let namespaces: Vec<&str> = namespaces.collect();
        used.extend(namespaces);
        let mut seen = BTreeSet::new();
        for (file, source) in unit.sources.iter().enumerate() {
            for (at, item) in source.items.iter().enumerate() {
                let keeps = match item.kind {
                    ItemKind::Include => included(source.code.at(item.first))
                        .is_some_and(|name| stays(name, &used) && seen.insert(name)),
                    ItemKind::Using => {
                        opened(&source.code.text[item.start..item.end], &used).is_some()
                            || self.opens(unit, (file, at))
                    }
                    _ => false,
                };
                if keeps {
                    self.kept.insert((file, at));
                }
            }
            self.keep_around(file, source);
        }
    }

    /// Whether a `using` opens a namespace of something that is kept and declared before it, or
    /// names such a thing.
    fn opens(&self, unit: &Unit, place: Place) -> bool {
        let (source, item) = unit.item(place);
        let named: Vec<&str> = (item.first..item.last)
            .map(|at| source.code.word(at))
            .collect();
        let is_whole = named.contains(&"namespace");
        let last = named.iter().rev().find(|word| !word.is_empty());
        self.kept.range(..place).any(|before| {
            let declared = unit.item(*before).1;
            let mut path = declared.path.iter();
            path.any(|name| !name.is_empty() && named.contains(&name.as_str()))
                && (is_whole
                    || declared
                        .names
                        .iter()
                        .any(|name| Some(&name.as_str()) == last))
        })
    }

    fn keep_around(&mut self, file: usize, source: &Source) {
        // The items of each frame that is open, and whether something in it is kept.
        let mut open: Vec<(Vec<usize>, bool)> = Vec::new();
        for (at, item) in source.items.iter().enumerate() {
            match item.kind {
                ItemKind::If | ItemKind::Opening => open.push((vec![at], false)),
                ItemKind::Else => {
                    if let Some((frame, _)) = open.last_mut() {
                        frame.push(at);
                    }
                }
                ItemKind::EndIf | ItemKind::Closing => {
                    let Some((mut frame, keeps)) = open.pop() else {
                        continue;
                    };
                    frame.push(at);
                    if keeps && !is_guard(source, frame[0]) {
                        self.kept.extend(frame.into_iter().map(|at| (file, at)));
                    }
                }
                _ if self.kept.contains(&(file, at)) => {
                    open.iter_mut().for_each(|(_, keeps)| *keeps = true);
                }
                _ => {}
            }
        }
    }
}

/// What the items at `kernels` need, and the file has only in branches of `#if` that are not taken.
/// The kernels may be such themselves.
pub fn inactive(unit: &Unit, kernels: &[Place]) -> Vec<Place> {
    let is_active = |place: &Place| unit.active_as_published(place.0)[place.1];
    let mut found: BTreeSet<Place> = kernels
        .iter()
        .copied()
        .filter(|of| !is_active(of))
        .collect();
    let mut seen: BTreeSet<Place> = BTreeSet::new();
    let mut waiting = kernels.to_vec();
    while let Some(place) = waiting.pop() {
        if !seen.insert(place) {
            continue;
        }
        let (source, item) = unit.item(place);
        for word in words(&source.code.text[item.start..item.end]) {
            let named = unit.named(word).iter().copied();
            let wanted = named.filter(|of| is_wanted(unit, place, *of, word));
            let (taken, not): (Vec<Place>, Vec<Place>) = wanted.partition(|of| is_active(of));
            found.extend(not.first().filter(|_| taken.is_empty()));
            waiting.extend(taken);
        }
    }
    found.into_iter().collect()
}

/// Whether `#ifndef A` is followed by `#define A`, which guards a header.
fn is_guard(source: &Source, at: usize) -> bool {
    let name = |at: usize| {
        let line = source.items.get(at).map(|item| source.code.at(item.first));
        let directive = line.and_then(Directive::parse);
        directive.map(|directive| (directive.name, directive.rest.trim()))
    };
    let (before, after) = (name(at), name(at + 1));
    before
        .zip(after)
        .is_some_and(|((first, of), (second, defined))| {
            first == "ifndef" && second == "define" && of == defined
        })
}

/// Whether code of the device may name this.
fn is_constant(unit: &Unit, place: Place) -> bool {
    let (source, item) = unit.item(place);
    let says = |word| item.says(&source.code, word);
    match item.kind {
        ItemKind::Variable => [
            "const",
            "constexpr",
            "__device__",
            "__constant__",
            "__managed__",
            "__shared__",
        ]
        .into_iter()
        .any(says),
        ItemKind::Define | ItemKind::Type | ItemKind::Alias => true,
        _ => false,
    }
}

/// Whether code of the device may name what the file declares by this name.
pub fn is_named_constant(unit: &Unit, name: &str) -> bool {
    unit.named(name).iter().any(|of| is_constant(unit, *of))
}

pub fn is_device(unit: &Unit, place: Place) -> bool {
    let (source, item) = unit.item(place);
    let marks = ["__device__", "HOST_DEVICE", "__DEVICE__"];
    let says = |at: usize| {
        let word = source.code.word(at);
        marks.iter().any(|mark| word.contains(mark)) || word.ends_with("_DEVICE")
    };
    (item.first..item.name.unwrap_or(item.last)).any(says)
}

fn is_device_operator(unit: &Unit, place: Place) -> bool {
    unit.item(place).1.name() == "operator" && is_device(unit, place)
}

/// Whether an item uses what another one declares by a word: a function only if it calls it.
fn is_wanted(unit: &Unit, user: Place, found: Place, word: &str) -> bool {
    let (_, item) = unit.item(found);
    match item.kind {
        ItemKind::Function if item.says(&unit.item(found).0.code, "__global__") => false,
        ItemKind::Function if is_device(unit, found) => true,
        ItemKind::Function => {
            let (source, item) = unit.item(found);
            let text = &source.code.text[item.start..item.end];
            let launches = SIGNS.iter().any(|sign| text.contains(sign));
            !launches && calls(unit, user, word)
        }
        _ => is_constant(unit, found),
    }
}

/// Whether an item calls a function of this name.
fn calls(unit: &Unit, user: Place, name: &str) -> bool {
    let (source, item) = unit.item(user);
    let code = &source.code;
    let in_macro = item.kind == ItemKind::Define;
    let is_call = |at: usize| {
        code.word(at) == name && matches!(code.at(at + 1), "(" | "<") && item.name != Some(at)
    };
    in_macro || (item.first..item.last).any(is_call)
}
