//! The text of kernel.cu: the kernel, its entry and its launch statement.

use super::emission::{self, Entry};
use super::headers::needed;
use super::kernel::Kernel;
use super::plan::{Plan, Scalar};
use super::roles::Role;
use super::slice::Slice;
use super::types::cpp;
use super::unit::Unit;
use lab_source::cpp::Code;

/// The entry's name, and whether the kernel itself is the entry.
pub struct EntryName {
    pub name: String,
    pub is_kernel: bool,
}

impl EntryName {
    pub fn of(unit: &Unit, kernel: &Kernel, plan: &Plan, slice: &Slice) -> EntryName {
        if is_plain(unit, kernel, plan) {
            return EntryName {
                name: kernel.name.clone(),
                is_kernel: true,
            };
        }
        let short = kernel.name.strip_suffix("_kernel").unwrap_or(&kernel.name);
        let is_taken = |name: &str| {
            let mut kept = unit.places().filter(|place| slice.keeps(*place));
            kept.any(|place| unit.item(place).1.names.iter().any(|known| known == name))
        };
        let mut name = short.to_owned();
        if is_taken(&name) {
            name += "_entry";
        }
        EntryName {
            name,
            is_kernel: false,
        }
    }
}

/// Whether the kernel has the parameters of problem.toml in their order and with their types, so
/// that `extern "C"` makes it the entry.
fn is_plain(unit: &Unit, kernel: &Kernel, plan: &Plan) -> bool {
    let (_, item) = unit.item(kernel.place);
    let order = plan.tensors.iter().map(|tensor| tensor.number);
    let order = order.chain(plan.scalars.iter().map(|scalar| scalar.number));
    let dims = plan.dims.iter().map(|dim| dim.number.unwrap_or(usize::MAX));
    let is_same = |base: &str, cpp: &str| base == cpp;
    item.template.is_none()
        && item.path.is_empty()
        && order.chain(dims).eq(0..kernel.arguments.len())
        && plan
            .tensors
            .iter()
            .all(|t| t.element.width == 1 && !t.element.is_cast)
        && plan
            .scalars
            .iter()
            .all(|s| is_same(&base(unit, kernel, s.number), cpp(s.kind)))
        && plan
            .dims
            .iter()
            .all(|d| d.number.is_some_and(|n| base(unit, kernel, n) == "int"))
}

/// The type of a parameter, with aliases put in place.
fn base(unit: &Unit, kernel: &Kernel, number: usize) -> String {
    let base = kernel.resolved(unit, &kernel.arguments[number].parameter.base);
    match base.as_str() {
        "int32_t" => "int".to_owned(),
        _ => base,
    }
}

/// The parameters of an entry. `is_kernel` says whether tensors are `const` as in the published
/// kernel; else inputs are.
pub fn parameters(kernel: &Kernel, plan: &Plan, is_kernel: bool) -> String {
    let tensors = plan.tensors.iter().map(|tensor| {
        let published = &kernel.arguments[tensor.number].parameter;
        let is_const = if is_kernel {
            published.is_const
        } else {
            tensor.role == Role::In
        };
        let word = if is_const { "const " } else { "" };
        format!("{word}{}* {}", tensor.element.cpp, tensor.name)
    });
    let scalar = |scalar: &Scalar| format!("{} {}", cpp(scalar.kind), scalar.name);
    let scalars = plan.scalars.iter().map(scalar);
    let dims = plan.dims.iter().map(|dim| match dim.number {
        None if is_kernel => format!("[[maybe_unused]] int {}", dim.name),
        _ => format!("int {}", dim.name),
    });
    tensors
        .chain(scalars)
        .chain(dims)
        .collect::<Vec<String>>()
        .join(", ")
}

/// The text of kernel.cu. `origin` says where the published file is.
pub fn text(
    unit: &Unit,
    kernel: &Kernel,
    plan: &Plan,
    slice: &Slice,
    entry: &EntryName,
    origin: &str,
) -> String {
    let form = if entry.is_kernel {
        Entry::ExternC
    } else {
        Entry::Called
    };
    let body = emission::text(unit, slice, kernel.place, form);
    let mut out = format!(
        "// {} of {}.\n\
         // `lab init` left out the host code and what the kernel does not use: {origin} has all of it.\n#include \"lab.h\"\n\n{}{}\n",
        kernel.name,
        unit.main().name,
        needed(&format!("{body}{}", parameters(kernel, plan, true))),
        body.trim()
    );
    if !entry.is_kernel {
        out += &wrapper(unit, kernel, plan, &entry.name);
    }
    out + &launch(unit, kernel, plan, &entry.name)
}

