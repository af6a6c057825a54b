//! The host code that launches a kernel.

use super::interval;
use super::origin::Origin;
use super::unit::{Place, Unit, with_word};
use lab_source::cpp::items::{ItemKind, items};
use lab_source::cpp::launches::{Launch, SIGNS, launches};
use lab_source::cpp::macros::Macros;
use lab_source::cpp::{Code, TokenKind};
use lab_source::line_at;

/// A function of the host with a launch in it.
pub struct Host {
    /// Its text, with the macros that launch kernels put in place of their calls.
    pub code: Code<String>,
    /// The launch. Its `at` is a token of `code`.
    pub launch: Launch,
    /// The published file, and the line of the launch. It is that of the function, or of the macro
    /// that makes it, where the launch comes after a macro.
    pub place: String,
    /// The name of the file with the launch.
    pub file: String,
    /// The fields of a struct that the launch passes, as the host code names them, with the numbers
    /// of the arguments that they are.
    pub fields: Vec<(usize, String)>,
}

impl Host {
    /// The first function that launches a kernel: of the published files, or else of other files of
    /// the project.
    pub fn of(unit: &Unit, kernel: &str) -> Option<Host> {
        // A kernel of this name may be another one there.
        let own = definitions(unit, kernel);
        let is_same = |other: &&Unit| {
            let mut all = definitions(other, kernel).into_iter();
            all.all(|text| own.contains(&text))
        };
        let others = unit.launchers.iter().filter(is_same);
        let mut all = [unit].into_iter().chain(others);
        all.find_map(|unit| Host::in_files(unit, kernel))
    }

    fn in_files(unit: &Unit, kernel: &str) -> Option<Host> {
        let mut macros = Macros::default();
        for source in &unit.sources {
            let defines = source
                .items
                .iter()
                .filter(|item| item.kind == ItemKind::Define);
            defines.for_each(|item| macros.add(source.code.at(item.first)));
        }
        let macros = macros.with_text(&SIGNS);
        let mut places: Vec<Place> = unit.places().collect();
        // The published file itself comes before its headers.
        places.sort_by_key(|(source, item)| (source + 1 != unit.sources.len(), *item));
        places.into_iter().find_map(|place| {
            let (source, item) = unit.item(place);
            let is_host = matches!(item.kind, ItemKind::Function | ItemKind::Call)
                && !item.says(&source.code, "__global__");
            if !is_host {
                return None;
            }
            let text = macros.expand(&source.code.text[item.start..item.end]);
            let mut host = Host {
                code: Code::new(text, false),
                launch: Launch::default(),
                place: String::new(),
                file: source.name.clone(),
                fields: Vec::new(),
            };
            let all: Vec<Launch> = launches(&host.code).collect();
            let named = all.iter().find(|launch| launch.kernel == kernel);
            let through = || {
                all.iter()
                    .find_map(|launch| host.through_pointer(launch, kernel))
            };
            host.launch = named.cloned().or_else(through)?;
            let before = &host.code.text[..host.code.tokens[host.launch.at].start];
            let line = match source.code.text[item.start..].starts_with(before) {
                true => line_at(&source.code.text, item.start + before.len()),
                false => unit.line(place),
            };
            host.place = format!("{}, line {line}", source.name);
            Some(host)
        })
    }

    /// The launch of a kernel by a variable, as `auto f = &kernel<4>; f<<<…>>>(…)`.
    fn through_pointer(&self, launch: &Launch, kernel: &str) -> Option<Launch> {
        let [text] = &self.definition_before(&launch.kernel, launch.at, 1)?[..] else {
            return None;
        };
        let code = Code::new(text.as_str(), false);
        let name = (0..code.tokens.len()).find(|at| code.word(*at) == kernel)?;
        let mut found = launch.clone();
        kernel.clone_into(&mut found.kernel);
        if code.at(name + 1) == "<" {
            let end = code.after_angles(name + 1, code.tokens.len()) - 1;
            let parts = code.split(name + 2, end, true).into_iter();
            found.template = parts.map(|(from, to)| code.spelled(from, to)).collect();
        }
        Some(found)
    }

