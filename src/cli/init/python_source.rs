//! What `lab init` recognises in a Python file, and what it proposes.

use lab_run::inputs;
use std::fs;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is looked at.
const SIZE_LIMIT: u64 = 1 << 20;

/// Files beside a kernel that have another purpose.
const OTHER_PURPOSE: [&str; 4] = ["reference.py", "peer.py", "harness.py", "setup.py"];

/// What a Python file is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonSource {
    /// It holds Triton kernels, with these names and parameters.
    Triton(Vec<(String, Vec<String>)>),
    /// It builds CUDA C++ with `load_inline` or its like.
    LoadInline,
    /// Any other Python.
    Plain,
}

impl PythonSource {
    /// Reads a file. `None` if it cannot be read, or is too large.
    pub fn read(path: &Path) -> Option<PythonSource> {
        if fs::metadata(path).ok()?.len() > SIZE_LIMIT {
            return None;
        }
        Some(PythonSource::of(&String::from_utf8_lossy(
            &fs::read(path).ok()?,
        )))
    }

    fn of(text: &str) -> PythonSource {
        let imports = inputs::imported_packages(text.as_bytes());
        if imports.iter().any(|package| package == "triton") {
            PythonSource::Triton(triton_kernels(text))
        } else if text.contains("load_inline(") || text.contains("cpp_extension.load(") {
            PythonSource::LoadInline
        } else {
            PythonSource::Plain
        }
    }

    /// What it is, as the end of a sentence whose subject is the file.
    pub fn in_words(&self) -> &'static str {
        match self {
            PythonSource::Triton(_) => "imports triton",
            PythonSource::LoadInline => "builds CUDA C++ with load_inline",
            PythonSource::Plain => "is Python",
        }
    }

    /// What to write so that `name` can be judged, one note for each step.
    pub fn proposals(&self, name: &str) -> Vec<String> {
        match self {
            PythonSource::Triton(kernels) => {
                let (kernel, parameters) = kernels
                    .first()
                    .map_or(("my_kernel", "x, y, n".to_owned()), |(kernel, all)| (kernel.as_str(), all.join(", ")));
                let entry = kernel.strip_suffix("_kernel").unwrap_or(kernel);
                let entry = if entry == kernel { format!("{kernel}_launch") } else { entry.to_owned() };
                vec![
                    format!(
                        "{name} {}: lab calls a Python function, which states the grid, as `def {entry}({parameters}): \
                         {kernel}[grid]({parameters}, …)`. It writes into its outputs and returns None",
                        self.in_words()
                    ),
                    format!(
                        "problem.toml: `entry = \"{entry}\"`, a [[tensor]] for each pointer and a [[scalar]] or a name in \
                         `dims` for each number, with the names of the parameters"
                    ),
                ]
            }
            PythonSource::LoadInline => vec![
                format!(
                    "{name} {}: put the CUDA C++ into kernel.cu, with `extern \"C\" __global__` entries, and lab builds and \
                     checks it without PyTorch (`kernel = \"kernel.cu\"` in lab.toml); or write a function into {name} that calls the \
                     extension",
                    self.in_words()
                ),
                "problem.toml: `entry` names the function, a [[tensor]] each tensor that it gets. It copies what the extension \
                 returns into its outputs, and returns None"
                    .to_owned(),
            ],
            PythonSource::Plain => vec![
                "problem.toml: `entry` names a function of the kernel, and tensors, scalars and dims have the names of its \
                 parameters. It writes into its outputs and returns None; `lab new NAME --template python` writes an example"
                    .to_owned(),
            ],
        }
    }
}

/// The functions behind `@triton.jit`, with their parameters that are no `tl.constexpr`.
fn triton_kernels(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("@triton.jit") {
        rest = after;
        let Some((_, definition)) = after.split_once("def ") else {
            break;
        };
        let Some((name, parameters)) = definition.split_once('(') else {
            break;
        };
        let parameters = parameters
            .split_once("):")
            .map_or("", |(parameters, _)| parameters);
        let without_comments: String = parameters
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default())
            .collect();
        let runtime = without_comments
            .split(',')
            .filter(|parameter| !parameter.contains("constexpr"));
        let names = runtime.map(|parameter| {
            parameter
                .split([':', '='])
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        });
        found.push((
            name.trim().to_owned(),
            names
                .filter(|name| !name.is_empty() && name != "*")
                .collect(),
        ));
    }
    found
}

/// The .py files of a folder that hold a kernel by what they import, sorted.
pub fn kernels_in(folder: &Path) -> Vec<(PathBuf, PythonSource)> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_python = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        path.is_file() && name.ends_with(".py") && !OTHER_PURPOSE.contains(&name)
    };
    let read = |path: PathBuf| PythonSource::read(&path).map(|source| (path, source));
    let mut found: Vec<(PathBuf, PythonSource)> = entries
        .filter(is_python)
        .filter_map(read)
        .filter(|(_, source)| *source != PythonSource::Plain)
        .collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRITON: &str = "import triton\nimport triton.language as tl\n\n@triton.autotune(configs=[], key=['n'])\n@triton.jit\n\
                          def add_kernel(x_ptr, y_ptr,  # pointers, two\n               n, BLOCK: tl.constexpr):\n    pass\n";

    #[test]
    fn a_source_is_told_by_what_it_imports() {
        let parameters = ["x_ptr", "y_ptr", "n"].map(str::to_owned).to_vec();
        let triton = PythonSource::of(TRITON);
        assert_eq!(
            triton,
            PythonSource::Triton(vec![("add_kernel".into(), parameters)])
        );
        let proposals = triton.proposals("add.py").join("\n");
        assert!(
            proposals.contains("`def add(x_ptr, y_ptr, n): add_kernel[grid](x_ptr, y_ptr, n, …)`"),
            "{proposals}"
        );
        assert!(proposals.contains("`entry = \"add\"`"), "{proposals}");
        let inline = "from torch.utils.cpp_extension import load_inline\nm = load_inline(name='x', cuda_sources=[s])\n";
        assert_eq!(PythonSource::of(inline), PythonSource::LoadInline);
        assert!(PythonSource::LoadInline.proposals("m.py")[0].contains("into kernel.cu"));
        assert_eq!(
            PythonSource::of("# import triton\nimport numpy as np\n"),
            PythonSource::Plain
        );
        assert_eq!(
            PythonSource::of("import triton\n@triton.jit"),
            PythonSource::Triton(Vec::new())
        );
    }
}
