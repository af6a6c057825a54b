//! What a run measured beside the problem's peers: other implementations that the kernel was timed
//! in turns with.

use crate::message::{Trailer, TrailerKey};
use jiff::Timestamp;
use lab_protocol::report::peers::MOST_PEERS;
use lab_protocol::report::{Peer, PeerPart, PeerRatio, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Key of the trailer that a keep writes for each peer.
const TRAILER: &str = "Lab-Peer";

/// Most bytes of a text of a peer that are recorded.
const TEXT: usize = 4_000;

/// Most bytes of why a workload is left out that are recorded.
const WHY: usize = 400;

/// Most workloads of a peer that are recorded.
const WORKLOADS: usize = 1_000;

/// A peer as a record holds it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct MeasuredPeer {
    #[serde(flatten)]
    pub peer: Peer,
    /// When the run ended.
    pub measured: Timestamp,
    /// The file that the peer was read from, with the hash of its bytes. `None` if problem.toml
    /// does not name it.
    pub source: Option<PeerSource>,
}

/// The file of a peer.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PeerSource {
    /// Repository-relative, with `/`.
    pub path: String,
    /// BLAKE3 of its bytes, hex; `None` where it could not be read.
    pub hash: Option<String>,
}

/// A peer of which a ratio may be known.
pub trait WithRatio {
    fn forget_ratio(&mut self);
}

impl WithRatio for MeasuredPeer {
    fn forget_ratio(&mut self) {
        self.peer.ratio = None;
        self.peer.workloads.clear();
    }
}

impl WithRatio for PeerFigure {
    fn forget_ratio(&mut self) {
        self.ratio = None;
    }
}

/// Emulated times say nothing about a GPU, so they give no ratio. Whatever reads or records peers
/// passes them through here: what shows a ratio need not ask where it is from.
pub fn forget_emulated<P: WithRatio>(peers: &mut [P], emulated: bool) {
    if emulated {
        peers.iter_mut().for_each(WithRatio::forget_ratio);
    }
}

impl MeasuredPeer {
    /// The peers that a report names. `sources` has the file of each peer. A peer whose file was
    /// another when the harness read it has no figure: the figure would be that of other rules.
    pub fn of_report(
        report: &Report,
        sources: &[(String, PeerSource)],
        measured: Timestamp,
    ) -> Vec<Self> {
        let recorded = |mut peer: Peer| {
            for text in [&mut peer.call, &mut peer.versions]
                .into_iter()
                .chain(&mut peer.failure)
            {
                text.truncate(text.floor_char_boundary(TEXT));
            }
            for left in &mut peer.left_out {
                left.why.truncate(left.why.floor_char_boundary(WHY));
            }
            peer.workloads.truncate(WORKLOADS);
            peer.left_out.truncate(WORKLOADS);
            let source = sources
                .iter()
                .find(|(name, _)| *name == peer.name)
                .map(|(_, file)| file.clone());
            let of_run = peer.hash.take();
            let source = source.map(|known| {
                if known.hash.is_some() && of_run.is_some() && known.hash != of_run {
                    let why = format!("{} changed when the run began: measure again", known.path);
                    peer = Peer {
                        name: peer.name.clone(),
                        failure: Some(why),
                        ..Peer::default()
                    };
                }
                PeerSource {
                    hash: of_run.or(known.hash),
                    ..known
                }
            });
            MeasuredPeer {
                peer,
                measured,
                source,
            }
        };
        let mut peers: Vec<Self> = report.peers().into_iter().map(recorded).collect();
        forget_emulated(&mut peers, report.emulated());
        peers
    }

    /// What lists show of it.
    pub fn figure(&self) -> PeerFigure {
        let MeasuredPeer { peer, measured, .. } = self;
        PeerFigure {
            name: peer.name.clone(),
            ratio: peer.ratio,
            part: peer.part,
            measured: Some(*measured),
            failure: peer.failure.clone(),
        }
    }
}

/// The peers without what only details show.
pub fn figures(peers: &[MeasuredPeer]) -> Vec<PeerFigure> {
    peers.iter().map(MeasuredPeer::figure).collect()
}

/// How fast a kernel was beside one peer. Its fields have the record's names.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PeerFigure {
    /// As problem.toml names it.
    pub name: String,
    /// The kernel's speed over the peer's; `None` if they could not be compared.
    pub ratio: Option<PeerRatio>,
    /// Over how many workloads the ratio is, unless it is over all.
    pub part: Option<PeerPart>,
    /// `None` of a figure that was read from a trailer.
    pub measured: Option<Timestamp>,
    /// Why they could not be compared.
    pub failure: Option<String>,
}

