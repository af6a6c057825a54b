//! Parses the hunks that `lab_git` writes. A line before the first hunk is left out.

use super::{DiffLine, Hunk, LineKind, words};

pub(super) fn parse(text: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    // The number of the next line on each side.
    let (mut old, mut new) = (0, 0);
    for text in text.split_terminator('\n') {
        if let Some(hunk) = head(text) {
            (old, new) = (hunk.old, hunk.new);
            hunks.push(hunk);
            continue;
        }
        let Some(Hunk { lines, .. }) = hunks.last_mut() else {
            continue;
        };
        let (kind, rest) = match text.split_at_checked(1) {
            Some(("-", rest)) => (LineKind::Removed, rest),
            Some(("+", rest)) => (LineKind::Added, rest),
            Some((" ", rest)) => (LineKind::Same, rest),
            // `\ No newline at end of file`
            _ => {
                if let Some(last) = lines.last_mut() {
                    last.lacks_newline = true;
                }
                continue;
            }
        };
        let step = |number: &mut u32| std::mem::replace(number, number.saturating_add(1));
        lines.push(DiffLine {
            kind,
            text: rest.to_owned(),
            old: (kind != LineKind::Added).then(|| step(&mut old)),
            new: (kind != LineKind::Removed).then(|| step(&mut new)),
            lacks_newline: false,
            changed_parts: Vec::new(),
            counterpart: None,
        });
    }
    hunks
        .iter_mut()
        .for_each(|hunk| words::mark(&mut hunk.lines));
    hunks
}

/// Parses a hunk's head: `@@ -31,7 +31,9 @@ void f()`.
fn head(text: &str) -> Option<Hunk> {
    let (ranges, section) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let start = |range: &str| range.split(',').next()?.parse().ok();
    Some(Hunk {
        old: start(old)?,
        new: start(new)?,
        section: section.trim().to_owned(),
        lines: Vec::new(),
    })
}
