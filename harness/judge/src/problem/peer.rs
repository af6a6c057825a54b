//! A peer: another implementation of a problem, and what its source says about it.

use itertools::Itertools as _;
use lab_protocol::Language;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Another implementation of a problem: a function of a Python file, or a second kernel.cu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSpec {
    /// As problem.toml names it; without blanks.
    pub name: String,
    /// The file, relative to the problem's folder.
    pub source: PathBuf,
    /// Each entry of the problem with the function of a Python file that it calls. Empty of a
    /// kernel.cu, which has the entries.
    pub functions: Vec<(String, String)>,
    /// Whether its timed launches run as one CUDA graph, where the device has graphs.
    pub graph: bool,
}

impl PeerSpec {
    /// The language of its source.
    pub fn language(&self) -> Language {
        Language::of(&self.source)
    }

    /// What its source says about the first function that it defines, in one line; empty of a
    /// kernel.cu. A function of one statement is that statement. What the function uses of the same
    /// file follows: `return _norm(x) | @torch.compile def _norm(x): return x / x.norm()`.
    pub fn call(&self, source: &str) -> String {
        let found = self.functions.iter().find_map(|(_, function)| {
            let defined = Defined::find(function, source)?;
            Some((function, defined)).filter(|(_, defined)| !defined.body.is_empty())
        });
        let Some((function, first)) = found else {
            return String::new();
        };
        let mut said = vec![(function.clone(), first.called())];
        let names = names_of(source);
        let mut at = 0;
        while let Some((_, text)) = said.get(at) {
            let used: Vec<String> = words(text)
                .filter(|word| names.contains(word))
                .filter(|word| said.iter().all(|(name, _)| name != word))
                .unique()
                .map(str::to_owned)
                .collect();
            said.extend(used.into_iter().filter_map(|name| {
                let text = Defined::find(&name, source)?.whole();
                Some((name, text))
            }));
            at += 1;
        }
        // An assignment to several names is said once.
        said.into_iter().map(|(_, text)| text).unique().join(" | ")
    }

    /// Where it is: the function and its line, as in `rms_norm, peer.py:12`. The file alone of a
    /// kernel.cu, and where no line defines the function.
    pub fn place(&self, source: &str) -> String {
        let file = self.source.display();
        let place =
            |(_, function): &(String, String)| Some((function.clone(), line_of(function, source)?));
        match (
            self.functions.iter().find_map(place),
            self.functions.first(),
        ) {
            (Some((function, line)), _) => format!("{function}, {file}:{line}"),
            (None, Some((_, function))) => format!("{function}, {file}"),
            (None, None) => file.to_string(),
        }
    }
}

/// The number of the last line that defines a function at the top of a source, from 1: Python calls
/// the last one.
fn line_of(function: &str, source: &str) -> Option<usize> {
    let defines = |line: &str| {
        if let Some(named) = definition(line) {
            let rest = named.strip_prefix(function).map(str::trim_start);
            return rest.is_some_and(|rest| rest.starts_with(['(', '[']));
        }
        // An assignment, perhaps to several names: `scale_f32 = scale_f16 = _scale`.
        let mut targets = line
            .split('=')
            .map(|target| target.split(':').next().unwrap_or_default().trim_end());
        targets.next_back();
        targets.any(|target| target.trim_start() == function) && !line.starts_with([' ', '\t'])
    };
    let lines = source.lines().collect_vec();
    lines
        .iter()
        .rposition(|line| defines(line))
        .map(|at| at + 1)
}

/// What stands behind the `def` of a line.
fn definition(line: &str) -> Option<&str> {
    line.strip_prefix("async ")
        .unwrap_or(line)
        .strip_prefix("def ")
        .map(str::trim_start)
}

/// The names that the top of a source gives a value: functions and variables.
fn names_of(source: &str) -> BTreeSet<&str> {
    let named = |line| {
        let text = definition(line).unwrap_or(line);
        let name = words(text).next().filter(|name| text.starts_with(name))?;
        line_of(name, source).map(|_| name)
    };
    source.lines().filter_map(named).collect()
}

/// The words of a text that may be names of Python. What follows a point is part of a longer name.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.split(move |c| !is_of_name(c))
        .filter_map(|word| word.split('.').next())
        .filter(|word| !word.is_empty())
}

/// What a source says of a name at its top, each part in one line.
struct Defined {
    /// The decorators of a function, each with a blank behind it.
    decorators: String,
    /// `def f(x, y):`; empty of an assignment.
    head: String,
    /// The statements of a function, or the assignment, separated by `;`.
    body: String,
}

