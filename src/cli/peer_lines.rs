//! What commands print about the peers that a kernel was timed beside.

use super::table::table;
use itertools::Itertools;
use lab_history::last_peers::LastPeers;
use lab_run::peers::{self, MeasuredPeer};
use lab_text::age;
use lab_text::figures::figure;

/// Most workloads that are listed.
pub const LISTED: usize = 12;

/// What stands in place of the ratio of emulated times.
pub const NOT_COMPARED: &str = "computes the same, and emulated times are not compared";

/// The lines of each peer: the ratio, what was called with which packages, and each workload.
pub fn lines(peers: &[MeasuredPeer], emulated: bool) -> Vec<String> {
    peers
        .iter()
        .flat_map(|peer| of_peer(peer, emulated))
        .collect()
}

fn of_peer(measured: &MeasuredPeer, emulated: bool) -> Vec<String> {
    let peer = &measured.peer;
    let part = peer.part.map(|part| format!(", {part}"));
    let mut head = match &peer.failure {
        Some(why) => format!("  not compared with {}: {why}", peer.name),
        None if emulated => format!("  {} {NOT_COMPARED}{}", peer.name, part.unwrap_or_default()),
        None => format!("  {}", measured.figure()),
    };
    if !emulated && let (Some(us), Some(own)) = (peer.us, peer.own_us) {
        head += &format!(": {} us, the kernel {} us", figure(us), figure(own));
    }
    let mut lines = vec![head];
    let mut details = [&peer.call, &peer.versions]
        .into_iter()
        .filter(|text| !text.is_empty());
    let details = details.join("  ");
    lines.extend((!details.is_empty()).then(|| format!("    {details}")));
    let left_out = peer.left_out.iter().take(LISTED);
    lines.extend(left_out.map(|left| format!("    not {}: {}", left.name, left.why)));
    if peer.left_out.len() > LISTED {
        let more = peer.left_out.len() - LISTED;
        lines.push(format!("    … and not {more} more: --json lists all"));
    }
    let workloads = peer.workloads.as_slice();
    let rows = if emulated { &[] } else { workloads }
        .iter()
        .map(|it| [it.name.clone(), it.ratio.to_string()]);
    let rows = listed(rows, |more| format!("… {more} more: --json lists all"));
    lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    lines
}

/// Named figures below one another, indented. Of many, the first ones and what `rest` says of the
/// others.
pub fn listed(
    rows: impl ExactSizeIterator<Item = [String; 2]>,
    rest: impl FnOnce(usize) -> String,
) -> Vec<String> {
    let left = rows.len().saturating_sub(LISTED);
    let mut lines = table(&rows.take(LISTED).collect::<Vec<_>>());
    lines.extend((left > 0).then(|| rest(left)));
    lines.iter().map(|line| format!("  {line}")).collect()
}

/// `1.65× F.rms_norm (1.63 … 1.67), 2 h ago`, of the fastest peer.
pub fn last(known: &LastPeers) -> Option<String> {
    let fastest = peers::fastest(&known.peers)?;
    let age = fastest
        .measured
        .map(|then| format!(", {}", age::since(then, lab_run::now())));
    Some(format!("{fastest}{}", age.unwrap_or_default()))
}
