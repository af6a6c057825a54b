//! `lab peers new`: adds the first peer to a problem. It runs at once, and is the place where
//! others are written.
//!
//! A problem with reference.py gets a peer.py with the function of the reference. A problem with
//! reference.cu gets that file as a peer: its formula cannot be told in Python.

use anyhow::{Context, Result, bail, ensure};
use itertools::Itertools;
use lab_project::Project;
use lab_run::inputs;
use lab_system::failure::Failure;
use lab_system::root::if_there;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use toml::{Table, Value};

/// Most bytes of problem.toml and of reference.py.
const LIMIT: u64 = inputs::SIZE_LIMIT;

/// The name of the peer that is added.
const NAME: &str = "reference";

/// What was added.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NewPeer {
    /// The peer that was added.
    pub name: &'static str,
    /// Repository-relative path of the problem.toml that got a `[[peer]]` table.
    pub problem: String,
    /// The function of peer.py as the table names it, with `{T}` for a type; `None` if the peer is
    /// reference.cu.
    pub function: Option<String>,
    /// Repository-relative path of the file that was written; `None` if the peer is reference.cu.
    pub written: Option<String>,
}

/// Adds a `[[peer]]` table at the end of problem.toml, and writes peer.py if the reference is
/// Python. The rest of problem.toml stays as it is. Refuses a problem that has peers.
pub fn add(project: &Project) -> Result<NewPeer> {
    if let Some(line) = &project.config.harness {
        bail!("this kernel is judged by `{line}`: only the built-in harness times peers");
    }
    let problem = project.problem_dir.join("problem.toml");
    let shown = shown(project, &problem);
    let text = read(project, &problem)?.with_context(|| {
        format!("there is no {shown}: a peer is a [[peer]] table of problem.toml")
    })?;
    let table: Table = text
        .parse()
        .with_context(|| format!("cannot read {shown}"))?;
    if table.contains_key("peer") {
        let names = inputs::peer_tables(text.as_bytes())
            .into_iter()
            .map(|peer| peer.name)
            .join(", ");
        bail!("{shown} has peers already ({names}): add another [[peer]] table to it");
    }
    let (peer, function) = match read(project, &project.problem_dir.join("reference.py"))? {
        Some(reference) => {
            let function = function(&table, &reference).with_context(|| {
                format!("reference.py beside {shown} has no function of the name in entry")
            })?;
            let file = project.problem_dir.join("peer.py");
            ensure!(
                read(project, &file)?.is_none(),
                "{} exists already: name its functions in [[peer]] tables of {shown}, as in\n\n[[peer]]\nname = \"eager\"\nfunction = \"eager\"",
                self::shown(project, &file)
            );
            (Some((file, peer_py(&table, &reference))), Some(function))
        }
        None => {
            let is_there = project
                .files()
                .metadata(&project.problem_dir.join("reference.cu"))
                .is_ok();
            ensure!(
                is_there,
                "there is neither reference.py nor reference.cu beside {shown}"
            );
            (None, None)
        }
    };
    let what = match &function {
        Some(function) => format!("function = \"{function}\""),
        None => "kernel = \"reference.cu\"".to_owned(),
    };
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let text = format!("{text}{gap}\n[[peer]]\nname = \"{NAME}\"\n{what}\n");
    // An inline table at the end of a file could be one that no [[peer]] may follow.
    text.parse::<Table>()
        .with_context(|| format!("cannot add a [[peer]] table to {shown}"))?;
    let mut written = None;
    if let Some((file, source)) = &peer {
        replace(project, file, source)?;
        written = Some(self::shown(project, file));
    }
    replace(project, &problem, &text)?;
    Ok(NewPeer {
        name: NAME,
        problem: shown,
        function,
        written,
    })
}

fn shown(project: &Project, path: &Path) -> String {
    project
        .relative(path)
        .unwrap_or_else(|| path.display().to_string())
}

/// The text of a file; `None` if there is none.
fn read(project: &Project, path: &Path) -> Result<Option<String>> {
    let shown = path.display();
    let bytes = if_there(project.files().read(path, LIMIT));
    let bytes = bytes.with_context(|| format!("cannot read {shown}"))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.with_context(|| format!("{shown} is not UTF-8"))
}

