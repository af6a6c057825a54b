//! A diff states exactly how one text becomes the other.

use super::*;
use lab_git::text_diff;
use lab_text::line_ends::with_line_feeds;
use proptest::prelude::*;
use std::sync::Arc;

fn diff_with(old: &str, new: &str, around: ContextLines) -> Diff {
    Diff::parse(&text_diff(old, new, around.lines()).expect("a diff"))
}

fn diff_of(old: &str, new: &str) -> Diff {
    diff_with(old, new, ContextLines::default())
}

/// Two texts as a diff compares them: a carriage return alone ends a line, unless nothing else differs.
fn compared(old: &str, new: &str) -> [String; 2] {
    let lines = |text: &str| String::from_utf8(with_line_feeds(text.as_bytes()).into_owned());
    match (lines(old), lines(new)) {
        (Ok(a), Ok(b)) if a != b => [a, b],
        _ => [old.to_owned(), new.to_owned()],
    }
}

/// The old text with the diff's changes in it; `None` where it does not fit.
fn apply(diff: &Diff, old: &str) -> Option<String> {
    let mut lines = old.split_inclusive('\n');
    let mut out = String::new();
    let mut at = 1;
    for hunk in diff.hunks() {
        let begin = if hunk.counts().0 == 0 {
            hunk.old + 1
        } else {
            hunk.old
        };
        while at < begin {
            out.push_str(lines.next()?);
            at += 1;
        }
        for line in &hunk.lines {
            let whole = format!(
                "{}{}",
                line.text,
                if line.lacks_newline { "" } else { "\n" }
            );
            if line.kind != LineKind::Added {
                if (lines.next()?, line.old) != (&whole, Some(at)) {
                    return None;
                }
                at += 1;
            }
            if line.kind != LineKind::Removed {
                out.push_str(&whole);
            }
        }
    }
    out.extend(lines);
    Some(out)
}

/// A diff as text: the signs, and `[…]` around the parts that differ within a line.
fn picture(diff: &Diff) -> String {
    let mut out = String::new();
    for line in diff.hunks().flat_map(|hunk| &hunk.lines) {
        let mut text = line.text.clone();
        for part in line.changed_parts.iter().rev() {
            text.insert(part.end, ']');
            text.insert(part.start, '[');
        }
        out.push_str(&format!("{}{text}\n", line.kind.mark()));
    }
    out
}

fn beside(diff: &Diff) -> Vec<(String, String)> {
    let text = |file: usize, hunk: usize, line: Option<usize>| {
        line.and_then(|line| diff.line(file, hunk, line))
            .map_or("~".to_owned(), |line| line.text.clone())
    };
    diff.rows(DiffLayout::Split)
        .into_iter()
        .filter_map(|row| match row {
            DiffRow::Lines {
                file,
                hunk,
                old,
                new,
            } => Some((text(file, hunk, old), text(file, hunk, new))),
            _ => None,
        })
        .collect()
}

const OLD: &str = "#include <lab.h>\n\n__global__ void sum(float *x, int n) {\n    float s = 0;\n    for (int i = 0; i < n; i++) s += x[i];\n\n    \
    // a\n    // b\n    // c\n    // d\n    x[0] = s;\n}\n";

#[test]
fn the_words_that_differ_are_marked() {
    let new = OLD
        .replace("int i = 0; i < n; i++", "int i = lane; i < n; i += 32")
        .replace("x[0] = s", "x[0] = warp_sum(s)");
    let diff = diff_of(OLD, &new);
    let seen = picture(&diff);
    assert!(
        seen.contains("-    for (int i = [0]; i < n; i[++]) s += x[i];\n"),
        "{seen}"
    );
    assert!(
        seen.contains("+    for (int i = [lane]; i < n; i[ += 32]) s += x[i];\n"),
        "{seen}"
    );
    assert!(seen.contains("+    x[0] = [warp_sum(]s[)];\n"), "{seen}");
}

#[test]
fn a_changed_line_is_beside_its_counterpart_and_a_new_line_beside_nothing() {
    let diff = diff_of(
        "a = load(x);\nstore(y, a);\n",
        "// in fp32\nfloat a = load(x);\n\nstore(y, a * scale);\n",
    );
    let wanted = [
        ("~", "// in fp32"),
        ("a = load(x);", "float a = load(x);"),
        ("~", ""),
        ("store(y, a);", "store(y, a * scale);"),
    ];
    let wanted: Vec<(String, String)> = wanted
        .iter()
        .map(|(a, b)| (a.to_string(), b.to_string()))
        .collect();
    assert_eq!(beside(&diff), wanted);
}

#[test]
fn lines_that_have_nothing_in_common_are_marked_as_a_whole() {
    let diff = diff_of("return a;\n", "__syncthreads();\n");
    assert!(
        diff.hunks()
            .flat_map(|hunk| &hunk.lines)
            .all(|line| line.changed_parts.is_empty())
    );
}

#[test]
fn distant_changes_have_separate_hunks_that_name_the_function() {
    let body: String = (0..40).map(|n| format!("    step({n});\n")).collect();
    let old = format!("void f() {{\n{body}}}\n");
    let new = old
        .replace("step(3)", "jump(3)")
        .replace("step(30)", "jump(30)");
    let diff = diff_of(&old, &new);
    let heads: Vec<String> = diff
        .hunks()
        .map(|hunk| format!("{} {}", hunk.range(), hunk.section))
        .collect();
    assert_eq!(
        heads,
        ["@@ -2,7 +2,7 @@ void f() {", "@@ -29,7 +29,7 @@ void f() {"]
    );
    let mut view = DiffView::new(Arc::new(diff), DiffLayout::Unified);
    assert!(view.step_hunk(true) && view.line() == Some(29));
    assert!(
        view.step_hunk(true) && view.line() == Some(2),
        "round the end"
    );
    assert!(view.step_hunk(false) && view.line() == Some(29));
}

