//! A kernel of a published source: its template's arguments, and its parameters as problem.toml has
//! them.

use super::host::{Host, bare, instantiated};
use super::launch::template_arguments;
use super::origin::Origin;
use super::types::{self, Element};
use super::unit::{Place, Unit, replaced, with_word};
use lab_source::cpp::Code;
use lab_source::cpp::items::ItemKind;
use lab_source::cpp::signature::Parameter;
use lab_source::cpp::words;
use lab_source::functions::functions;

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor with these elements.
    Tensor(Element),
    /// A whole number: a dimension, or a scalar of this type.
    Whole(&'static str),
    /// A scalar of this type.
    Scalar(&'static str),
}

/// A parameter of the kernel, or a field of a struct that it takes.
#[derive(Clone, Debug)]
pub struct Argument {
    pub parameter: Parameter,
    pub origin: Origin,
    pub kind: Kind,
    /// For an enumeration: its first enumerator, and the value of that.
    pub first: Option<(String, i128)>,
}

/// An argument of the kernel's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateArgument {
    pub name: String,
    pub text: String,
    /// Nothing in the source says it.
    pub is_guess: bool,
}

/// A kernel as one launch uses it.
pub struct Kernel {
    pub place: Place,
    pub name: String,
    pub template: Vec<TemplateArgument>,
    /// What the templates of the structs that it takes stand for.
    pub bound: Vec<TemplateArgument>,
    /// Its body, in which a field such as `p.n` is one word, and those of functions that get the
    /// whole struct.
    pub body: Code<String>,
    pub arguments: Vec<Argument>,
    pub host: Option<Host>,
    /// It is one of several kernels of a list of launches.
    pub is_in_list: bool,
}

/// Why no problem can be written for a kernel.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The file has no kernel with this name. The kernels that it has.
    #[error("it has no kernel {0}; its kernels are {all}", all = .1.join(", "))]
    NoSuchKernel(String, Vec<String>),
    /// A parameter whose type problem.toml does not have: the line of the kernel, the parameter, its
    /// type.
    #[error(
        "line {0}: the parameter `{1}` has the type `{2}`, which no tensor and no scalar of problem.toml has. Write a \
         `__global__` function around it that takes pointers to float, half, integers or bool, and numbers"
    )]
    Parameter(usize, String, String),
    /// The kernel has no pointer.
    #[error(
        "line {0}: the kernel has no pointer to a known type, so it has no output that could be compared"
    )]
    NoTensor(usize),
}

/// The kernels that the published file defines, or its headers if it defines none, with their
/// places.
fn kernels(unit: &Unit) -> Vec<(&str, Place)> {
    let mut found: Vec<(&str, Place)> = Vec::new();
    let is_active = |place: Place| unit.active(place.0)[place.1];
    for place in unit.places() {
        let (source, item) = unit.item(place);
        let is_kernel = item.kind == ItemKind::Function && item.says(&source.code, "__global__");
        if !is_kernel || item.body.is_none() {
            continue;
        }
        let known = found
            .iter_mut()
            .find(|(name, of)| *name == item.name() && of.0 == place.0);
        match known {
            // That of the branch that is taken.
            Some((_, known)) if !is_active(*known) && is_active(place) => *known = place,
            Some(_) => {}
            None => found.push((item.name(), place)),
        }
    }
    let main = unit.sources.len() - 1;
    if found.iter().any(|(_, place)| place.0 == main) {
        found.retain(|(_, place)| place.0 == main);
    }
    found
}

/// The names of the kernels, with their lines.
pub fn names(unit: &Unit) -> Vec<(String, usize)> {
    let found = kernels(unit).into_iter();
    found
        .map(|(name, place)| (name.to_owned(), unit.line(place)))
        .collect()
}

/// The `__global__` functions that are none of [`names`], each with the reason.
pub fn unread(unit: &Unit) -> Vec<String> {
    let is_of_file = |(source, _): Place| source + 1 == unit.sources.len();
    let all = unit.places().filter_map(|place| {
        let (source, item) = unit.item(place);
        let text = &source.code.text[item.start..item.end];
        let of = item.name();
        let line = unit.line(place);
        match item.kind {
            // A header may have macros for other files.
            ItemKind::Define if is_of_file(place) && makes_unread(unit, text, of) => {
                Some(format!("the macro {of} (line {line}) makes one"))
            }
            ItemKind::Type => {
                let found = functions(text).into_iter().find(|it| it.is_kernel)?;
                Some(format!("{} lies in {of} (line {line})", found.name))
            }
            _ => None,
        }
    });
    all.collect()
}

/// Whether a macro makes a kernel, and nothing was read of it.
fn makes_unread(unit: &Unit, text: &str, name: &str) -> bool {
    let mut made = unit.sources.iter().flat_map(|source| &source.made);
    words(text).contains(&"__global__") && !made.any(|made| made.by == name)
}

