//! The key of a build in the cache: a hash of everything that the image depends on.

use crate::api::BuildRequest;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the key, in hex. `None` where the image may depend on more than can be hashed: an
/// include whose name a macro gives, a time stamp, or a file that cannot be read.
pub fn of(request: &BuildRequest, compiler: &str) -> Option<String> {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes())
            .update(bytes);
    };
    add(compiler.as_bytes());
    add(own_build().as_bytes());
    // The paths do not matter: each run has its snapshot in another folder.
    let without_paths = BuildRequest {
        source: PathBuf::new(),
        include_dirs: Vec::new(),
        cache_dir: PathBuf::new(),
        ..request.clone()
    };
    add(&serde_json::to_vec(&without_paths).ok()?);

    let mut folders = request.include_dirs.clone();
    folders.extend(request.options.include_folders().map(PathBuf::from));
    let mut seen = HashSet::new();
    let mut next = vec![(String::new(), request.source.clone())];
    while let Some((position, path)) = next.pop() {
        let bytes = std::fs::read(&path).ok()?;
        add(position.as_bytes());
        add(&bytes);
        if !seen.insert(path.clone()) {
            continue;
        }
        let own = path.parent().map(Path::to_owned);
        for name in includes(&String::from_utf8_lossy(&bytes))? {
            // Takes every file of that name, because the compiler decides in which order it
            // searches the folders. A name that is in none of them belongs to the toolkit or to the
            // lab.
            for (index, folder) in own.iter().chain(&folders).enumerate() {
                let path = folder.join(&name);
                if path.is_file() {
                    next.push((format!("{index} {name}"), path));
                }
            }
        }
    }
    Some(hash.finalize().to_hex().to_string())
}

/// Identifies this program's own build by its file: another build may rewrite the source
/// differently, or embed other headers.
pub fn own_build() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        format!(
            "{} {}",
            env!("CARGO_PKG_VERSION"),
            super::stamp(Path::new("/proc/self/exe"))
        )
    })
}

/// The names in a source's include directives, also of those that a condition leaves out. `None`
/// where a directive does not spell its file's name, or where the source asks for the time.
fn includes(source: &str) -> Option<Vec<String>> {
    const UNHASHABLE: [&str; 7] = [
        "__DATE__",
        "__TIME__",
        "__TIMESTAMP__",
        "__has_include",
        "include_next",
        "#embed",
        "%:",
    ];
    if UNHASHABLE.iter().any(|word| source.contains(word)) {
        return None;
    }
    let spliced = source.replace("\\\r\n", "").replace("\\\n", "");
    let mut names = Vec::new();
    for line in spliced.lines() {
        let Some(at) = line.find('#') else { continue };
        if !line[at..].contains("include") && !line[at..].contains("import") {
            continue;
        }
        if line[..at].trim_start().starts_with("//") {
            continue;
        }
        names.push(name_in(&line[at + 1..]).filter(|_| line[..at].trim().is_empty())?);
    }
    Some(names)
}

/// `lab.h` of ` include "lab.h" // …`.
fn name_in(directive: &str) -> Option<String> {
    let spelled = directive.trim_start().strip_prefix("include")?.trim_start();
    let close = match spelled.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    spelled[1..]
        .split_once(close)
        .map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: Option<&[&str]>) {
        let expected = expected.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
        assert_eq!(includes(source), expected, "{source}");
    }

    #[test]
    fn names_are_read_from_the_directives() {
        check(
            "#include \"a.h\"\n # include <b/c.h> // x\nint include;\n",
            Some(&["a.h", "b/c.h"]),
        );
        check("#if 0\n#include \"a.h\"\n#endif\n", Some(&["a.h"]));
        check("#incl\\\nude \"a.h\"\n", Some(&["a.h"]));
        check(
            "// #include what you need\nint x; // include # of lines\n",
            Some(&[]),
        );
    }

    #[test]
    fn a_name_that_is_not_spelled_out_is_not_guessed() {
        check("#include NAME\n", None);
        check("/* */ #include \"a.h\"\n", None);
        check("#/**/include \"a.h\"\n", None);
        check("#include_next <a.h>\n", None);
        check("#import \"a.h\"\n", None);
        check("%:include \"a.h\"\n", None);
        check("#if __has_include(\"a.h\")\n#endif\n", None);
        check("const char* when = __TIME__;\n", None);
    }
}