/// The function that calls the kernel with its own arguments.
fn wrapper(unit: &Unit, kernel: &Kernel, plan: &Plan, entry: &str) -> String {
    let (source, item) = unit.item(kernel.place);
    let code = &source.code;
    let open = item.parameters.map_or(item.last, |(open, _)| open);
    let attributes: String = (item.first..open)
        .filter(|at| ["__launch_bounds__", "__cluster_dims__"].contains(&code.at(*at)))
        .map(|at| kernel.with_arguments(&code.spelled(at, code.partner(at + 1) + 1)) + " ")
        .collect();
    let path: String = item
        .path
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| format!("{name}::"))
        .collect();
    let guesses: Vec<&str> = kernel
        .template
        .iter()
        .filter(|t| t.is_guess)
        .map(|t| t.name.as_str())
        .collect();
    let arguments: Vec<&str> = kernel
        .template
        .iter()
        .map(|argument| argument.text.as_str())
        .collect();
    let template = match arguments.is_empty() {
        true => String::new(),
        false => format!("<{}>", arguments.join(", ")),
    };
    let passed: Vec<String> = (0..kernel.arguments.len())
        .map(|number| passed(unit, kernel, plan, number))
        .collect();
    let note = match guesses.is_empty() {
        true => String::new(),
        false => format!(
            "// A guess: no launch in the file says {}.\n",
            guesses.join(", ")
        ),
    };
    format!(
        "\n// The entry takes tensors, scalars and dimensions in the order of problem.toml.\n{note}\
         extern \"C\" __global__ void {attributes}{entry}({}) {{\n    {path}{}{template}({});\n}}\n",
        parameters(kernel, plan, true),
        kernel.name,
        passed.join(", ")
    )
}

/// What the wrapper passes for a parameter.
fn passed(unit: &Unit, kernel: &Kernel, plan: &Plan, number: usize) -> String {
    if let Some(tensor) = plan.tensors.iter().find(|tensor| tensor.number == number) {
        let parameter = &kernel.arguments[number].parameter;
        let word = if parameter.is_const { "const " } else { "" };
        let base = kernel.resolved(unit, &parameter.base);
        return match tensor.element.is_cast {
            true => format!("reinterpret_cast<{word}{base}*>({})", tensor.name),
            false => tensor.name.clone(),
        };
    }
    let scalar = plan.scalars.iter().find(|scalar| scalar.number == number);
    let dim = plan.dim(number).map(|dim| dim.name.clone());
    scalar
        .map(|scalar| scalar.name.clone())
        .or(dim)
        .unwrap_or_default()
}

/// The launch statement.
fn launch(unit: &Unit, kernel: &Kernel, plan: &Plan, entry: &str) -> String {
    let statement = &plan.launch;
    let mut lines = Vec::new();
    let comment = match (&statement.found, plan.is_launch_guessed) {
        (Some((place, text)), false) => format!("// {place}: {text}"),
        (Some((place, text)), true) => {
            format!("// A guess, because this could not be translated ({place}): {text}")
        }
        (None, _) => "// A guess: the published file does not launch the kernel.".to_owned(),
    };
    for (name, value) in &statement.guesses {
        lines.push(format!(
            "const int {name} = {value};  // a guess: the host code does not say it"
        ));
    }
    for (field, extents) in [("grid", &statement.grid), ("block", &statement.block)] {
        for (at, text) in extents
            .iter()
            .enumerate()
            .filter(|(at, text)| *at == 0 || *text != "1")
        {
            lines.push(format!("launch.{field}[{at}] = {text};"));
        }
    }
    let (source, item) = unit.item(kernel.place);
    let says = |word: &str| (item.first..item.last).any(|at| source.code.word(at) == word);
    match &statement.shared {
        Some(bytes) => lines.push(format!("launch.shared_bytes = {bytes};")),
        None if declares_dynamic(&source.code, item.first, item.last) => lines.push(
            "launch.shared_bytes = 16384;  // a guess: the kernel has `extern __shared__` memory"
                .to_owned(),
        ),
        None => {}
    }
    if says("this_grid") || says("grid_group") {
        lines.push("launch.cooperative = 1;".to_owned());
    }
    let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("\n{comment}\nLAB_LAUNCH({entry}) {{\n{lines}}}\n")
}

fn declares_dynamic(code: &Code<String>, first: usize, last: usize) -> bool {
    (first..last).any(|at| {
        code.word(at) == "extern" && (at + 1..at + 5).any(|i| code.word(i) == "__shared__")
    })
}
