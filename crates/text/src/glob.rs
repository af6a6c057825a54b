//! Patterns of paths, as in `kernels/*`.

/// Whether a path with `/` matches a pattern. `*` stands for any characters of one name, `?` for
/// one character, and `**` for any number of folders.
///
/// ```
/// use lab_text::glob::matches;
/// assert!(matches("kernels/*", "kernels/rmsnorm"));
/// assert!(!matches("kernels/*", "kernels/rmsnorm/kernel.cu"));
/// assert!(matches("**/kernel_?.cu", "a/b/kernel_2.cu"));
/// ```
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let is_name = |part: &&str, name: &&str| {
        let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
        greedy(&part, &name, |c| *c == '*', |p, c| *p == '?' || p == c)
    };
    greedy(&pattern, &path, |part| *part == "**", is_name)
}

/// Why a text is no pattern of paths below a folder, with what to write.
pub fn fault(pattern: &str) -> Option<&'static str> {
    let is_up = pattern
        .trim_end_matches('/')
        .split('/')
        .any(|part| matches!(part, "" | "." | ".."));
    match pattern {
        "" => Some("it is empty"),
        _ if pattern.starts_with('/') => {
            Some("it is relative to the folder of lab.toml, as in \"kernels/*\"")
        }
        _ if is_up => Some(
            "it names folders below that of lab.toml, without `.` and `..`, as in \"kernels/*\"",
        ),
        _ if pattern.contains('\\') => Some("names are separated by `/`"),
        _ if pattern.contains(['[', ']', '{', '}']) => Some("it knows `*`, `?` and `**` only"),
        _ => None,
    }
}

/// Matches a sequence with a pattern in which some items stand for any number of items. Linear in
/// the length of each: of several such items only the last one is tried again.
fn greedy<T>(
    pattern: &[T],
    items: &[T],
    is_any: impl Fn(&T) -> bool,
    is_match: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut p, mut i) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while i < items.len() {
        match (pattern.get(p), retry) {
            (Some(part), _) if is_any(part) => {
                retry = Some((p, i));
                p += 1;
            }
            (Some(part), _) if is_match(part, &items[i]) => (p, i) = (p + 1, i + 1),
            // The last wildcard takes one item more.
            (_, Some((at, from))) => {
                retry = Some((at, from + 1));
                (p, i) = (at + 1, from + 1);
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_names_of_one_folder_and_two_stars_any_folders() {
        for (pattern, path, wanted) in [
            ("kernels/*", "kernels/rmsnorm", true),
            ("kernels/*/", "kernels/rmsnorm", true),
            ("kernels/*", "kernels", false),
            ("kernels/*", "other/rmsnorm", false),
            ("kernels/rms*", "kernels/rmsnorm", true),
            ("kernels/*norm", "kernels/rmsnorm", true),
            ("kernels/*o*m", "kernels/rmsnorm", true),
            ("kernels/r?snorm", "kernels/rmsnorm", true),
            ("kernels/r?snorm", "kernels/rsnorm", false),
            ("**", "a/b/c", true),
            ("**/c", "c", true),
            ("**/c", "a/b/c", true),
            ("a/**", "a/b/c", true),
            ("a/**/c", "a/c", true),
            ("a/**/b/*", "a/b/x/b/c", true),
            ("a/**/b/*", "a/b", false),
            ("größe/?", "größe/ü", true),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let path = "a".repeat(5_000);
        assert!(matches(&"a*".repeat(1_000), &path));
        assert!(!matches(&format!("{}b", "*a".repeat(1_000)), &path));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for pattern in ["", "/abs", "../x", "./x", "a//b", "a\\b", "a[b]", "{a,b}"] {
            assert!(fault(pattern).is_some(), "{pattern}");
        }
        for pattern in ["a", "a/*", "a/*/", "**/b", "a b/ü"] {
            assert_eq!(fault(pattern), None, "{pattern}");
        }
    }
}
