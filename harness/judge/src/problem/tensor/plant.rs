//! Extremes that are planted into drawn inputs: values that random numbers hardly ever show, and
//! that a wrong kernel may depend on, such as a row without a positive number, a largest value in
//! the last column, two largest values, or NaN.
//!
//! | file | what it does |
//! |---|---|
//! | `planted` | what problem.toml says |
//! | `line` | a line of a tensor's cells, in the judge's memory or on the card |
//! | `pattern` | what one planted line of cells looks like |
//! | `plant` | which set of inputs gets which patterns, and in which lines |
//! | `joint` | sets in which the extremes of all inputs meet |
//!
//! Each pattern that fits a tensor is in a line of its own, and half of the lines stay as drawn.
//! Tensors with enough lines have all their ordinary patterns in every set, which is also timed.
//! Whatever remains comes in further sets that are only checked: patterns of tensors with few
//! lines, those along a second extent, and those that hide others. In each of these sets, every
//! other tensor is as drawn, so that it hides nothing either. After these come joint sets.

mod joint;
mod line;
mod pattern;

use super::planted::{Axis, Extreme};
use super::random::{below, shuffle};
use super::spec::CaseTensor;
use crate::outcome::Result;
use crate::worker::cell_work::CellLine;
use crate::worker::{Cells, JudgeMemory};
use itertools::Itertools as _;
use line::{HeldLine, HostLine};
use pattern::Pattern;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

impl CaseTensor {
    /// Cells of a line.
    fn length(&self, axis: Axis) -> usize {
        match axis {
            Axis::Extent(number) => self.shape.get(number).copied().unwrap_or(1),
            Axis::All => self.cells(),
        }
    }

    fn lines(&self, axis: Axis) -> usize {
        self.cells() / self.length(axis).max(1)
    }

    /// Cells between two neighbouring cells of a line.
    fn stride(&self, axis: Axis) -> usize {
        match axis {
            Axis::Extent(number) => self.shape.iter().skip(number + 1).product(),
            Axis::All => 1,
        }
    }

    /// The first cell of a line.
    fn start(&self, axis: Axis, line: usize) -> usize {
        let stride = self.stride(axis);
        (line / stride) * stride * self.length(axis) + line % stride
    }

    /// The patterns that fit, those that hide others apart.
    fn patterns(&self, axis: Axis) -> [Vec<Pattern>; 2] {
        let kinds = self.planted.kinds.iter();
        let all = kinds.flat_map(|kind| Pattern::of(*kind, self.length(axis), self));
        let (hiding, ordinary) = all.partition(|pattern| pattern.kind.hides_others());
        [ordinary, hiding]
    }
}

/// Patterns for lines of one tensor.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    /// The number of the tensor.
    tensor: usize,
    axis: Axis,
    patterns: Vec<Pattern>,
}

/// The patterns that the sets of a case hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlantedSets {
    /// In every set that is drawn without planting too.
    everywhere: Vec<Group>,
    /// One further set each.
    further: Vec<Group>,
    /// Further sets in which extremes of all tensors meet.
    joint: Vec<Vec<Group>>,
    /// Patterns that fit and are planted nowhere, because the tensors are too large for so many
    /// sets.
    pub left_out: usize,
}

/// A pattern in a line of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    tensor: usize,
    axis: Axis,
    line: usize,
    pattern: Pattern,
}

impl Placed {
    /// Whether its line holds zeros, by which a problem may divide.
    pub fn has_zeros(&self) -> bool {
        matches!(self.pattern.kind, Extreme::Zero | Extreme::SignedZero)
    }
}

