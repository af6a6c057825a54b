//! Suggestions for misspelt names.

/// Returns ` (did you mean 'cols'?)` if one of `names` is near, else the list of names, or nothing
/// if there is none.
pub fn suggest<S: AsRef<str>>(unknown: &str, names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match nearest(unknown, &names) {
        Some(name) => format!(" (did you mean '{name}'?)"),
        None if names.is_empty() => String::new(),
        None => format!(" (there are {})", names.join(", ")),
    }
}

/// The one of `names` that is nearest, if it is near enough for a typing error.
pub fn nearest<'a>(unknown: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(unknown, name);
    let near = |name: &&&str| distance(name) <= 1 + unknown.len() / 4;
    let near = names.iter().filter(near);
    near.min_by_key(|name| distance(name)).copied()
}
