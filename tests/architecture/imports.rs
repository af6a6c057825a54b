//! The paths that a Rust source names, read from its tokens.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path that begins with `crate`, `self` or `super`, segment by segment. It ends where the
/// source's path ends, at a `*`, or at the last name of one branch of a `use` tree.
pub type ImportPath = Vec<String>;

/// What one file imports.
#[derive(Default)]
pub struct Imports {
    pub paths: Vec<ImportPath>,
    /// Names of modules that are declared behind `#[cfg(test)]` and have files of their own.
    pub test_modules: Vec<String>,
    /// Files that such declarations name by `#[path = "…"]`, relative to this file's folder.
    pub test_files: Vec<String>,
}

/// Reads the tokens of a file. Items behind `#[cfg(test)]` are left out.
pub fn imports(tokens: TokenStream) -> Imports {
    let mut found = Imports::default();
    collect(&tokens.into_iter().collect::<Vec<_>>(), &mut found);
    found
}

fn collect(tokens: &[TokenTree], found: &mut Imports) {
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = skip_item(tokens, at + 2, found);
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(word)
                if ["crate", "self", "super"].iter().any(|root| word == root)
                    && is_path_separator(tokens, at + 1)
                    && !ends_path(tokens, at) =>
            {
                at = path(tokens, at, Vec::new(), found);
            }
            TokenTree::Group(group) => {
                collect(&inside(group), found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// `$crate` in a macro is another crate's name for this one, and `a::self` is the end of a path.
fn ends_path(tokens: &[TokenTree], at: usize) -> bool {
    let dollar = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == '$');
    at > 0 && dollar(&tokens[at - 1]) || at > 1 && is_path_separator(tokens, at - 2)
}

fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(tokens.get(at)) && colon(tokens.get(at + 1))
}

/// Reads one path from `at` on, or each branch of a `use` tree. Returns the index after it.
fn path(
    tokens: &[TokenTree],
    mut at: usize,
    mut segments: ImportPath,
    found: &mut Imports,
) -> usize {
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) => {
                segments.push(word.to_string());
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                for branch in
                    inside(group).split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ','))
                {
                    if !branch.is_empty() {
                        path(branch, 0, segments.clone(), found);
                    }
                }
                return at + 1;
            }
            _ => break,
        }
        if !is_path_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    found.paths.push(segments);
    at
}

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else {
        return false;
    };
    let words = group.stream().to_string();
    hash.as_char() == '#' && (words.starts_with("cfg (test") || words.starts_with("cfg (all (test"))
}

/// The index after the item that begins at `at`: after its `;`, or after its body.
fn skip_item(tokens: &[TokenTree], mut at: usize, found: &mut Imports) -> usize {
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(_))) =
                    (tokens.get(at), tokens.get(at + 1))
                {
                    found.test_modules.push(name.to_string());
                }
            }
            TokenTree::Punct(end) if end.as_char() == ';' => return at,
            TokenTree::Group(attribute) if attribute.delimiter() == Delimiter::Bracket => {
                if let Some(path) = attribute.stream().to_string().strip_prefix("path = ") {
                    found.test_files.push(path.trim_matches('"').to_owned());
                }
            }
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                // `use a::{b};` ends at its semicolon.
                let is_end = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ';');
                return if tokens.get(at).is_some_and(is_end) {
                    at + 1
                } else {
                    at
                };
            }
            _ => {}
        }
    }
    at
}