impl Kernel {
    pub fn read(unit: &Unit, name: &str, is_in_list: bool) -> Result<Kernel, Unfit> {
        let all = kernels(unit);
        let Some((_, place)) = all.iter().find(|(known, _)| *known == name) else {
            let all = all.into_iter().map(|(name, _)| name.to_owned()).collect();
            return Err(Unfit::NoSuchKernel(name.to_owned(), all));
        };
        let (source, item) = unit.item(*place);
        let host = Host::of(unit, name);
        let given = host.as_ref().map(|host| template_arguments(unit, host));
        let given = given.unwrap_or_else(|| {
            let given = instantiated(unit, name).unwrap_or_default();
            given.into_iter().map(Some).collect()
        });
        let of_host = host.as_ref().map(|host| host.instantiated(unit));
        let of_host = of_host.unwrap_or_default();
        // What the template of the function that launches it passes on.
        let passed = |number: usize| {
            let text = host.as_ref()?.launch.template.get(number)?;
            let (_, given) = of_host.iter().find(|(name, _)| name == text)?;
            Some(given.clone())
        };
        let passed: Vec<Option<String>> = (0..).map(passed).take(given.len()).collect();
        let mut kernel = Kernel {
            place: *place,
            name: name.to_owned(),
            template: Vec::new(),
            bound: Vec::new(),
            body: Code::new(String::new(), true),
            arguments: Vec::new(),
            host,
            is_in_list,
        };
        for (number, parameter) in source
            .code
            .template_parameters(item)
            .into_iter()
            .enumerate()
        {
            let given = given.get(number).cloned().flatten();
            let given = given.or_else(|| passed.get(number).cloned().flatten());
            let said = given.or(parameter.default.clone());
            let typed = said.as_deref().map(|text| kernel.resolved(unit, text));
            let known = match (parameter.is_type, typed) {
                (true, typed) => typed
                    .filter(|name| types::element(name).is_some() || unit.type_of(name).is_some()),
                // The type for which PyTorch dispatches is chosen below, too.
                (false, _) => {
                    said.map(|text| kernel.with_arguments(&with_word(&text, "scalar_t", "float")))
                }
            };
            let guess = || guess(parameter.is_type, &parameter.declared, &parameter.name);
            kernel.template.push(TemplateArgument {
                name: parameter.name.clone(),
                is_guess: known.is_none(),
                text: known.unwrap_or_else(guess),
            });
        }
        kernel.read_arguments(unit)?;
        let is_tensor = |argument: &Argument| matches!(argument.kind, Kind::Tensor(_));
        match kernel.arguments.iter().any(is_tensor) {
            true => Ok(kernel),
            false => Err(Unfit::NoTensor(unit.line(kernel.place))),
        }
    }

    fn read_arguments(&mut self, unit: &Unit) -> Result<(), Unfit> {
        let leaves = self.leaves(unit);
        if let Some(host) = &mut self.host {
            host.take_apart(&leaves.iter().map(|(_, origin)| origin).collect::<Vec<_>>());
        }
        self.body = self.flat_body(unit, &leaves);
        for (parameter, origin) in leaves {
            let first = self.first_of(unit, &parameter);
            let kind = match first {
                Some(_) => Some(Kind::Scalar("i32")),
                None => self.kind(unit, &parameter, &origin),
            };
            let kind = kind.ok_or_else(|| {
                let declared = format!("{}{}", parameter.base, "*".repeat(parameter.pointers));
                Unfit::Parameter(origin.line, origin.path.join("."), declared)
            })?;
            self.arguments.push(Argument {
                parameter,
                origin,
                kind,
                first,
            });
        }
        Ok(())
    }

    /// What a parameter is, by a name: in a list of kernels the variable that the host code passes,
    /// which other kernels may get too.
    pub fn identity(&self, number: usize) -> String {
        let passed = || {
            let argument = self.host.as_ref()?.launch.arguments.get(number)?;
            let name = bare(argument);
            let is_name = name
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
            (is_name && !name.starts_with(|letter: char| letter.is_ascii_digit())).then_some(name)
        };
        let passed = self.is_in_list.then(passed).flatten();
        passed.unwrap_or_else(|| self.arguments[number].origin.word())
    }

    fn kind(&self, unit: &Unit, parameter: &Parameter, origin: &Origin) -> Option<Kind> {
        let base = self.resolved(unit, &parameter.base);
        match parameter.pointers {
            1 if base == "void" => self.first_cast(unit, &origin.word()).map(Kind::Tensor),
            1 => self.element(unit, &base).map(Kind::Tensor),
            0 if base != "bool" && types::is_whole(&base) => types::scalar(&base).map(Kind::Whole),
            0 => types::scalar(&base).map(Kind::Scalar),
            _ => None,
        }
    }

    /// A type with the template's arguments and the file's aliases put in place.
    pub fn resolved(&self, unit: &Unit, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..4 {
            if types::element(&name).is_some() {
                break;
            }
            let mut bound = self.template.iter().chain(&self.bound);
            let bound = bound.find(|argument| argument.name == name);
            let alias = || unit.type_of(&name).is_none().then(|| unit.alias(&name));
            let next = bound
                .map(|argument| argument.text.clone())
                .or_else(|| alias().flatten());
            match next {
                Some(next) if next != name => name = next,
                _ => break,
            }
        }
        name
    }

    /// A text in which the template's arguments take the place of its parameters, also of those of a
    /// template of the host that passes them on.
    pub fn with_arguments(&self, text: &str) -> String {
        let given = self.host.as_ref().map(|host| host.launch.template.iter());
        let given: Vec<&String> = given.into_iter().flatten().collect();
        replaced(text, |code, at| {
            let word = code.word(at);
            let own = self.template.iter().find(|argument| argument.name == word);
            let passed = || {
                let number = given.iter().position(|text| *text == word)?;
                self.template.get(number)
            };
            let bound = own.or_else(|| passed().filter(|_| !word.is_empty()));
            bound.map(|argument| argument.text.clone())
        })
    }
}

/// What a parameter of a template is where nothing says so.
fn guess(is_type: bool, declared: &str, name: &str) -> String {
    let lower = name.to_lowercase();
    let counts = ["thread", "block", "size", "tile"];
    let text = match (is_type, declared) {
        (true, _) => "float",
        (_, declared) if declared.contains("bool") => "false",
        _ if counts.iter().any(|part| lower.contains(part)) => "256",
        _ => "1",
    };
    text.to_owned()
}
