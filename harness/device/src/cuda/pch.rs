//! Precompiled headers: the toolkit headers that a kernel begins with are most of its build time
//! (`cooperative_groups.h` alone takes about a second), and they never change.
//!
//! NVRTC's automatic `--pch` is not used: it takes in every header up to the first declaration and
//! does not notice when a local or an in-memory one has changed, so that a verdict could belong to
//! other bytes; and it starts over, for longer than it saves, whenever a `#define` at the top of a
//! kernel is edited. Here only the leading includes of headers that are known not to change
//! (the toolkit's, and the lab's own) are precompiled, under a name of their own, and only when
//! asked to ahead of a build: one build alone would wait longer for them than it gains.
//!
//! A file made by one process is of no use to another, because NVRTC maps it to a fixed address.

use super::headers;
use super::nvrtc::{Input, Nvrtc};
use std::path::{Path, PathBuf};

/// What is precompiled, and everything that it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The include lines.
    pub lines: String,
    pub options: Vec<String>,
    /// Text of `lab_problem.h`, which `lab.h` includes.
    pub problem_header: String,
}

/// The precompiled headers of this process: those of one prefix, because a file has 100 to 260 MB.
#[derive(Default)]
pub struct Pch {
    folder: Option<PathBuf>,
    /// No file where precompiling did not work, so that it is not tried again.
    made: Option<(Prefix, Option<PathBuf>)>,
}

impl Pch {
    /// The options that use what is ready for this prefix; none where nothing is.
    pub fn options(&self, prefix: &Prefix) -> Vec<String> {
        match &self.made {
            Some((made, Some(file))) if made == prefix => {
                vec![format!("--use-pch={}", file.display()), "--pch-messages=false".into()]
            }
            _ => Vec::new(),
        }
    }

    /// Precompiles; says whether the headers are ready.
    pub fn make(&mut self, nvrtc: &Nvrtc, prefix: &Prefix, cache_dir: &Path) -> bool {
        if self.made.as_ref().is_none_or(|(made, _)| made != prefix) {
            if let Some((_, Some(old))) = self.made.take() {
                let _ = std::fs::remove_file(old);
            }
            if prefix.lines.is_empty() || !nvrtc.has_pch() {
                return false;
            }
            let Some(folder) = self.folder(cache_dir) else { return false };
            let name = format!("{}.pch", blake3::hash(format!("{prefix:?}").as_bytes()).to_hex());
            self.made = Some((prefix.clone(), make(nvrtc, prefix, folder.join(name))));
        }
        self.made.as_ref().is_some_and(|(_, file)| file.is_some())
    }

    /// A folder of this process. Those of processes that are gone are removed on the way.
    fn folder(&mut self, cache_dir: &Path) -> Option<PathBuf> {
        if self.folder.is_none() {
            for entry in std::fs::read_dir(cache_dir).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner = name.to_str().and_then(|n| n.strip_prefix("pch-")).and_then(|n| n.parse().ok());
                if owner.is_some_and(|owner: u32| !Path::new("/proc").join(owner.to_string()).exists()) {
                    let _ = std::fs::remove_dir_all(entry.path());
                }
            }
            let folder = cache_dir.join(format!("pch-{}", std::process::id()));
            std::fs::create_dir_all(&folder).ok()?;
            self.folder = Some(folder);
        }
        self.folder.clone()
    }
}

impl Drop for Pch {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// `None` where it did not work; builds are then only slower.
fn make(nvrtc: &Nvrtc, prefix: &Prefix, file: PathBuf) -> Option<PathBuf> {
    let mut options = prefix.options.clone();
    options.push(format!("--create-pch={}", file.display()));
    options.push("--pch-messages=false".into());
    let headers = headers::with_problem(&prefix.problem_header);
    let input =
        Input { text: prefix.lines.as_bytes(), name: "precompiled.cu", headers: &headers, options: &options };
    let made = nvrtc.compile(&input).is_ok_and(|output| output.cubin.is_some());
    (made && file.is_file()).then_some(file)
}

/// The leading include lines of a source for which `is_fixed` says yes, comments left out. It is
/// asked with the name as it is written, as in `<cuda_fp16.h>` or `"lab.h"`. Ends at the first line
/// that is anything else.
pub fn leading_includes(source: &str, is_fixed: impl Fn(&str) -> bool) -> String {
    let mut lines = String::new();
    let mut rest = source;
    loop {
        rest = after_comments(rest);
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        match included(line) {
            Some(header) if is_fixed(header) => lines.push_str(&format!("#include {header}\n")),
            _ => return lines,
        }
        rest = after;
    }
}

fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if let Some(comment) = text.strip_prefix("//") {
            text = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = text.strip_prefix("/*") {
            text = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            return text;
        }
    }
}

/// `<cooperative_groups.h>` of `#include <cooperative_groups.h>`, with nothing but a comment after it.
fn included(line: &str) -> Option<&str> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let close = if directive.starts_with('<') { '>' } else { '"' };
    let end = 2 + directive.get(1..)?.find(close)?;
    let after = directive[end..].trim();
    let whole = directive.starts_with(['<', '"']) && (after.is_empty() || after.starts_with("//"));
    whole.then(|| &directive[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let fixed = ["<cooperative_groups.h>", "<cuda_bf16.h>", "\"lab.h\""];
        assert_eq!(leading_includes(source, |header| fixed.contains(&header)), expected, "{source}");
    }

    #[test]
    fn the_fixed_headers_at_the_top_are_taken() {
        check(
            "// A kernel.\n/* of\n many words */\n\n#include <cooperative_groups.h>  // grid\n  # include <cuda_bf16.h>\n#include \"lab.h\"\n",
            "#include <cooperative_groups.h>\n#include <cuda_bf16.h>\n#include \"lab.h\"\n",
        );
    }

    #[test]
    fn whatever_could_change_a_header_ends_them() {
        check("#define N 4\n#include <cooperative_groups.h>\n", "");
        check("#include \"mine.h\"\n#include <cooperative_groups.h>\n", "");
        check("#include <mine.h>\n#include <cooperative_groups.h>\n", "");
        check(
            "#include <cuda_bf16.h>\n#ifdef A\n#include <cooperative_groups.h>\n",
            "#include <cuda_bf16.h>\n",
        );
        check("#include NAME\n#include <cuda_bf16.h>\n", "");
        check("#include <cuda_bf16.h", "");
        check("", "");
        check("/* never closed #include <cuda_bf16.h>", "");
    }
}