impl PlantedSets {
    /// Allots the patterns. All tensors of the further sets together have at most `most_cells`
    /// cells, or there is one such set. The seed selects which ones are left out.
    pub fn of(tensors: &[CaseTensor], most_cells: usize, seed: u64) -> PlantedSets {
        let mut sets = PlantedSets::default();
        // Lines that are taken in every set; the tensors there have the same number of lines.
        let (mut lines_there, mut taken) = (None, 0);
        let asked_for = tensors.iter().enumerate();
        let asked_for = asked_for.filter(|(_, tensor)| !tensor.planted.by_default);
        for (number, tensor) in asked_for {
            for (at, axis) in tensor.planted.along.iter().enumerate() {
                let [ordinary, hiding] = tensor.patterns(*axis);
                let lines = tensor.lines(*axis);
                let group = |patterns: &[Pattern]| Group {
                    tensor: number,
                    axis: *axis,
                    patterns: patterns.to_vec(),
                };
                let fits = lines_there.is_none_or(|there| there == lines)
                    && 2 * (taken + ordinary.len()) <= lines
                    && !ordinary.is_empty();
                let mut left: Vec<Vec<Pattern>> = vec![hiding];
                if at == 0 && fits {
                    (lines_there, taken) = (Some(lines), taken + ordinary.len());
                    sets.everywhere.push(group(&ordinary));
                } else {
                    left.insert(0, ordinary);
                }
                let room = (lines / 2).max(1);
                sets.further
                    .extend(left.iter().flat_map(|left| left.chunks(room)).map(group));
            }
        }
        let cells: usize = tensors.iter().map(CaseTensor::cells).sum();
        let most = (most_cells / cells.max(1)).max(1);
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ LEFT_OUT);
        while sets.further.len() > most {
            let out = below(&mut rng, sets.further.len());
            sets.left_out += sets.further.remove(out).patterns.len();
        }
        sets
    }

    /// The number of further sets.
    pub fn further(&self) -> usize {
        self.further.len() + self.joint.len()
    }

    /// Whether the extremes of all tensors meet in the further set with this number.
    pub fn is_joint(&self, number: usize) -> bool {
        number >= self.further.len()
    }

    /// The patterns that are planted.
    pub fn patterns(&self) -> usize {
        self.everywhere
            .iter()
            .chain(&self.further)
            .chain(self.joint.iter().flatten())
            .map(|group| group.patterns.len())
            .sum()
    }

    /// What the further set with this number holds, or else each set that is drawn without planting
    /// too.
    pub fn places(&self, further: Option<usize>, tensors: &[CaseTensor], seed: u64) -> Vec<Placed> {
        match further {
            Some(number) if self.is_joint(number) => {
                let groups = self.joint.get(number - self.further.len());
                let each = groups.into_iter().flatten().enumerate();
                let places = each.flat_map(|(at, group)| {
                    let seed = seed.wrapping_add(at as u64);
                    place(std::slice::from_ref(group), tensors, seed)
                });
                places.collect()
            }
            Some(number) => {
                let groups = self.further.get(number..=number).unwrap_or_default();
                place(groups, tensors, seed)
            }
            None => place(&self.everywhere, tensors, seed),
        }
    }
}

/// Gives each pattern of these groups, whose tensors have the same number of lines, a line of its
/// own, at random. The first and the last line are among them, or one of the two if there is one
/// pattern.
fn place(groups: &[Group], tensors: &[CaseTensor], seed: u64) -> Vec<Placed> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ PLACED);
    let Some(first) = groups.first() else {
        return Vec::new();
    };
    let lines = tensors[first.tensor].lines(first.axis);
    let each = groups.iter().flat_map(|group| {
        group.patterns.iter().map(|pattern| Placed {
            tensor: group.tensor,
            axis: group.axis,
            line: 0,
            pattern: *pattern,
        })
    });
    let mut placed = each.collect_vec();
    shuffle(&mut rng, &mut placed);
    let mut ends = vec![0, lines.saturating_sub(1)];
    if below(&mut rng, 2) == 1 {
        ends.reverse();
    }
    let mut taken: Vec<usize> = Vec::new();
    for placed in &mut placed {
        let random = std::iter::repeat_with(|| below(&mut rng, lines)).take(MOST_TRIES);
        let line = ends
            .drain(..ends.len().min(1))
            .chain(random)
            .find(|line| !taken.contains(line));
        placed.line = line.unwrap_or(0);
        taken.push(placed.line);
    }
    placed
}

/// Lines of held tensors that were written in the judge's memory, and are to be sent to the card.
#[derive(Default)]
pub struct SentLines {
    lines: Vec<CellLine>,
    /// One line after the other.
    cells: Vec<u8>,
}

impl SentLines {
    /// Adds the lines of another set.
    pub fn join(&mut self, mut other: SentLines) {
        self.lines.append(&mut other.lines);
        self.cells.append(&mut other.cells);
    }

    /// Sends the lines to where the tensors are held.
    pub fn send(self, memory: &JudgeMemory) -> Result {
        match self.lines.is_empty() {
            true => Ok(()),
            false => memory.put_lines(self.lines, &self.cells),
        }
    }
}

