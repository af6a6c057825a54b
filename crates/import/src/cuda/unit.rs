//! A published source with the local headers that it includes.

use super::conditions::{active, asked_around, assumed, without_dead};
use super::interval;
use super::made::{Made, written};
use super::reading::{Absent, Header, ReadHeader, Seen, wanted};
use lab_source::cpp::Code;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::items::{Item, ItemKind, items};
use lab_source::cpp::signature::Parameter;
use lab_source::line_at;
use std::collections::BTreeMap;

/// A file.
pub struct Source {
    /// The published file's name, or where the header is.
    pub name: String,
    pub code: Code<String>,
    pub items: Vec<Item>,
    /// What the include line names, if another place than that was taken for it.
    pub guessed_from: Option<String>,
    /// What macros make behind its own text.
    pub made: Vec<Made>,
}

impl Source {
    /// The line of a token in the file, from 1: of what a macro makes, that of its call.
    pub fn line(&self, token: usize) -> usize {
        let start = self.code.tokens[token].start;
        let made = self.made.iter().rev().find(|made| made.start <= start);
        made.map_or_else(|| line_at(&self.code.text, start), |made| made.line)
    }
}

/// A published file and its headers.
pub struct Unit {
    /// The headers in the order in which they are included, the file itself last.
    pub sources: Vec<Source>,
    /// The headers in quotes that were not read, each with the reason.
    pub missing: Vec<(String, Absent)>,
    /// Other files of the project that launch its kernels.
    pub launchers: Vec<Unit>,
    /// Macros without which the published file lacks some of its kernels.
    pub assumed: Vec<String>,
    /// The items by the names that they declare.
    named: BTreeMap<String, Vec<Place>>,
    /// For each source which items its conditions let through: with the assumed macros, and without.
    active: Vec<(Vec<bool>, Vec<bool>)>,
}

/// The place of an item: the source and the item in it.
pub type Place = (usize, usize);

impl Unit {
    pub fn read(name: &str, text: &str, header: ReadHeader) -> Unit {
        let mut unit = Unit {
            sources: Vec::new(),
            missing: Vec::new(),
            launchers: Vec::new(),
            assumed: Vec::new(),
            named: BTreeMap::new(),
            active: Vec::new(),
        };
        let mut seen = Seen::default();
        let main = Header {
            name: name.to_owned(),
            text: text.to_owned(),
            is_guess: false,
        };
        unit.add(main, None, header, &mut seen);
        unit.settle();
        unit
    }

