//! The `peer…:` lines: how fast the candidate is beside other implementations of the same problem.
//!
//! - `peer: NAME ratio=1.65 low=1.63 high=1.67 us=12.30 own_us=7.45 launched_as=graph`: the
//!   candidate's speed over the peer's, with its 95 % interval, and the microseconds of a turn's
//!   launch of the peer and of the candidate.
//! - `peer: NAME ratio=1.65 … workloads=2 of=3`: the same over 2 of 3 workloads, because the peer
//!   does not compute the others.
//! - `peer_left_out: NAME rows=3 cols=257 why=what~is~wrong~there`: a workload that it does not
//!   compute.
//! - `peer: NAME failed=why~it~could~not~be~compared`: instead; `~` stands for a blank.
//! - `peer_workload: NAME rows=3 cols=257 us=12.30 ratio=1.65 ratio_low=1.60 ratio_high=1.70`: the
//!   same of one workload.
//! - `peer_call: NAME TEXT`: what is called, as its source says it.
//! - `peer_hash: NAME 9f86d0…`: BLAKE3 of the file that was run, hex.
//! - `peer_versions: NAME torch=2.11.0+cu130 triton=3.6.0`: the packages that it uses.

use super::workloads::{Words, name as name_of, unmeasured_words};
use super::{Measure, Report, attribute, finite, first_word, parsed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most peers of a run that are read.
pub const MOST_PEERS: usize = 32;

/// Most lines about peers that are kept.
pub(super) const MOST_LINES: usize = 8_192;

/// Longest `peer_call:` that is kept, in characters.
const CALL_CHARACTERS: usize = 2_000;

/// What a run says about one peer.
///
/// ```
/// use lab_protocol::report::Report;
///
/// let report = Report::read("\
/// peer_call: eager x * torch.rsqrt(x.pow(2).mean(-1, True) + eps) * w
/// peer_versions: eager torch=2.11.0
/// peer: eager ratio=4.1 low=4.0 high=4.2 us=30.0 own_us=7.3 launched_as=graph
/// ");
/// let peers = report.peers();
/// assert_eq!(peers[0].ratio.unwrap().to_string(), "4.10× (4.00 … 4.20)");
/// assert_eq!(peers[0].versions, "torch=2.11.0");
/// ```
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Peer {
    /// The name that problem.toml gives it.
    pub name: String,
    /// What is called; empty if no line says so.
    pub call: String,
    /// Packages and their versions, as in `torch=2.11.0 triton=3.6.0`.
    pub versions: String,
    /// BLAKE3 of the file that was run, hex; `None` if no line says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The candidate's speed over the peer's; `None` if it could not be compared.
    pub ratio: Option<PeerRatio>,
    /// Why it could not be compared.
    pub failure: Option<String>,
    /// Microseconds of a launch of the peer.
    #[serde(rename = "peer_us")]
    pub us: Option<f64>,
    /// Microseconds of a launch of the candidate beside it.
    #[serde(rename = "kernel_us")]
    pub own_us: Option<f64>,
    /// `graph` or `plain`.
    #[schemars(extend("enum" = ["graph", "plain", null]))]
    pub launched_as: Option<String>,
    /// Each workload; empty if there is only one.
    pub workloads: Vec<PeerWorkload>,
    /// The workloads that it does not compute: the ratio is over the others.
    pub left_out: Vec<PeerLeftOut>,
    /// Over how many workloads the ratio is, unless it is over all.
    pub part: Option<PeerPart>,
}

/// A workload that a peer does not compute.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PeerLeftOut {
    /// As in `rows=3 cols=257`.
    pub name: String,
    /// What went wrong there.
    pub why: String,
}

/// How many workloads a ratio is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PeerPart {
    /// Those that the peer computes.
    pub compared: u64,
    /// All that were checked.
    pub of: u64,
}

/// `2 of 3 workloads`
impl std::fmt::Display for PeerPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} workloads", self.compared, self.of)
    }
}

impl std::str::FromStr for PeerPart {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (compared, of) = text
            .strip_suffix(" workloads")
            .and_then(|text| text.split_once(" of "))
            .ok_or(())?;
        PeerPart::new(compared.parse().ok(), of.parse().ok()).ok_or(())
    }
}

