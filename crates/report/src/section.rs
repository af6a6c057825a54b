//! A kernel of the report, with a part for each device that it was measured on.

use crate::chart::Chart;
use crate::diffs::Diffs;
use crate::history_chart::Charted;
use crate::roofline;
use crate::rows::{self, Older};
use crate::workloads::Workloads;
use anyhow::Result;
use askama::Template;
use lab_bench::{BenchPeers, BenchStore};
use lab_git::Repo;
use lab_history::kernels::Row;
use lab_history::{details, profile};
use lab_run::experiment::{Experiment, Status};
use lab_run::peers::MeasuredPeer;
use lab_run::record::Record;

/// Bytes of an experiment's mark in the chart, at most.
const MARK_BYTES: usize = 220;

/// Newest experiments with a text of their own in a chart that is a file of its own.
const TEXTS: usize = 2_000;

/// A kernel with its experiments.
pub struct KernelSection {
    pub id: String,
    /// As in the table of kernels.
    pub cells: Row,
    pub devices: Vec<DeviceSection>,
    pub diffs: Diffs,
}

/// The experiments of a kernel on one device.
pub struct DeviceSection {
    pub id: String,
    pub device: String,
    pub is_emulated: bool,
    pub is_foreign: bool,
    /// Of the figures.
    pub unit: String,
    pub chart: Chart,
    /// Rows as HTML, the newest first.
    pub rows: Vec<String>,
    pub older: Vec<Older>,
    pub workloads: Option<Workloads>,
    /// The error says why there is none.
    pub roofline: Result<Chart, String>,
    pub peers: Vec<MeasuredPeer>,
}

/// Experiments that may stand in one chart: of one kernel on one device.
pub struct OnDevice<'e> {
    pub device: Option<&'e str>,
    pub emulated: bool,
    /// Oldest first.
    pub experiments: Vec<&'e Experiment>,
}

impl<'e> OnDevice<'e> {
    pub fn device(&self) -> &str {
        self.device.unwrap_or("a device that no record here names")
    }

    /// The newest kept experiment with a figure.
    pub fn incumbent(&self) -> Option<&'e Experiment> {
        let mut kept = self.experiments.iter().rev().copied();
        kept.find(|e| e.is_kept() && e.figure().is_some())
    }

    /// What its chart is called.
    pub fn title(&self, kernel: &str) -> String {
        let emulated = if self.emulated {
            ", emulated times"
        } else {
            ""
        };
        format!(
            "{kernel} on {}{emulated}: experiments over time",
            self.device()
        )
    }
}

/// Puts the experiments of a kernel apart by their device. A crash or a change of the rules may
/// name no device: it joins the newest chart.
pub fn by_device<'e>(experiments: &[&'e Experiment]) -> Vec<OnDevice<'e>> {
    let mut groups: Vec<OnDevice> = Vec::new();
    for &e in experiments {
        let (device, emulated) = (e.device.as_deref(), e.emulated);
        let is_rules = e.row.status == Status::Rules;
        let is_measured = device.is_some() || e.figure().is_some();
        let is_open =
            |g: &OnDevice| g.device.is_none() && g.experiments.iter().all(|e| e.figure().is_none());
        let takes = |g: &OnDevice| {
            let is_same = !is_measured || g.device == device || is_open(g);
            (is_rules || g.emulated == emulated) && is_same
        };
        match groups.iter().rposition(takes) {
            Some(at) => {
                groups[at].device = groups[at].device.or(device);
                groups[at].experiments.push(e);
            }
            None if is_rules => {}
            None => groups.push(OnDevice {
                device,
                emulated,
                experiments: vec![e],
            }),
        }
    }
    groups
}

/// A kernel whose experiments have been read.
pub struct Read<'e> {
    pub repo: Repo,
    pub experiments: Vec<&'e Experiment>,
    pub cells: Row,
    pub id: String,
}

/// Bytes that the parts of the file may take.
pub struct Room {
    pub rows: usize,
    pub diffs: usize,
}

