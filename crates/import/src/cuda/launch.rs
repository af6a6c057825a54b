//! The launch statement, from the launch in the host code.

use super::headers::number_of_pytorch;
use super::host::{Host, bare, dim3};
use super::host_function::returned;
use super::interval::TYPES;
use super::slice::is_named_constant;
use super::statement::{Named, Shared, Statement};
use super::threads::{THREADS, sounds_like_threads, threads};
use super::types::element;
use super::unit::Unit;
use lab_source::cpp::items::ItemKind;
use lab_source::cpp::{Code, TokenKind};

/// Translates the launch of a host function. `None` if it has what device code cannot say. The
/// kernel's template has `known` numbers for names.
pub fn statement(
    unit: &Unit,
    host: &Host,
    parameters: &[Named],
    known: &[(String, i128)],
    shared: &Shared,
) -> Option<Statement> {
    let others = shared;
    let mut translation = Translation::new(unit, host, parameters, others);
    let part = |number: usize| host.launch.configuration.get(number).cloned();
    let each = |translation: &mut Translation, number: usize| -> Vec<String> {
        let text = part(number).unwrap_or_default();
        let parts = translation.parts(&text);
        parts
            .iter()
            .map(|text| bare(&translation.text(text, 8)))
            .collect()
    };
    let mut block = each(&mut translation, 1);
    let mut in_block = std::mem::take(&mut translation.unknown);
    // The grid may be known all the same.
    if std::mem::take(&mut translation.is_unread) {
        block = vec![THREADS.to_owned()];
        in_block = block.clone();
    }
    let shared = part(2).map(|text| bare(&translation.text(&text, 8)));
    // What cannot be read of the shared memory leaves the rest as it is.
    let is_known = translation.unknown.is_empty() && !translation.is_unread;
    let shared = shared.filter(|_| is_known);
    translation.unknown.clear();
    translation.is_unread = false;
    let grid = each(&mut translation, 0);
    let in_grid = std::mem::take(&mut translation.unknown);
    let (guessed, dims): (Vec<String>, Vec<String>) = in_grid
        .into_iter()
        .filter(|name| !in_block.contains(name))
        .partition(|name| sounds_like_threads(name) || others.guesses.contains_key(name));
    let guesses = in_block.into_iter().chain(guessed);
    let directions = block.iter().filter(|extent| *extent != "1").count();
    if translation.is_unread || grid.is_empty() || block.is_empty() {
        return None;
    }
    Some(Statement {
        found: Some(origin(host)),
        grid,
        block,
        shared: shared.filter(|text| text != "0"),
        guesses: guesses
            .map(|name| {
                let guessed = others.guesses.get(&name).copied();
                let guessed = guessed.unwrap_or_else(|| threads(&name, directions, known));
                (name, guessed)
            })
            .collect(),
        dims,
        several: translation.several,
        used: translation.used,
        constants: translation.constants,
        shared_names: translation.shared_names,
    })
}

/// Where a launch is, and its text.
pub fn origin(host: &Host) -> (String, String) {
    let text = host.launch.configuration.join(", ");
    (
        host.place.clone(),
        format!("{}<<<{text}>>>", host.launch.kernel),
    )
}

/// The arguments of the kernel's template as constants: the text, or `None` if it is none.
pub fn template_arguments(unit: &Unit, host: &Host) -> Vec<Option<String>> {
    let is_type = |text: &str| {
        let is_known = element(text).is_some() || unit.type_of(text).is_some();
        is_known || unit.alias(text).is_some()
    };
    let is_function = |text: &str| {
        let name = text.split('<').next().unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or_default().trim();
        let mut items = unit.places().map(|place| unit.item(place).1);
        items.any(|item| item.kind == ItemKind::Function && item.name() == name)
    };
    let alone = Shared::default();
    let each = host.launch.template.iter().map(|text| {
        if is_type(text) || is_function(text) || ["true", "false"].contains(&text.as_str()) {
            return Some(text.clone());
        }
        let mut translation = Translation::new(unit, host, &[], &alone);
        let text = translation.text(text, 8);
        (translation.unknown.is_empty() && !translation.is_unread).then_some(text)
    });
    each.collect()
}

/// What `lab.h` calls the number of the device's multiprocessors.
const SMS: &str = "device.sms";

/// An expression as an operand.
fn bracketed(text: String) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_.:".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("({text})")
    }
}

struct Translation<'a> {
    unit: &'a Unit,
    host: &'a Host,
    parameters: &'a [Named],
    shared: &'a Shared,
    shared_names: Vec<String>,
    /// The arguments of the launch, without casts, with their numbers.
    arguments: Vec<(usize, String)>,
    unknown: Vec<String>,
    used: Vec<usize>,
    constants: Vec<String>,
    several: Vec<String>,
    /// The text holds what device code cannot say.
    is_unread: bool,
}

