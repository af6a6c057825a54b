//! A published source with the local headers that it includes.

use super::conditions::{active, asked_around, assumed, without_dead};
use super::headers::{included, is_for_device, is_of_libraries, quoted};
use super::interval;
use super::made::{Made, written};
use lab_source::cpp::Code;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::items::{Item, ItemKind, items};
use lab_source::cpp::signature::Parameter;
use lab_source::line_at;
use std::collections::BTreeSet;

/// An include line of a published source.
pub struct Wanted<'a> {
    /// The name of the header that has the line; `None` for the published file itself.
    pub by: Option<&'a str>,
    /// What the line names.
    pub name: &'a str,
    /// The line names it in quotes.
    pub is_quoted: bool,
}

/// A header that a source includes.
pub struct Header {
    /// Where it is, as a user reads it. Each header has a name of its own.
    pub name: String,
    pub text: String,
    /// The project has it, but not where the include line says.
    pub is_guess: bool,
}

/// Why a header is not read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absent {
    Nowhere,
    /// It lies outside of the project.
    Outside,
    /// The project has several that differ: where they are.
    Several(Vec<String>),
    /// There are too many headers.
    TooMany,
}

/// Finds a header.
pub type ReadHeader<'a> = &'a dyn Fn(&Wanted) -> Result<Header, Absent>;

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
}

/// Most headers that are read, and most bytes of them.
const MOST_HEADERS: usize = 256;
const MOST_BYTES: usize = 16 << 20;

/// The place of an item: the source and the item in it.
pub type Place = (usize, usize);

impl Unit {
    pub fn read(name: &str, text: &str, header: ReadHeader) -> Unit {
        let mut unit = Unit {
            sources: Vec::new(),
            missing: Vec::new(),
            launchers: Vec::new(),
            assumed: Vec::new(),
        };
        let mut seen = Seen::default();
        let main = Header {
            name: name.to_owned(),
            text: text.to_owned(),
            is_guess: false,
        };
        unit.add(main, None, header, &mut seen);
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
        let mut defined = self.defined(None);
        defined.extend(self.assumed.iter().map(String::as_str));
        let active = active(&code, &found, defined);
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
        let written = written(code, found, &self.sources);
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

    /// A constant's name with the namespaces of its declaration before it.
    pub fn scoped_value(&self, name: &str) -> String {
        let is_it = |item: &&Item| item.kind == ItemKind::Variable && item.name() == name;
        let mut items = self.places().map(|place| self.item(place).1);
        let path = items.find(|item| is_it(item)).map(|item| &item.path);
        let path = path.into_iter().flatten().filter(|part| !part.is_empty());
        path.map(|part| format!("{part}::")).collect::<String>() + name
    }

    /// The macros that the conditions around an item ask to be defined, and that nothing defines.
    pub fn asked_around(&self, place: Place) -> Vec<String> {
        let (source, item) = self.item(place);
        let found = asked_around(&source.code, &source.items, item);
        let is_defined = |name: &String| {
            let mut items = self.places().map(|place| self.item(place).1);
            items.any(|item| item.kind == ItemKind::Define && item.name() == name)
        };
        found.into_iter().filter(|name| !is_defined(name)).collect()
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
        let mut defined = self.defined(Some(&source.name));
        defined.extend(self.assumed.iter().map(String::as_str));
        active(&source.code, &source.items, defined)
    }

    /// [`Unit::active`] where only the sources define macros.
    pub fn active_as_published(&self, source: &Source) -> Vec<bool> {
        let defined = self.defined(Some(&source.name));
        active(&source.code, &source.items, defined)
    }

    /// The macros that the sources define, but for the source of a name.
    fn defined(&self, without: Option<&str>) -> BTreeSet<&str> {
        let others = self.sources.iter();
        let others = others.filter(|other| Some(other.name.as_str()) != without);
        let items = others.flat_map(|other| &other.items);
        let defines = items.filter(|item| item.kind == ItemKind::Define);
        defines.map(Item::name).collect()
    }

    /// The line of an item in its file, from 1.
    pub fn line(&self, place: Place) -> usize {
        let (source, item) = self.item(place);
        source.line(item.first)
    }
}

/// The headers that were looked for.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    bytes: usize,
}

impl Seen {
    fn has_space(&self) -> bool {
        self.names.len() < MOST_HEADERS && self.bytes < MOST_BYTES
    }

    fn is_new(&mut self, name: &str, bytes: usize) -> bool {
        let is_new = self.names.insert(name.to_owned());
        self.bytes += if is_new { bytes } else { 0 };
        is_new
    }
}

/// What an item includes, unless that comes with CUDA, with PyTorch or with `lab`.
fn wanted<'a>(code: &'a Code<String>, item: &Item, by: Option<&'a str>) -> Option<Wanted<'a>> {
    let line = code.at(item.first);
    let name = included(line).filter(|_| item.kind == ItemKind::Include)?;
    let is_ours = ["lab.h", "lab_problem.h"].contains(&name) || is_for_device(name);
    (!is_ours && !is_of_libraries(name)).then(|| Wanted {
        by,
        name,
        is_quoted: quoted(line).is_some(),
    })
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
