//! Messages stay at their lines, also after the lines have moved.

use super::*;

use crate::diff::Diff;
use lab_git::text_diff;
use lab_protocol::report::Report;
use proptest::prelude::*;

fn diff_of(old: &str, new: &str) -> Diff {
    Diff::parse(&text_diff(old, new, 3).expect("a diff"))
}

fn source(judged: &str, now: &str) -> SourceView {
    let fingerprint = Fingerprint(if judged == now { "judged" } else { "newer" }.into());
    let since = diff_of(judged, now);
    SourceView {
        request: SourceRequest {
            baseline: Baseline::Incumbent,
            runs: vec![RunId(1)],
            present: None,
            head: None,
            around: ContextLines::default(),
        },
        present: Ok(PresentText {
            text: SourceText::new(now),
            fingerprint,
        }),
        base: Err("none".into()),
        diff: Arc::default(),
        since: if since.is_empty() {
            Vec::new()
        } else {
            vec![(RunId(1), since)]
        },
    }
}

fn messages(judged: &str, now: &str, log: &str) -> SourceMessages {
    let (report, fingerprint) = (Report::read(log), Fingerprint("judged".into()));
    SourceMessages::of(
        &source(judged, now),
        [(RunId(1), &fingerprint, &report)],
        "kernels/a/kernel.cu",
    )
}

/// `LINE FRESHNESS TEXT` of each message, lines from 1.
fn seen(messages: &SourceMessages) -> Vec<String> {
    let at = |line: usize| {
        let all = messages.at(line).iter();
        all.map(move |m| format!("{} {:?} {}", line + 1, m.freshness, m.text))
    };
    messages.lines().flat_map(at).collect()
}

const JUDGED: &str = "a\nb\nc\nd\n";
const LOG: &str = "/tmp/x/kernel.cu(3): error: no c\nkernel.cu(3): error: no c\nlab.h(7): warning: odd\nkernel.cu:99:1: error: the end\n";

#[test]
fn a_message_is_at_its_line_once_and_those_of_other_files_are_separate() {
    let messages = messages(JUDGED, JUDGED, LOG);
    assert_eq!(seen(&messages), ["3 Fresh no c", "4 Fresh the end"]);
    assert_eq!(messages.elsewhere[0].text, "lab.h:7: odd");
    assert_eq!(messages.tally(), "✗ 2 errors ! 1 warning");
    assert_eq!(messages.first_error(), Some(2));
}

#[test]
fn messages_follow_their_lines_and_become_stale() {
    let moved = messages(JUDGED, "new\na\nb\nc\nd\n", LOG);
    assert_eq!(seen(&moved)[0], "4 Stale no c");
    assert_eq!(moved.tally(), "✗ 2 errors ! 1 warning (stale)");
    assert_eq!(moved.first_error(), None);
    assert_eq!(
        seen(&messages(JUDGED, "a\nb\nsee\nd\n", LOG))[0],
        "3 Lost no c"
    );
    assert_eq!(
        seen(&messages(JUDGED, "", LOG)),
        ["1 Lost no c", "1 Stale the end"]
    );
}

#[test]
fn highlighting_and_cursor_stay_with_unchanged_lines() {
    let (old, new) = (
        SourceText::new("a\nb\nc\n"),
        SourceText::new("a\nx\ny\nb2\nc"),
    );
    assert_eq!(old.common(&new), (1, 1));
    assert_eq!([0, 1, 2].map(|at| old.follow(at, &new)), [0, 1, 4]);
    let colour = |n: usize| -> crate::highlight::LineSpans {
        Arc::new([crate::highlight::SyntaxSpan {
            range: 0..n,
            role: crate::highlight::SyntaxRole::Type,
        }])
    };
    let colours = Highlighted {
        lines: vec![colour(1), colour(2), colour(3)],
        parsed_lines: 0,
    };
    let carried = carry_highlighting(&old, &colours, &new);
    let ends: Vec<Option<usize>> = (0..5)
        .map(|at| carried.line(at).first().map(|s| s.range.end))
        .collect();
    assert_eq!(ends, [Some(1), None, None, None, Some(3)]);
}

proptest! {
    #[test]
    fn a_kept_line_has_the_same_text_in_the_new_text(
        old in prop::collection::vec("[abc]{0,1}", 0..20),
        new in prop::collection::vec("[abc]{0,1}", 0..20),
        line in 1u32..24,
    ) {
        let (old_text, new_text) = (SourceText::new(old.join("\n")), SourceText::new(new.join("\n")));
        let (held, now) = (old_text.line(line as usize - 1), |at: u32| new_text.line(at as usize - 1).to_owned());
        match diff_of(old_text.whole(), new_text.whole()).locate(line) {
            // Nothing is promised of a line that the old text does not have.
            _ if line as usize > old_text.len() => {}
            crate::diff::LineLocation::Kept(at) => prop_assert_eq!(now(at), held),
            crate::diff::LineLocation::Gone(at) => prop_assert!(at >= 1 && at as usize <= new_text.len().max(1)),
        }
        let followed = old_text.follow(line as usize - 1, &new_text);
        prop_assert!(followed <= new_text.len());
    }
}