    /// Whether the host code sets a name, or a part of it, again after it was made.
    pub fn is_set_again(&self, name: &str) -> bool {
        let code = &self.code;
        let sets = (self.start()..self.launch.at).filter(|at| {
            let of_part = if code.at(at + 1) == "." {
                at + 3
            } else {
                at + 1
            };
            let is_set = code.at(of_part) == "=" && code.at(of_part + 1) != "=";
            let is_made = matches!(code.at(at + 1), "(" | "{") && self.is_dim3(*at);
            code.word(*at) == name && code.at(at.saturating_sub(1)) != "." && (is_set || is_made)
        });
        // Each part is set once where nothing else sets the whole.
        match self.extents(name) {
            Some(parts) => sets.count() > parts.len(),
            None => sets.count() > 1,
        }
    }

    /// Whether only the default of a parameter of the host function gives a name its value.
    pub fn is_default(&self, name: &str) -> bool {
        let all = items(&self.code);
        let mut around = all.iter();
        let around = around.find(|item| (item.first..item.last).contains(&self.launch.at));
        let Some((open, close)) = around.and_then(|item| item.parameters) else {
            return false;
        };
        let sets = |at: &usize| self.code.word(*at) == name && self.code.at(at + 1) == "=";
        (open..close).any(|at| sets(&at)) && !(close..self.launch.at).any(|at| sets(&at))
    }

    /// The call before the launch that gets the address of a variable, so that what the variable
    /// holds is known at run time only.
    pub fn filled_by(&self, name: &str) -> Option<String> {
        let code = &self.code;
        let is_given = |at: &usize| {
            code.at(*at) == "&" && code.word(at + 1) == name && matches!(code.at(at - 1), "(" | ",")
        };
        let at = (self.start().max(1)..self.launch.at).rev().find(is_given)?;
        let open = (0..at)
            .rev()
            .find(|open| code.at(*open) == "(" && code.partner(*open) > at)?;
        Some(code.spelled(open.saturating_sub(1), code.partner(open) + 1))
    }

    /// The arguments of the first explicit instantiation of the host function with the launch, as
    /// `template void run<float>(…);`, by the names of its template's parameters.
    pub fn instantiated(&self, unit: &Unit) -> Vec<(String, String)> {
        let all = items(&self.code);
        let mut around = all.iter();
        let around = around.find(|item| (item.first..item.last).contains(&self.launch.at));
        let Some(function) = around.filter(|item| item.template.is_some()) else {
            return Vec::new();
        };
        let names = self.code.template_parameters(function).into_iter();
        let names = names.map(|parameter| parameter.name);
        let mut units = [unit].into_iter().chain(&unit.launchers);
        let given = units.find_map(|unit| instantiated(unit, function.name()));
        names.zip(given.unwrap_or_default()).collect()
    }

    /// The parts of a `dim3` that is made empty and whose parts are set one by one.
    pub fn extents(&self, name: &str) -> Option<Vec<String>> {
        let code = &self.code;
        let is_declared = (self.start()..self.launch.at).any(|at| {
            code.word(at) == name && matches!(code.at(at + 1), ";" | ",") && self.is_dim3(at)
        });
        let part = |part: &str| {
            let mut all = self.start()..self.launch.at;
            let at = all.find(|at| {
                code.word(*at) == name
                    && code.at(at + 1) == "."
                    && code.at(at + 2) == part
                    && code.at(at + 3) == "="
            })?;
            Some(code.spelled(at + 4, code.statement_end(at + 4, self.launch.at)))
        };
        let parts = ["x", "y", "z"].map(part);
        let count = parts.iter().rposition(Option::is_some)? + 1;
        let parts = parts.into_iter().take(count);
        is_declared.then(|| parts.map(|part| part.unwrap_or("1".to_owned())).collect())
    }