/// Writes the patterns into the inputs of a set; `None` is an output. `drawn` are the seeds that the
/// tensors were drawn with. Of held tensors, lines of at most `most_sent` cells are written in the
/// judge's memory, and returned. The card changes longer ones itself, which takes a request or two
/// for each line.
pub fn plant(
    inputs: &mut [Option<Cells>],
    placed: &[Placed],
    tensors: &[CaseTensor],
    seed: u64,
    drawn: &[u64],
    most_sent: usize,
) -> Result<SentLines> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ WRITTEN);
    let mut sent = SentLines::default();
    for Placed {
        tensor: at,
        axis,
        line,
        pattern,
    } in placed
    {
        let (tensor, Some(Some(cells))) = (&tensors[*at], inputs.get_mut(*at)) else {
            continue;
        };
        let dtype = tensor.dtype;
        let (start, stride) = (tensor.start(*axis, *line), tensor.stride(*axis));
        let length = tensor.length(*axis);
        match (cells, &tensor.values) {
            (Cells::Host(bytes), _) => {
                let mut line = HostLine::new(bytes, dtype, start, stride, length);
                pattern.write(&mut line, tensor, &mut rng)?;
            }
            (Cells::Held(held), Some(values)) => {
                let there = CellLine {
                    buffer: held.id,
                    dtype,
                    first: start,
                    stride,
                    cells: length,
                };
                if length > most_sent {
                    let (memory, line) = (&held.memory, there);
                    pattern.write(&mut HeldLine { memory, line }, tensor, &mut rng)?;
                    continue;
                }
                // The line as it was drawn, which is sooner drawn again than read.
                let mut bytes = values.line(dtype, drawn[*at], start, stride, length);
                let mut line = HostLine::new(&mut bytes, dtype, 0, 1, length);
                pattern.write(&mut line, tensor, &mut rng)?;
                bytes.resize(there.sent_bytes(), 0);
                sent.lines.push(there);
                sent.cells.append(&mut bytes);
            }
            (Cells::Held(_), None) => {}
        }
    }
    Ok(sent)
}

/// Says what is planted in the lines that a cell of an output belongs to, as in
/// `x[3, :] is planted: ties`. The lines are those at the same place in the extents that both
/// tensors have. `None` if there is none.
pub fn describe(placed: &[Placed], tensors: &[CaseTensor], cell: &[usize]) -> Option<String> {
    let near = placed.iter().filter_map(|placed| {
        let tensor = tensors.get(placed.tensor)?;
        let place = tensor.place_of(placed);
        let is_near = if cell.len() == place.len() {
            let mut both = place.iter().zip(cell);
            both.all(|(at, cell)| at.is_none_or(|at| at == *cell))
        } else {
            let mut both = place.iter().flatten().zip(cell);
            both.all(|(at, cell)| at == cell)
        };
        let mut words = place.iter().map(|at| match at {
            Some(at) => at.to_string(),
            None => ":".to_owned(),
        });
        let words = words.join(", ");
        let (name, pattern) = (&tensor.name, placed.pattern.word());
        let (by_default, how_not) = if tensor.planted.by_default {
            (" by default", " (planted = false of the tensor says no)")
        } else {
            ("", "")
        };
        is_near.then(|| format!("{name}[{words}] is planted{by_default}: {pattern}{how_not}"))
    });
    let near = near.collect_vec();
    (!near.is_empty()).then(|| near.join("; "))
}

impl CaseTensor {
    /// The index of a line; `None` for the extents that it covers.
    fn place_of(&self, placed: &Placed) -> Vec<Option<usize>> {
        let Axis::Extent(axis) = placed.axis else {
            return vec![None; self.shape.len()];
        };
        let first = self.place(self.start(placed.axis, placed.line));
        let each = first.into_iter().enumerate();
        each.map(|(extent, at)| (extent != axis).then_some(at))
            .collect()
    }
}

/// How often a free line is drawn. At least half of the lines are free.
const MOST_TRIES: usize = 64;

/// Make the random numbers differ from those of the drawn values.
const LEFT_OUT: u64 = 0x6c65_6674_5f6f_7574;
const PLACED: u64 = 0x706c_6163_6564_5f69;
const WRITTEN: u64 = 0x7772_6974_7465_6e21;

#[cfg(test)]
mod tests;
