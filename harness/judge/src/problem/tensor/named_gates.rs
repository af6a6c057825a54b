//! What the launches show of the gates that problem.toml names.

use super::gate_keys::{GateOf, NamedGate};
use super::spec::CaseTensor;
use crate::gates::TensorComparison;
use crate::outcome::Result;
use crate::worker::Cells;
use lab_protocol::report::{Histogram, Writer, larger};

/// The differences of an output in one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Of each cell.
    each: Vec<f64>,
    mean: f64,
    log: f64,
}

impl Differences {
    /// The differences of a launch's cells, if a gate asks for them. NaN counts as the largest.
    pub fn of(tensor: &CaseTensor, got: &Cells, want: &Cells) -> Result<Option<Differences>> {
        let asks =
            |gate: &NamedGate| matches!(gate.of, GateOf::Largest | GateOf::Mean | GateOf::Log);
        if !tensor.gates.iter().any(asks) {
            return Ok(None);
        }
        let (got, want) = (got.to_host()?, want.to_host()?);
        let size = tensor.dtype.size();
        let pairs = got.chunks_exact(size).zip(want.chunks_exact(size));
        let mut found = Differences::default();
        for (got, want) in pairs {
            let (got, want) = (tensor.dtype.decode(got), tensor.dtype.decode(want));
            let difference = if got == want { 0.0 } else { (got - want).abs() };
            found.each.push(difference);
            let log = if got == want {
                0.0
            } else {
                (got / want).ln().abs()
            };
            found.log = larger(found.log, log);
        }
        found.mean = found.each.iter().sum::<f64>() / found.each.len().max(1) as f64;
        Ok(Some(found))
    }

    fn value(&self, of: GateOf) -> Option<f64> {
        match of {
            GateOf::Largest => Some(self.each.iter().copied().fold(0.0, larger)),
            GateOf::Mean => Some(self.mean),
            GateOf::Log => Some(self.log),
            GateOf::Mismatches | GateOf::FirstMismatch | GateOf::Cells => None,
        }
    }

    /// The first of these gates that the launch does not pass, as words.
    pub fn failure(&self, gates: &[NamedGate]) -> Option<String> {
        gates.iter().find_map(|gate| {
            let (value, limit) = (self.value(gate.of)?, gate.limit?);
            // NaN is within no limit.
            let passes = value <= limit;
            (!passes).then(|| format!("{} is {value:.2e}, and its limit is {limit:e}", gate.name))
        })
    }
}

/// Most cells of an output whose differences are a series of the run's log.
const MOST_IN_SERIES: usize = 1 << 16;

/// What was found of one output in all launches.
#[derive(Default)]
pub struct NamedTally {
    gates: Vec<NamedGate>,
    /// The largest difference of each cell.
    worst: Vec<f64>,
    counts: Histogram,
    largest: f64,
    place: Option<String>,
    mean: f64,
    log: f64,
    mismatches: u64,
    first: Option<usize>,
    cells: u64,
}

impl NamedTally {
    pub fn new(gates: &[NamedGate]) -> Self {
        NamedTally {
            gates: gates.to_vec(),
            ..NamedTally::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Adds a launch's output. `label` is its workload's.
    pub fn add(
        &mut self,
        compared: &TensorComparison,
        found: Option<&Differences>,
        tensor: &CaseTensor,
        label: &str,
    ) {
        self.cells += compared.cells as u64;
        self.mismatches += compared.mismatched as u64;
        if let Some(wrong) = &compared.first_mismatch {
            self.first = Some(
                self.first
                    .map_or(wrong.index, |known| known.min(wrong.index)),
            );
        }
        let Some(found) = found else { return };
        if found.each.len() > self.worst.len() {
            self.worst.resize(found.each.len(), 0.0);
        }
        for (at, (worst, difference)) in self.worst.iter_mut().zip(&found.each).enumerate() {
            *worst = larger(*worst, *difference);
            self.counts.add(*difference);
            if !self.largest.is_nan() && (*difference > self.largest || difference.is_nan()) {
                self.largest = *difference;
                self.place = Some(format!("{} {label}", tensor.cell(at)));
            }
        }
        self.mean = larger(self.mean, found.mean);
        self.log = larger(self.log, found.log);
    }

    /// Writes the gates' lines, and with `last` the series of the largest difference.
    pub fn write(&self, series: bool, out: &mut Writer) -> Result {
        for gate in &self.gates {
            let name = &gate.name;
            let (value, place) = match gate.of {
                GateOf::Largest => (self.largest, self.place.as_deref()),
                GateOf::Mean => (self.mean, None),
                GateOf::Log => (self.log, None),
                GateOf::Mismatches | GateOf::FirstMismatch | GateOf::Cells => {
                    let count = match gate.of {
                        GateOf::Mismatches => self.mismatches as i64,
                        GateOf::Cells => self.cells as i64,
                        _ => self.first.map_or(-1, |at| at as i64),
                    };
                    match gate.limit {
                        Some(limit) => out.count_gate(name, count.unsigned_abs(), limit as u64)?,
                        None => out.line(name, count)?,
                    }
                    continue;
                }
            };
            match gate.limit {
                Some(limit) => out.gate_at(name, value, limit, place)?,
                None => out.line(name, format_args!("{value:.2e}"))?,
            }
            if series && gate.of == GateOf::Largest && self.worst.len() <= MOST_IN_SERIES {
                out.series(name, &self.worst)?;
                out.histogram(name, &self.counts)?;
            }
        }
        Ok(())
    }
}
