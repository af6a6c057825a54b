//! Suggestions for misspelt names.

/// Returns ` (did you mean 'cols'?)` if one of `names` is near, else the list of names, or nothing
/// if there is none.
pub fn suggest<S: AsRef<str>>(unknown: &str, names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let distance = |name: &str| strsim::levenshtein(unknown, name);
    let near = |name: &&&str| distance(name) <= 1 + unknown.len() / 4;
    match names.iter().filter(near).min_by_key(|name| distance(name)) {
        Some(name) => format!(" (did you mean '{name}'?)"),
        None if names.is_empty() => String::new(),
        None => format!(" (there are {})", names.join(", ")),
    }
}