impl Defined {
    /// The last definition of a name, as Python sees it.
    fn find(name: &str, source: &str) -> Option<Defined> {
        let line = line_of(name, source)?;
        let (before, lines) = (source.lines().take(line - 1), source.lines().skip(line - 1));
        let mut lines = lines.peekable();
        let head = lines.peek().copied().unwrap_or_default();
        if definition(head).is_none() {
            // An assignment, as in `compiled = torch.compile(eager)`.
            return Some(Defined {
                decorators: String::new(),
                head: String::new(),
                body: head.trim().to_owned(),
            });
        }
        let above = before.collect_vec();
        let decorators = above.iter().rev().take_while(|line| line.starts_with('@'));
        let decorators = decorators.collect_vec().into_iter().rev();
        let decorators = decorators.map(|line| format!("{} ", line.trim())).collect();
        // A body on the line of the head.
        if let Some((head, body)) = head.split_once("): ")
            && !body.trim_start().starts_with('#')
        {
            return Some(Defined {
                decorators,
                head: format!("{head}):"),
                body: body.trim().to_owned(),
            });
        }
        // The head may go on over several lines, up to the colon that ends it.
        let mut head = Vec::new();
        for line in lines.by_ref() {
            let code = line.split('#').next().unwrap_or_default().trim();
            head.push(code);
            if code.ends_with(':') {
                break;
            }
        }
        Some(Defined {
            decorators,
            head: head.join(" "),
            body: body(lines),
        })
    }

    /// What a call of it runs.
    fn called(&self) -> String {
        format!("{}{}", self.decorators, self.body)
    }

    /// The definition.
    fn whole(&self) -> String {
        let Defined {
            decorators,
            head,
            body,
        } = self;
        match head.is_empty() {
            true => body.clone(),
            false => format!("{decorators}{head} {body}"),
        }
    }
}

/// The statements that lines begin with, up to the first that is not indented, without a
/// documentation string and comments, separated by `;`.
fn body<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let inside = |line: &&str| line.is_empty() || line.starts_with([' ', '\t']);
    let body = lines
        .take_while(inside)
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect_vec();
    let mut body = body.join("\n");
    for quote in ["\"\"\"", "'''"] {
        let documented = body
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote));
        if let Some((_, code)) = documented {
            body = code.trim_start().to_owned();
        }
    }
    let mut said = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(function: &str) -> PeerSpec {
        PeerSpec {
            name: "p".into(),
            source: "own/peer.py".into(),
            functions: vec![("f32".into(), function.into())],
            graph: true,
        }
    }

    const SOURCE: &str = "import torch\ndef f(x): pass\ndef fast(x, y):\n    y[:] = x\n\n@torch.compile\ndef f(x,\n      y):\n    '''Doubles.'''\n    # why\n    y[:] = 2 * x\n    return None\ng = torch.compile(f)\nif f == 3: pass\n";

    #[test]
    fn a_call_is_the_body_of_the_function_that_python_calls() {
        let f = "y[:] = 2 * x; return None";
        assert_eq!(peer("f").call(SOURCE), format!("@torch.compile {f}"));
        assert_eq!(
            peer("g").call(SOURCE),
            format!("g = torch.compile(f) | @torch.compile def f(x, y): {f}")
        );
        assert_eq!(peer("fas").call(SOURCE), "");
        assert_eq!(peer("b").call("a = b = f\n  b = 3\nc(b=3)\n"), "a = b = f");
    }

    #[test]
    fn a_call_has_what_the_function_uses_of_its_file() {
        const SOURCE: &str = "import torch\nEPS = 1e-5\ndef _norm(x):\n    return _scaled(x, EPS)\n\n\n\
            def _scaled(x, eps): return x * eps\n_fast = torch.compile(_norm)\ndef unused(x):\n    return x\n\n\
            def eager(x, y):\n    return _norm(x)\n\ndef fast(x, y):\n    y._norm = 1\n    return _fast(x)\n";
        let norm = "def _norm(x): return _scaled(x, EPS) | def _scaled(x, eps): return x * eps | EPS = 1e-5";
        assert_eq!(
            peer("eager").call(SOURCE),
            format!("return _norm(x) | {norm}")
        );
        assert_eq!(
            peer("fast").call(SOURCE),
            format!("y._norm = 1; return _fast(x) | _fast = torch.compile(_norm) | {norm}")
        );
    }

    #[test]
    fn a_place_has_the_line_of_the_function_that_python_calls() {
        assert_eq!(peer("f").place(SOURCE), "f, own/peer.py:7");
        assert_eq!(peer("g").place(SOURCE), "g, own/peer.py:13");
        assert_eq!(peer("fas").place(SOURCE), "fas, own/peer.py");
        let kernel = PeerSpec {
            functions: Vec::new(),
            source: "old.cu".into(),
            ..peer("f")
        };
        assert_eq!(kernel.place(SOURCE), "old.cu");
    }
}
