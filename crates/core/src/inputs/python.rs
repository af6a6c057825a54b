//! Finds the `import` statements of a Python source, and the files of the repository that they may
//! mean.
//!
//! The scan takes too many imports rather than too few: also those in functions and in branches
//! that do not run. A module that it missed would not be in the copy of the files that is judged,
//! so that the run would fail and say so.

mod lexer;

pub(super) use lexer::{Token, tokens};

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A module that a source imports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Import {
    /// The dots before the name: 0 for an absolute import, 1 for one from the package of the file
    /// itself.
    pub dots: usize,
    /// The parts of the name, as in `a.b`.
    pub module: Vec<String>,
    /// What follows `import` in `from a.b import c`: each may be a module too.
    pub names: Vec<String>,
}

impl Import {
    /// The files that the import may mean if it is looked for in `base`, a folder of the search
    /// path, or for an import with dots the folder of the importing file. Each package on the way
    /// counts, because Python runs its `__init__.py`.
    pub fn candidates(&self, base: &Path) -> Vec<PathBuf> {
        let mut folder = base.to_path_buf();
        for _ in 1..self.dots {
            if !folder.pop() {
                return Vec::new();
            }
        }
        let mut found = Vec::new();
        let mut take = |folder: &Path, name: &str| {
            found.push(folder.join(name).join("__init__.py"));
            found.push(folder.join(format!("{name}.py")));
        };
        for part in &self.module {
            take(&folder, part);
            folder.push(part);
        }
        self.names.iter().for_each(|name| take(&folder, name));
        if self.dots > 0 && self.module.is_empty() {
            found.push(folder.join("__init__.py"));
        }
        found
    }
}

/// The folders in which Python looks for the modules of a kernel: the kernel's own, the one above
/// its outermost package where the folder is a package, and the root of the repository. `is_there`
/// tells whether a file exists. The paths may be absolute or relative to the repository, whose root
/// is `root`.
pub(crate) fn search_path(
    kernel_folder: &Path,
    root: &Path,
    is_there: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let is_package = |folder: &&Path| {
        folder.starts_with(root) && *folder != root && is_there(&folder.join("__init__.py"))
    };
    let outermost = kernel_folder.ancestors().take_while(is_package).last();
    let mut folders = vec![kernel_folder.to_path_buf()];
    for folder in [outermost.and_then(Path::parent), Some(root)]
        .into_iter()
        .flatten()
    {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_path_buf());
        }
    }
    folders
}

/// The imports of a source, in their order, each once.
pub(crate) fn imports(source: &[u8]) -> Vec<Import> {
    let text = String::from_utf8_lossy(source);
    let tokens = tokens(text.trim_start_matches('\u{feff}'));
    let mut found = Vec::new();
    let mut is_start = true;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match token {
            Token::Word("import") if is_start => found.extend(plain_imports(rest)),
            Token::Word("from") if is_start => found.extend(from_import(rest)),
            Token::Word("import_module" | "__import__") => found.extend(by_function(rest)),
            _ => {}
        }
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        // `if x: import a` and `import a; import b`.
        is_start = match token {
            Token::Line(_) => true,
            Token::Sign(':' | ';') => depth == 0,
            _ => false,
        };
    }
    let mut seen = HashSet::new();
    found.retain(|import| seen.insert(import.clone()));
    found
}

/// What follows `import`: `a.b as c, d`.
fn plain_imports(mut rest: &[Token]) -> Vec<Import> {
    let mut found = Vec::new();
    loop {
        let (module, after) = dotted_name(rest);
        if module.is_empty() {
            return found;
        }
        found.push(Import {
            dots: 0,
            module,
            names: Vec::new(),
        });
        let after = match after {
            [Token::Word("as"), Token::Word(_), after @ ..] => after,
            after => after,
        };
        let [Token::Sign(','), after @ ..] = after else {
            return found;
        };
        rest = after;
    }
}

/// What follows `from`: `..a.b import c as d, e`.
fn from_import(rest: &[Token]) -> Option<Import> {
    let dots = rest
        .iter()
        .take_while(|token| **token == Token::Sign('.'))
        .count();
    let (module, after) = dotted_name(&rest[dots..]);
    let [Token::Word("import"), after @ ..] = after else {
        return None;
    };
    let mut names = Vec::new();
    let mut is_name = true;
    for token in after {
        match token {
            Token::Sign('(') => {}
            Token::Sign(',') => is_name = true,
            Token::Word(word) => {
                if std::mem::take(&mut is_name) {
                    names.push((*word).to_owned());
                }
            }
            // The end of the statement, or `*`.
            _ => break,
        }
    }
    (dots > 0 || !module.is_empty()).then_some(Import {
        dots,
        module,
        names,
    })
}

