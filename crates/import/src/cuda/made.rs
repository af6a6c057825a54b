//! Kernels that a macro makes, as `MAKE_KERNEL(add, +)`.

use super::conditions::{active, without_dead};
use lab_source::cpp::Code;
use lab_source::cpp::items::{Item, ItemKind, items};
use lab_source::cpp::macros::Macros;
use lab_source::line_at;
use std::fmt::Write;

/// A text behind the source's own, which a macro makes.
pub struct Made {
    /// The first byte of it.
    pub start: usize,
    /// The line of the macro's call.
    pub line: usize,
    pub by: String,
}

/// A source whose kernels all are functions.
pub struct Written {
    pub code: Code<String>,
    pub items: Vec<Item>,
    pub made: Vec<Made>,
}

/// Reads a source, and writes the kernels that macros make of it behind it. `others` are the items
/// of the sources that it includes.
pub fn written<'o>(
    code: Code<String>,
    found: Vec<Item>,
    others: impl Iterator<Item = (&'o Code<String>, &'o Item)>,
) -> Written {
    let mut macros = Macros::default();
    let own = found.iter().map(|item| (&code, item));
    let mut add = |code: &Code<String>, item: &Item| {
        if item.kind == ItemKind::Define {
            macros.add(code.at(item.first));
        }
    };
    others.for_each(|(code, item)| add(code, item));
    own.for_each(|(code, item)| add(code, item));
    let macros = macros.with_text(&["__global__"]);
    let (mut text, mut made) = (code.text.clone(), Vec::new());
    let active = active(&code, &found, &|_| false);
    for (item, _) in found.iter().zip(active).filter(|(_, active)| *active) {
        let start = code.tokens[item.first].start;
        let call = &code.text[start..item.end];
        let expanded = match item.kind {
            ItemKind::Call => macros.expand(call),
            _ => continue,
        };
        if expanded == call {
            continue;
        }
        let path = item.path.iter().filter(|name| !name.is_empty());
        let (mut before, mut after) = (String::new(), String::new());
        for name in path {
            let _ = write!(before, "namespace {name} {{ ");
            after += " }";
        }
        made.push(Made {
            start: text.len() + 1,
            line: line_at(&code.text, start),
            by: item.name().to_owned(),
        });
        let _ = write!(text, "\n{before}{}{after}\n", expanded.trim());
    }
    if made.is_empty() {
        let items = found;
        return Written { code, items, made };
    }
    let code = Code::new(text, true);
    let items = without_dead(&code, items(&code));
    Written { code, items, made }
}
