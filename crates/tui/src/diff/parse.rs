//! Reads unified diffs. Nothing in them is trusted: counts may lie, lines may be missing.

use super::{Diff, File, Hunk, Line, Sign, words};

/// What of a hunk's head was promised and not seen yet.
#[derive(Default)]
struct Open {
    /// Numbers of the next line, and how many follow.
    old: (u32, u32),
    new: (u32, u32),
}

impl Open {
    fn is_over(&self) -> bool {
        self.old.1 == 0 && self.new.1 == 0
    }
}

pub(super) fn parse(text: &str) -> Diff {
    let mut files: Vec<File> = Vec::new();
    let mut open: Option<Open> = None;
    for text in text.split_terminator('\n') {
        if let (Some(left), Some(file)) = (&mut open, files.last_mut())
            && take(file, left, text)
        {
            continue;
        }
        open = outside(&mut files, text);
    }
    for hunk in files.iter_mut().flat_map(|file| &mut file.hunks) {
        words::mark(&mut hunk.lines);
    }
    Diff { files }
}

/// A line inside of a hunk; false where it is none of it.
fn take(file: &mut File, open: &mut Open, text: &str) -> bool {
    let Some(hunk) = file.hunks.last_mut() else { return false };
    if text.starts_with('\\') {
        // `\ No newline at end of file`
        if let Some(last) = hunk.lines.last_mut() {
            last.unended = true;
        }
        return true;
    }
    if open.is_over() {
        return false;
    }
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("-", rest)) => (Sign::Removed, rest),
        Some(("+", rest)) => (Sign::Added, rest),
        Some((" ", rest)) => (Sign::Same, rest),
        // Mailers cut the blank of an empty line off.
        _ if text.is_empty() => (Sign::Same, text),
        _ => return false,
    };
    let step = |side: &mut (u32, u32)| {
        let number = side.0;
        *side = (number.saturating_add(1), side.1.saturating_sub(1));
        number
    };
    hunk.lines.push(Line {
        sign,
        text: rest.to_owned(),
        old: (sign != Sign::Added).then(|| step(&mut open.old)),
        new: (sign != Sign::Removed).then(|| step(&mut open.new)),
        unended: false,
        parts: Vec::new(),
        beside: None,
    });
    true
}

/// Any other line: a hunk's head, a file's, or a note.
fn outside(files: &mut Vec<File>, text: &str) -> Option<Open> {
    if let Some((hunk, open)) = head(text) {
        current(files).hunks.push(hunk);
        return Some(open);
    }
    if let Some(names) = text.strip_prefix("diff --git ") {
        let name = git_name(names);
        files.push(File { old: name.clone(), new: name, ..File::default() });
    } else if let Some(name) = text.strip_prefix("--- ") {
        // Without git this line begins a file.
        if files.last().is_none_or(|file| !file.hunks.is_empty()) {
            files.push(File::default());
        }
        current(files).old = path(name);
    } else if let Some(name) = text.strip_prefix("+++ ") {
        current(files).new = path(name);
    } else if !text.starts_with("index ") && !text.trim().is_empty() {
        current(files).notes.push(text.to_owned());
    }
    None
}

fn current(files: &mut Vec<File>) -> &mut File {
    if files.is_empty() {
        files.push(File::default());
    }
    let last = files.len() - 1;
    &mut files[last]
}

/// `@@ -31,7 +31,9 @@ void f()`; a count that is left out is 1.
fn head(text: &str) -> Option<(Hunk, Open)> {
    let (ranges, section) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (old, new) = (range(old)?, range(new)?);
    let hunk = Hunk { old: old.0, new: new.0, section: section.trim().to_owned(), lines: Vec::new() };
    Some((hunk, Open { old, new }))
}

/// The name in `a/src/x.cu b/src/x.cu`, where both are the same one. Those of a rename are in the lines that follow.
fn git_name(names: &str) -> Option<String> {
    let (old, new) = names.split_at_checked(names.len() / 2)?;
    path(old).filter(|old| Some(old) == path(new.trim_start()).as_ref())
}

/// A name as it stands behind `---`, without `a/` or `b/` and without the time that `diff -u` adds.
fn path(name: &str) -> Option<String> {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    if name == "/dev/null" || name.is_empty() {
        return None;
    }
    let name = name.trim_matches('"');
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    Some(bare.to_owned())
}