fn replace(project: &Project, path: &Path, text: &str) -> Result<()> {
    let written = project.files().replace(path, text.as_bytes());
    let written = written.cannot("write", path);
    written.and_so("no peer was added")
}

/// The name of a reference.py's function as a `[[peer]]` table has it: the problem's entry, with
/// `{T}` if there is a function for each type. Else one function that stands for all types.
fn function(problem: &Table, reference: &str) -> Option<String> {
    let entry = problem.get("entry")?.as_str()?;
    let of_types: Vec<String> = list(problem.get("types"))
        .filter_map(Value::as_str)
        .map(|of| entry.replace("{T}", of))
        .collect();
    if of_types.iter().all(|name| defines(reference, name)) {
        // Without types the entry itself is the name.
        return Some(entry.to_owned())
            .filter(|entry| !of_types.is_empty() || defines(reference, entry));
    }
    of_types
        .into_iter()
        .chain([entry.replace("_{T}", "")])
        .find(|name| defines(reference, name))
}

/// Whether a source defines a function of this name, or assigns something to it:
/// `scale_f32 = scale_f16 = _scale`.
fn defines(source: &str, name: &str) -> bool {
    let is_named = |line: &str| match line.strip_prefix("def ") {
        Some(rest) => rest
            .trim_start()
            .strip_prefix(name)
            .is_some_and(|rest| rest.trim_start().starts_with('(')),
        None => line
            .rsplit_once('=')
            .is_some_and(|(targets, _)| targets.split('=').any(|of| of.trim() == name)),
    };
    source
        .lines()
        .filter(|line| !line.starts_with([' ', '\t']))
        .any(is_named)
}

/// The text of peer.py: what a function gets, then the reference.
fn peer_py(problem: &Table, reference: &str) -> String {
    let mut text = "\
# Peers: other implementations of this problem. `lab bench --verdict`, and the screen's action `measure`, time them beside the kernel.
#
# A function gets the parameters of problem.toml that it names: NumPy arrays on the cpu device, torch tensors on a GPU. It writes
# into the outputs and returns None:
#
"
    .to_owned();
    for line in parameters(problem) {
        // A name from problem.toml must not end the comment.
        let _ = writeln!(text, "#   {}", line.replace(|c: char| c.is_control(), " "));
    }
    text += "\
#
# The function below is that of reference.py. Write others beside it, for instance one that calls torch, and give each a [[peer]]
# table in problem.toml.

";
    text + reference
}

