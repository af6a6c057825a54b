//! The parts of a published source that stay, as text of a new file.

use super::cub;
use super::headers::{included, is_of_host};
use super::slice::{Slice, is_device};
use super::unit::{Place, Source, Unit, replaced};
use itertools::Itertools;
use lab_source::cpp::Code;
use lab_source::cpp::items::{Item, ItemKind};
use lab_source::cpp::words;

/// What becomes of the kernel's own declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It becomes `extern "C"`.
    ExternC,
    /// It becomes a function that the entry calls.
    Called,
    /// It is a function of the host: it gets `__device__`, as other functions do.
    Host,
}

/// A replacement of some bytes of a source.
type Edit = (usize, usize, &'static str);

/// The kept parts of all files, in their order.
pub fn text(unit: &Unit, slice: &Slice, kernels: &[Place], entry: Entry) -> String {
    let mut out = String::new();
    let cub = cub_headers(unit, slice).unwrap_or_default();
    for (file, source) in unit.sources.iter().enumerate() {
        let kept: Vec<usize> = (0..source.items.len())
            .filter(|at| slice.keeps((file, *at)))
            .collect();
        let is_header = file + 1 < unit.sources.len();
        let includes = |at: &usize| source.items[*at].kind == ItemKind::Include;
        if is_header && kept.iter().any(|at| !includes(at)) {
            out += &format!("\n// From {}:\n", source.name);
        } else if !is_header {
            out += &licence(source);
        }
        for at in kept {
            let item = &source.items[at];
            if is_cub(source, item) {
                out.extend(cub.iter().map(|header| format!("#include <{header}>\n")));
                continue;
            }
            let wanted = included(source.code.at(item.first));
            if let Some(name) = wanted.filter(|_| item.kind == ItemKind::Include) {
                // One header has all of cuRAND's device code.
                let is_random = name.starts_with("curand_");
                let name = if is_random { "curand_kernel.h" } else { name };
                out += &format!("#include <{name}>\n");
                continue;
            }
            let mark = kernels.contains(&(file, at)).then_some(entry);
            let mark = mark.or(needs_device(unit, (file, at)).then_some(Entry::Host));
            out += &piece(source, item, mark);
        }
    }
    out
}

/// Whether an item includes all of CUB.
fn is_cub(source: &Source, item: &Item) -> bool {
    item.kind == ItemKind::Include && included(source.code.at(item.first)) == Some(cub::WHOLE)
}

/// The headers that take the place of the one that includes all of CUB; `None` if the kept parts do
/// not include it.
pub fn cub_headers(unit: &Unit, slice: &Slice) -> Option<Vec<String>> {
    let kept = unit.places().filter(|place| slice.keeps(*place));
    let kept: Vec<_> = kept.map(|place| unit.item(place)).collect();
    let is_included = kept.iter().any(|(source, item)| is_cub(source, item));
    let mut code = kept
        .iter()
        .map(|(source, item)| &source.code.text[item.start..item.end]);
    is_included.then(|| cub::headers(&code.join("\n")))
}

/// Whether a function lacks `__device__`, which each function that a kernel calls must have.
fn needs_device(unit: &Unit, place: Place) -> bool {
    let (source, item) = unit.item(place);
    item.kind == ItemKind::Function
        && !is_device(unit, place)
        && !item.says(&source.code, "__global__")
}

/// The comment at the beginning of a file, if it is about rights.
fn licence(source: &Source) -> String {
    let code = &source.code;
    let first = code
        .tokens
        .first()
        .map_or(code.text.len(), |token| token.start);
    let comment = code.text[..first].trim();
    let lower = comment.to_lowercase();
    let is_about_rights = ["copyright", "license", "licence", "spdx"]
        .iter()
        .any(|word| lower.contains(word));
    match is_about_rights {
        true => format!("\n{comment}\n"),
        false => String::new(),
    }
}

/// The text of an item with the comment right before it.
fn piece(source: &Source, item: &Item, mark: Option<Entry>) -> String {
    let code = &source.code;
    let begin = code.tokens[item.first].start;
    let before = &code.text[item.start..begin];
    let comment = last_comment(before);
    let is_licence = item.start == 0 && !licence(source).is_empty();
    let comment = if is_licence { "" } else { comment.trim() };
    let has_gap =
        before.contains("\n\n") || matches!(item.kind, ItemKind::Function | ItemKind::Type);
    let text = edited(&code.text[begin..item.end], begin, edits(code, item, mark));
    // C++17 has no `register`.
    let text = match words(&text).contains(&"register") {
        true if item.kind == ItemKind::Define => text.replace("register ", ""),
        true => replaced(&text, |code, at| {
            (code.word(at) == "register").then(String::new)
        }),
        false => text,
    };
    let mut out = String::from(if has_gap { "\n" } else { "" });
    if !comment.is_empty() {
        out += comment;
        out.push('\n');
    }
    out + text.trim_end() + "\n"
}

/// The comment right before an item: what follows the last empty line that no comment holds.
fn last_comment(before: &str) -> &str {
    let last = before.rsplit("\n\n").next().unwrap_or_default();
    let is_cut = last.contains("*/") && !last.contains("/*");
    let opened = before.rfind("/*").filter(|_| is_cut);
    opened.map_or(last, |at| &before[at..])
}

fn edits(code: &Code<String>, item: &Item, mark: Option<Entry>) -> Vec<Edit> {
    let open = item.parameters.map_or(item.last, |(open, _)| open);
    let specifiers = item.template.map_or(item.first, |(_, close)| close + 1);
    let begin = code.tokens[specifiers.min(item.last)].start;
    let mut edits = Vec::new();
    if matches!(item.kind, ItemKind::Type | ItemKind::Alias) {
        // A struct for the host and the device, without what only the host knows.
        for (field, at) in code.fields(item) {
            if is_of_host(&field.base) {
                let end = code.tokens[code.statement_end(at, item.last)].end;
                edits.push((code.tokens[at - 1].end, end, ""));
            }
        }
        edits.dedup_by_key(|edit| edit.1);
        edits.extend(const_fields(code, item));
        edits.sort_unstable();
        return edits;
    }
    match mark {
        Some(Entry::ExternC) if code.at(specifiers) != "extern" => {
            edits.push((begin, begin, "extern \"C\" "));
        }
        Some(Entry::Host) => edits.push((begin, begin, "__device__ ")),
        _ => {}
    }
    if !matches!(mark, Some(Entry::ExternC | Entry::Called)) {
        return edits;
    }
    for at in specifiers..open {
        let token = code.tokens[at];
        let with_blank = token.end + usize::from(code.text[token.end..].starts_with(' '));
        let is_called = mark == Some(Entry::Called);
        match code.at(at) {
            "static" | "inline" | "__forceinline__" => edits.push((token.start, with_blank, "")),
            "__global__" if is_called => edits.push((token.start, token.end, "__device__")),
            "extern" if is_called => edits.push((token.start, code.tokens[at + 1].end, "")),
            "__launch_bounds__" | "__cluster_dims__" if is_called => {
                let close = code.tokens[code.partner(at + 1)].end;
                let blank = usize::from(code.text[close..].starts_with(' '));
                edits.push((token.start, close + blank, ""));
            }
            _ => {}
        }
    }
    if mark == Some(Entry::Called) {
        let close = item.parameters.map_or(open, |(_, close)| close);
        let grid = (open..close).filter(|at| code.at(*at) == "__grid_constant__");
        edits.extend(grid.map(|at| (code.tokens[at].start, code.tokens[at].end, "")));
    }
    edits
}

/// The entry sets each field of a struct: none may be `const`.
fn const_fields(code: &Code<String>, item: &Item) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (field, first) in code.fields(item) {
        let end = code.statement_end(first, item.last);
        let star = (first..end).rev().find(|at| code.at(*at) == "*");
        let consts = (star.unwrap_or(first)..end).filter(|at| code.word(*at) == "const");
        if !is_of_host(&field.base) && !field.is_reference {
            let tokens = consts.map(|at| (code.tokens[at].start, code.tokens[at + 1].start, ""));
            edits.extend(tokens);
        }
    }
    edits.dedup();
    edits
}