    /// Puts the fields of a struct in the place of the struct that the launch passes: what the host
    /// code sets them to, else their names.
    pub fn take_apart(&mut self, origins: &[&Origin]) {
        let passed = std::mem::take(&mut self.launch.arguments);
        for (number, origin) in origins.iter().enumerate() {
            let Some(whole) = passed.get(origin.position) else {
                break;
            };
            if !origin.is_field() {
                self.launch.arguments.push(whole.clone());
                continue;
            }
            let path = origin.path[1..].join(".");
            let variable = bare(whole);
            let field = match variable.strip_prefix('*') {
                Some(pointer) => format!("{pointer}->{path}"),
                None => format!("{variable}.{path}"),
            };
            let parts = match dim3(whole) {
                parts if parts.len() > 1 => parts,
                _ => self.definition(&variable).unwrap_or_default(),
            };
            let designated = format!(".{path} =");
            let mut named = parts
                .iter()
                .filter_map(|part| part.strip_prefix(&designated));
            let is_listed = parts.len() > 1 && origin.path.len() == 2;
            let listed = match named.next() {
                None if is_listed => parts.get(origin.index).cloned(),
                text => text.map(str::to_owned),
            };
            let value = self.set_to(&field).or(listed).unwrap_or(field.clone());
            self.launch.arguments.push(value);
            self.fields.push((number, field));
        }
    }

    /// What a field such as `params.n` was last set to before the launch.
    fn set_to(&self, field: &str) -> Option<String> {
        let (code, wanted) = (&self.code, Code::new(field, false));
        let length = wanted.tokens.len();
        let at = (self.start()..self.launch.at).rev().find(|at| {
            (0..length).all(|i| code.at(at + i) == wanted.at(i))
                && code.at(at + length) == "="
                && code.at(at + length + 1) != "="
        })?;
        let end = code.statement_end(at + length + 1, self.launch.at);
        Some(code.spelled(at + length + 1, end))
    }

    /// The kernels of `all` that the function launches, in their order, each once.
    pub fn kernels(&self, all: &[(String, usize)]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for launch in launches(&self.code) {
            let is_known = all.iter().any(|(name, _)| *name == launch.kernel);
            if is_known && !names.contains(&launch.kernel) {
                names.push(launch.kernel);
            }
        }
        names
    }

    /// The first token of the function that launches.
    fn start(&self) -> usize {
        self.start_around(self.launch.at)
    }

    /// The first token of the function around a token.
    fn start_around(&self, at: usize) -> usize {
        let all = items(&self.code);
        let around = all
            .iter()
            .find(|item| (item.first..item.last).contains(&at));
        around.map_or(0, |item| item.first)
    }

    /// What a name was last set to before the launch: several texts for a `dim3`.
    pub fn definition(&self, name: &str) -> Option<Vec<String>> {
        self.definition_before(name, self.launch.at, 4)
    }

    /// `depth` says how many settings such as `n = n + 1` are followed.
    fn definition_before(&self, name: &str, launch: usize, depth: usize) -> Option<Vec<String>> {
        let code = &self.code;
        let at = (self.start_around(launch)..launch).rev().find(|at| {
            let is_set = code.at(at + 1) == "=" && code.at(at + 2) != "=";
            let is_made = code.at(at + 1) == "{" || (code.at(at + 1) == "(" && self.is_dim3(*at));
            code.word(*at) == name && *at > 0 && code.at(at - 1) != "." && (is_set || is_made)
        })?;
        if code.at(at + 1) == "=" {
            let end = code.statement_end(at + 2, launch);
            let parts = code.split(at + 2, end, false);
            let (from, to) = *parts.first()?;
            let text = code.spelled(from, to);
            if !(from..to).any(|at| code.word(at) == name) {
                return Some(dim3(&text));
            }
            let before = self.definition_before(name, at, depth.checked_sub(1)?)?;
            let [before] = before.as_slice() else {
                return None;
            };
            let text = with_word(&text, name, &format!("({before})"));
            return Some(vec![text]).filter(|_| before.len() < LONGEST);
        }
        let parts = code.split(at + 2, code.partner(at + 1), false).into_iter();
        Some(parts.map(|(from, to)| code.spelled(from, to)).collect())
    }

