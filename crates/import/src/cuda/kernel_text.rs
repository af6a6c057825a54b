//! The text of kernel.cu: the kernels, their entries and the launch statement.

use super::emission::{self, Entry};
use super::headers::needed;
use super::kernel::Kernel;
use super::list::Stage;
use super::plan::{Plan, Scalar, Value};
use super::roles::Role;
use super::slice::{self, Slice};
use super::types::cpp;
use super::unit::{Place, Unit};
use crate::names::listed;
use itertools::Itertools;
use lab_source::cpp::Code;

/// The entry's name, and whether the kernel itself is the entry.
pub struct EntryName {
    pub name: String,
    pub is_kernel: bool,
}

impl EntryName {
    /// The entry of a problem with the name `problem`.
    pub fn of(unit: &Unit, stages: &[Stage], problem: &str, slice: &Slice) -> EntryName {
        match stages {
            [Stage { kernel, plan }] if is_plain(unit, kernel, plan) => EntryName {
                name: kernel.name.clone(),
                is_kernel: true,
            },
            [Stage { kernel, .. }] => EntryName {
                name: free(unit, slice, &kernel.name),
                is_kernel: false,
            },
            // No kernel of a list has its entry's name.
            _ => EntryName {
                name: free(unit, slice, &problem.replace('-', "_")),
                is_kernel: false,
            },
        }
    }
}

/// Functions of the C library that device code has, and that a kernel may be called after.
const OF_LIBRARIES: [&str; 28] = [
    "abs", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "log", "log2", "pow", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "asin", "acos", "atan", "erf", "floor", "ceil", "round", "fabs",
    "fmax", "fmin", "max", "min", "printf",
];