impl PeerPart {
    fn new(compared: Option<u64>, of: Option<u64>) -> Option<PeerPart> {
        let (compared, of) = compared.zip(of)?;
        (0 < compared && compared < of).then_some(PeerPart { compared, of })
    }
}

/// The candidate's speed over a peer's.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "Measure", into = "Measure")]
pub struct PeerRatio {
    /// Above 1 the candidate is faster.
    pub value: f64,
    /// The ends of the 95 % interval.
    pub interval: Option<(f64, f64)>,
}

impl From<Measure> for PeerRatio {
    fn from(Measure { value, low, high }: Measure) -> Self {
        let interval = low.zip(high);
        PeerRatio { value, interval }
    }
}

impl From<PeerRatio> for Measure {
    fn from(PeerRatio { value, interval }: PeerRatio) -> Self {
        let (low, high) = interval.unzip();
        Measure { value, low, high }
    }
}

impl PeerRatio {
    /// The ratio with the peer's name: `1.65× F.rms_norm (1.63 … 1.67)`.
    pub fn with_name(&self, name: &str) -> String {
        format!("{}× {name}{}", figure(self.value), self.ends())
    }

    fn ends(&self) -> String {
        let ends = self.interval;
        ends.map_or_else(String::new, |(low, high)| {
            format!(" ({} … {})", figure(low), figure(high))
        })
    }
}

/// `1.65× (1.63 … 1.67)`
impl std::fmt::Display for PeerRatio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×{}", figure(self.value), self.ends())
    }
}

/// Three digits, and no more than two behind the point.
fn figure(ratio: f64) -> String {
    let digits = if ratio.abs() >= 100.0 {
        0
    } else {
        usize::from(ratio.abs() < 10.0) + 1
    };
    format!("{ratio:.digits$}")
}

/// One workload of a comparison with a peer.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PeerWorkload {
    /// As in `rows=3 cols=257`.
    pub name: String,
    /// The candidate's speed over the peer's, with an interval that is corrected for the number of
    /// workloads.
    pub ratio: PeerRatio,
    /// Microseconds of a launch of the peer.
    #[serde(rename = "peer_us")]
    pub us: Option<f64>,
}

impl Report {
    /// The peers, in the order in which lines first name them; at most [`MOST_PEERS`]. A later line
    /// of a peer replaces what an earlier one said.
    pub fn peers(&self) -> Vec<Peer> {
        let mut peers: Vec<Peer> = Vec::new();
        for (key, value) in &self.peer_lines {
            let name = first_word(value);
            if name.is_empty() {
                continue;
            }
            let at = match peers.iter().position(|peer| peer.name == name) {
                Some(at) => at,
                None if peers.len() == MOST_PEERS => continue,
                None => {
                    peers.push(Peer {
                        name: name.to_owned(),
                        ..Peer::default()
                    });
                    peers.len() - 1
                }
            };
            peers[at].read(key, value, value[name.len()..].trim());
        }
        peers
    }
}

impl Peer {
    /// `rest` is the value of the line behind the name.
    fn read(&mut self, key: &str, value: &str, rest: &str) {
        match key {
            "peer_call" => self.call = rest.chars().take(CALL_CHARACTERS).collect(),
            "peer_hash" => {
                let hash = first_word(rest);
                let is_hash = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
                self.hash = is_hash.then(|| hash.to_owned());
            }
            "peer_versions" => rest.clone_into(&mut self.versions),
            "peer_left_out" => self.left_out.extend(PeerLeftOut::read(rest)),
            "peer_workload" => self.workloads.extend(PeerWorkload::read(rest)),
            _ => {
                let figure = |name| attribute(value, name).and_then(finite);
                self.failure = attribute(value, "failed").map(|why| why.replace('~', " "));
                self.ratio = ratio(figure("ratio"), figure("low"), figure("high"));
                (self.us, self.own_us) = (figure("us"), figure("own_us"));
                self.part = PeerPart::new(parsed(value, "workloads"), parsed(value, "of"));
                self.launched_as = attribute(value, "launched_as").map(str::to_owned);
            }
        }
    }
}

impl PeerLeftOut {
    fn read(rest: &str) -> Option<PeerLeftOut> {
        let (name, why) = rest.split_once(" why=")?;
        Some(PeerLeftOut {
            name: name.to_owned(),
            why: why.replace('~', " "),
        })
    }
}