/// A text with edits, whose bytes are counted from `begin`.
fn edited(text: &str, begin: usize, edits: Vec<Edit>) -> String {
    let (mut out, mut copied) = (String::new(), 0);
    for (start, end, by) in edits {
        let (start, end) = (start.saturating_sub(begin), end.saturating_sub(begin));
        // Brackets that do not match may lead an edit out of the item.
        if let Some(kept) = text.get(copied..start).filter(|_| end <= text.len()) {
            out = out + kept + by;
            copied = end;
        }
    }
    out + &text[copied..]
}

/// A run of lines of the published file that does not stay.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub first: usize,
    pub last: usize,
    /// The functions and the calls of macros in it.
    pub names: Vec<String>,
}

/// The functions of the published file that do not stay, neighbours together.
pub fn left_out(unit: &Unit, slice: &Slice) -> Vec<LeftOut> {
    let source = unit.main();
    let file = unit.sources.len() - 1;
    let is_made = |name: &str| source.made.iter().any(|made| made.by == name);
    let mut runs: Vec<LeftOut> = Vec::new();
    let mut joins = false;
    for (at, item) in source.items.iter().enumerate() {
        let is_code = match item.kind {
            ItemKind::Call => !is_made(item.name()),
            kind => kind == ItemKind::Function,
        };
        if slice.keeps((file, at)) {
            joins = false;
        } else if is_code {
            let (first, last) = (source.line(item.first), source.line(item.last));
            let name = item.name().to_owned();
            match runs.last_mut().filter(|_| joins) {
                Some(run) => {
                    run.last = last;
                    run.names.push(name);
                }
                None => runs.push(LeftOut {
                    first,
                    last,
                    names: vec![name],
                }),
            }
            joins = true;
        }
    }
    runs
}