    /// Whether the statement that holds a token declares `dim3`.
    fn is_dim3(&self, at: usize) -> bool {
        let code = &self.code;
        let before = (0..at)
            .rev()
            .take_while(|i| !matches!(code.at(*i), ";" | "{"));
        before.into_iter().any(|i| code.at(i) == "dim3")
    }
}

/// The arguments of the first explicit instantiation of a function, as
/// `template __global__ void k<float, 4>(…);`.
pub fn instantiated(unit: &Unit, name: &str) -> Option<Vec<String>> {
    let items = unit.places().map(|place| unit.item(place));
    let mut of_templates = items.filter(|(source, item)| source.code.at(item.first) == "template");
    of_templates.find_map(|(source, item)| {
        let code = &source.code;
        let is_it = |at: &usize| code.word(*at) == name && code.at(at + 1) == "<";
        let at = (item.first..item.last).find(is_it)?;
        let end = code.after_angles(at + 1, item.last) - 1;
        let parts = code.split(at + 2, end, true).into_iter();
        Some(parts.map(|(from, to)| code.spelled(from, to)).collect())
    })
}

/// The texts of the kernels with a name.
fn definitions<'u>(unit: &'u Unit, kernel: &str) -> Vec<&'u str> {
    let named = unit.named(kernel).iter().map(|place| unit.item(*place));
    let kernels =
        named.filter(|(source, item)| item.body.is_some() && item.says(&source.code, "__global__"));
    let texts = kernels.map(|(source, item)| {
        let first = source.code.tokens[item.first].start;
        &source.code.text[first..item.end]
    });
    texts.collect()
}

/// The parts of `dim3(a, b)`, `{a, b}` and `Params{a, b}`; else the text alone.
pub fn dim3(text: &str) -> Vec<String> {
    let code = Code::new(text, false);
    let open = match (code.at(0), code.at(1)) {
        ("{", _) => 0,
        ("dim3", "(") | (_, "{") => 1,
        _ => return vec![text.to_owned()],
    };
    let parts = code.split(open + 1, code.partner(open), false).into_iter();
    parts.map(|(from, to)| code.spelled(from, to)).collect()
}

/// Most bytes of an argument that is looked into: it may have as many brackets.
const LONGEST: usize = 1000;

/// An argument without brackets and casts around it, and a tensor of PyTorch without the call that
/// gives its pointer.
pub fn bare(text: &str) -> String {
    if text.len() > LONGEST {
        return text.to_owned();
    }
    let code = Code::new(text.to_owned(), false);
    let last = code.tokens.len().saturating_sub(1);
    let inner = |from: usize, to: usize| bare(&code.spelled(from, to));
    if code.at(0) == "(" && last > 0 {
        let close = code.partner(0);
        let is_cast =
            (1..close).all(|at| code.kind(at) == Some(TokenKind::Word) || code.at(at) == "*");
        if close == last {
            return inner(1, last);
        }
        if is_cast && close > 1 && (code.at(close + 1) == "(" || !code.word(close + 1).is_empty()) {
            return inner(close + 1, last + 1);
        }
    }
    if code.at(1) == "<" && code.at(0).ends_with("_cast") {
        let open = code.after_angles(1, last);
        if code.at(open) == "(" && code.partner(open) == last {
            return inner(open + 1, last);
        }
    }
    let is_pointer = matches!(
        code.at(2),
        "data_ptr" | "data" | "get" | "mutable_data_ptr" | "const_data_ptr"
    );
    if code.at(1) == "." && is_pointer {
        return code.at(0).to_owned();
    }
    code.text.trim().to_owned()
}

/// The value of a text as a whole number, with the constants of the file.
pub fn number(unit: &Unit, text: &str) -> Option<i128> {
    interval::constant(text, &|name: &str| unit.constant(name))
}
