//! The text of reference.cu: a function of the published file that clearly computes the same on the
//! host, else a frame that does not compile until it is written.

use super::emission::{self, Entry};
use super::headers::needed;
use super::kernel::{Kernel, Kind};
use super::kernel_text::parameters;
use super::list::Stage;
use super::plan::Plan;
use super::roles::Role;
use super::slice::{Slice, is_device};
use super::types::element;
use super::unit::{Place, Unit};
use itertools::Itertools;
use lab_source::cpp::items::ItemKind;

/// The reference.
pub struct Reference {
    pub text: String,
    /// The function of the host that it calls.
    pub from: Option<String>,
}

/// What functions of the host are called that compute what a kernel computes.
const HOST_WORDS: [&str; 7] = ["cpu", "ref", "host", "gold", "naive", "serial", "baseline"];

/// Words of a function that only the host can run.
const HOST_ONLY: [&str; 10] = [
    "std", "malloc", "free", "new", "delete", "vector", "printf", "exit", "omp", "assert",
];

impl Reference {
    /// The reference of a problem; that of a list is written by a person.
    pub fn of(unit: &Unit, stages: &[Stage], plan: &Plan, entry: &str) -> Reference {
        let named: Vec<Place> = unit
            .places()
            .filter(|place| is_candidate(unit, *place))
            .collect();
        let found = named.iter().find_map(|place| {
            let [Stage { kernel, .. }] = stages else {
                return None;
            };
            let arguments = arguments(unit, kernel, plan, *place)?;
            Some((*place, arguments))
        });
        match found {
            Some((place, arguments)) => derived(unit, plan, entry, place, &arguments),
            None => Reference {
                text: frame(unit, plan, entry, named.first().copied()),
                from: None,
            },
        }
    }
}

/// Whether a function of the host sounds as if it computed what a kernel computes.
fn is_candidate(unit: &Unit, place: Place) -> bool {
    let (source, item) = unit.item(place);
    let name = item.name().to_lowercase();
    item.kind == ItemKind::Function
        && item.body.is_some()
        && item.template.is_none()
        && HOST_WORDS.iter().any(|word| name.contains(word))
        && !is_device(unit, place)
        && !item.says(&source.code, "__global__")
}

/// A parameter's name without what says where the memory is.
fn plain(name: &str) -> String {
    let lower = name.to_lowercase();
    let start = ["h_", "d_", "host_", "dev_"]
        .iter()
        .find_map(|start| lower.strip_prefix(start));
    start.unwrap_or(&lower).trim_end_matches('_').to_owned()
}

/// The arguments with which the entry calls a function of the host. `None` if it has a parameter
/// that the kernel lacks or has with another type, misses an output, or needs the host.
fn arguments(unit: &Unit, kernel: &Kernel, plan: &Plan, place: Place) -> Option<Vec<String>> {
    let (source, item) = unit.item(place);
    let (open, close) = item.body?;
    let is_of_host = |at: usize| HOST_ONLY.contains(&source.code.word(at));
    if (open..close).any(is_of_host) {
        return None;
    }
    let mut passed = Vec::new();
    let mut outputs: Vec<usize> = Vec::new();
    for parameter in source.code.parameters(item) {
        let wanted = plain(&parameter.name);
        let number = kernel
            .arguments
            .iter()
            .position(|a| plain(&a.parameter.name) == wanted)?;
        let argument = &kernel.arguments[number];
        match &argument.kind {
            Kind::Tensor(of) => {
                let own = element(&kernel.resolved(unit, &parameter.base))?;
                let tensor = plan.tensors.iter().find(|tensor| tensor.number == number)?;
                let is_same = own.name == of.name && own.width == 1 && parameter.pointers == 1;
                // A function that may write what the kernel only reads computes something else.
                let writes_input = !parameter.is_const && argument.parameter.is_const;
                let misses_output = parameter.is_const && tensor.role != Role::In;
                if !is_same || writes_input || misses_output {
                    return None;
                }
                if tensor.role != Role::In {
                    outputs.push(number);
                }
                let is_input = tensor.role == Role::In && !parameter.is_const;
                let cast = format!("const_cast<{}*>({})", tensor.element.cpp, tensor.name);
                passed.push(if is_input { cast } else { tensor.name.clone() });
            }
            Kind::Whole(_) | Kind::Scalar(_)
                if parameter.pointers == 0 && argument.first.is_none() =>
            {
                let scalar = plan.scalars.iter().find(|scalar| scalar.number == number);
                let scalar = scalar.map(|scalar| scalar.name.clone());
                passed.push(scalar.or_else(|| plan.dim(number).map(|dim| dim.name.clone()))?);
            }
            _ => return None,
        }
    }
    let mut written = plan.tensors.iter().filter(|tensor| tensor.role != Role::In);
    written
        .all(|tensor| outputs.contains(&tensor.number))
        .then_some(passed)
}

