//! Solutions of flashinfer-bench: a JSON file with the sources of a kernel for a definition.

use serde::Deserialize;

/// A solution.
#[derive(Debug, Deserialize)]
pub struct Solution {
    pub name: String,
    /// The name of the definition that it is for.
    pub definition: String,
    author: Option<String>,
    spec: Spec,
    sources: Vec<Source>,
}

#[derive(Debug, Deserialize)]
struct Spec {
    language: String,
    entry_point: String,
    /// Whether the outputs are the last arguments, or are returned.
    #[serde(default = "yes")]
    destination_passing_style: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
struct Source {
    path: String,
    content: String,
}

/// What a solution's entry is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Python,
    Cuda,
}

/// Files of a problem folder that a source must not take the place of.
const OWN: [&str; 7] = [
    super::DEFINITION,
    "kernel.py",
    "kernel.cu",
    "reference.py",
    "problem.toml",
    "lab.toml",
    super::WORKLOADS,
];

impl Solution {
    /// Reads a solution. `None` if the text is JSON of another kind.
    pub fn read(text: &str) -> Option<Solution> {
        serde_json::from_str(text).ok()
    }

    /// What its entry is written in. The error says why there is no kernel for it.
    pub fn kind(&self) -> Result<Kind, String> {
        match self.spec.language.as_str() {
            "python" | "triton" | "tilelang" => Ok(Kind::Python),
            "cuda" => Ok(Kind::Cuda),
            other => Err(format!(
                "it is written in {other}, and a kernel of lab is CUDA C++ or Python"
            )),
        }
    }

    /// Its name and its author.
    pub fn title(&self) -> String {
        match &self.author {
            Some(author) => format!("{} by {author}", self.name),
            None => self.name.clone(),
        }
    }

    pub fn returns_outputs(&self) -> bool {
        !self.spec.destination_passing_style
    }

    /// The path of the file with the entry, its text, and the name of the function in it.
    pub fn entry(&self) -> Result<(&str, &str, &str), String> {
        let (path, function) = self.spec.entry_point.split_once("::").ok_or_else(|| {
            format!(
                "its entry_point is {:?}, and not FILE::FUNCTION",
                self.spec.entry_point
            )
        })?;
        let text = self
            .text(path)
            .ok_or_else(|| format!("its sources lack {path}, which its entry_point names"))?;
        Ok((path, text, function))
    }

    /// The text of a source.
    pub fn text(&self, path: &str) -> Option<&str> {
        let source = self.sources.iter().find(|source| source.path == path)?;
        Some(&source.content)
    }

    /// The other sources: path and text. The error names a path that leads out of the folder, or to
    /// a file of the problem.
    pub fn others(&self) -> Result<Vec<(&str, &str)>, String> {
        let (entry, ..) = self.entry()?;
        let others = self.sources.iter().filter(|source| source.path != entry);
        let each = others.map(|source| {
            let path = source.path.as_str();
            let is_plain = !path.is_empty()
                && path
                    .split('/')
                    .all(|part| !part.is_empty() && !part.starts_with('.') && !part.contains('\\'));
            match is_plain && !OWN.contains(&path) {
                true => Ok((path, source.content.as_str())),
                false => Err(format!(
                    "its source {path:?} cannot be a file beside the kernel: rename it in the solution"
                )),
            }
        });
        each.collect()
    }
}
