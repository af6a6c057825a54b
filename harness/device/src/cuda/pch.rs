//! Precompiled headers. The toolkit's headers at the top of a kernel take most of its build time
//! (`cooperative_groups.h` alone takes about a second), and they do not change.
//!
//! NVRTC's automatic `--pch` has two faults here. It precompiles every header before the first
//! declaration and does not notice when a local or an in-memory header changes, so a verdict could
//! belong to other bytes. And it starts over whenever a `#define` at the top of a kernel is edited,
//! which takes longer than it saves. This module precompiles only the leading includes of headers
//! that cannot change: the toolkit's and the lab's own. It does so only ahead of a build
//! ([`Pch::make`]), because a single build would wait for it longer than it saves.
//!
//! The file of one process is useless to another, because NVRTC maps it to a fixed address.

use super::headers;
use super::nvrtc::{Input, Nvrtc};
use crate::build_cache;
use lab_source::cpp::directive::Directive;
use lab_source::cpp::{Token, TokenKind, tokens};
use lab_system::leftovers;
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use std::path::{Path, PathBuf};

/// What is precompiled, and everything it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The include lines.
    pub lines: String,
    pub options: Vec<String>,
    /// Text of `lab_problem.h`, which `lab.h` includes.
    pub problem_header: String,
}

/// The precompiled headers of this process. It keeps those of one prefix, because a file has 100 to
/// 260 MB.
#[derive(Default)]
pub struct Pch {
    folder: Option<TemporaryFolder>,
    /// The last prefix and its file. The file is `None` where precompiling failed: it is not tried
    /// again.
    made: Option<(Prefix, Option<PathBuf>)>,
}

impl Pch {
    /// Returns the options that use the precompiled headers of this prefix. Empty where there are
    /// none.
    pub fn options(&self, prefix: &Prefix) -> Vec<String> {
        match &self.made {
            Some((made, Some(file))) if made == prefix => {
                vec![
                    format!("--use-pch={}", file.display()),
                    "--pch-messages=false".into(),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Precompiles the headers. Returns whether they are ready. A failure only makes builds slower.
    pub fn make(&mut self, nvrtc: &Nvrtc, prefix: &Prefix, cache_dir: &Path) -> bool {
        if self.made.as_ref().is_none_or(|(made, _)| made != prefix) {
            if let Some((_, Some(old))) = self.made.take() {
                // Where this fails, the file stays until the process ends and removes its folder.
                let _ = std::fs::remove_file(old);
            }
            if prefix.lines.is_empty() || !nvrtc.has_pch() {
                return false;
            }
            let Some(folder) = self.folder(cache_dir) else {
                return false;
            };
            let hash = blake3::hash(format!("{prefix:?}").as_bytes()).to_hex();
            let file = folder.join(format!("{hash}.pch"));
            self.made = Some((prefix.clone(), make(nvrtc, prefix, file)));
        }
        self.made.as_ref().is_some_and(|(_, file)| file.is_some())
    }

    /// Returns the folder of this process, and removes the folders of processes that have ended.
    /// `None` where the cache folder cannot be written: the build then fails with the reason, as it
    /// writes there too.
    fn folder(&mut self, cache_dir: &Path) -> Option<&Path> {
        if self.folder.is_none() {
            let work = build_cache::work_folder(cache_dir);
            std::fs::create_dir_all(&work).ok()?;
            leftovers::sweep(&Root::new(&work), Path::new(""));
            self.folder = Some(TemporaryFolder::inside(&work).ok()?);
        }
        self.folder.as_ref().map(TemporaryFolder::path)
    }
}

/// Returns the file. `None` where NVRTC fails: the build reports errors in these headers, and
/// otherwise is only slower.
fn make(nvrtc: &Nvrtc, prefix: &Prefix, file: PathBuf) -> Option<PathBuf> {
    let mut options = prefix.options.clone();
    options.push(format!("--create-pch={}", file.display()));
    options.push("--pch-messages=false".into());
    let headers = headers::with_problem(&prefix.problem_header);
    let input = Input {
        text: prefix.lines.as_bytes(),
        name: "precompiled.cu",
        headers: &headers,
        options: &options,
        syntax_only: false,
    };
    let made = nvrtc
        .compile(&input)
        .is_ok_and(|output| output.cubin.is_some());
    (made && file.is_file()).then_some(file)
}

/// Returns the include lines at the top of a source whose headers cannot change, without comments.
/// `is_fixed` gets the name as it is written, such as `<cuda_fp16.h>` or `"lab.h"`. Ends at the
/// first line that is not such an include.
pub fn leading_includes(source: &str, is_fixed: impl Fn(&str) -> bool) -> String {
    let included = |token: Token| {
        let line = token.text(source);
        let directive = Directive::parse(line).filter(|d| d.name == "include")?;
        let header = directive.spelled_header()?;
        let after = directive.rest[header.len()..].trim();
        let is_whole = after.is_empty() || after.starts_with("//");
        (token.kind == TokenKind::Directive && is_whole && is_fixed(header)).then_some(header)
    };
    let headers = tokens(source).into_iter().map_while(included);
    headers
        .map(|header| format!("#include {header}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let fixed = ["<cooperative_groups.h>", "<cuda_bf16.h>", "\"lab.h\""];
        assert_eq!(
            leading_includes(source, |header| fixed.contains(&header)),
            expected,
            "{source}"
        );
    }

    #[test]
    fn the_fixed_headers_at_the_top_are_taken() {
        check(
            "// A kernel.\n/* of\n many words */\n\n#include <cooperative_groups.h>  // grid\n  # include <cuda_bf16.h>\n#include \"lab.h\"\n",
            "#include <cooperative_groups.h>\n#include <cuda_bf16.h>\n#include \"lab.h\"\n",
        );
    }

    #[test]
    fn any_other_line_ends_them() {
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
