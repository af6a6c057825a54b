//! What the kernel was timed beside: each peer with its ratio, its call, its versions, and each
//! workload.

use super::pair_table::{PairTable, of_either};
use crate::prelude::*;
use lab_run::experiment::Experiment;
use lab_run::peers::{MeasuredPeer, PeerFigure};

/// Columns of a label.
const LABEL: usize = 8;

/// Most characters of a hash that are shown.
const HASH: usize = 12;

/// A few lines for each peer.
pub fn lines(peers: &[MeasuredPeer], columns: usize, data: ScreenData) -> Lines {
    let of_peer = |measured| of_peer(measured, columns, data);
    peers.iter().flat_map(of_peer).collect()
}

fn of_peer(measured: &MeasuredPeer, columns: usize, data: ScreenData) -> Lines {
    let peer = &measured.peer;
    let mut head = measured.figure().to_string();
    head.extend(peer.us.map(|us| format!(": {}", format::us(us))));
    let own = peer.own_us.map(format::us);
    head.extend(own.map(|us| format!(", the kernel {us}")));
    head.extend(peer.launched_as.as_deref().map(|how| format!(", {how}")));
    let style = if peer.ratio.is_some() { STRONG } else { TEXT };
    let mut out = paragraph(&head, columns, style);
    // A fact without a text has no row.
    let mut say = |label: &str, text: &str| out.extend(labelled(label, LABEL, text, columns));
    say("failed", peer.failure.as_deref().unwrap_or_default());
    for left in &peer.left_out {
        say("not", &format!("{}: {}", left.name, left.why));
    }
    say("call", &peer.call);
    say("versions", &peer.versions);
    if let Some(source) = &measured.source {
        let hash = source.hash.as_deref().unwrap_or_default();
        let hash = hash.get(..HASH).unwrap_or(hash);
        say("source", &format!("{} {hash}", source.path));
    }
    say("measured", &data.date(measured.measured));
    let names = peer.workloads.iter().map(|workload| &*workload.name);
    let name_columns = widest(names).min(columns / 2);
    for workload in &peer.workloads {
        let name = pad(&printable(&workload.name), name_columns);
        let us = workload.us.map(|us| format!("  {}", format::us(us)));
        let us = us.unwrap_or_default();
        out.push(Line::raw(format!("  {name}  {}{us}", workload.ratio)));
    }
    out
}

/// A row for each peer of either experiment.
pub fn side_by_side(experiments: [Option<&Experiment>; 2], table: PairTable) -> Lines {
    let both = experiments.map(|e| e.map_or(&[][..], |e| &e.peers));
    let names = of_either(both.iter().copied().flatten().map(|figure| &*figure.name));
    let cell = |of: &[PeerFigure], name: &str| {
        let figure = of.iter().find(|figure| figure.name == name)?;
        let part = figure.part.map(|part| format!(", {part}"));
        Some(figure.ratio?.to_string() + &part.unwrap_or_default())
    };
    let row = |name: &str| {
        let cells = both.map(|of| cell(of, name).unwrap_or_default());
        table.plain(&printable(name), cells)
    };
    names.into_iter().filter_map(row).collect()
}