/// Makes a part of each item, the smallest first, so that small ones leave their room to the others.
/// `make` gets an item, and how many are left with it. The parts have the order of the items.
pub fn shared<T, R>(
    items: impl IntoIterator<Item = T>,
    size: impl Fn(&T) -> usize,
    mut make: impl FnMut(T, usize) -> Result<R>,
) -> Result<Vec<R>> {
    let mut order: Vec<(usize, T)> = items.into_iter().enumerate().collect();
    order.sort_by_key(|(_, item)| size(item));
    let (mut left, mut parts) = (order.len(), Vec::new());
    for (at, item) in order {
        parts.push((at, make(item, left)?));
        left -= 1;
    }
    parts.sort_by_key(|(at, _)| *at);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

impl Room {
    /// An equal part for each of so many.
    pub fn share(&self, of: usize) -> Room {
        Room {
            rows: self.rows / of,
            diffs: self.diffs / of,
        }
    }

    /// Takes what a section uses.
    pub fn take(&mut self, section: &KernelSection) {
        let rows = section.devices.iter().flat_map(|device| &device.rows);
        self.rows -= rows.map(|row| row.len() + MARK_BYTES).sum::<usize>();
        let diffs = section.diffs.shown.iter();
        self.diffs -= diffs.map(|(.., html)| html.len()).sum::<usize>();
    }
}

impl Read<'_> {
    /// Makes the section. The rows take no more bytes than `room` says, the newest ones first.
    pub fn section(self, room: &Room) -> Result<KernelSection> {
        let diffs = Diffs::read(&self.repo, &self.experiments, &self.id, room.diffs)?;
        let groups = by_device(&self.experiments).into_iter().enumerate();
        let size = |(_, group): &(usize, OnDevice)| group.experiments.len();
        let mut left = room.rows;
        let devices = shared(groups, size, |(at, group), count| {
            let id = format!("{}-{}", self.id, at + 1);
            let device = self.device(&group, id, &diffs, left / count)?;
            let taken = device.rows.iter().map(|row| row.len() + MARK_BYTES);
            left -= taken.sum::<usize>();
            Ok(device)
        })?;
        Ok(KernelSection {
            id: self.id,
            cells: self.cells,
            devices,
            diffs,
        })
    }

    /// A chart for a file of its own, on the device of the kernel's incumbent, else on the one that was
    /// used last. The error says why there is none.
    pub fn plot(&self, incumbent: Option<&Experiment>, is_roofline: bool) -> Result<Chart, String> {
        let groups = by_device(&self.experiments);
        let holds = |e: &Experiment| {
            let mut groups = groups.iter();
            groups.find(|g| g.experiments.iter().any(|own| own.is(&e.key())))
        };
        let group = incumbent.and_then(holds).or(groups.last());
        let group = group.ok_or_else(|| "no experiment of it was decided yet".to_owned())?;
        let record = group.incumbent().filter(|_| !group.emulated);
        let record = record.and_then(|e| self.record(e));
        if is_roofline {
            return self.roofline(group, record.as_ref(), "plot");
        }
        let config = &self.repo.project.config;
        let charted = Charted::of(&group.experiments, config, record.as_ref());
        let first = group.experiments.len().saturating_sub(TEXTS);
        Ok(charted.draw("plot", group.title(&self.cells[0]), first, false))
    }

    /// Of the record of the kept kernel, on a GPU.
    fn roofline(
        &self,
        group: &OnDevice,
        record: Option<&Record>,
        id: &str,
    ) -> Result<Chart, String> {
        let record = record.ok_or_else(|| match group.incumbent() {
            _ if group.emulated => "emulated times say nothing about a GPU".to_owned(),
            None => "no kernel with a figure was kept on this device".to_owned(),
            Some(_) => "the record of its kept run is not here (`lab fetch` fetches it)".to_owned(),
        })?;
        let profiled = profile::read::of_run(&self.repo.project, record.start.id);
        let profiled = profiled.ok().flatten();
        let profiled = profiled.and_then(|profile| profile::roofline::of(&profile));
        let title = format!("Roofline of {} on {}", self.cells[0], group.device());
        roofline::of(record, profiled.as_ref(), id, title)
    }

    fn device(
        &self,
        group: &OnDevice,
        id: String,
        diffs: &Diffs,
        room: usize,
    ) -> Result<DeviceSection> {
        let (project, all) = (&self.repo.project, &group.experiments);
        let incumbent = group.incumbent();
        let record = incumbent.and_then(|e| self.record(e));
        let on_gpu = record.as_ref().filter(|_| !group.emulated);
        let charted = Charted::of(all, &project.config, on_gpu);
        let rows = self.rows(group, &id, &charted, diffs, room)?;
        let first_listed = all.len() - rows.len();
        let peers = on_gpu.map(|record| self.peers(record)).unwrap_or_default();
        let of = incumbent.map(|e| format!("{}: {}", e.row.commit, rows::cut(&e.row.description)));
        let workloads = record
            .as_ref()
            .and_then(|record| Workloads::of(record, &peers, of.unwrap_or_default()));
        Ok(DeviceSection {
            chart: charted.draw(&id, group.title(&self.cells[0]), first_listed, true),
            is_emulated: group.emulated,
            is_foreign: charted.is_foreign,
            unit: charted.objective.unit().to_owned(),
            device: group.device().to_owned(),
            older: rows::older(all, first_listed, &charted.points),
            rows,
            workloads,
            roofline: self.roofline(group, on_gpu, &id),
            peers,
            id,
        })
    }

    /// The rows of the newest experiments, as many as fit into `room` bytes with their marks in the
    /// chart.
    fn rows(
        &self,
        group: &OnDevice,
        id: &str,
        charted: &Charted,
        diffs: &Diffs,
        room: usize,
    ) -> Result<Vec<String>> {
        let config = &self.repo.project.config;
        let (mut rows, mut left) = (Vec::new(), room);
        for (at, e) in group.experiments.iter().enumerate().rev() {
            let record = Some(e).filter(|e| e.measured.caveated && !e.emulated);
            let verdict = record.and_then(|e| self.record(e)?.verdict);
            let caveats = verdict.map(|verdict| verdict.caveats).unwrap_or_default();
            let diff = diffs.of(e, &self.experiments);
            let row = rows::row(e, (id, at), &charted.points, config, &caveats, diff).render()?;
            match left.checked_sub(row.len() + MARK_BYTES) {
                Some(rest) => left = rest,
                None => break,
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn record(&self, e: &Experiment) -> Option<Record> {
        details::record(Some(&self.repo), &self.repo.project, &e.key())
    }

    /// What the bytes of a run were timed beside: in the run, else in the newest bench.
    fn peers(&self, record: &Record) -> Vec<MeasuredPeer> {
        if !record.peers.is_empty() {
            return record.peers.clone();
        }
        let benches = BenchStore::of(&self.repo.project);
        let (fingerprint, device) = (&record.start.fingerprint, record.device.as_deref());
        let bench = BenchPeers::newest(&benches, fingerprint, device);
        bench.map(|bench| bench.peers).unwrap_or_default()
    }
}