impl PeerWorkload {
    fn read(rest: &str) -> Option<PeerWorkload> {
        let words: Words = super::words(rest);
        let figure = |name: &str| super::workloads::value(&words, name).and_then(finite);
        Some(PeerWorkload {
            name: name_of(&words, unmeasured_words(&words)),
            ratio: ratio(figure("ratio"), figure("ratio_low"), figure("ratio_high"))?,
            us: figure("us"),
        })
    }
}

fn ratio(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<PeerRatio> {
    let value = value.filter(|value| *value > 0.0)?;
    Some(PeerRatio {
        value,
        interval: low.zip(high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_what_its_lines_say() {
        let report = Report::read(
            "peer_call: F.rms_norm F.rms_norm(x, (x.shape[-1],), w, eps)\n\
             peer_hash: F.rms_norm 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\npeer_hash: compiled 0a\n\
             peer_versions: F.rms_norm torch=2.11.0+cu130 triton=3.6.0\n\
             peer_workload: F.rms_norm rows=3 cols=257 us=12.30 ratio=1.65 ratio_low=1.60 ratio_high=1.70\n\
             peer: F.rms_norm ratio=1.651 low=1.634 high=1.668 us=12.30 own_us=7.45 launched_as=graph\n\
             peer: compiled failed=torch~is~not~installed\n\
             peer_workload: broken\npeer:\npeer_call:\n",
        );
        let [norm, compiled, broken] = &report.peers()[..] else {
            panic!("{:?}", report.peers())
        };
        assert_eq!(
            norm.ratio.map(|ratio| ratio.to_string()).as_deref(),
            Some("1.65× (1.63 … 1.67)")
        );
        assert_eq!(norm.call, "F.rms_norm(x, (x.shape[-1],), w, eps)");
        assert_eq!(
            (norm.us, norm.own_us, norm.launched_as.as_deref()),
            (Some(12.3), Some(7.45), Some("graph"))
        );
        assert_eq!(
            (norm.workloads.len(), norm.workloads[0].name.as_str()),
            (1, "rows=3 cols=257")
        );
        assert_eq!(compiled.failure.as_deref(), Some("torch is not installed"));
        assert_eq!(
            (norm.hash.as_deref(), compiled.hash.as_deref()),
            (Some(&*"0a".repeat(32)), None)
        );
        assert_eq!(
            (broken.name.as_str(), broken.ratio, broken.workloads.len()),
            ("broken", None, 0)
        );
    }

    #[test]
    fn a_peer_may_compute_some_workloads_only() {
        let report = Report::read(
            "peer_left_out: a n=40 T=f16 why=peer.py:3:~error:~why=no\npeer_left_out: a\npeer: a ratio=2 workloads=2 of=3\n\
             peer: b ratio=2 workloads=3 of=3\n",
        );
        let [a, b] = &report.peers()[..] else {
            panic!("{:?}", report.peers())
        };
        assert_eq!((a.left_out.len(), b.part), (1, None));
        assert_eq!(
            (a.left_out[0].name.as_str(), a.left_out[0].why.as_str()),
            ("n=40 T=f16", "peer.py:3: error: why=no")
        );
        let part = a.part.map(|part| part.to_string());
        assert_eq!(part.as_deref(), Some("2 of 3 workloads"));
        assert_eq!(
            part.unwrap_or_default().parse(),
            Ok(PeerPart { compared: 2, of: 3 })
        );
        for text in [
            "0 of 3 workloads",
            "3 of 3 workloads",
            "-1 of 3 workloads",
            "2 of 3",
        ] {
            assert!(text.parse::<PeerPart>().is_err(), "{text}");
        }
    }

    #[test]
    fn any_number_of_lines_is_read() {
        let lines: String = (0..20_000)
            .map(|n| format!("peer: p{n} ratio=1\npeer_workload: p0 n={n} ratio=0\n"))
            .collect();
        assert_eq!(Report::read(&lines).peers().len(), MOST_PEERS);
    }

    #[test]
    fn a_ratio_has_three_digits() {
        let shown: Vec<String> = [0.983, 1.654, 16.54, 165.4].map(figure).into();
        assert_eq!(shown, ["0.98", "1.65", "16.5", "165"]);
    }
}
