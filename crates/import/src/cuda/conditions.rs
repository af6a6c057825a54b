//! The conditions of the preprocessor around the items of a source.

use lab_source::cpp::Code;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::items::{Item, ItemKind};
use std::collections::BTreeSet;

/// For each item, whether the conditions around it hold: `is_known` says which macros other sources
/// define.
pub fn active<'s>(
    code: &'s Code<String>,
    items: &'s [Item],
    is_known: &dyn Fn(&str) -> bool,
) -> Vec<bool> {
    let mut defined: BTreeSet<&'s str> = BTreeSet::new();
    // Whether a branch holds, and whether a branch before it did.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut active = Vec::new();
    for item in items {
        let directive = Directive::parse(code.at(item.first));
        match (item.kind, directive) {
            (ItemKind::If, Some(directive)) => {
                let holds = holds(directive, &|name| defined.contains(name) || is_known(name));
                open.push((holds, holds));
            }
            (ItemKind::Else, Some(directive)) => {
                if let Some((now, before)) = open.last_mut() {
                    let is_known = |name: &str| defined.contains(name) || is_known(name);
                    *now = !*before && (directive.name == "else" || holds(directive, &is_known));
                    *before |= *now;
                }
            }
            (ItemKind::EndIf, _) => {
                open.pop();
            }
            _ => {}
        }
        let is_active = open.iter().all(|(now, _)| *now);
        if item.kind == ItemKind::Define && is_active {
            defined.insert(item.name());
        }
        active.push(is_active);
    }
    active
}

/// The items that no `#if 0` takes away.
pub fn without_dead(code: &Code<String>, items: Vec<Item>) -> Vec<Item> {
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

/// The conditions of the first branches around the first item for which `is_it` holds.
fn around<'s>(
    code: &'s Code<String>,
    items: &[Item],
    is_it: impl Fn(&Item) -> bool,
) -> Vec<&'s str> {
    let mut open = Vec::new();
    for item in items {
        match item.kind {
            _ if is_it(item) => break,
            ItemKind::If => open.push(code.at(item.first)),
            // What another branch needs is no macro.
            ItemKind::Else => {
                open.pop();
                open.push("");
            }
            ItemKind::EndIf => {
                open.pop();
            }
            _ => {}
        }
    }
    open
}

/// The macros that the conditions around an item ask to be defined.
pub fn asked_around(code: &Code<String>, items: &[Item], of: &Item) -> Vec<String> {
    let around = around(code, items, |item| item.first == of.first);
    let around = around.into_iter().filter_map(Directive::parse);
    let names = around.flat_map(|directive| match directive.name {
        "ifdef" => vec![condition(directive)],
        "if" => asked(condition(directive)),
        _ => Vec::new(),
    });
    let names =
        names.filter(|name| !is_of_compiler(name) && !is_of_other_makers(name) && !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The macros that conditions ask for around kernels that no branch of the file has without them.
pub fn assumed(code: &Code<String>, items: &[Item]) -> Vec<String> {
    let active = active(code, items, &|_| false);
    let kernels = items.iter().zip(active);
    let kernels = kernels.filter(|(item, _)| {
        let is_kernel = item.kind == ItemKind::Function && item.says(code, "__global__");
        is_kernel && item.body.is_some()
    });
    let kernels: Vec<(&Item, bool)> = kernels.collect();
    let mut found: Vec<String> = Vec::new();
    for (kernel, _) in &kernels {
        let mut same = kernels
            .iter()
            .filter(|(other, _)| other.name() == kernel.name());
        if same.any(|(_, is_active)| *is_active) {
            continue;
        }
        found.extend(asked_around(code, items, kernel));
    }
    found.sort();
    found.dedup();
    found
}

/// The macros that a condition asks to be defined.
fn asked(condition: &str) -> Vec<&str> {
    if is_name(condition) {
        return vec![condition];
    }
    let each = condition
        .split("defined")
        .skip(1)
        .zip(condition.split("defined"));
    let each = each.filter(|(_, before)| !before.trim_end().ends_with('!'));
    let name =
        each.map(|(rest, _)| rest.trim_start_matches(|c: char| c == '(' || c.is_whitespace()));
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = name.map(|rest| rest.split(|c| !is_of_name(c)).next().unwrap_or_default());
    name.collect()
}

/// How macros begin that nvcc defines itself.
const COMPILER: [&str; 9] = [
    "CUDART_VERSION",
    "CUDA_VERSION",
    "__CUDA",
    "__NVCC",
    "__GNU",
    "__cplusplus",
    "__linux",
    "__x86_64",
    "__SIZEOF",
];

/// What a directive asks for, without the comment behind it.
fn condition(directive: Directive<'_>) -> &str {
    let rest = directive.rest.split("//").next().unwrap_or_default();
    rest.split("/*").next().unwrap_or_default().trim()
}

fn is_name(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.chars().all(is_of_name) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Whether a macro stands for GPUs that are not NVIDIA's, or for no GPU: code for them does not build
/// here.
fn is_of_other_makers(name: &str) -> bool {
    let words = ["ROCM", "HIP", "MUSA", "SYCL", "MACA", "METAL", "OPENCL"];
    name.split('_').any(|word| words.contains(&word))
}

fn is_of_compiler(name: &str) -> bool {
    COMPILER.iter().any(|start| name.starts_with(start))
}

/// Whether `#if defined(A)` and its like hold. Of other conditions this is assumed.
fn holds(directive: Directive, is_defined: &dyn Fn(&str) -> bool) -> bool {
    let rest = condition(directive);
    let is_known = |name: &str| is_defined(name) || is_of_compiler(name);
    match directive.name {
        "ifdef" | "elifdef" => is_known(rest),
        "ifndef" | "elifndef" => !is_known(rest),
        _ => {
            let part = |part: &str| {
                let part = part.trim();
                let (negated, part) = match part.strip_prefix('!') {
                    Some(part) => (true, part.trim()),
                    None => (false, part),
                };
                let asked = part.strip_prefix("defined").map(|name| {
                    name.trim_matches(|c: char| c == '(' || c == ')' || c.is_whitespace())
                });
                // A name alone is 0 where nothing defines it.
                let name = asked.or_else(|| is_name(part).then_some(part));
                name.is_none_or(|name| is_known(name) != negated)
            };
            match rest.contains("||") {
                true => rest.split("||").any(part),
                false => rest.split("&&").all(part),
            }
        }
    }
}