impl<'a> Translation<'a> {
    fn new(
        unit: &'a Unit,
        host: &'a Host,
        parameters: &'a [Named],
        shared: &'a Shared,
    ) -> Translation<'a> {
        let arguments = host.launch.arguments.iter().enumerate();
        Translation {
            unit,
            host,
            parameters,
            shared,
            shared_names: Vec::new(),
            arguments: arguments
                .map(|(number, text)| (number, bare(text)))
                .chain(host.fields.iter().cloned())
                .collect(),
            unknown: Vec::new(),
            used: Vec::new(),
            constants: Vec::new(),
            several: Vec::new(),
            is_unread: false,
        }
    }

    /// The extents of a part of the configuration.
    fn parts(&mut self, text: &str) -> Vec<String> {
        let parts = dim3(text);
        match parts.as_slice() {
            [name] => {
                let name = bare(name);
                self.note_several(&name);
                let defined = self.host.definition(&name);
                let defined = defined.filter(|parts| parts.len() > 1);
                defined
                    .or_else(|| self.host.extents(&name))
                    .unwrap_or(parts)
            }
            _ => parts,
        }
    }

    /// Writes an expression of the host as device code.
    fn text(&mut self, text: &str, depth: usize) -> String {
        let text = bare(text);
        let code = Code::new(text.as_str(), false);
        let (mut out, mut at) = (String::new(), 0);
        while at < code.tokens.len() {
            let has_gap = at > 0 && code.tokens[at - 1].end < code.tokens[at].start;
            if has_gap {
                out.push(' ');
            }
            let (piece, next) = self.piece(&code, at, depth);
            out += &piece;
            at = next.max(at + 1);
        }
        out
    }

    /// The translation of what begins at a token, and the token to go on with.
    fn piece(&mut self, code: &Code<&str>, at: usize, depth: usize) -> (String, usize) {
        if let Some((number, end)) = self.argument(code, at)
            && let Some(text) = self.parameter(number)
        {
            return (text, end);
        }
        let word = code.word(at);
        if word.is_empty() || TYPES.contains(&word) {
            return (code.at(at).to_owned(), at + 1);
        }
        let mut last = at;
        while code.at(last + 1) == ":" && code.at(last + 2) == ":" {
            last += 3;
        }
        // The bracket of a call, also of `f<int>(…)`.
        let open = match code.at(last + 1) {
            "<" if !word.ends_with("_cast") => code.after_angles(last + 1, code.tokens.len()),
            _ => last + 1,
        };
        if last > at {
            // `std::min`, and `Packed::size` of a type that the file has.
            if word == "std" || code.at(open) == "(" {
                return self.piece(code, last, depth);
            }
            self.constants.push(code.word(last - 3).to_owned());
            return (code.spelled(at, last + 1), last + 1);
        }
        if code.at(open) == "(" {
            return self.call(code, at, open, depth);
        }
        // What an array of the host holds.
        self.is_unread |= code.at(at + 1) == "[";
        if code.at(at + 1) == "." {
            return self.member(code, at, depth);
        }
        if code.at(at + 1) == "<" && word.ends_with("_cast") {
            let open = code.after_angles(at + 1, code.tokens.len());
            return (code.spelled(at, open), open);
        }
        (self.name(word, depth), at + 1)
    }

    /// The number of the launch's argument that stands here, and the token behind it.
    fn argument(&self, code: &Code<&str>, at: usize) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for (number, argument) in &self.arguments {
            let wanted = Code::new(argument.as_str(), false);
            let length = wanted.tokens.len();
            let is_same = length > 0 && (0..length).all(|i| code.at(at + i) == wanted.at(i));
            let is_number = wanted.kind(0) == Some(TokenKind::Number);
            if is_same && !is_number && best.is_none_or(|(_, end)| at + length > end) {
                best = Some((*number, at + length));
            }
        }
        best
    }

    fn parameter(&mut self, number: usize) -> Option<String> {
        let dim = self.parameters.get(number)?.dim.as_ref()?;
        self.used.push(number);
        Some(format!("dims.{dim}"))
    }

    /// The call of a function at a token, whose arguments begin at `open`.
    fn call(&mut self, code: &Code<&str>, at: usize, open: usize, depth: usize) -> (String, usize) {
        let (name, close) = (code.word(at), code.partner(open));
        let parts = code.split(open + 1, close, false).into_iter();
        let parts: Vec<String> = parts.map(|(from, to)| code.spelled(from, to)).collect();
        let lower = name.to_lowercase().replace('_', "");
        let divides = [
            "ceildiv",
            "divup",
            "cdiv",
            "divceil",
            "divideup",
            "ceildivide",
        ];
        let text = match (name, parts.as_slice()) {
            ("sizeof", _) => code.spelled(at, close + 1),
            (_, [a, b]) if divides.iter().any(|known| lower.contains(known)) => {
                let (a, b) = (self.text(a, depth), self.text(b, depth));
                format!("(({a}) + ({b}) - 1) / ({b})")
            }
            ("min" | "MIN" | "max" | "MAX", [a, b]) => {
                let (a, b) = (self.text(a, depth), self.text(b, depth));
                format!("{}((int)({a}), (int)({b}))", name.to_lowercase())
            }
            // Of a whole number NVRTC knows several.
            ("ceil", [a]) => format!("ceil((double)({}))", self.text(a, depth)),
            ("ceilf" | "int" | "unsigned", [a]) => format!("{name}({})", self.text(a, depth)),
            // A function of the host cannot be called on the device.
            _ => match returned(self.unit, name, &parts).filter(|_| depth > 0 && open == at + 1) {
                Some(text) => format!("({})", self.text(&text, depth - 1)),
                None => {
                    self.is_unread = true;
                    name.to_owned()
                }
            },
        };
        (text, close + 1)
    }

    /// `grid.x`, or a call of a tensor as `x.size(0)`.
    fn member(&mut self, code: &Code<&str>, at: usize, depth: usize) -> (String, usize) {
        let (name, member) = (code.word(at), code.word(at + 2));
        let extent = ["x", "y", "z"].iter().position(|known| *known == member);
        let defined = self.host.definition(name);
        let part = extent
            .zip(defined)
            .and_then(|(extent, parts)| parts.get(extent).cloned());
        if member == "multiProcessorCount" {
            return (SMS.to_owned(), at + 3);
        }
        if let Some(part) = part.filter(|_| depth > 0) {
            return (format!("({})", self.text(&part, depth - 1)), at + 3);
        }
        let end = match code.at(at + 3) {
            "(" => code.partner(at + 3) + 1,
            _ => at + 3,
        };
        // The size of a tensor, or a field that the kernel does not use.
        let size = match end > at + 3 || self.by_name(member).is_some() {
            true => format!("{name}_{member}"),
            false => member.to_owned(),
        };
        self.add_unknown(&size);
        (size, end)
    }

    fn note_several(&mut self, name: &str) {
        let is_open = self.host.is_set_again(name) || self.host.is_default(name);
        if is_open && !self.several.iter().any(|known| known == name) {
            self.several.push(name.to_owned());
        }
    }

    fn name(&mut self, name: &str, depth: usize) -> String {
        // In a list a variable of the host is the same everywhere.
        if self.shared.numbers.contains_key(name) && self.unit.value_of(name).is_none() {
            if !self.shared_names.iter().any(|known| known == name) {
                self.shared_names.push(name.to_owned());
            }
            return name.to_owned();
        }
        // What a call fills is not what the variable was set to before.
        let filled = self.host.filled_by(name);
        if filled
            .as_ref()
            .is_some_and(|call| call.contains("MultiProcessorCount"))
        {
            return SMS.to_owned();
        }
        self.note_several(name);
        let defined = self.host.definition(name);
        let defined = defined.filter(|_| depth > 0 && filled.is_none());
        if let Some([value]) = defined.as_deref() {
            let known = self.unknown.len();
            let text = self.text(value, depth - 1);
            if self.unknown.len() == known || self.by_name(name).is_none() {
                // A name of a tensor's size is clearer than the call that gives it.
                let is_call = value.contains(".size(") || value.contains(".numel(");
                if self.unknown.len() > known && is_call {
                    self.unknown.truncate(known);
                    return self.add_unknown(name);
                }
                return bracketed(text);
            }
            self.unknown.truncate(known);
        }
        if let Some(number) = self.by_name(name) {
            return self
                .parameter(number)
                .unwrap_or_else(|| self.add_unknown(name));
        }
        if let Some(value) = number_of_pytorch(name) {
            return value.to_owned();
        }
        match self.unit.value_of(name) {
            Some(_) if is_named_constant(self.unit, name) => {
                self.constants.push(name.to_owned());
                self.unit.scoped_value(name)
            }
            // A variable of the host, or a constant of the file that launches the kernel.
            Some(value) if depth > 0 => {
                let mut others = self.unit.launchers.iter();
                let is_constant = others.any(|other| is_named_constant(other, name));
                if !is_constant && !self.several.iter().any(|known| known == name) {
                    self.several.push(name.to_owned());
                }
                bracketed(self.text(&value, depth - 1))
            }
            _ => self.add_unknown(name),
        }
    }

    /// The number of the kernel's whole parameter with this name.
    fn by_name(&self, name: &str) -> Option<usize> {
        let mut named = self.parameters.iter();
        named.position(|parameter| parameter.name == name && parameter.dim.is_some())
    }

    fn add_unknown(&mut self, name: &str) -> String {
        if !self.unknown.iter().any(|known| known == name) {
            self.unknown.push(name.to_owned());
        }
        name.to_owned()
    }
}