/// The items of a list; none of anything else.
fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// `x: in, f32 [rows, cols]`, a line for each parameter.
fn parameters(problem: &Table) -> Vec<String> {
    let word = |table: &Value, key: &str| {
        table
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("?")
            .to_owned()
    };
    let tensor = |tensor: &Value| {
        let dims: Vec<String> = list(tensor.get("shape"))
            .map(|dim| dim.as_str().map_or_else(|| dim.to_string(), str::to_owned))
            .collect();
        let (name, role, of) = (
            word(tensor, "name"),
            word(tensor, "role"),
            word(tensor, "type"),
        );
        format!("{name}: {role}, {of} [{}]", dims.join(", "))
    };
    let scalar = |scalar: &Value| format!("{}: a number", word(scalar, "name"));
    let dims: Vec<&str> = list(problem.get("dims"))
        .filter_map(Value::as_str)
        .collect();
    let mut lines: Vec<String> = list(problem.get("tensor"))
        .map(tensor)
        .chain(list(problem.get("scalar")).map(scalar))
        .collect();
    if !dims.is_empty() {
        lines.push(format!("{}: dims, whole numbers", dims.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    const PROBLEM: &str = "# a comment\nname = \"scale\"\nentry = \"scale_{T}\"\ntypes = [\"f32\"]\ndims = [\"n\"]\n\
                           [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"T\"\nshape = [\"n\", 2]\n\
                           [[scalar]]\nname = \"a\"\ntype = \"f32\"\nvalue = 2.0";

    fn problem(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path()).unwrap();
        for (name, text) in files {
            fs::write(temp.path().join(name), text).unwrap();
        }
        fs::write(temp.path().join("kernel.cu"), "// x\n").unwrap();
        let project = Project::open(temp.path(), None).unwrap();
        (temp, project)
    }

    #[test]
    fn a_reference_in_python_becomes_a_peer_that_can_be_changed() {
        let reference = "import numpy as np\n\ndef scale(x, y, a):\n    y[...] = a * x\n";
        let (temp, project) = problem(&[("problem.toml", PROBLEM), ("reference.py", reference)]);
        let added = add(&project).unwrap();
        assert_eq!(
            (added.function.as_deref(), added.written.as_deref()),
            (Some("scale"), Some("peer.py"))
        );
        let text = fs::read_to_string(temp.path().join("problem.toml")).unwrap();
        assert_eq!(
            text,
            format!("{PROBLEM}\n\n[[peer]]\nname = \"reference\"\nfunction = \"scale\"\n")
        );
        let peer = fs::read_to_string(temp.path().join("peer.py")).unwrap();
        assert!(
            peer.ends_with(reference)
                && peer.contains("\n#   x: in, T [n, 2]\n#   a: a number\n#   n: dims"),
            "{peer}"
        );
        let again = add(&project).unwrap_err().to_string();
        assert!(again.contains("has peers already (reference)"), "{again}");
    }

    #[test]
    fn a_problem_with_types_gets_a_function_for_each() {
        let problem_of = |types: &str| PROBLEM.replace("[\"f32\"]", types);
        let both = problem_of("[\"f32\", \"f16\"]");
        for (reference, function) in [
            (
                "def scale_f32(x):\n    pass\ndef scale_f16(x):\n    pass\n",
                "scale_{T}",
            ),
            (
                "def _scale(x):\n    pass\nscale_f32 = scale_f16 = _scale\n",
                "scale_{T}",
            ),
            ("def scale_f32(x):\n    pass\n", "scale_f32"),
            ("def scale(x):\n    pass\n", "scale"),
        ] {
            let (temp, project) = problem(&[("problem.toml", &both), ("reference.py", reference)]);
            assert_eq!(
                add(&project).unwrap().function.as_deref(),
                Some(function),
                "{reference}"
            );
            let text = fs::read_to_string(temp.path().join("problem.toml")).unwrap();
            assert!(
                text.ends_with(&format!(
                    "\n[[peer]]\nname = \"reference\"\nfunction = \"{function}\"\n"
                )),
                "{text}"
            );
        }
    }

    #[test]
    fn a_reference_in_cuda_is_a_peer_as_it_is() {
        let (temp, project) = problem(&[
            ("problem.toml", "entry = \"scale\"\n"),
            ("reference.cu", "// y\n"),
        ]);
        let added = add(&project).unwrap();
        assert_eq!((added.function, added.written), (None, None));
        let text = fs::read_to_string(temp.path().join("problem.toml")).unwrap();
        assert_eq!(
            text,
            "entry = \"scale\"\n\n[[peer]]\nname = \"reference\"\nkernel = \"reference.cu\"\n"
        );
    }

    #[test]
    fn what_cannot_have_a_peer_is_refused_and_stays_as_it_is() {
        let reference = ("reference.py", "def scale(x):\n    pass\n");
        let refused = |files: &[(&str, &str)]| {
            let (temp, project) = problem(files);
            let said = format!("{:#}", add(&project).unwrap_err());
            let text = fs::read_to_string(temp.path().join("problem.toml")).unwrap_or_default();
            assert!(!text.contains("\n[[peer]]\nname = \"reference\""), "{text}");
            said
        };
        assert!(refused(&[]).contains("there is no problem.toml"));
        assert!(
            refused(&[("problem.toml", "entry = \"scale\"\n")])
                .contains("neither reference.py nor reference.cu")
        );
        assert!(
            refused(&[("problem.toml", "entry = \"s\"\n"), reference])
                .contains("no function of the name in entry")
        );
        assert!(refused(&[("problem.toml", "entry =")]).contains("cannot read problem.toml"));
        let files = [
            ("problem.toml", "entry = \"scale\"\n"),
            reference,
            ("peer.py", "def f(): pass\n"),
        ];
        assert!(refused(&files).contains("peer.py exists already"));
    }
}
