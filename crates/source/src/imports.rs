//! The `import` statements of a Python source, and the files that they may mean.
//!
//! The scan takes too many imports rather than too few: also those in functions and in branches
//! that do not run. A module that the scan missed would not be in the copy of the files that is
//! judged, so that the run would fail and say so.

use crate::python::{Token, tokens};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A module that a source imports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Import {
    /// The dots before the name: 0 for an absolute import, 1 for one from the package of the file
    /// itself.
    pub dots: usize,
    /// The parts of the name, as in `a.b`.
    pub module: Vec<String>,
    /// What follows `import` in `from a.b import c`: each may be a module too.
    pub names: Vec<String>,
}

impl Import {
    /// The files that it means in a file of `folder`: those in the first folder of the search path,
    /// which begins with `start`, that holds any. Empty for a module that is not below `root`.
    pub fn files(
        &self,
        start: &Path,
        folder: &Path,
        root: &Path,
        is_there: impl Fn(&Path) -> bool,
    ) -> Vec<PathBuf> {
        let bases = match self.dots {
            0 => search_path(start, root, &is_there),
            _ => vec![folder.to_path_buf()],
        };
        let found = |base: PathBuf| {
            let mut files = self.candidates(&base);
            files.retain(|file| is_there(file));
            Some(files).filter(|files| !files.is_empty())
        };
        bases.into_iter().find_map(found).unwrap_or_default()
    }

    /// The files that the import may mean if it is looked for in `base`, a folder of the search
    /// path, or for an import with dots the folder of the importing file. Each package on the way
    /// counts, because Python runs its `__init__.py`.
    fn candidates(&self, base: &Path) -> Vec<PathBuf> {
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
pub fn search_path(
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
pub fn imports(source: &[u8]) -> Vec<Import> {
    let text = String::from_utf8_lossy(source);
    let tokens = tokens(&text);
    let mut depth = 0_usize;
    // `if x: import a` and `import a; import b` are two statements each.
    let statements = tokens.split(|token| match token {
        Token::Sign('(' | '[' | '{') => {
            depth += 1;
            false
        }
        Token::Sign(')' | ']' | '}') => {
            depth = depth.saturating_sub(1);
            false
        }
        Token::Sign(':' | ';') => depth == 0,
        token => matches!(token, Token::Line(_)),
    });
    let mut seen = HashSet::new();
    statements
        .flat_map(in_statement)
        .filter(|import| seen.insert(import.clone()))
        .collect()
}

fn in_statement(statement: &[Token]) -> Vec<Import> {
    let mut found = match statement {
        [Token::Word("import"), rest @ ..] => rest
            .split(|token| *token == Token::Sign(','))
            .map(|part| module(part).0)
            .take_while(|import| import.dots == 0 && !import.module.is_empty())
            .collect(),
        [Token::Word("from"), rest @ ..] => from_import(rest).into_iter().collect(),
        _ => Vec::new(),
    };
    found.extend(statement.windows(3).filter_map(by_function));
    found
}

/// What follows `from`: `..a.b import c as d, e`.
fn from_import(rest: &[Token]) -> Option<Import> {
    let (mut import, after) = module(rest);
    let [Token::Word("import"), after @ ..] = after else {
        return None;
    };
    let first_word = |part: &[Token]| {
        part.iter().find_map(|token| match token {
            Token::Word(name) => Some((*name).to_owned()),
            _ => None,
        })
    };
    let names = after.split(|token| *token == Token::Sign(','));
    import.names = names.filter_map(first_word).collect();
    (import.dots > 0 || !import.module.is_empty()).then_some(import)
}

/// The dots and the dotted name with which tokens begin, and what follows these.
fn module<'t, 's>(tokens: &'t [Token<'s>]) -> (Import, &'t [Token<'s>]) {
    let is_part = |token: &Token| match token {
        Token::Word(word) => !["import", "as"].contains(word),
        token => *token == Token::Sign('.'),
    };
    let end = tokens.iter().position(|token| !is_part(token));
    let (path, after) = tokens.split_at(end.unwrap_or(tokens.len()));
    let dots = path
        .iter()
        .take_while(|token| **token == Token::Sign('.'))
        .count();
    let words = path.iter().filter_map(|token| match token {
        Token::Word(word) => Some((*word).to_owned()),
        _ => None,
    });
    let import = Import {
        dots,
        module: words.collect(),
        names: Vec::new(),
    };
    (import, after)
}

/// `importlib.import_module("a.b")` or `__import__("a.b")`. A name that is no literal cannot be
/// followed.
fn by_function(window: &[Token]) -> Option<Import> {
    let [
        Token::Word("import_module" | "__import__"),
        Token::Sign('('),
        Token::Text { text: name, .. },
    ] = window
    else {
        return None;
    };
    let path = name.trim_start_matches('.');
    let module: Vec<String> = path.split('.').map(str::to_owned).collect();
    let is_name = module
        .iter()
        .all(|part| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric()));
    is_name.then_some(Import {
        dots: name.len() - path.len(),
        module,
        names: Vec::new(),
    })
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
