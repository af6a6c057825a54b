//! A published source with the local headers that it includes.

use super::headers::{included, is_for_device, is_of_libraries, quoted};
use super::interval;
use lab_source::cpp::Code;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::items::{Item, ItemKind, items};
use lab_source::cpp::signature::Parameter;
use lab_source::line_at;
use std::collections::BTreeSet;

/// Reads a header that a source includes in quotes, by its path relative to the source's folder.
pub type ReadHeader<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A file.
pub struct Source {
    /// Its path relative to the published file's folder.
    pub name: String,
    pub code: Code<String>,
    pub items: Vec<Item>,
}

/// A published file and its headers.
pub struct Unit {
    /// The headers in the order in which they are included, the file itself last.
    pub sources: Vec<Source>,
    /// The headers in quotes that are not there.
    pub missing: Vec<String>,
}

/// Most local headers that are read.
const MOST_HEADERS: usize = 64;

/// The place of an item: the source and the item in it.
pub type Place = (usize, usize);

impl Unit {
    pub fn read(name: &str, text: &str, header: ReadHeader) -> Unit {
        let mut unit = Unit {
            sources: Vec::new(),
            missing: Vec::new(),
        };
        unit.add(name, text, header, &mut BTreeSet::new());
        unit
    }

    fn add(&mut self, name: &str, text: &str, header: ReadHeader, seen: &mut BTreeSet<String>) {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let code = Code::new(text, true);
        let found = without_dead(&code, items(&code));
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        for item in found.iter().filter(|item| item.kind == ItemKind::Include) {
            let line = code.at(item.first);
            let (Some(included), is_quoted) = (included(line), quoted(line).is_some()) else {
                continue;
            };
            let path = if folder.is_empty() {
                included.to_owned()
            } else {
                format!("{folder}/{included}")
            };
            let is_ours = ["lab.h", "lab_problem.h"].contains(&included) || is_for_device(included);
            if is_ours || is_of_libraries(included) || !seen.insert(path.clone()) {
                continue;
            }
            match header(&path).filter(|_| seen.len() <= MOST_HEADERS) {
                Some(text) => self.add(&path, &text, header, seen),
                None if is_quoted => self.missing.push(included.to_owned()),
                None => {}
            }
        }
        self.sources.push(Source {
            name: name.to_owned(),
            code,
            items: found,
        });
    }

    /// The published file itself.
    pub fn main(&self) -> &Source {
        &self.sources[self.sources.len() - 1]
    }

    pub fn item(&self, (source, item): Place) -> (&Source, &Item) {
        let source = &self.sources[source];
        (source, &source.items[item])
    }

    /// All items, the headers' first.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let each = self.sources.iter().enumerate();
        each.flat_map(|(source, file)| (0..file.items.len()).map(move |item| (source, item)))
    }

    /// The value of a constant or a macro without parameters, if it is a whole number.
    pub fn constant(&self, name: &str) -> Option<i128> {
        self.constant_at(name, 8)
    }

    fn constant_at(&self, name: &str, depth: usize) -> Option<i128> {
        let text = self.value_of(name)?;
        let look = |inner: &str| self.constant_at(inner, depth.checked_sub(1)?);
        interval::constant(&text, &look)
    }

    /// What a constant or a macro without parameters is defined as.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let is_named = |place: &Place| self.item(*place).1.names.iter().any(|known| known == name);
        self.places().filter(is_named).find_map(|place| {
            let (source, item) = self.item(place);
            let code = &source.code;
            match item.kind {
                ItemKind::Define => {
                    let rest = Directive::parse(code.at(item.first))?
                        .rest
                        .strip_prefix(name)?;
                    let value = rest.split("//").next()?.split("/*").next()?.trim();
                    Some(value.to_owned()).filter(|_| !rest.starts_with('('))
                }
                ItemKind::Variable => value_in(code, item.first, item.last, name),
                _ => None,
            }
        })
    }

    /// The type that an alias stands for: the last one that the file's conditions let through.
    pub fn alias(&self, name: &str) -> Option<String> {
        let mut found = None;
        for source in &self.sources {
            let active = self.active(source);
            for (item, _) in source
                .items
                .iter()
                .zip(active)
                .filter(|(_, active)| *active)
            {
                let code = &source.code;
                if item.kind != ItemKind::Alias || item.name() != name {
                    continue;
                }
                let equals = (item.first..item.last).find(|at| code.at(*at) == "=");
                let range = match equals {
                    Some(equals) => (equals + 1, item.last),
                    None => (item.first + 1, item.last - 1),
                };
                found = Some(code.spelled(range.0, range.1));
            }
        }
        found.or_else(|| self.value_of(name))
    }

    /// The struct, the class or the enumeration with braces that a type's name means.
    pub fn type_of(&self, name: &str) -> Option<Place> {
        let name = name.split('<').next()?.rsplit([':', ' ']).next()?;
        let is_it = |place: &Place| {
            let (source, item) = self.item(*place);
            matches!(item.kind, ItemKind::Type | ItemKind::Alias)
                && item.name() == name
                && (item.first..item.last).any(|at| source.code.at(at) == "{")
        };
        self.places().find(is_it)
    }

    /// The fields of a struct, those of its bases first, each with its line.
    pub fn fields(&self, place: Place) -> Vec<(Parameter, usize)> {
        let (source, item) = self.item(place);
        let code = &source.code;
        let head = (item.first..item.last).take_while(|at| code.at(*at) != "{");
        let bases = head.skip_while(|at| code.at(*at) != ":");
        // A base is declared before it.
        let bases = bases.filter_map(|at| self.type_of(code.word(at)).filter(|of| *of < place));
        let mut all: Vec<(Parameter, usize)> = bases.flat_map(|of| self.fields(of)).collect();
        let own = code.fields(item).into_iter();
        all.extend(own.map(|(field, at)| (field, line_at(&code.text, code.tokens[at].start))));
        all
    }

    /// A type's name with the namespaces of its declaration before it.
    pub fn scoped(&self, name: &str) -> String {
        let path = self.type_of(name).map(|place| &self.item(place).1.path);
        let path = path.into_iter().flatten().filter(|part| !part.is_empty());
        match name.contains("::") {
            true => name.to_owned(),
            false => path.map(|part| format!("{part}::")).collect::<String>() + name,
        }
    }

    /// For each item of a source, whether the conditions around it hold, as far as they only ask
    /// whether a macro is defined.
    pub fn active(&self, source: &Source) -> Vec<bool> {
        let mut defined: BTreeSet<&str> = BTreeSet::new();
        for file in &self.sources {
            let defines = file
                .items
                .iter()
                .filter(|item| item.kind == ItemKind::Define);
            defined.extend(defines.map(Item::name));
        }
        // Whether a branch holds, and whether a branch before it did.
        let mut open: Vec<(bool, bool)> = Vec::new();
        let mut active = Vec::new();
        for item in &source.items {
            let directive = Directive::parse(source.code.at(item.first));
            match (item.kind, directive) {
                (ItemKind::If, Some(directive)) => {
                    let holds = holds(directive, &defined);
                    open.push((holds, holds));
                }
                (ItemKind::Else, Some(directive)) => {
                    if let Some((now, before)) = open.last_mut() {
                        *now = !*before && (directive.name == "else" || holds(directive, &defined));
                        *before |= *now;
                    }
                }
                (ItemKind::EndIf, _) => {
                    open.pop();
                }
                _ => {}
            }
            active.push(open.iter().all(|(now, _)| *now));
        }
        active
    }

    /// The line of an item in its file, from 1.
    pub fn line(&self, place: Place) -> usize {
        let (source, item) = self.item(place);
        line_at(&source.code.text, source.code.tokens[item.first].start)
    }
}

