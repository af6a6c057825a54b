//! CUDA C++: `__global__` functions and the host code around them.

mod body;
mod conditions;
mod cub;
mod emission;
mod guess;
mod headers;
mod host;
mod host_function;
mod interval;
mod kernel;
mod kernel_text;
mod launch;
mod list;
mod made;
mod memory;
mod order;
mod origin;
mod parts;
pub(crate) mod plan;
pub(crate) mod problem_text;
mod reading;
mod reference;
pub(crate) mod roles;
mod shapes;
mod slice;
mod statement;
mod structs;
mod threads;
mod torch;
pub(crate) mod types;
mod unit;
mod uses;

pub use emission::LeftOut;
pub use kernel::Unfit;
pub use reading::{Absent, Header, ReadHeader, Wanted};
pub(crate) use unit::with_word;

use crate::names::listed;
use crate::{NewFile, Problem};
use host::Host;
use itertools::Itertools;
use kernel_text::EntryName;
use lab_source::cpp::items::ItemKind;
use list::Stage;
use plan::{Plan, Tensor};
use problem_text::Head;
use reference::Reference;
use slice::Slice;
use std::collections::BTreeSet;
use unit::{Place, Source, Unit};

/// A published file.
pub struct Published(Unit);

/// What a parameter of an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A tensor: its type in problem.toml, and whether it is an input alone.
    Tensor(&'static str, bool),
    /// A scalar: its type in problem.toml.
    Scalar(&'static str),
    Dim,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryParameter {
    /// The name in problem.toml, and in the launch statement.
    pub name: String,
    pub what: What,
}

impl Published {
    /// Reads a file with the local headers that it includes. `name` is the file's name.
    pub fn read(name: &str, text: &str, header: ReadHeader) -> Published {
        Published(Unit::read(name, text, header))
    }

    /// Whether the host code that was read launches a kernel.
    pub fn is_launched(&self, kernel: &str) -> bool {
        Host::of(&self.0, kernel).is_some()
    }

    /// Adds another file of the project that launches its kernels.
    pub fn add_launching(&mut self, name: &str, text: &str, header: ReadHeader) {
        self.0.launchers.push(Unit::read(name, text, header));
    }

    /// The `__global__` functions that it defines, each with its line.
    pub fn kernels(&self) -> Vec<(String, usize)> {
        kernel::names(&self.0)
    }

    /// The `__global__` functions that are not read, with the reason: those that a macro makes, and
    /// those in a struct.
    pub fn unread(&self) -> Vec<String> {
        kernel::unread(&self.0)
    }

    /// The parameters of the entry that a problem for this kernel has, in their order.
    pub fn parameters(&self, kernel: &str) -> Result<Vec<EntryParameter>, Unfit> {
        let stages = list::stages(&self.0, &[kernel.to_owned()])?;
        let plan = list::merged(&stages);
        let tensors = plan.tensors.iter().map(|tensor| {
            let what = What::Tensor(tensor.element.name, tensor.role == roles::Role::In);
            (&tensor.name, what)
        });
        let scalars = plan.scalars.iter();
        let scalars = scalars.map(|scalar| (&scalar.name, What::Scalar(scalar.kind)));
        let dims = plan.dims.iter().map(|dim| (&dim.name, What::Dim));
        let all = tensors.chain(scalars).chain(dims);
        let all = all.map(|(name, what)| EntryParameter {
            name: name.clone(),
            what,
        });
        Ok(all.collect())
    }

    /// The problem for one of its kernels, or for several that are launched in this order. `name` is
    /// that of the new folder, `origin` says where the published file will be, relative to it.
    pub fn problem(&self, kernels: &[String], name: &str, origin: &str) -> Result<Problem, Unfit> {
        let unit = &self.0;
        let stages = list::stages(unit, kernels)?;
        let plan = list::merged(&stages);
        let needed: Vec<String> = stages
            .iter()
            .flat_map(|stage| {
                let template = stage.kernel.template.iter();
                let constants = stage.plan.launch.constants.iter().cloned();
                constants.chain(template.map(|argument| argument.text.clone()))
            })
            .collect();
        let places: Vec<Place> = stages.iter().map(|stage| stage.kernel.place).collect();
        let slice = Slice::of(unit, &places, &needed);
        let entry = EntryName::of(unit, &stages, name, &slice);
        let reference = Reference::of(unit, &stages, &plan, &entry.name);
        let published = kernels.join(", ");
        let head = Head {
            name,
            kernel: &published,
            entry: &entry.name,
            file: &unit.main().name,
            about_dims: "# The entry gets the pointers of the tensors, then the scalars, then the dimensions as int.\n",
            is_slow: reference.from.is_some(),
        };
        let kernel_cu = kernel_text::text(unit, &stages, &plan, &slice, &entry, origin);
        let files = vec![
            NewFile::new("problem.toml", problem_text::text(&plan, &head)),
            NewFile::new("kernel.cu", kernel_cu),
            NewFile::new("reference.cu", reference.text.clone()),
        ];
        Ok(Problem {
            entry: entry.name,
            files,
            notes: notes(unit, &stages, &plan, &slice, &reference),
            lacks_reference: reference.from.is_none(),
        })
    }
}

/// The text of kernel.cu with another name for a dimension in its launch statement.
pub fn with_dim(text: &str, name: &str, by: &str) -> String {
    unit::replaced(text, |code, at| {
        let is_dim = at > 1 && code.at(at - 1) == "." && code.at(at - 2) == "dims";
        (is_dim && code.word(at) == name).then(|| by.to_owned())
    })
}

/// What a person should know of the new files.
fn notes(
    unit: &Unit,
    stages: &[Stage],
    plan: &Plan,
    slice: &Slice,
    reference: &Reference,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(from) = &reference.from {
        notes.push(format!(
            "reference.cu calls {from} of the published file, on one thread"
        ));
    }
    let tensors = |is_of: fn(&Tensor) -> bool| {
        let of = plan.tensors.iter().filter(move |tensor| is_of(tensor));
        listed(of.map(|tensor| &tensor.name))
    };
    let guessed = tensors(|tensor| tensor.is_guess);
    notes.extend(guessed.map(|names| format!("problem.toml: the shape of {names} is a guess")));
    let passed = tensors(|tensor| tensor.is_role_guess);
    notes.extend(passed.map(|names| {
        format!("problem.toml: the role of {names} is a guess: the kernel passes it on")
    }));
    notes.extend(tensors(|tensor| tensor.is_between).map(|names| {
        format!(
            "problem.toml: {names} is not compared, because only a later kernel reads it: a guess"
        )
    }));
    for Stage { kernel, plan } in stages {
        let of = match stages.len() {
            1 => String::new(),
            _ => format!(" of {}", kernel.name),
        };
        let guesses = plan.launch.guesses.iter().map(|(name, _)| name);
        let shared = "launch.shared_bytes".to_owned();
        let shared = Some(&shared).filter(|_| kernel_text::is_shared_guessed(unit, kernel, plan));
        let names = listed(guesses.chain(&plan.launch.several).chain(shared));
        if plan.is_launch_guessed {
            notes.push(format!("kernel.cu: the launch statement{of} is a guess"));
        } else if let Some(names) = names {
            notes.push(format!(
                "kernel.cu: {names} in the launch statement{of} is a guess"
            ));
        }
        let template = kernel.template.iter().filter(|argument| argument.is_guess);
        let template = listed(template.map(|argument| &argument.name));
        notes
            .extend(template.map(|names| {
                format!("kernel.cu: {names} of the kernel's template{of} is a guess")
            }));
    }
    if let [Stage { kernel, .. }] = stages
        && let Some(host) = &kernel.host
        && let all = kernel::names(unit)
        && let beside = host.kernels(&all)
        && beside.len() > 1
    {
        notes.push(format!(
            "the function that launches it ({}) launches {} in turn: `--entry {}` makes one problem of them",
            host.place,
            beside.join(", "),
            beside.join(",")
        ));
    }
    notes.extend(launch_notes(unit, stages));
    notes.extend(memory::notes(unit, stages, slice));
    notes.extend(cub_note(unit, slice));
    notes.extend(header_notes(unit, slice));
    let left_out = emission::left_out(unit, slice);
    if !left_out.is_empty() {
        let runs = left_out.iter().map(shown).join("; ");
        notes.push(format!("left out of kernel.cu, by line: {runs}"));
    }
    notes
}

/// Which other files the launches are in, and which macros kernel.cu defines.
fn launch_notes(unit: &Unit, stages: &[Stage]) -> Vec<String> {
    let is_own = |file: &str| unit.sources.iter().any(|source| source.name == file);
    let hosts = stages.iter().filter_map(|stage| stage.kernel.host.as_ref());
    let others = hosts.filter(|host| !is_own(&host.file));
    let places = listed(others.map(|host| &host.place).unique());
    let places = places.map(|places| format!("kernel.cu: the launch is that of {places}"));
    let assumed = listed(kernel_text::assumed(unit, stages));
    let assumed = assumed.map(|names| {
        format!("kernel.cu defines {names}: without, the published file does not have what the kernel needs")
    });
    places.into_iter().chain(assumed).collect()
}

/// Which headers kernel.cu has code of, and which were not read.
fn header_notes(unit: &Unit, slice: &Slice) -> Vec<String> {
    let mut notes = Vec::new();
    let is_code = |place: &Place| {
        let is_include = unit.item(*place).1.kind == ItemKind::Include;
        slice.keeps(*place) && !is_include
    };
    let files: BTreeSet<usize> = unit
        .places()
        .filter(is_code)
        .map(|(file, _)| file)
        .collect();
    let headers = unit.sources.iter().enumerate();
    let headers = headers.filter(|(file, _)| file + 1 < unit.sources.len() && files.contains(file));
    let headers: Vec<&Source> = headers.map(|(_, header)| header).collect();
    let names = listed(headers.iter().map(|header| &header.name));
    notes.extend(names.map(|names| format!("kernel.cu has code of the headers {names}")));
    for header in headers {
        if let Some(said) = &header.guessed_from {
            notes.push(format!("that {said} means {} is a guess: it is the only one of the project, or the nearest", header.name));
        }
    }
    let of = |wanted: &Absent| {
        let of = unit.missing.iter().filter(|(_, why)| why == wanted);
        listed(of.map(|(name, _)| name))
    };
    notes.extend(of(&Absent::Nowhere).map(|names| {
        format!("not in the project of the published file: {names}. What the kernel uses of them is missing in kernel.cu; `-I DIR` names a folder of headers")
    }));
    notes.extend(of(&Absent::Outside).map(|names| {
        format!("outside of the project of the published file, and not read: {names}. `-I DIR` allows a folder")
    }));
    notes.extend(
        of(&Absent::TooMany)
            .map(|names| format!("not read, because there are too many headers: {names}")),
    );
    for (name, why) in &unit.missing {
        if let Absent::Several(places) = why {
            notes.push(format!(
                "{name} may be {}, and was not read: `-I DIR` names the folder of the right one",
                places.join(" or ")
            ));
        }
    }
    notes
}

/// What became of the header that includes all of CUB.
fn cub_note(unit: &Unit, slice: &Slice) -> Option<String> {
    let headers = emission::cub_headers(unit, slice)?;
    let instead = listed(&headers).map_or_else(
        || "names no header for what the kernel uses of it: write it".to_owned(),
        |headers| format!("has {headers} in its place"),
    );
    Some(format!("NVRTC refuses {}: kernel.cu {instead}", cub::WHOLE))
}

fn shown(run: &LeftOut) -> String {
    let lines = match run.first == run.last {
        true => run.first.to_string(),
        false => format!("{}–{}", run.first, run.last),
    };
    let names = match run.names.as_slice() {
        [only] => only.clone(),
        [first, second] => format!("{first}, {second}"),
        [first, .., last] => format!("{first} … {last}"),
        [] => String::new(),
    };
    format!("{lines} {names}")
}

#[cfg(test)]
mod tests;
