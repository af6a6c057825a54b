//! A source as it can stand in another file: its local headers are put in place of their includes,
//! and what it defines lies in a namespace of its own.

use lab_source::cpp::directive::Directive;
use lab_source::cpp::words;
use lab_source::functions::functions;
use lab_source::lines::{Line, LineKind, lines};
use std::collections::BTreeSet;

/// Reads a local header: its path relative to the problem's folder. `None` if there is no such
/// file.
pub type ReadHeader<'a> = &'a dyn Fn(&str) -> Result<Option<String>, String>;

/// What stands around a source.
#[derive(Default)]
pub struct Frame<'a> {
    /// The namespace; `None` leaves the source at the file's own level.
    pub namespace: Option<&'a str>,
    /// Stands before the source's first declaration, inside the namespace.
    pub opening: &'a str,
}

/// A source with its headers.
#[derive(Debug, Default, PartialEq)]
pub struct Flattened {
    pub text: String,
    /// The names of the macros that it defines.
    pub macros: BTreeSet<String>,
    /// Headers in quotes that are not in the repository, as they are named.
    pub foreign: BTreeSet<String>,
}

impl Flattened {
    /// The text, and the end of its macros: they must not reach what follows.
    pub fn with_macros_undefined(&self) -> String {
        let macros = self.macros.iter();
        let undefined: String = macros.map(|name| format!("#undef {name}\n")).collect();
        format!("{}\n\n{undefined}", self.text.trim())
    }
}

/// Deepest nesting of headers.
const DEEPEST: usize = 64;

/// Puts the local headers of `text` in place of their includes, and the rest into the frame's
/// namespace. Includes of other headers stay, outside of the namespace. `folder` is that of the
/// source, relative to the problem's.
pub fn flatten(text: &str, frame: &Frame, read: ReadHeader) -> Result<Flattened, String> {
    let mut flattener = Flattener {
        frame,
        read,
        done: Flattened::default(),
        once: BTreeSet::new(),
        open: false,
        began: false,
        depth: 0,
        holds_code: false,
    };
    flattener.file(text, "", 0)?;
    flattener.close();
    if !flattener.began {
        // A source without a declaration.
        flattener.open();
        flattener.close();
    }
    Ok(flattener.done)
}

/// The names of `extern "C"` functions and of kernels that a source declares.
pub fn declared_names(text: &str) -> BTreeSet<String> {
    let functions = functions(text).into_iter();
    functions.map(|function| function.name.to_owned()).collect()
}

/// Whether one of these words stands in a source's code or directives.
pub fn mentions(text: &str, wanted: &[&str]) -> bool {
    words(text).iter().any(|word| wanted.contains(word))
}

struct Flattener<'a> {
    frame: &'a Frame<'a>,
    read: ReadHeader<'a>,
    done: Flattened,
    /// Headers with `#pragma once` that are in place.
    once: BTreeSet<String>,
    /// The namespace is open.
    open: bool,
    /// It was open before.
    began: bool,
    /// Depth of `#if`.
    depth: usize,
    /// The outermost `#if` holds code: the namespace is open at its beginning and at its end.
    holds_code: bool,
}

impl Flattener<'_> {
    fn push(&mut self, line: &str) {
        self.done.text.push_str(line);
        self.done.text.push('\n');
    }

    fn open(&mut self) {
        if self.open {
            return;
        }
        if let Some(name) = self.frame.namespace {
            self.push(&format!("namespace {name} {{"));
        }
        if !self.began {
            let opening = self.frame.opening;
            self.done.text.push_str(opening);
        }
        (self.open, self.began) = (true, true);
    }

    fn close(&mut self) {
        if !self.open {
            return;
        }
        if let Some(name) = self.frame.namespace {
            self.push(&format!("}}  // namespace {name}"));
        }
        self.open = false;
    }

    fn file(&mut self, text: &str, folder: &str, nested: usize) -> Result<(), String> {
        let lines = lines(text);
        for (at, line) in lines.iter().enumerate() {
            match line.kind {
                LineKind::Blank => self.push(line.text),
                LineKind::Code => {
                    self.open();
                    self.push(line.text);
                }
                LineKind::Directive(directive) if is_once(directive) => {}
                LineKind::Directive(Directive { name, rest }) => match name {
                    "include" => self.include(line.text, rest.trim_end(), folder, nested)?,
                    "if" | "ifdef" | "ifndef" => {
                        if self.depth == 0 {
                            let (code, includes) = holds(&lines[at + 1..]);
                            self.holds_code = code;
                            match (code, includes) {
                                (true, _) => self.open(),
                                (false, true) => self.close(),
                                (false, false) => {}
                            }
                        }
                        self.depth += 1;
                        self.push(line.text);
                    }
                    "endif" => {
                        self.depth = self.depth.saturating_sub(1);
                        self.push(line.text);
                    }
                    _ => {
                        if name == "define" {
                            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                            self.done
                                .macros
                                .insert(rest[..end.unwrap_or(rest.len())].to_owned());
                        }
                        self.push(line.text);
                    }
                },
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        line: &str,
        target: &str,
        folder: &str,
        nested: usize,
    ) -> Result<(), String> {
        let quoted = target
            .strip_prefix('"')
            .and_then(|rest| rest.split('"').next());
        if quoted.is_none() && !target.starts_with('<') {
            return Err(format!(
                "an #include names the macro {target}, so it is unknown which file that is: name the file"
            ));
        }
        if let Some(name) = quoted {
            if matches!(name, "lab.h" | "lab_problem.h") {
                return Ok(());
            }
            let path = joined(folder, name);
            if self.once.contains(&path) {
                return Ok(());
            }
            if let Some(text) = (self.read)(&path)? {
                if nested == DEEPEST {
                    return Err(format!(
                        "{path} is included in itself: write `#pragma once` into it"
                    ));
                }
                if lines(&text).iter().any(
                    |line| matches!(line.kind, LineKind::Directive(directive) if is_once(directive)),
                ) {
                    self.once.insert(path.clone());
                }
                self.push(&format!("// ---- {name} ----"));
                let inner = path
                    .rsplit_once('/')
                    .map_or("", |(folder, _)| folder)
                    .to_owned();
                self.file(&text, &inner, nested + 1)?;
                self.push(&format!("// ---- the end of {name} ----"));
                return Ok(());
            }
            self.done.foreign.insert(name.to_owned());
        }
        let was_open = self.open;
        self.close();
        self.push(line);
        if was_open && self.depth > 0 && self.holds_code {
            self.open();
        }
        Ok(())
    }
}

/// Whether there is code or a header in quotes, and whether there is another header, up to the
/// `#endif` that belongs to the `#if` before these lines.
fn holds(lines: &[Line]) -> (bool, bool) {
    let mut depth = 1usize;
    let mut includes = false;
    for line in lines {
        match line.kind {
            LineKind::Blank => {}
            LineKind::Code => return (true, includes),
            LineKind::Directive(Directive { name, rest }) => match name {
                "include" if rest.starts_with('"') => return (true, includes),
                "include" => includes = true,
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" => depth -= 1,
                _ => {}
            },
        }
        if depth == 0 {
            break;
        }
    }
    (false, includes)
}

fn is_once(directive: Directive) -> bool {
    directive.name == "pragma" && directive.rest.trim_end() == "once"
}

/// A path below a folder, with `.` and `..` resolved where they can be.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
