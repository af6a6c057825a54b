//! What the kernel was timed beside: each peer with its ratio, its call, its versions, and each
//! workload.

use super::pair_table::Columns;
use crate::format;
use crate::state::ScreenSettings;
use crate::text::{pad, printable, width};
use crate::widgets::{Lines, labelled, paragraph};
use lab_run::experiment::Experiment;
use lab_run::peers::{MeasuredPeer, PeerFigure};
use ratatui::text::Line;

/// Columns of a label.
const LABEL: usize = 8;

/// Most characters of a hash that are shown.
const HASH: usize = 12;

/// A few lines for each peer.
pub fn lines(peers: &[MeasuredPeer], columns: usize, appearance: &ScreenSettings) -> Lines {
    let theme = &appearance.theme;
    let mut out = Vec::new();
    for measured in peers {
        let peer = &measured.peer;
        let mut head = measured.figure().to_string();
        head.extend(peer.us.map(|us| format!(": {} µs", format::count(us))));
        head.extend(
            peer.own_us
                .map(|us| format!(", the kernel {} µs", format::count(us))),
        );
        head.extend(peer.launched_as.as_deref().map(|how| format!(", {how}")));
        let style = if peer.ratio.is_some() {
            theme.strong()
        } else {
            theme.text()
        };
        out.extend(paragraph(&head, columns, style));
        let mut say =
            |label: &str, text: &str| out.extend(labelled(label, LABEL, text, columns, theme));
        peer.failure.iter().for_each(|why| say("failed", why));
        peer.left_out
            .iter()
            .for_each(|left| say("not", &format!("{}: {}", left.name, left.why)));
        if !peer.call.is_empty() {
            say("call", &peer.call);
        }
        if !peer.versions.is_empty() {
            say("versions", &peer.versions);
        }
        if let Some(source) = &measured.source {
            let hash = source
                .hash
                .as_deref()
                .map_or("", |hash| hash.get(..HASH).unwrap_or(hash));
            say("source", format!("{} {hash}", source.path).trim_end());
        }
        say(
            "measured",
            &format::date(measured.measured, &appearance.zone),
        );
        let widest = peer
            .workloads
            .iter()
            .map(|workload| width(&workload.name))
            .max()
            .unwrap_or(0);
        for workload in &peer.workloads {
            let name = pad(&printable(&workload.name), widest.min(columns / 2));
            let us = workload
                .us
                .map_or_else(String::new, |us| format!("  {} µs", format::count(us)));
            out.push(Line::styled(
                format!("  {name}  {}{us}", workload.ratio),
                theme.text(),
            ));
        }
    }
    out
}

/// A row for each peer of either experiment.
pub fn side_by_side(experiments: [Option<&Experiment>; 2], table: &Columns) -> Lines {
    let figures = |e: Option<&Experiment>| e.map(|e| e.peers.clone()).unwrap_or_default();
    let both: [Vec<PeerFigure>; 2] = experiments.map(figures);
    let mut names: Vec<&str> = Vec::new();
    for figure in both.iter().flatten() {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let cell = |of: &Vec<PeerFigure>, name: &str| {
        let figure = of.iter().find(|figure| figure.name == name);
        let ratio = figure
            .and_then(|figure| figure.ratio)
            .map(|ratio| ratio.to_string());
        let part = figure
            .and_then(|figure| figure.part)
            .map(|part| format!(", {part}"));
        ratio
            .map(|ratio| ratio + &part.unwrap_or_default())
            .unwrap_or_default()
    };
    let cells = |name: &str| both.each_ref().map(|of| cell(of, name));
    names
        .iter()
        .filter_map(|name| table.plain(&printable(name), cells(name)))
        .collect()
}
