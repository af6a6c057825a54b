//! Exporting a kernel for use without the lab: as one .cu with a main, or as a Python file with a
//! PyTorch extension. Each checks itself against the reference.

mod binding;
mod formula;
mod lab_header;
mod python_kernel;
mod source;
mod standalone;
mod tables;
mod torch;
mod views;

pub use source::ReadHeader;

use super::file;
use super::file::text::ProblemFile;
use super::spec::ProblemSpec;
use lab_protocol::Language;
use lab_protocol::text::is_among;
use source::{Flattened, Frame};
use std::path::Path;

/// Modules that a Python file of the same name would hide from PyTorch, because a program's own
/// folder comes first.
const HIDDEN_MODULES: &str = "\
    abc argparse ast base64 bisect calendar code codecs collections contextlib copy csv ctypes \
    dataclasses datetime decimal dis enum fractions functools hashlib heapq inspect io json \
    keyword logging math numbers numpy operator os pickle platform queue random re select \
    shutil signal socket statistics string struct subprocess sys tempfile threading time token \
    torch triton types typing";

/// The kind of file that an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A .cu with a main that verifies and times the kernel.
    Standalone,
    /// A .py with a PyTorch extension.
    Torch,
}

/// The input of an export.
pub struct Material<'a> {
    /// The path of problem.toml, for messages, and for the .npy files beside it.
    pub problem_file: &'a Path,
    pub problem_toml: &'a str,
    /// The kernel: `kernel.cu` or `kernel.py`.
    pub kernel: Source<'a>,
    /// `reference.cu` or `reference.py`; `None` if the problem has neither.
    pub reference: Option<Source<'a>>,
    /// Reads the headers beside the kernel.
    pub read: ReadHeader<'a>,
    /// Lines for the head of the file: where the kernel comes from, what was measured.
    pub head: &'a [String],
    /// The options of `[compile]`, as NVRTC gets them.
    pub options: &'a [String],
    /// The architecture that the measured image was built for, as in `sm_90a`.
    pub built_for: Option<&'a str>,
    /// The name of the file that is written, without its ending.
    pub file_stem: &'a str,
}

/// An export.
#[derive(Debug, PartialEq)]
pub struct Exported {
    pub text: String,
    /// The command that builds it, verifies and times, in the folder of the file.
    pub command: String,
}

/// A source file.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its path in the repository.
    pub path: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    fn is_python(&self) -> bool {
        Language::of(self.path) == Language::Python
    }
}

/// The checked input of an export, which each of its sections is written from.
struct Parts<'a> {
    material: &'a Material<'a>,
    reference: Source<'a>,
    name: String,
    spec: ProblemSpec,
    file: ProblemFile,
}

/// Returns the text of the export. The error says what cannot be exported, why, and what to do.
pub fn export(material: &Material, form: Form) -> Result<Exported, String> {
    let reference = material.reference.ok_or_else(|| {
        "the problem has no reference.cu and no reference.py, so an export could not check itself: write one".to_owned()
    })?;
    if form == Form::Torch && is_among(material.file_stem, HIDDEN_MODULES) {
        return Err(format!(
            "a Python file called {0}.py would hide the module {0}, which PyTorch imports: name another file with --output",
            material.file_stem
        ));
    }
    let spec = file::parse(material.problem_file, material.problem_toml, None)
        .map_err(|e| e.to_string())?;
    let file =
        file::read(material.problem_file, material.problem_toml).map_err(|e| e.to_string())?;
    if let Some(key) = file.beyond_export() {
        return Err(format!(
            "{} has the key {key}, which an export cannot write yet: its program would launch or compare something else. The \
             kernel itself is plain CUDA, and `lab help export` says how to launch it",
            material.problem_file.display()
        ));
    }
    tables::check_values(&spec)?;
    views::check(&file, &|text| binding::cpp_formula(&file, text))?;
    let name = spec.name_at(material.problem_file);
    // The name stands in comments.
    let name = name.unwrap_or_else(|| "kernel".into());
    let name = name.replace(char::is_control, " ");
    let parts = Parts {
        material,
        reference,
        name,
        spec,
        file,
    };
    match form {
        Form::Standalone => standalone::write(&parts),
        Form::Torch if material.kernel.is_python() => python_kernel::write(&parts),
        Form::Torch => torch::write(&parts),
    }
}

impl Parts<'_> {
    /// A source with its headers in place of their includes.
    fn flatten(&self, source: Source, frame: &Frame) -> Result<Flattened, String> {
        let flat = source::flatten(source.text, frame, self.material.read);
        flat.map_err(|error| format!("{}: {error}", source.path))
    }

    /// The head's lines, each behind `mark`.
    fn head(&self, mark: &str) -> String {
        let lines = self.material.head.iter().flat_map(|line| line.lines());
        lines
            .map(|line| format!("{mark}{line}").trim_end().to_owned() + "\n")
            .collect()
    }

    /// The options of `[compile]` that nvcc takes too.
    fn options(&self) -> Vec<&str> {
        let other = [
            "--device-as-default-execution-space",
            "--minimal",
            "--builtin",
            "--modify-stack-limit",
            "--dopt",
        ];
        let options = self.material.options.iter().map(String::as_str);
        options
            .filter(|option| !other.iter().any(|other| option.starts_with(other)))
            .collect()
    }
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    let word = word.replace(char::is_control, " ");
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