/// `1.65× F.rms_norm (1.63 … 1.67)`, and `, 2 of 3 workloads` if it is not over all; without a
/// ratio the name alone.
impl fmt::Display for PeerFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ratio {
            Some(ratio) => f.write_str(&ratio.with_name(&self.name))?,
            None => return f.write_str(&self.name),
        }
        self.part.map_or(Ok(()), |part| write!(f, ", {part}"))
    }
}

impl PeerFigure {
    /// Whether the peer computes what the kernel does and was timed beside it.
    pub fn was_timed(&self) -> bool {
        self.measured.is_some() && self.failure.is_none()
    }

    /// Of a peer that nobody timed yet.
    pub fn untimed(name: String) -> Self {
        PeerFigure {
            name,
            ..PeerFigure::default()
        }
    }

    /// The trailer of a keep; `None` without a ratio.
    fn trailer(&self) -> Option<Trailer> {
        self.ratio
            .map(|_| (TrailerKey::Other(TRAILER.to_owned()), self.to_string()))
    }

    /// Reads a trailer back. `None` of any other trailer.
    fn of_trailer((key, value): &Trailer) -> Option<PeerFigure> {
        if !key.word().eq_ignore_ascii_case(TRAILER) {
            return None;
        }
        let (ratio, rest) = value.split_once('×')?;
        let with_part = rest
            .rsplit_once(", ")
            .and_then(|(rest, part)| Some((rest, part.parse().ok()?)));
        let (rest, part) = with_part.map_or((rest, None), |(rest, part)| (rest, Some(part)));
        let (name, ends) = match rest.trim().split_once(" (") {
            Some((name, ends)) => (name, ends.strip_suffix(')')?.split_once('…')),
            None => (rest.trim(), None),
        };
        let number = |text: &str| {
            text.trim()
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n > 0.0)
        };
        let interval = ends.and_then(|(low, high)| Some((number(low)?, number(high)?)));
        let ratio = PeerRatio {
            value: number(ratio)?,
            interval,
        };
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        is_name.then(|| PeerFigure {
            name: name.to_owned(),
            ratio: Some(ratio),
            part,
            ..PeerFigure::default()
        })
    }
}

/// The trailers of a keep: one for each peer with a ratio.
pub fn trailers(figures: &[PeerFigure]) -> impl Iterator<Item = Trailer> + '_ {
    figures.iter().filter_map(PeerFigure::trailer)
}

/// The peers that trailers name, at most [`MOST_PEERS`].
pub fn of_trailers(trailers: &[Trailer]) -> Vec<PeerFigure> {
    trailers
        .iter()
        .filter_map(PeerFigure::of_trailer)
        .take(MOST_PEERS)
        .collect()
}

