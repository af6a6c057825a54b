//! Peers as JSON: what a kernel was timed beside.

use super::finite;
use lab_core::run::peers::{MeasuredPeer, PeerFigure, PeerSource};
use lab_protocol::report::{Measure, PeerLeftOut, PeerPart, PeerRatio};
use serde::Serialize;

/// A peer of a run or of a bench.
#[derive(Serialize)]
pub struct PeerReport {
    name: String,
    /// Above 1 the kernel is faster; `None` if they could not be compared.
    ratio: Option<Measure>,
    /// Why they could not be compared.
    failure: Option<String>,
    peer_us: Option<f64>,
    kernel_us: Option<f64>,
    launched_as: Option<String>,
    /// What is called; empty if its source does not say.
    call: String,
    versions: String,
    source: Option<PeerSource>,
    measured: String,
    workloads: Vec<PeerWorkloadReport>,
    /// Over how many workloads the ratio is; `None` if it is over all.
    part: Option<PeerPart>,
    /// The workloads that the peer does not compute.
    left_out: Vec<PeerLeftOut>,
}

#[derive(Serialize)]
struct PeerWorkloadReport {
    name: String,
    ratio: Measure,
    peer_us: Option<f64>,
}

impl PeerReport {
    pub fn of(measured: &MeasuredPeer) -> Self {
        let MeasuredPeer {
            peer,
            measured,
            source,
        } = measured;
        PeerReport {
            name: peer.name.clone(),
            ratio: peer.ratio.map(ratio),
            failure: peer.failure.clone(),
            peer_us: peer.us.and_then(finite),
            kernel_us: peer.own_us.and_then(finite),
            launched_as: peer.launched_as.clone(),
            call: peer.call.clone(),
            versions: peer.versions.clone(),
            source: source.clone(),
            measured: measured.to_string(),
            part: peer.part,
            left_out: peer.left_out.clone(),
            workloads: peer
                .workloads
                .iter()
                .map(|of| PeerWorkloadReport {
                    name: of.name.clone(),
                    ratio: ratio(of.ratio),
                    peer_us: of.us.and_then(finite),
                })
                .collect(),
        }
    }
}

/// A peer in a list: its ratio, and when that was measured.
#[derive(Serialize)]
pub struct PeerFigureReport {
    name: String,
    ratio: Option<Measure>,
    /// Over how many workloads the ratio is; `None` if it is over all.
    part: Option<PeerPart>,
    /// Why they could not be compared; `None` of a peer that nobody timed.
    failure: Option<String>,
    /// `None` of a figure that a trailer tells.
    measured: Option<String>,
}

impl PeerFigureReport {
    pub fn of(figure: &PeerFigure) -> Self {
        PeerFigureReport {
            name: figure.name.clone(),
            ratio: figure.ratio.map(ratio),
            part: figure.part,
            failure: figure.failure.clone(),
            measured: figure.measured.map(|at| at.to_string()),
        }
    }
}

fn ratio(PeerRatio { value, interval }: PeerRatio) -> Measure {
    Measure {
        value,
        low: interval.map(|ends| ends.0),
        high: interval.map(|ends| ends.1),
    }
}