/// What follows `importlib.import_module` or `__import__`: `("a.b")`. A name that is no literal
/// cannot be followed.
fn by_function(rest: &[Token]) -> Option<Import> {
    let [Token::Sign('('), Token::Quote(_), Token::Text(name), ..] = rest else {
        return None;
    };
    let dots = name.len() - name.trim_start_matches('.').len();
    let module: Vec<String> = name[dots..].split('.').map(str::to_owned).collect();
    let is_name = module
        .iter()
        .all(|part| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric()));
    is_name.then_some(Import {
        dots,
        module,
        names: Vec::new(),
    })
}

fn dotted_name<'t, 's>(mut rest: &'t [Token<'s>]) -> (Vec<String>, &'t [Token<'s>]) {
    let mut parts = Vec::new();
    while let [Token::Word(word), after @ ..] = rest {
        if parts.is_empty() && *word == "import" {
            break;
        }
        parts.push((*word).to_owned());
        rest = after;
        match rest {
            [Token::Sign('.'), after @ ..] => rest = after,
            _ => break,
        }
    }
    (parts, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `..a.b:c,d` for `from ..a.b import c, d`.
    fn found(source: &str) -> Vec<String> {
        let shown = |import: Import| {
            let names = if import.names.is_empty() {
                String::new()
            } else {
                format!(":{}", import.names.join(","))
            };
            format!(
                "{}{}{names}",
                ".".repeat(import.dots),
                import.module.join(".")
            )
        };
        imports(source.as_bytes()).into_iter().map(shown).collect()
    }

    #[test]
    fn every_form_of_an_import_is_found() {
        for (source, wanted) in [
            ("import a", &["a"][..]),
            ("import a.b as c, d", &["a.b", "d"]),
            ("import a; import b", &["a", "b"]),
            ("from a.b import c as d, e", &["a.b:c,e"]),
            (
                "from a import (b,\n  c as d, # x\n  e,)\nimport f",
                &["a:b,c,e", "f"],
            ),
            ("from . import a", &[".:a"]),
            ("from ...a import *", &["...a"]),
            ("from a import \\\n  b", &["a:b"]),
            (
                "try:\n    import a\nexcept ImportError: import b",
                &["a", "b"],
            ),
            ("def f():\n\tif x: from a import b\n", &["a:b"]),
            (
                "x = importlib.import_module('a.b')\ny = __import__(\"c\")",
                &["a.b", "c"],
            ),
            ("import a\nimport a", &["a"]),
        ] {
            assert_eq!(found(source), wanted, "{source}");
        }
        for source in [
            "# import a",
            "'''\nimport a\n'''",
            "x = \"import a\"",
            "important = 3",
            "yield from a",
            "x = {1:\nimport_, 2: a}",
            "raise E from e",
            "import_module(name)",
            "__import__('../a')",
            "import",
            "from",
            "from a",
        ] {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }

    #[test]
    fn an_import_means_modules_and_the_packages_around_them() {
        let candidates = |source: &str, base: &str| -> Vec<String> {
            let all = imports(source.as_bytes())
                .into_iter()
                .flat_map(|import| import.candidates(Path::new(base)));
            all.map(|path| path.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            candidates("import a.b", "k"),
            ["k/a/__init__.py", "k/a.py", "k/a/b/__init__.py", "k/a/b.py"]
        );
        assert_eq!(
            candidates("from a import b", "k"),
            candidates("import a.b", "k")
        );
        assert_eq!(
            candidates("from ..a import *", "p/k"),
            ["p/a/__init__.py", "p/a.py"]
        );
        assert_eq!(
            candidates("from . import a", "k"),
            ["k/a/__init__.py", "k/a.py", "k/__init__.py"]
        );
        assert!(candidates("from ....a import b", "k").is_empty());
    }

    #[test]
    fn modules_are_looked_for_in_the_folder_above_the_packages_and_in_the_root() {
        let path = |packages: &[&str]| {
            let there = |file: &Path| {
                packages
                    .iter()
                    .any(|package| *file == Path::new(package).join("__init__.py"))
            };
            search_path(Path::new("/r/src/pkg/k"), Path::new("/r"), there)
        };
        assert_eq!(path(&[]), ["/r/src/pkg/k", "/r"].map(PathBuf::from));
        assert_eq!(
            path(&["/r/src/pkg/k", "/r/src/pkg"]),
            ["/r/src/pkg/k", "/r/src", "/r"].map(PathBuf::from)
        );
        assert_eq!(
            path(&["/r/src/pkg"]),
            ["/r/src/pkg/k", "/r"].map(PathBuf::from)
        );
        assert_eq!(
            search_path(Path::new(""), Path::new(""), |_| true),
            [PathBuf::new()]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_scanned(text in "(import|from| |\\.|\\(|\\)|\"|'|\\\\|\n|a|:|#|\\*|,|r|\u{e9}){0,40}") {
            imports(text.as_bytes());
        }
    }
}
