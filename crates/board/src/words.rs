//! The board as text: what `lab decisions` prints and the screen shows.

use crate::board::{Board, Decision};
use crate::evidence::{Evidence, in_words};
use crate::proof::Held;
use crate::status::Status;
use lab_git::short;
use lab_protocol::report::Measure;
use lab_text::figures::counted;
use std::collections::BTreeMap;

/// Most placeholders that are listed after evidence was added.
const LISTED: usize = 40;

/// `4 decisions: 1 supported, 1 measured, 1 caveated, 1 rejected; 2 stale`
pub fn counts(board: &Board) -> String {
    let decisions = counted(board.decisions.len(), "decision");
    format!("{decisions}: {}", by_status(board))
}

/// `3 supported, 1 measured, 4 caveated, 1 rejected; 1 stale`
pub fn by_status(board: &Board) -> String {
    let each = Status::ALL.map(|status| format!("{} {}", board.counts.get(status), status.word()));
    let stale = match board.counts.stale {
        0 => String::new(),
        stale => format!("; {stale} stale"),
    };
    format!("{}{stale}", each.join(", "))
}

/// The counts, and the decisions by domain.
pub fn board(board: &Board) -> Vec<String> {
    if board.decisions.is_empty() {
        return vec![
            "there is no decision yet: `lab decisions add ID --bench N --to DECISION` makes the first \
             (`lab help decisions`)"
                .to_owned(),
        ];
    }
    let mut lines = vec![counts(board)];
    for (domain, decisions) in board.domains() {
        lines.extend([String::new(), domain.to_owned()]);
        for decision in decisions {
            lines.extend(headed(decision, board).into_iter().map(indented));
        }
    }
    lines.push(String::new());
    lines.extend(Status::ALL.map(rule));
    lines
}

/// `rejected: the evidence shows the contrary, or a kernel that is wrong`
fn rule(status: Status) -> String {
    format!("{}: {}", status.word(), status.rule())
}

/// One decision with all that is known of its evidence.
pub fn whole(decision: &Decision, board: &Board) -> Vec<String> {
    let mut lines = vec![decision.domain.clone()];
    lines.extend(headed(decision, board));
    lines.push(indented(format!("rule: {}", rule(decision.rule))));
    for id in &decision.evidence {
        lines.push(String::new());
        if let Some(held) = board.evidence.get(id) {
            lines.extend(of_evidence(id, held, decision));
        }
    }
    lines
}

fn indented(line: String) -> String {
    format!("  {line}")
}

/// The status, the claim, and what is behind both.
fn headed(decision: &Decision, board: &Board) -> Vec<String> {
    let status = decision.status.word();
    let stale = if decision.stale.is_empty() {
        ""
    } else {
        ", stale"
    };
    let mut lines = vec![format!(
        "{status}{stale}  {}: {}",
        decision.id, decision.title
    )];
    let mut below = vec![decision.claim.text.clone()];
    if decision.status != decision.rule {
        let rule = decision.rule.word();
        below.push(format!("a person lowered it: its evidence allows {rule}"));
    }
    let reasons = decision.reasons.iter();
    below.extend(reasons.map(|reason| format!("{}: {}", reason.allows.word(), reason.text)));
    below.extend(decision.stale.iter().map(|text| format!("stale: {text}")));
    let boundary = &decision.boundary.text;
    below.extend((!boundary.is_empty()).then(|| format!("boundary: {boundary}")));
    for id in &decision.evidence {
        let about = board.evidence.get(id);
        let about = about.map_or_else(|| "cannot be read".to_owned(), in_a_line);
        below.push(format!("evidence {id}: {about}"));
    }
    for next in &decision.next {
        let done = next.done.as_ref();
        let mark = done.map_or_else(|| "[ ]".to_owned(), |id| format!("[x] {id}:"));
        let parts = [&next.what, &next.command, &next.reason];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        below.push(format!("next {mark} {}", parts.join("; ")));
    }
    lines.extend(below.into_iter().map(indented));
    lines
}

/// `bench 3 of kernels/rmsnorm/kernel.cu on NVIDIA H200, 6 runs, commit a1b2c3d`
fn about(evidence: &Evidence) -> String {
    let Evidence {
        kind,
        number,
        kernel,
        runs,
        ..
    } = evidence;
    let mut text = format!("{} {number} of {kernel}", kind.word());
    if let Some(device) = &evidence.device {
        text += &format!(" on {device}");
    }
    if evidence.is_timed() {
        text += &format!(", {}", counted(*runs as usize, "run"));
    }
    text + &match &evidence.commit {
        Some(commit) => format!(", commit {}", short(commit)),
        None => ", in no commit".to_owned(),
    }
}

