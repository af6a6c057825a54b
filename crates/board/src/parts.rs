//! What evidence of every kind is put together from.

use crate::evidence::{
    Evidence, EvidencePeer, EvidenceWorkload, RATIO, key_of_workload, metric_name, plain,
};
use crate::proof::unproved;
use anyhow::Result;
use lab_git::Repo;
use lab_project::objective::Objective;
use lab_protocol::report::{Measure, PeerRatio};
use lab_run::peers::MeasuredPeer;
use lab_run::record::InputFile;
use lab_run::verdict::{Change, Figure};
use lab_text::shell;
use std::collections::BTreeMap;
use std::path::Path;

/// Commits of the branch among which the one that holds the measured files is looked for.
const COMMITS: usize = 1_000;

impl Evidence {
    /// The figures of a workload.
    pub(crate) fn of_workload(&mut self, name: &str) -> &mut BTreeMap<String, Measure> {
        let workload = self.workloads.entry(key_of_workload(name));
        let new = || EvidenceWorkload {
            name: name.to_owned(),
            ..EvidenceWorkload::default()
        };
        &mut workload.or_insert_with(new).figures
    }

    /// Takes over what the kernel was timed beside.
    pub(crate) fn take_peers(&mut self, measured: &[MeasuredPeer]) {
        for MeasuredPeer { peer, source, .. } in measured {
            let name = metric_name(&peer.name);
            let (vs, us) = (format!("{RATIO}{name}"), format!("us_{name}"));
            let figures = |ratio: Option<PeerRatio>, time: Option<f64>| {
                let ratio = ratio.map(|ratio| (vs.clone(), ratio.into()));
                let time = time.map(|us_of_peer| (us.clone(), plain(us_of_peer)));
                ratio.into_iter().chain(time)
            };
            self.figures.extend(figures(peer.ratio, peer.us));
            for of in &peer.workloads {
                let of_workload = figures(Some(of.ratio), of.us);
                self.of_workload(&of.name).extend(of_workload);
            }
            let left_out = peer.left_out.iter();
            let left_out = left_out.map(|left| format!("{}: {}", left.name, left.why));
            let left_out = left_out.chain(peer.failure.clone()).collect();
            let peer = EvidencePeer {
                name: peer.name.clone(),
                call: peer.call.clone(),
                versions: peer.versions.clone(),
                source: source.as_ref().map(|file| file.path.clone()),
                hash: source.as_ref().and_then(|file| file.hash.clone()),
                left_out,
            };
            self.peers.insert(name, peer);
        }
    }

    /// Makes the time of each peer over all workloads the arithmetic mean, as that of the kernel in a
    /// bench is; takes it out where a workload is missing.
    pub(crate) fn mean_of_peers(&mut self, measured: &[MeasuredPeer]) {
        let of_kernel = self.workloads.values();
        let of_kernel = of_kernel.filter(|it| it.figures.contains_key("us")).count();
        for MeasuredPeer { peer, .. } in measured {
            let metric = format!("us_{}", metric_name(&peer.name));
            let times: Vec<f64> = peer.workloads.iter().filter_map(|it| it.us).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            self.figures.remove(&metric);
            if times.len() == of_kernel.max(1) {
                self.figures.insert(metric, plain(mean));
            }
        }
    }

    /// Finds the commit that holds the kernel and every input as they were measured: `kept`, else
    /// the newest of the branch. A file that could not be hashed is in none.
    pub(crate) fn commit_of(
        &mut self,
        repo: &Repo,
        inputs: &[InputFile],
        kept: Option<String>,
    ) -> Result<()> {
        let hashed = inputs
            .iter()
            .filter_map(|file| Some((&file.path, file.hash.as_ref()?)));
        let hashed = hashed.map(|(path, hash)| (path.clone(), hash.clone()));
        self.inputs = hashed.collect();
        if self.inputs.len() < inputs.len() {
            return Ok(());
        }
        let branch = lab_git::first_parents_of_head(repo, COMMITS)?;
        let mut commits = kept.into_iter().chain(branch);
        self.commit = commits.find(|commit| unproved(repo, self, commit).is_empty());
        Ok(())
    }
}

/// `lab bench kernels/rmsnorm`, and the device if one was asked for.
pub fn call(command: &str, kernel: &str, target: Option<&str>) -> String {
    let folder = Path::new(kernel).parent().and_then(Path::to_str);
    let folder = folder.filter(|folder| !folder.is_empty()).unwrap_or(".");
    let device = target.filter(|target| *target != "auto");
    let device = device.map(|target| format!(" --device {target}"));
    format!(
        "lab {command} {}{}",
        shell::quote(folder),
        device.unwrap_or_default()
    )
}

/// The metric of an objective.
pub fn named_figure(figure: Figure) -> (String, Measure) {
    let name = match &figure.objective {
        Objective::Throughput => "sps".to_owned(),
        Objective::KernelTime => "us".to_owned(),
        Objective::Tflops => "tflops".to_owned(),
        Objective::Gbps => "gbps".to_owned(),
        Objective::Other(name) => metric_name(name),
    };
    (name, figure.measure)
}

/// The ratio to the incumbent, more being better.
pub fn ratio(better: Change) -> (String, Measure) {
    let ends = better.interval;
    let measure = Measure {
        value: 1.0 + better.ratio,
        low: ends.map(|(low, _)| 1.0 + low),
        high: ends.map(|(_, high)| 1.0 + high),
    };
    ("vs_incumbent".to_owned(), measure)
}
