//! The one engine of line diffs: libgit2, with the settings of `git diff`. The diff of a commit, of
//! the kernel between two commits, and of two texts therefore show the same changes, and the same
//! as `git diff` in a shell.
//!
//! libgit2 is the engine because a commit's diff needs more than lines: it finds renames, tells
//! binary files apart and limits what it reads. Its result is the text of hunks; the screen parses
//! that text.
//!
//! A carriage return alone ends a line here too, as it does for compilers, and not for git: git shows a
//! file of an old editor as one line.

use anyhow::Result;
use git2::{DiffLineType, DiffOptions, Patch};
use lab_text::line_ends::with_line_feeds;
use std::borrow::Cow;
use std::path::Path;

/// The settings of every line diff. `context` is the number of unchanged lines before and after
/// each change.
pub fn options(context: u32) -> DiffOptions {
    let mut options = DiffOptions::new();
    // As `git diff` does: a change of a whole block begins where the block begins.
    options.context_lines(context).indent_heuristic(true);
    options
}

/// The hunks of a unified diff from `old` to `new`, without file names: `@@ -1,4 +1,5 @@ section`,
/// then the lines. Empty where the texts are equal. A line that ends without a line feed is
/// followed by `\ No newline at end of file`.
///
/// ```
/// use lab_git::text_diff;
/// let hunks = text_diff("a\nb\n", "a\nc\n", 3)?;
/// assert_eq!(hunks, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
/// let of_old_editors = text_diff("a\rb\r", "a\rc\r", 0)?;
/// assert_eq!(of_old_editors, "@@ -2 +2 @@ a\n-b\r\n+c\r\n");
/// let of_line_ends_alone = text_diff("a\r", "a\r\n", 0)?;
/// assert_eq!(of_line_ends_alone, "@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+a\r\n");
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn text_diff(old: &str, new: &str, context: u32) -> Result<String> {
    let mut options = options(context);
    // A NUL byte in a text does not make the text binary.
    options.force_text(true);
    let both = [old.as_bytes(), new.as_bytes()];
    Ok(between(both, None, &mut options, usize::MAX)?.text)
}

/// The hunks from one content to another of a file with this path, in at most `limit` bytes.
pub fn between(
    both: [&[u8]; 2],
    path: Option<&Path>,
    options: &mut DiffOptions,
    limit: usize,
) -> Result<Hunks> {
    let lines = both.map(with_line_feeds);
    // Where the ends of lines are all that differs, they are what the diff shows.
    let [old, new] = match lines[0] == lines[1] {
        true => both.map(Cow::Borrowed),
        false => lines,
    };
    hunks(
        &mut Patch::from_buffers(&old, path, &new, path, Some(options))?,
        limit,
    )
}

/// The text of a patch's hunks.
pub struct Hunks {
    pub text: String,
    /// The diff is longer than the limit: `text` ends with the last line that fits.
    pub is_cut: bool,
    /// Lines that were added, and lines that were removed, also beyond the limit.
    pub added: usize,
    pub removed: usize,
}

/// The hunks of a patch, in at most `limit` bytes.
pub fn hunks(patch: &mut Patch, limit: usize) -> Result<Hunks> {
    let (_, added, removed) = patch.line_stats()?;
    let mut hunks = Hunks {
        added,
        removed,
        text: String::new(),
        is_cut: false,
    };
    patch.print(&mut |_, _, line| {
        use DiffLineType::{Addition, Binary, Context, Deletion, FileHeader};
        let origin = match line.origin_value() {
            Addition | Deletion | Context => Some(line.origin()),
            FileHeader | Binary => return true,
            _ => None,
        };
        // Once a line does not fit, shorter lines after it are left out too.
        hunks.is_cut |= hunks.text.len() + line.content().len() > limit;
        if !hunks.is_cut {
            hunks.text.extend(origin);
            hunks
                .text
                .push_str(&String::from_utf8_lossy(line.content()));
        }
        true
    })?;
    Ok(hunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_hunks_and_missing_line_feeds_are_told() {
        assert_eq!(text_diff("a\n", "a\n", 3).expect("a diff"), "");
        let hunks = text_diff("a", "b\0", 0).expect("a diff");
        let marker = "\n\\ No newline at end of file\n";
        assert_eq!(hunks, format!("@@ -1 +1 @@\n-a{marker}+b\0{marker}"));
    }

    #[test]
    fn a_new_block_begins_where_it_begins() {
        let old = "void a() {\n    x();\n}\n\nvoid c() {\n    x();\n}\n";
        let new = old.replace("void c", "void b() {\n    y();\n}\n\nvoid c");
        let hunks = text_diff(old, &new, 0).expect("a diff");
        assert_eq!(
            hunks,
            "@@ -4,0 +5,4 @@ void a() {\n+void b() {\n+    y();\n+}\n+\n"
        );
    }

    #[test]
    fn a_long_diff_is_cut_at_its_limit() {
        let new: String = (0..100).map(|n| format!("{n}\n")).collect();
        let mut patch =
            Patch::from_buffers(b"", None, new.as_bytes(), None, None).expect("a patch");
        let cut = hunks(&mut patch, 30).expect("its text");
        assert!(
            cut.is_cut && cut.text.len() <= 60 && cut.text.ends_with('\n'),
            "{}",
            cut.text
        );
    }
}
