//! What `lab init` recognises in a Python file, and what it proposes.

use itertools::Itertools;
use lab_run::inputs;
use lab_system::listing;
use std::fs;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is looked at.
const SIZE_LIMIT: u64 = 1 << 20;

/// Files beside a kernel that have another purpose.
const OTHER_PURPOSE: [&str; 4] = ["reference.py", "peer.py", "harness.py", "setup.py"];

/// A function's name, and its parameters that are not fixed when it is compiled.
type Function = (String, Vec<String>);

/// What a Python file is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonSource {
    /// It holds Triton kernels.
    Triton(Vec<Function>),
    /// It holds functions of CuTe DSL that launch kernels (`@cute.jit`).
    CuteDsl(Vec<Function>),
    /// It holds TileLang: functions that make a kernel for certain sizes (`@tilelang.jit`), and the
    /// programs in them (`@T.prim_func`).
    TileLang(Vec<Function>, Vec<Function>),
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
            PythonSource::Triton(decorated(text, "@triton.jit", true))
        } else if imports.iter().any(|package| package == "tilelang") {
            PythonSource::TileLang(
                decorated(text, "@tilelang.jit", false),
                decorated(text, "@T.prim_func", true),
            )
        } else if imports.iter().any(|package| package == "cutlass") && text.contains("@cute.") {
            PythonSource::CuteDsl(decorated(text, "@cute.jit", true))
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
            PythonSource::CuteDsl(_) => "holds CuTe DSL",
            PythonSource::TileLang(..) => "imports tilelang",
            PythonSource::LoadInline => "builds CUDA C++ with load_inline",
            PythonSource::Plain => "is Python",
        }
    }

    /// What to write so that `name` can be judged, one note for each step.
    pub fn proposals(&self, name: &str) -> Vec<String> {
        match self {
            PythonSource::Triton(kernels) => {
                let (kernel, parameters) = first(kernels, "my_kernel", "x, y, n");
                let entry = match kernel.strip_suffix("_kernel") {
                    Some(entry) => entry.to_owned(),
                    None => format!("{kernel}_launch"),
                };
                vec![
                    format!(
                        "{name} {}: lab calls a Python function, which states the grid, as `def {entry}({parameters}): \
                         {kernel}[grid]({parameters}, …)`. It writes into its outputs and returns None",
                        self.in_words()
                    ),
                    problem_toml(&entry),
                ]
            }
            PythonSource::CuteDsl(functions) => {
                let (function, tensors) = first(functions, "launch", "x, y");
                vec![
                    format!(
                        "{name} {}: lab calls a Python function with torch tensors, as `def run({tensors}): \
                         {function}({})`, with `from cutlass.cute.runtime import from_dlpack`. It writes into its outputs and \
                         returns None. Compile once with `cute.compile` and keep the result in a global: a launch that compiles \
                         counts as slow",
                        self.in_words(),
                        tensors.split(", ").map(|tensor| format!("from_dlpack({tensor})")).join(", ")
                    ),
                    problem_toml("run"),
                ]
            }
            PythonSource::TileLang(makers, programs) => {
                let (maker, sizes) = first(makers, "make", "M, N");
                let (_, tensors) = first(programs, "main", "A, B");
                vec![
                    format!(
                        "{name} {}: lab calls a Python function with torch tensors, as `def run({tensors}, {sizes}): \
                         {maker}({sizes})({tensors})`. It writes into its outputs and returns None, so leave `out_idx` out of \
                         @tilelang.jit: the kernel then takes its outputs as arguments. TileLang keeps a compiled kernel for each \
                         size",
                        self.in_words()
                    ),
                    problem_toml("run"),
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

/// The first function with its parameters in a row, or these where there is none.
fn first(functions: &[Function], name: &str, parameters: &str) -> (String, String) {
    let found = functions.first();
    found.map_or((name.to_owned(), parameters.to_owned()), |(name, all)| {
        (name.clone(), all.join(", "))
    })
}

/// The note about what problem.toml has to say.
fn problem_toml(entry: &str) -> String {
    format!(
        "problem.toml: `entry = \"{entry}\"`, a [[tensor]] for each pointer or tensor and a [[scalar]] or a name in `dims` for each \
         number, with the names of the parameters"
    )
}

/// The functions behind a decorator, with their parameters that are no constants of the compiler.
/// Those with a default may be left out: in TileLang they tune the kernel.
fn decorated(text: &str, decorator: &str, with_defaults: bool) -> Vec<Function> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(decorator) {
        rest = after;
        let Some((_, definition)) = after.split_once("def ") else {
            break;
        };
        let Some((name, parameters)) = definition.split_once('(') else {
            break;
        };
        let names = parameter_names(parameters, with_defaults);
        found.push((name.trim().to_owned(), names));
    }
    found
}

/// The names of the parameters that stand before the bracket that closes them.
fn parameter_names(text: &str, with_defaults: bool) -> Vec<String> {
    let without_comments: String = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect();
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for c in without_comments.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    let is_fixed = |part: &String| {
        part.to_lowercase().contains("constexpr") || (part.contains('=') && !with_defaults)
    };
    let names = parts.iter().filter(|part| !is_fixed(part));
    let names = names.map(|part| {
        part.split([':', '='])
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    });
    names
        .filter(|name| !name.is_empty() && name != "*" && name != "self")
        .collect()
}

/// The .py files of a folder that hold a kernel by what they import, sorted.
pub fn kernels_in(folder: &Path) -> Vec<(PathBuf, PythonSource)> {
    let entries = listing::entries(folder).map(|entry| entry.path());
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
    fn cute_dsl_and_tilelang_are_called_through_a_function() {
        let cute = "import cutlass\nimport cutlass.cute as cute\n\n@cute.kernel\ndef k(gA: cute.Tensor):\n    pass\n\n\
                    @cute.jit\ndef add(mA: cute.Tensor, mB: cute.Tensor, tile: cutlass.Constexpr = 4):\n    k(mA).launch(grid=1)\n";
        let proposals = PythonSource::of(cute).proposals("add.py").join("\n");
        assert!(
            proposals.contains("`def run(mA, mB): add(from_dlpack(mA), from_dlpack(mB))`"),
            "{proposals}"
        );
        let tile = "import tilelang\nimport tilelang.language as T\n\n@tilelang.jit(out_idx=[-1])\ndef scale(M, N, block=64):\n    \
                    @T.prim_func\n    def main(A: T.Tensor((M, N), \"float16\"), B: T.Tensor((M, N), \"float16\")):\n        pass\n";
        let proposals = PythonSource::of(tile).proposals("scale.py").join("\n");
        assert!(
            proposals.contains("`def run(A, B, M, N): scale(M, N)(A, B)`"),
            "{proposals}"
        );
        assert!(proposals.contains("leave `out_idx` out"), "{proposals}");
    }

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
