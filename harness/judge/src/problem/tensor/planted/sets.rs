//! Which set of inputs gets which patterns, and in which lines.
//!
//! Each pattern that fits a tensor is in a line of its own, and half of the lines stay as drawn.
//! Tensors with enough lines have all their ordinary patterns in every set, which is also timed.
//! Whatever remains comes in further sets that are only checked: patterns of tensors with few
//! lines, those along a second extent, and those that hide others. In each of these sets, every
//! other tensor is as drawn, so that it hides nothing either.

use super::Axis;
use super::line::Line;
use super::pattern::{Pattern, PlantedTensor, below};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

impl PlantedTensor<'_> {
    fn cells(&self) -> usize {
        self.shape.iter().product()
    }

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
        let kinds = self.planting.kinds.iter();
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

/// What the sets of inputs of a case hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlantedSets {
    /// In every set that is drawn without planting too.
    everywhere: Vec<Group>,
    /// One further set each.
    further: Vec<Group>,
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

impl PlantedSets {
    /// Allots the patterns. All tensors of the further sets together have at most `most_cells`
    /// cells, or there is one such set. The seed selects which ones are left out.
    pub fn of(tensors: &[PlantedTensor], most_cells: usize, seed: u64) -> PlantedSets {
        let mut sets = PlantedSets::default();
        // Lines that are taken in every set; the tensors there have the same number of lines.
        let (mut lines_there, mut taken) = (None, 0);
        for (number, tensor) in tensors.iter().enumerate() {
            for (at, axis) in tensor.planting.along.iter().enumerate() {
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
        let cells: usize = tensors.iter().map(PlantedTensor::cells).sum();
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
        self.further.len()
    }

    /// The patterns that are planted.
    pub fn patterns(&self) -> usize {
        self.everywhere
            .iter()
            .chain(&self.further)
            .map(|group| group.patterns.len())
            .sum()
    }

    /// What a set holds, of those that are drawn without planting too.
    pub fn places(&self, tensors: &[PlantedTensor], seed: u64) -> Vec<Placed> {
        place(&self.everywhere, tensors, seed)
    }

    /// What a further set holds.
    pub fn places_in_further(
        &self,
        number: usize,
        tensors: &[PlantedTensor],
        seed: u64,
    ) -> Vec<Placed> {
        let group = self.further.get(number..=number);
        place(group.unwrap_or_default(), tensors, seed)
    }
}

/// Gives each pattern of these groups, whose tensors have the same number of lines, a line of its
/// own, at random. The first and the last line are among them, or one of the two if there is one
/// pattern.
fn place(groups: &[Group], tensors: &[PlantedTensor], seed: u64) -> Vec<Placed> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ PLACED);
    let Some(first) = groups.first() else {
        return Vec::new();
    };
    let lines = tensors[first.tensor].lines(first.axis);
    let each = |group: &Group| {
        let Group { tensor, axis, .. } = *group;
        let placed = move |pattern: &Pattern| Placed {
            tensor,
            axis,
            line: 0,
            pattern: *pattern,
        };
        group.patterns.iter().map(placed).collect::<Vec<_>>()
    };
    let mut placed: Vec<Placed> = groups.iter().flat_map(each).collect();
    for last in (1..placed.len()).rev() {
        placed.swap(last, below(&mut rng, last + 1));
    }
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

/// Writes the patterns into the inputs of a set; `None` is an output.
pub fn plant(
    inputs: &mut [Option<Vec<u8>>],
    placed: &[Placed],
    tensors: &[PlantedTensor],
    seed: u64,
) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ WRITTEN);
    for Placed {
        tensor,
        axis,
        line,
        pattern,
    } in placed
    {
        let (shaped, Some(Some(bytes))) = (&tensors[*tensor], inputs.get_mut(*tensor)) else {
            continue;
        };
        let (start, stride) = (shaped.start(*axis, *line), shaped.stride(*axis));
        let mut line = Line::new(bytes, shaped.dtype, start, stride, shaped.length(*axis));
        pattern.write(&mut line, shaped, &mut rng);
    }
}

/// Says what is planted in the lines that a cell of an output belongs to, as in
/// `x[3, :] is planted: ties`. The lines are those at the same place in the extents that both
/// tensors have. `None` if there is none.
pub fn describe(placed: &[Placed], tensors: &[PlantedTensor], cell: &[usize]) -> Option<String> {
    let near = placed.iter().filter_map(|placed| {
        let tensor = tensors.get(placed.tensor)?;
        let place = tensor.place_of(placed);
        let fixed = place
            .iter()
            .enumerate()
            .filter_map(|(extent, at)| Some((extent, (*at)?)));
        let same = if cell.len() == place.len() {
            fixed.clone().all(|(extent, at)| cell[extent] == at)
        } else {
            fixed.clone().zip(cell).all(|((_, at), cell)| at == *cell)
        };
        let words: Vec<String> = place
            .iter()
            .map(|at| at.map_or_else(|| ":".to_owned(), |at| at.to_string()))
            .collect();
        same.then(|| {
            format!(
                "{}[{}] is planted: {}",
                tensor.name,
                words.join(", "),
                placed.pattern.word()
            )
        })
    });
    let near: Vec<String> = near.collect();
    (!near.is_empty()).then(|| near.join("; "))
}

impl PlantedTensor<'_> {
    /// The index of a line; `None` for the extents that it covers.
    fn place_of(&self, placed: &Placed) -> Vec<Option<usize>> {
        let Axis::Extent(axis) = placed.axis else {
            return vec![None; self.shape.len()];
        };
        let mut rest = self.start(placed.axis, placed.line);
        let mut place = Vec::new();
        for (extent, cells) in self.shape.iter().enumerate().rev() {
            place.push((extent != axis).then_some(rest % cells));
            rest /= cells;
        }
        place.reverse();
        place
    }
}

/// How often a free line is drawn. At least half of the lines are free.
const MOST_TRIES: usize = 64;

/// Make the random numbers others than those of the drawn values.
const LEFT_OUT: u64 = 0x6c65_6674_5f6f_7574;
const PLACED: u64 = 0x706c_6163_6564_5f69;
const WRITTEN: u64 = 0x7772_6974_7465_6e21;

#[cfg(test)]
mod tests;