fn derived(unit: &Unit, plan: &Plan, entry: &str, place: Place, arguments: &[String]) -> Reference {
    let slice = Slice::of(unit, &[place], &[]);
    let body = emission::text(unit, &slice, &[place], Entry::Host);
    let (source, item) = unit.item(place);
    let name = item.name();
    let own = if name == entry {
        format!("{name}_on_one_thread")
    } else {
        name.to_owned()
    };
    let body = if name == entry {
        body.replace(&format!("{name}("), &format!("{own}("))
    } else {
        body
    };
    let text = format!(
        "// The reference: its results are what is right. {name} comes from {}, line {}.\n\
         // One thread computes everything: write one thread for each result before you add large workloads, and sum in double.\n\
         #include \"lab.h\"\n\n{}{}\n\n\
         extern \"C\" __global__ void {entry}({}) {{\n    {own}({});\n}}\n\n\
         LAB_LAUNCH({entry}) {{\n    launch.grid[0] = 1;\n    launch.block[0] = 1;\n}}\n",
        source.name,
        unit.line(place),
        needed(&format!("{body}{}", parameters(plan, false))),
        body.trim(),
        parameters(plan, false),
        arguments.join(", ")
    );
    Reference {
        text,
        from: Some(name.to_owned()),
    }
}

/// A reference that has still to be written. `near` is a function of the host that may help.
fn frame(unit: &Unit, plan: &Plan, entry: &str, near: Option<Place>) -> String {
    let of = |is_output: bool| {
        let all = plan
            .tensors
            .iter()
            .filter(|tensor| !tensor.is_between && (tensor.role != Role::In) == is_output);
        all.map(|tensor| &tensor.name).join(", ")
    };
    let (inputs, outputs) = (of(false), of(true));
    let from = if inputs.is_empty() {
        inputs
    } else {
        format!(" from {inputs}")
    };
    let near = near.map(|place| {
        let (source, item) = unit.item(place);
        format!(
            "// {} in {}, line {}, may show how.\n",
            item.name(),
            source.name,
            unit.line(place)
        )
    });
    let output = plan.tensors.iter().find(|tensor| tensor.is_result());
    let shape = |before: &str| {
        let extents = output
            .map(|tensor| tensor.shape.clone())
            .unwrap_or_default();
        let mut code = extents.iter().map(|extent| match extent.split_once(" * ") {
            Some((factor, name)) => format!("{factor} * {before}{name}"),
            None if extent.starts_with(|c: char| c.is_ascii_digit()) => extent.clone(),
            None => format!("{before}{extent}"),
        });
        format!("(long long){}", code.join(" * "))
    };
    format!(
        "// The reference: its results are what is right. It is not written yet.\n//\n\
         // Compute {outputs}{from} in the plainest way: one thread for each result, sums in double. Take no code from\n\
         // kernel.cu, because an error there would then be right. It need not be fast.\n{}\
         #include \"lab.h\"\n\n{}\
         #error \"reference.cu is not written yet: compute {outputs} here as it must be, then delete this line\"\n\n\
         extern \"C\" __global__ void {entry}({}) {{\n    \
             const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n    \
             if (i >= {}) return;\n    // {}[i] = …;\n}}\n\n\
         LAB_LAUNCH({entry}) {{\n    launch.grid[0] = ({} + 255) / 256;\n    launch.block[0] = 256;\n}}\n",
        near.unwrap_or_default(),
        needed(&parameters(plan, false)),
        parameters(plan, false),
        shape(""),
        output.map_or("", |tensor| tensor.name.as_str()),
        shape("dims."),
    )
}