    /// Adds a source behind the headers that it includes. `included_as` is what the include line says.
    fn add(&mut self, file: Header, included_as: Option<&str>, read: ReadHeader, seen: &mut Seen) {
        let text = file
            .text
            .trim_start_matches('\u{feff}')
            .replace("\r\n", "\n");
        let code = Code::new(text, true);
        let found = without_dead(&code, items(&code));
        let by = included_as.map(|_| file.name.as_str());
        if included_as.is_none() {
            self.assumed = assumed(&code, &found);
        }
        let is_known = |name: &str| {
            let is_assumed = self.assumed.iter().any(|known| known == name);
            is_assumed || seen.macros.contains(name)
        };
        let active = active(&code, &found, &is_known);
        for (item, _) in found.iter().zip(active).filter(|(_, active)| *active) {
            let Some(wanted) = wanted(&code, item, by) else {
                continue;
            };
            let header = match seen.has_space() {
                true => read(&wanted),
                false => Err(Absent::TooMany),
            };
            match header {
                Ok(header) if seen.is_new(&header.name, header.text.len()) => {
                    self.add(header, Some(wanted.name), read, seen);
                }
                Ok(_) => {}
                Err(why) if wanted.is_quoted && seen.is_new(&format!("\"{}", wanted.name), 0) => {
                    self.missing.push((wanted.name.to_owned(), why));
                }
                Err(_) => {}
            }
        }
        let others = self.sources.iter();
        let others = others.flat_map(|of| of.items.iter().map(move |item| (&of.code, item)));
        let written = written(code, found, others);
        let defines = written.items.iter();
        let defines = defines.filter(|item| item.kind == ItemKind::Define);
        seen.macros
            .extend(defines.map(|item| item.name().to_owned()));
        self.sources.push(Source {
            guessed_from: included_as.filter(|_| file.is_guess).map(str::to_owned),
            name: file.name,
            code: written.code,
            items: written.items,
            made: written.made,
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
        let others = self.launchers.iter();
        let mut all = [self].into_iter().chain(others);
        all.find_map(|unit| unit.own_value_of(name))
    }

    fn own_value_of(&self, name: &str) -> Option<String> {
        self.named(name).iter().find_map(|place| {
            let (source, item) = self.item(*place);
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

    /// A text of global code, in which names have the namespaces of their declarations before them.
    pub fn qualified(&self, text: &str) -> String {
        replaced(text, |code, at| {
            let word = code.word(at);
            let is_scoped = at > 0 && matches!(code.at(at - 1), ":" | ".");
            let of = self.named(word).first().filter(|_| !is_scoped)?;
            let item = self.item(*of).1;
            let path = item.path.iter().filter(|part| !part.is_empty());
            let path: String = path.map(|part| format!("{part}::")).collect();
            let is_macro = matches!(item.kind, ItemKind::Define | ItemKind::Call);
            (!is_macro && !path.is_empty()).then(|| path + word)
        })
    }

    /// A constant's name with the namespaces of its declaration before it.
    pub fn scoped_value(&self, name: &str) -> String {
        let is_it = |item: &&Item| item.kind == ItemKind::Variable && item.name() == name;
        let mut items = self.named(name).iter().map(|place| self.item(*place).1);
        let path = items.find(|item| is_it(item)).map(|item| &item.path);
        let path = path.into_iter().flatten().filter(|part| !part.is_empty());
        path.map(|part| format!("{part}::")).collect::<String>() + name
    }

    /// The macros that the conditions around an item ask to be defined, and that nothing defines.
    pub fn asked_around(&self, place: Place) -> Vec<String> {
        let (source, item) = self.item(place);
        let found = asked_around(&source.code, &source.items, item);
        let is_defined = |name: &String| {
            let mut items = self.named(name).iter().map(|place| self.item(*place).1);
            items.any(|item| item.kind == ItemKind::Define)
        };
        found.into_iter().filter(|name| !is_defined(name)).collect()
    }

    /// The type that an alias stands for: the last one that the file's conditions let through.
    pub fn alias(&self, name: &str) -> Option<String> {
        let mut named = self.named(name).iter();
        let alias = named.rfind(|(source, item)| {
            let of = &self.sources[*source].items[*item];
            self.active[*source].0[*item] && of.kind == ItemKind::Alias && of.name() == name
        });
        let found = alias.map(|place| {
            let (Source { code, .. }, item) = self.item(*place);
            let equals = (item.first..item.last).find(|at| code.at(*at) == "=");
            match equals {
                Some(equals) => code.spelled(equals + 1, item.last),
                None => code.spelled(item.first + 1, item.last - 1),
            }
        });
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
        self.named(name).iter().copied().find(is_it)
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
    pub fn active(&self, source: usize) -> &[bool] {
        &self.active[source].0
    }

    /// [`Unit::active`] where only the sources define macros.
    pub fn active_as_published(&self, source: usize) -> &[bool] {
        &self.active[source].1
    }

    /// The items that declare a name, in their order.
    pub fn named(&self, name: &str) -> &[Place] {
        self.named.get(name).map_or(&[], Vec::as_slice)
    }

    /// Looks at all sources, once they are read.
    fn settle(&mut self) {
        let mut named: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        for place in self.places() {
            for name in &self.item(place).1.names {
                named.entry(name.clone()).or_default().push(place);
            }
        }
        self.named = named;
        let is_defined = |name: &str, without: usize| {
            let mut all = self.named(name).iter();
            all.any(|place| place.0 != without && self.item(*place).1.kind == ItemKind::Define)
        };
        let is_assumed = |name: &str| self.assumed.iter().any(|known| known == name);
        let each = self.sources.iter().enumerate();
        let active = each.map(|(at, Source { code, items, .. })| {
            let is_known = |name: &str| is_defined(name, at) || is_assumed(name);
            let as_published = active(code, items, &|name| is_defined(name, at));
            (active(code, items, &is_known), as_published)
        });
        self.active = active.collect();
    }

    /// The line of an item in its file, from 1.
    pub fn line(&self, place: Place) -> usize {
        let (source, item) = self.item(place);
        source.line(item.first)
    }
}

/// What `name` is set to between two tokens.
pub fn value_in(code: &Code<String>, first: usize, last: usize, name: &str) -> Option<String> {
    let at = (first..last).find(|at| code.word(*at) == name && code.at(at + 1) == "=")?;
    let parts = code.split(at + 2, last, false);
    parts.first().map(|(from, to)| code.spelled(*from, *to))
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