/// [`about`] with who signed it.
fn in_a_line(held: &Held) -> String {
    let signer = held.signer.as_deref().unwrap_or("no listed key");
    format!("{}, signed by {signer}", about(&held.evidence))
}

fn of_evidence(id: &str, held: &Held, decision: &Decision) -> Vec<String> {
    let mut lines = vec![format!("{id}: {}", in_a_line(held))];
    let mut below = measured(&held.evidence);
    for cited in decision.claim.cited().filter(|it| it.evidence == id) {
        let place = cited.workload.as_deref().unwrap_or("all workloads");
        let figure = figure(&cited.metric, &cited.measure());
        below.push(format!("{place} {}: {figure}", cited.metric));
    }
    lines.extend(below.into_iter().map(indented));
    lines
}

/// All that evidence holds: where its record is, how it was measured, and each figure.
pub fn record(id: &str, held: &Held) -> Vec<String> {
    let evidence = &held.evidence;
    let mut lines = vec![
        format!("evidence/{id}.json: its record is in the clone where it was made"),
        in_a_line(held),
    ];
    let mut below = measured(evidence);
    below.extend(
        evidence
            .caveats
            .iter()
            .map(|text| format!("caveat: {text}")),
    );
    let files = evidence.inputs.iter();
    below.extend(files.map(|(path, hash)| format!("measured {path}  blake3={}", short(hash))));
    lines.extend(below.into_iter().map(indented));
    let all = [("all workloads", &evidence.figures)].into_iter();
    let each = evidence.workloads.values();
    for (name, figures) in all.chain(each.map(|it| (it.name.as_str(), &it.figures))) {
        lines.extend([String::new(), indented(name.to_owned())]);
        let figures = figures.iter();
        let figures = figures.map(|(metric, of)| format!("  {metric}  {}", figure(metric, of)));
        lines.extend(figures.map(indented));
    }
    lines
}

/// When and how evidence was measured, on what, and beside which calls.
fn measured(evidence: &Evidence) -> Vec<String> {
    let mut below = vec![format!(
        "measured {} by lab {}; `{}` repeats it",
        evidence.measured.strftime("%Y-%m-%d"),
        evidence.lab,
        evidence.command
    )];
    below.extend(device(evidence));
    below.push(match evidence.clean_tree {
        Some(true) => "the tree was clean: all tracked files were as in HEAD".to_owned(),
        Some(false) => "the tree was not clean: tracked files were changed".to_owned(),
        None => "its record does not say whether the tree was clean".to_owned(),
    });
    for peer in evidence.peers.values() {
        let called = peer.called();
        let called = called.unwrap_or_else(|| "its call is not recorded".to_owned());
        below.push(format!("peer {}: {called}", peer.name));
    }
    below
}

/// Driver, compiler, clocks and what else is known of the device while it was measured.
pub fn device(evidence: &Evidence) -> Option<String> {
    let driver = evidence
        .driver
        .as_ref()
        .map(|it| match it.contains("driver") {
            true => it.clone(),
            false => format!("driver {it}"),
        });
    let parts = [
        driver,
        evidence.compiler.clone(),
        evidence.device_state.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `26.41 µs (26.12 … 26.83)`
pub fn figure(metric: &str, measure: &Measure) -> String {
    let shown = in_words(metric, measure.value);
    match (measure.low, measure.high) {
        (Some(low), Some(high)) => {
            let end = |value| in_words(metric, value);
            let bare = |text: String| {
                text.trim_end_matches(|c: char| !c.is_ascii_digit())
                    .to_owned()
            };
            format!("{shown} ({} … {})", bare(end(low)), bare(end(high)))
        }
        _ => shown,
    }
}

/// What was written, and the placeholders that it brings.
pub fn added(id: &str, path: &str, evidence: &Evidence) -> Vec<String> {
    let of = |place: String, figures: &BTreeMap<String, Measure>| -> Vec<String> {
        let line = |(metric, measure): (&String, &Measure)| {
            format!("  {{{place}.{metric}}}  {}", figure(metric, measure))
        };
        figures.iter().map(line).collect()
    };
    let mut figures = of(id.to_owned(), &evidence.figures);
    for (key, workload) in &evidence.workloads {
        figures.extend(of(format!("{id}.{key}"), &workload.figures));
    }
    let more = figures.len().saturating_sub(LISTED);
    figures.truncate(LISTED);
    figures.extend((more > 0).then(|| format!("  … and {more} more: --json lists all")));
    let mut lines = vec![
        format!("{path}: {}", about(evidence)),
        "placeholders:".to_owned(),
    ];
    lines.extend(figures);
    lines
}
