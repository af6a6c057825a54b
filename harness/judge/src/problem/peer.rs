//! A peer: another implementation of a problem, and what its source says about it.

use itertools::Itertools as _;
use lab_protocol::Language;
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
    /// kernel.cu. A function of one statement is that statement.
    pub fn call(&self, source: &str) -> String {
        self.functions
            .iter()
            .map(|(_, function)| body(function, source))
            .find(|body| !body.is_empty())
            .unwrap_or_default()
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

/// The body of the function of this name, its statements separated by `;`.
fn body(function: &str, source: &str) -> String {
    let Some(line) = line_of(function, source) else {
        return String::new();
    };
    let mut lines = source.lines().skip(line - 1).peekable();
    let head = lines.peek().copied().unwrap_or_default();
    if definition(head).is_none() {
        // An assignment, as in `compiled = torch.compile(eager)`.
        return head.trim().to_owned();
    }
    // A body on the line of the head.
    if let Some((_, body)) = head.split_once("): ")
        && !body.trim_start().starts_with('#')
    {
        return body.trim().to_owned();
    }
    // The head may go on over several lines, up to the colon that ends it.
    let ends_head = |line: &&str| {
        !line
            .split('#')
            .next()
            .unwrap_or_default()
            .trim_end()
            .ends_with(':')
    };
    let mut rest = lines.by_ref().skip_while(ends_head);
    rest.next();
    let inside = |line: &&str| line.is_empty() || line.starts_with([' ', '\t']);
    let body = rest
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
        assert_eq!(peer("f").call(SOURCE), "y[:] = 2 * x; return None");
        assert_eq!(peer("g").call(SOURCE), "g = torch.compile(f)");
        assert_eq!(peer("fas").call(SOURCE), "");
        assert_eq!(peer("b").call("a = b = f\n  b = 3\nc(b=3)\n"), "a = b = f");
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