/// A name for a function that calls `kernel`, which nothing in kernel.cu has.
fn free(unit: &Unit, slice: &Slice, kernel: &str) -> String {
    let is_taken = |name: &str| {
        let mut kept = unit.places().filter(|place| slice.keeps(*place));
        kept.any(|place| unit.item(place).1.names.iter().any(|known| known == name))
    };
    let mut name = kernel.strip_suffix("_kernel").unwrap_or(kernel).to_owned();
    if is_taken(&name) || name == "main" || OF_LIBRARIES.contains(&name.as_str()) {
        name += "_entry";
    }
    name
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
        && kernel.arguments.iter().all(|a| !a.origin.is_field())
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
pub fn parameters(plan: &Plan, is_kernel: bool) -> String {
    let tensors = plan.tensors.iter().map(|tensor| {
        let is_const = if is_kernel {
            tensor.is_const
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
    tensors.chain(scalars).chain(dims).join(", ")
}

/// The text of kernel.cu. `origin` says where the published file is.
pub fn text(
    unit: &Unit,
    stages: &[Stage],
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
    let places: Vec<Place> = stages.iter().map(|stage| stage.kernel.place).collect();
    let body = emission::text(unit, slice, &places, form);
    let names = stages.iter().map(|stage| &stage.kernel.name).join(", ");
    let mut out = format!(
        "// {names} of {}.\n\
         // `lab init` left out the host code and what the kernel does not use: {origin} has all of it.\n#include \"lab.h\"\n\n{}{}{}\n",
        unit.main().name,
        defines(unit, stages),
        needed(&format!("{body}{}", parameters(plan, true))),
        body.trim()
    );
    if let [Stage { kernel, plan: own }] = stages {
        if !entry.is_kernel {
            out += &wrapper(unit, kernel, plan, plan, &entry.name);
        }
        let (comment, lines) = launch(unit, kernel, own);
        return format!(
            "{out}\n{comment}\nLAB_LAUNCH({}) {{\n{lines}}}\n",
            entry.name
        );
    }
    let mut list = String::new();
    for Stage { kernel, plan: own } in stages {
        let name = free(unit, slice, &kernel.name);
        out += &wrapper(unit, kernel, own, plan, &name);
        let (comment, lines) = launch(unit, kernel, own);
        let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
        list += &format!(
            "    {{\n        {comment}\n        LabShape& launch = launches.add(\"{name}\");\n{lines}    }}\n"
        );
    }
    format!("{out}\nLAB_LAUNCHES({}) {{\n{list}}}\n", entry.name)
}

/// The macros without which the published file lacks a kernel, or something that it uses.
pub fn assumed(unit: &Unit, stages: &[Stage]) -> Vec<String> {
    let kernels: Vec<Place> = stages.iter().map(|stage| stage.kernel.place).collect();
    slice::inactive(unit, &kernels)
        .into_iter()
        .flat_map(|place| unit.asked_around(place))
        .unique()
        .collect()
}

/// The lines that define them, with an empty line behind them.
fn defines(unit: &Unit, stages: &[Stage]) -> String {
    let names = assumed(unit, stages).into_iter();
    let lines: String = names.map(|name| format!("#define {name} 1\n")).collect();
    match lines.as_str() {
        "" => lines,
        _ => format!("// The published file has what the kernel needs only with this.\n{lines}\n"),
    }
}

/// The function that calls the kernel with its own arguments. `own` is the problem for the kernel
/// alone, `plan` that of the whole list, whose parameters the function has.
fn wrapper(unit: &Unit, kernel: &Kernel, own: &Plan, plan: &Plan, entry: &str) -> String {
    let (source, item) = unit.item(kernel.place);
    let code = &source.code;
    let open = item.parameters.map_or(item.last, |(open, _)| open);
    let attributes: String = (item.first..open)
        .filter(|at| ["__launch_bounds__", "__cluster_dims__"].contains(&code.at(*at)))
        .map(|at| kernel.with_arguments(&code.spelled(at, code.partner(at + 1) + 1)) + " ")
        .map(|text| unit.qualified(&text))
        .collect();
    let path: String = item
        .path
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| format!("{name}::"))
        .collect();
    let guesses = kernel.template.iter().filter(|it| it.is_guess);
    let note = listed(guesses.map(|it| &it.name))
        .map(|names| format!("// A guess: no launch in the file says {names}.\n"))
        .unwrap_or_default();
    let template = listed(kernel.template.iter().map(|it| unit.qualified(&it.text)))
        .map(|arguments| format!("<{arguments}>"))
        .unwrap_or_default();
    let mut made = String::new();
    let parameters_of = code.parameters(item).into_iter().enumerate();
    let passed = parameters_of
        .map(|(position, parameter)| {
            let fields = kernel.arguments.iter().enumerate();
            let mut fields = fields
                .filter(|(_, of)| of.origin.position == position)
                .peekable();
            if let Some((number, _)) = fields.peek().filter(|(_, of)| !of.origin.is_field()) {
                return passed(unit, kernel, own, plan, *number);
            }
            let mut name = parameter.name.clone();
            while plan.has_name(&name) {
                name.push('_');
            }
            let base = kernel.with_arguments(&kernel.resolved(unit, &parameter.base));
            made += &format!("    {} {name}{{}};\n", unit.scoped(&base));
            for (number, field) in fields {
                let path = field.origin.path[1..].join(".");
                let value = passed(unit, kernel, own, plan, number);
                made += &format!("    {name}.{path} = {value};\n");
            }
            name
        })
        .join(", ");
    format!(
        "\n// The entry takes tensors, scalars and dimensions in the order of problem.toml.\n{note}\
         extern \"C\" __global__ void {attributes}{entry}({}{}) {{\n{made}    {path}{}{template}({passed});\n}}\n",
        parameters(plan, true),
        if kernel.is_in_list { ", void*" } else { "" },
        kernel.name
    )
}

/// What the wrapper passes for a parameter.
fn passed(unit: &Unit, kernel: &Kernel, own: &Plan, plan: &Plan, number: usize) -> String {
    if let Some(tensor) = own.tensors.iter().find(|tensor| tensor.number == number) {
        let parameter = &kernel.arguments[number].parameter;
        let word = if parameter.is_const { "const " } else { "" };
        let base = unit.scoped(&kernel.resolved(unit, &parameter.base));
        let mut declared = plan
            .tensors
            .iter()
            .filter(|known| known.name == tensor.name);
        let is_same = declared.all(|known| known.element.cpp == tensor.element.cpp);
        return match tensor.element.is_cast || !is_same {
            true => format!("reinterpret_cast<{word}{base}*>({})", tensor.name),
            false => tensor.name.clone(),
        };
    }
    let scalar = own.scalars.iter().find(|scalar| scalar.number == number);
    let identity = kernel.identity(number);
    let dim = own.dim(number).map(|dim| dim.name.clone());
    // The launch may have made a dimension of what the kernel takes as a scalar.
    let of_launch = || {
        let mut dims = plan.dims.iter();
        let dim = dims.find(|dim| dim.name == identity)?;
        Some(dim.name.clone())
    };
    scalar
        .map(|scalar| match scalar.value {
            Value::Guess | Value::Given(_) | Value::Stride(_) => scalar.name.clone(),
            Value::Enumerator(..) => {
                let base = kernel.resolved(unit, &kernel.arguments[number].parameter.base);
                format!("({}){}", unit.scoped(&base), scalar.name)
            }
        })
        .or(dim)
        .or_else(of_launch)
        .unwrap_or_default()
}

/// The lines of a launch's statement, and a comment that says where they come from.
fn launch(unit: &Unit, kernel: &Kernel, plan: &Plan) -> (String, String) {
    let statement = &plan.launch;
    let mut lines = Vec::new();
    let comment = match (&statement.found, plan.is_launch_guessed) {
        (Some((place, text)), false) => format!("// {place}: {text}"),
        (Some((place, text)), true) => {
            format!("// A guess, because this could not be translated ({place}): {text}")
        }
        (None, _) => {
            "// A guess: no file that was read launches the kernel with <<<…>>> or cudaLaunchKernel.".to_owned()
        }
    };
    for (name, value) in &statement.guesses {
        lines.push(format!(
            "const int {name} = {value};  // a guess: the host code does not say it"
        ));
    }
    if !statement.several.is_empty() {
        lines.push(format!(
            "// A guess: the host code sets {} in several ways.",
            statement.several.join(", ")
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
    if let Some(bytes) = &statement.shared {
        lines.push(format!("launch.shared_bytes = {bytes};"));
    } else if is_shared_guessed(unit, kernel, plan) {
        lines.push(
            "launch.shared_bytes = 16384;  // a guess: the kernel has `extern __shared__` memory"
                .to_owned(),
        );
    }
    if says("this_grid") || says("grid_group") {
        lines.push("launch.cooperative = 1;".to_owned());
    }
    (
        comment,
        lines.iter().map(|line| format!("    {line}\n")).collect(),
    )
}

/// Whether nothing that could be read says how much dynamic shared memory a kernel gets.
pub fn is_shared_guessed(unit: &Unit, kernel: &Kernel, plan: &Plan) -> bool {
    let (source, item) = unit.item(kernel.place);
    plan.launch.shared.is_none() && declares_dynamic(&source.code, item.first, item.last)
}

fn declares_dynamic(code: &Code<String>, first: usize, last: usize) -> bool {
    (first..last).any(|at| {
        code.word(at) == "extern" && (at + 1..at + 5).any(|i| code.word(i) == "__shared__")
    })
}