/// The fastest peer: the one with the smallest ratio. A kernel that beats it beats all.
///
/// ```
/// use lab_run::peers::{PeerFigure, fastest};
/// use lab_protocol::report::PeerRatio;
///
/// let peer = |name: &str, value| PeerFigure {
///     name: name.to_owned(),
///     ratio: Some(PeerRatio { value, interval: None }),
///     part: None,
///     measured: None,
///     failure: None,
/// };
/// let peers = [peer("eager", 4.1), peer("F.rms_norm", 1.65)];
/// assert_eq!(fastest(&peers).unwrap().to_string(), "1.65× F.rms_norm");
/// ```
pub fn fastest(figures: &[PeerFigure]) -> Option<&PeerFigure> {
    let ratio = |figure: &PeerFigure| figure.ratio.map_or(f64::INFINITY, |ratio| ratio.value);
    let compared = figures.iter().filter(|figure| figure.ratio.is_some());
    compared.min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, value: f64, interval: Option<(f64, f64)>) -> PeerFigure {
        let ratio = Some(PeerRatio { value, interval });
        PeerFigure {
            name: name.into(),
            ratio,
            part: None,
            measured: None,
            failure: None,
        }
    }

    #[test]
    fn a_trailer_is_read_back_as_it_was_written() {
        let part = Some(PeerPart { compared: 2, of: 3 });
        let of_part = |figure| PeerFigure { part, ..figure };
        let written = [
            figure("F.rms_norm", 1.65, Some((1.63, 1.67))),
            figure("x_old/kernel", 0.98, None),
            of_part(figure("f16", 1.65, Some((1.63, 1.67)))),
            of_part(figure("some", 2.0, None)),
        ];
        let trailers: Vec<Trailer> = trailers(&written).collect();
        assert_eq!(trailers[0].1, "1.65× F.rms_norm (1.63 … 1.67)");
        assert_eq!(trailers[0].0.word(), "Lab-Peer");
        assert_eq!(trailers[2].1, "1.65× f16 (1.63 … 1.67), 2 of 3 workloads");
        assert_eq!(of_trailers(&trailers), written);
    }

    #[test]
    fn what_is_no_figure_is_no_peer() {
        let key = || TrailerKey::from("lab-peer".to_owned());
        for value in [
            "fast",
            "1.65 F.rms_norm",
            "nan× a",
            "-1× a",
            "0× a",
            "1×",
            "1× a b",
            "1× a (1 … 2",
        ] {
            assert!(
                of_trailers(&[(key(), value.to_owned())]).is_empty(),
                "{value}"
            );
        }
        assert!(of_trailers(&[(TrailerKey::Tested, "1.65× a".to_owned())]).is_empty());
        let failed = PeerFigure {
            ratio: None,
            ..figure("a", 1.0, None)
        };
        assert_eq!(
            (
                trailers(std::slice::from_ref(&failed)).count(),
                fastest(&[failed])
            ),
            (0, None)
        );
    }

    #[test]
    fn the_hash_is_of_what_was_run_and_other_bytes_have_no_figure() {
        let (run, other) = ("0a".repeat(32), "0b".repeat(32));
        let report = Report::read(&format!("peer_hash: eager {run}\npeer: eager ratio=1.5\n"));
        let of = |known: Option<&str>| {
            let file = PeerSource {
                path: "peer.py".into(),
                hash: known.map(str::to_owned),
            };
            MeasuredPeer::of_report(&report, &[("eager".into(), file)], Timestamp::UNIX_EPOCH)
                .remove(0)
        };
        for known in [None, Some(&*run)] {
            let measured = of(known);
            assert!(measured.peer.ratio.is_some() && measured.peer.hash.is_none());
            assert_eq!(
                measured.source.and_then(|source| source.hash).as_ref(),
                Some(&run)
            );
        }
        let changed = of(Some(&other));
        assert_eq!(
            changed.peer.failure.as_deref(),
            Some("peer.py changed when the run began: measure again")
        );
        assert_eq!(changed.source.and_then(|source| source.hash), Some(run));
        assert!(changed.peer.ratio.is_none());
    }

    #[test]
    fn emulated_times_give_no_ratio() {
        let lines =
            "peer_workload: eager n=3 ratio=1.5\npeer: eager ratio=1.5 us=12.3 own_us=8.2\n";
        let of = |device: &str| {
            let report = Report::read(&format!("device: {device}\n{lines}"));
            MeasuredPeer::of_report(&report, &[], Timestamp::UNIX_EPOCH).remove(0)
        };
        assert_eq!(of("NVIDIA H200").peer.workloads.len(), 1);
        let emulated = of("cpu (emulated)");
        assert!(emulated.peer.workloads.is_empty() && emulated.peer.us == Some(12.3));
        assert!(emulated.figure().was_timed(), "it was timed all the same");
        assert_eq!(trailers(&[emulated.figure()]).count(), 0);
    }

    #[test]
    fn a_record_of_a_peer_reads_as_its_figure() {
        let report = Report::read(
            "peer_call: eager x * y\npeer_workload: eager n=3 ratio=1.5\npeer: eager ratio=1.5 low=1.4 high=1.6\n",
        );
        let file = PeerSource {
            path: "peer.py".into(),
            hash: Some("ab".into()),
        };
        let measured =
            MeasuredPeer::of_report(&report, &[("eager".into(), file)], Timestamp::UNIX_EPOCH);
        let json = serde_json::to_string(&measured[0]).expect("JSON");
        assert_eq!(
            serde_json::from_str::<MeasuredPeer>(&json).expect("a peer"),
            measured[0]
        );
        let read: PeerFigure = serde_json::from_str(&json).expect("a figure");
        assert_eq!(read, measured[0].figure());
        assert_eq!(read.to_string(), "1.50× eager (1.40 … 1.60)");
    }
}