/// The items that no `#if 0` takes away.
fn without_dead(code: &Code<String>, items: Vec<Item>) -> Vec<Item> {
    let mut open: Vec<bool> = Vec::new();
    let mut is_live = |item: &Item| {
        let line = Directive::parse(code.at(item.first));
        match (item.kind, open.last_mut()) {
            (ItemKind::If, _) => open.push(line.is_some_and(|line| line.rest.trim() == "0")),
            (ItemKind::Else, Some(is_dead)) => *is_dead = false,
            (ItemKind::EndIf, _) => {
                open.pop();
            }
            _ => return !open.contains(&true),
        }
        true
    };
    items.into_iter().filter(|item| is_live(item)).collect()
}

/// What `name` is set to between two tokens.
pub fn value_in(code: &Code<String>, first: usize, last: usize, name: &str) -> Option<String> {
    let at = (first..last).find(|at| code.word(*at) == name && code.at(at + 1) == "=")?;
    let parts = code.split(at + 2, last, false);
    parts.first().map(|(from, to)| code.spelled(*from, *to))
}

/// Whether `#if defined(A)` and its like hold. Of other conditions this is assumed.
fn holds(directive: Directive, defined: &BTreeSet<&str>) -> bool {
    let rest = directive.rest.trim();
    let is_known = |name: &str| defined.contains(name) || name.starts_with("__");
    match directive.name {
        "ifdef" | "elifdef" => is_known(rest),
        "ifndef" | "elifndef" => !defined.contains(rest) || rest.ends_with("_H"),
        _ => {
            let part = |part: &str| {
                let part = part.trim();
                let (negated, part) = match part.strip_prefix('!') {
                    Some(part) => (true, part.trim()),
                    None => (false, part),
                };
                let name = part.strip_prefix("defined").map(|name| {
                    name.trim_matches(|c: char| c == '(' || c == ')' || c.is_whitespace())
                });
                name.is_none_or(|name| is_known(name) != negated)
            };
            match rest.contains("||") {
                true => rest.split("||").any(part),
                false => rest.split("&&").all(part),
            }
        }
    }
}

/// A text with another one in place of each token for which `by` gives one.
pub fn replaced(text: &str, by: impl Fn(&Code<&str>, usize) -> Option<String>) -> String {
    let code = Code::new(text, false);
    let (mut out, mut copied) = (String::new(), 0);
    for (at, token) in code.tokens.iter().enumerate() {
        out += &text[copied..token.start];
        out += by(&code, at).as_deref().unwrap_or(code.at(at));
        copied = token.end;
    }
    out + &text[copied..]
}

/// A text with one word in place of another.
pub fn with_word(text: &str, word: &str, by: &str) -> String {
    replaced(text, |code, at| {
        (code.word(at) == word).then(|| by.to_owned())
    })
}
