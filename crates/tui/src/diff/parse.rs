//! Parses unified diffs. Any text is accepted: the counts of a hunk may be wrong, lines may be
//! missing.

use super::{Diff, DiffLine, FileDiff, Hunk, LineKind, words};

/// The rest of a hunk, by the counts in its head.
#[derive(Default)]
struct Remaining {
    /// On each side: the number of the next line, and how many lines follow.
    old: (u32, u32),
    new: (u32, u32),
}

impl Remaining {
    fn is_empty(&self) -> bool {
        self.old.1 == 0 && self.new.1 == 0
    }
}

pub(super) fn parse(text: &str) -> Diff {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut open: Option<Remaining> = None;
    for text in text.split_terminator('\n') {
        if let (Some(left), Some(file)) = (&mut open, files.last_mut())
            && add_line(file, left, text)
        {
            continue;
        }
        open = parse_head(&mut files, text);
    }
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        words::mark(&mut hunk.lines);
    }
    Diff { files }
}

/// Adds a line to the last hunk. False where the line does not belong to it.
fn add_line(file: &mut FileDiff, open: &mut Remaining, text: &str) -> bool {
    let Some(hunk) = file.hunks.last_mut() else {
        return false;
    };
    if text.starts_with('\\') {
        // `\ No newline at end of file`
        if let Some(last) = hunk.lines.last_mut() {
            last.lacks_newline = true;
        }
        return true;
    }
    if open.is_empty() {
        return false;
    }
    let (kind, rest) = match text.split_at_checked(1) {
        Some(("-", rest)) => (LineKind::Removed, rest),
        Some(("+", rest)) => (LineKind::Added, rest),
        Some((" ", rest)) => (LineKind::Same, rest),
        // Mail programs remove the blank of an empty line.
        _ if text.is_empty() => (LineKind::Same, text),
        _ => return false,
    };
    let step = |side: &mut (u32, u32)| {
        let number = side.0;
        *side = (number.saturating_add(1), side.1.saturating_sub(1));
        number
    };
    hunk.lines.push(DiffLine {
        kind,
        text: rest.to_owned(),
        old: (kind != LineKind::Added).then(|| step(&mut open.old)),
        new: (kind != LineKind::Removed).then(|| step(&mut open.new)),
        lacks_newline: false,
        changed_parts: Vec::new(),
        counterpart: None,
    });
    true
}

/// Parses a line outside of hunks: a hunk's head, a file's head, or a note.
fn parse_head(files: &mut Vec<FileDiff>, text: &str) -> Option<Remaining> {
    if let Some((hunk, open)) = hunk_head(text) {
        current(files).hunks.push(hunk);
        return Some(open);
    }
    if let Some(names) = text.strip_prefix("diff --git ") {
        let name = git_name(names);
        files.push(FileDiff {
            old: name.clone(),
            new: name,
            ..FileDiff::default()
        });
    } else if let Some(name) = text.strip_prefix("--- ") {
        // In the output of `diff -u` this line begins a file.
        if files.last().is_none_or(|file| !file.hunks.is_empty()) {
            files.push(FileDiff::default());
        }
        current(files).old = path(name);
    } else if let Some(name) = text.strip_prefix("+++ ") {
        current(files).new = path(name);
    } else if !text.starts_with("index ") && !text.trim().is_empty() {
        current(files).notes.push(text.to_owned());
    }
    None
}

/// The last file, which is created if there is none.
fn current(files: &mut Vec<FileDiff>) -> &mut FileDiff {
    if files.is_empty() {
        files.push(FileDiff::default());
    }
    let last = files.len() - 1;
    &mut files[last]
}

/// Parses a hunk's head: `@@ -31,7 +31,9 @@ void f()`. A missing count is 1.
fn hunk_head(text: &str) -> Option<(Hunk, Remaining)> {
    let (ranges, section) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (old, new) = (range(old)?, range(new)?);
    let hunk = Hunk {
        old: old.0,
        new: new.0,
        section: section.trim().to_owned(),
        lines: Vec::new(),
    };
    Some((hunk, Remaining { old, new }))
}

/// The name in `a/src/x.cu b/src/x.cu` where both names are equal. The names of a rename are in the
/// lines that follow.
fn git_name(names: &str) -> Option<String> {
    let (old, new) = names.split_at_checked(names.len() / 2)?;
    path(old).filter(|old| Some(old) == path(new.trim_start()).as_ref())
}

/// The name after `---` or `+++`, without `a/` or `b/` and without the time that `diff -u` adds.
/// `None` for /dev/null.
fn path(name: &str) -> Option<String> {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    if name == "/dev/null" || name.is_empty() {
        return None;
    }
    let name = name.trim_matches('"');
    let bare = name
        .strip_prefix("a/")
        .or_else(|| name.strip_prefix("b/"))
        .unwrap_or(name);
    Some(bare.to_owned())
}
