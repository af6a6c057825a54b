//! What commands print about the peers that a kernel was timed beside.

use jiff::Timestamp;
use lab_core::history::last_peers::LastPeers;
use lab_core::run::peers::{self, MeasuredPeer};
use lab_core::text::age;
use lab_core::text::figures::figure;

/// Most workloads of a peer that are listed; all of them are in `--json`.
const LISTED: usize = 12;

/// The lines of each peer: the ratio, what was called with which packages, and each workload.
pub fn lines(peers: &[MeasuredPeer]) -> Vec<String> {
    peers.iter().flat_map(of_peer).collect()
}

fn of_peer(measured: &MeasuredPeer) -> Vec<String> {
    let peer = &measured.peer;
    let mut head = match &peer.failure {
        Some(why) => format!("  not compared with {}: {why}", peer.name),
        None => format!("  {}", measured.figure()),
    };
    if let (Some(us), Some(own)) = (peer.us, peer.own_us) {
        head += &format!(": {} us, the kernel {} us", figure(us), figure(own));
    }
    let mut lines = vec![head];
    let details = [&peer.call, &peer.versions]
        .into_iter()
        .filter(|text| !text.is_empty());
    let details: Vec<&str> = details.map(String::as_str).collect();
    if !details.is_empty() {
        lines.push(format!("    {}", details.join("  ")));
    }
    lines.extend(
        peer.left_out
            .iter()
            .take(LISTED)
            .map(|left| format!("    not {}: {}", left.name, left.why)),
    );
    if peer.left_out.len() > LISTED {
        lines.push(format!(
            "    … and not {} more: --json lists all",
            peer.left_out.len() - LISTED
        ));
    }
    let widest = peer
        .workloads
        .iter()
        .take(LISTED)
        .map(|w| w.name.chars().count())
        .max()
        .unwrap_or(0);
    let workloads = peer.workloads.iter().take(LISTED);
    lines.extend(workloads.map(|w| format!("    {:widest$}  {}", w.name, w.ratio)));
    if peer.workloads.len() > LISTED {
        lines.push(format!(
            "    … {} more: --json lists all",
            peer.workloads.len() - LISTED
        ));
    }
    lines
}

/// `1.65× F.rms_norm (1.63 … 1.67), 2 h ago`, of the fastest peer.
pub fn last(known: &LastPeers) -> Option<String> {
    let fastest = peers::fastest(&known.peers)?;
    let age = fastest
        .measured
        .map(|then| format!(", {}", age::since(then, Timestamp::now())));
    Some(format!("{fastest}{}", age.unwrap_or_default()))
}