#[test]
fn hunks_of_several_files_are_parsed() {
    let files = [
        (
            "k/kernel.cu",
            "@@ -1 +1,2 @@ void f()\n-a\n+b\n+-- not a file\n\\ No newline at end of file\n",
        ),
        ("old.md → new.md", "@@ -3,0 +4 @@\n+c\n"),
    ];
    let diff = Diff::of_files(files.map(|(name, hunks)| (Some(name.to_owned()), hunks)));
    let names: Vec<Option<&str>> = diff.files.iter().map(|file| file.name.as_deref()).collect();
    assert_eq!(names, [Some("k/kernel.cu"), Some("old.md → new.md")]);
    assert_eq!(diff.files[0].hunks[0].section, "void f()");
    assert_eq!(picture(&diff), "-a\n+b\n+-- not a file\n+c\n");
    assert!(diff.files[0].hunks[0].lines[2].lacks_newline);
    assert_eq!(diff.files[1].hunks[0].lines[0].new, Some(4));
    assert_eq!(diff.tally(), "+3 −1");
}

/// A random text; two such texts share many lines.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b b", "    x = y;", "}", "\tfor (;;) {", "漢字 é", "-- x", "@@ -1 +1 @@", "a\r"]),
        1 => prop::sample::select(vec!["\\ No newline", "+++ b/x", "diff --git a/x b/x"]),
    ];
    (prop::collection::vec(line, 0..24), any::<bool>()).prop_map(|(lines, ended)| {
        let end = if ended && !lines.is_empty() { "\n" } else { "" };
        lines.join("\n") + end
    })
}

/// Whether the split rows show each line once, in order.
fn shows_all(diff: &Diff) -> bool {
    let lines: Vec<(usize, usize)> = diff
        .hunks()
        .enumerate()
        .flat_map(|(h, hunk)| (0..hunk.lines.len()).map(move |l| (h, l)))
        .collect();
    let on = |side: LineKind| -> Vec<(usize, usize)> {
        let rows = diff.rows(DiffLayout::Split).into_iter();
        rows.filter_map(|row| match row {
            DiffRow::Lines { hunk, old, new, .. } => Some((
                hunk,
                if side == LineKind::Removed {
                    old?
                } else {
                    new?
                },
            )),
            _ => None,
        })
        .collect()
    };
    let of = |kind: LineKind| -> Vec<(usize, usize)> {
        let keep = |(h, l): &(usize, usize)| diff.files[0].hunks[*h].lines[*l].kind != kind;
        lines.iter().copied().filter(keep).collect()
    };
    diff.is_empty()
        || (on(LineKind::Removed) == of(LineKind::Added)
            && on(LineKind::Added) == of(LineKind::Removed))
}

proptest! {
    #[test]
    fn applied_to_the_old_text_it_gives_the_new_one(old in text(), new in text()) {
        let diff = diff_of(&old, &new);
        let [before, after] = compared(&old, &new);
        prop_assert_eq!(apply(&diff, &before), Some(after));
        prop_assert!(shows_all(&diff));
        prop_assert_eq!(diff.is_empty(), old == new);
    }

    #[test]
    fn the_context_does_not_change_the_changes_or_where_they_begin(old in text(), new in text()) {
        let near = DiffView::new(Arc::new(diff_of(&old, &new)), DiffLayout::Unified);
        let [before, after] = compared(&old, &new);
        for around in [ContextLines::Far, ContextLines::Whole] {
            let diff = diff_with(&old, &new, around);
            prop_assert_eq!(apply(&diff, &before), Some(after.clone()));
            prop_assert_eq!(diff.counts(), near.diff.counts());
            prop_assert!(around != ContextLines::Whole || diff.hunks().count() <= 1);
            for form in [DiffLayout::Unified, DiffLayout::Split] {
                let view = DiffView::new(Arc::new(diff.clone()), form);
                prop_assert_eq!(view.jump_targets().len(), near.jump_targets().len());
                // Each row is found again, and back.
                let is_there = |row: &usize| view.rows[near.follow(*row, &view)].is_source();
                let lines = (0..near.rows.len()).filter(|row| near.rows[*row].is_source());
                prop_assert!(form == DiffLayout::Split || lines.clone().all(|row| view.follow(near.follow(row, &view), &near) == row));
                prop_assert!(lines.clone().all(|row| is_there(&row)));
            }
        }
    }

    #[test]
    fn any_text_is_parsed_and_drawn(text in "(\\PC|\n|\r|@@ -1,9 \\+1,9 @@|@@ -|\\+|-| |\\\\|diff --git a/|--- |\\+\\+\\+ |[0-9]{1,11}){0,60}", columns in 0usize..200, left in 0usize..9) {
        let diff = Diff::parse(&text);
        let brush = RowPainter { line_styles: &no_line_styles, search: "a", columns, left, digits: diff.digits() };
        for form in [DiffLayout::Unified, DiffLayout::Split] {
            let view = DiffView::new(Arc::new(diff.clone()), form);
            for row in &view.rows {
                brush.row(&view, *row, true);
            }
        }
    }
}
