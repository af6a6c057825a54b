//! Work with cells that the judge's own worker holds: drawing inputs, writing planted lines, and
//! comparing results, by the kernels of `cells.cu` and `lines.cu`. No kernel of a user runs in that
//! worker.

mod lines;

use super::cell_work::{
    CellLine, CellNumbers, CellWork, CompareCells, DrawCells, FoundCell, FoundCells,
};
use super::launching::Launching;
use super::memory::Device;
use super::{BufferId, ModuleId};
use crate::outcome::{Result, Stop};
use itertools::Itertools as _;
use lab_device::{DeviceError, ExecutionOrder, Shape, Step, Submission, Window};
use serde_json::{Value, json};

/// The kernels' source.
pub const SOURCE: &str = concat!(include_str!("cells.cu"), include_str!("cells/lines.cu"));

const THREADS: u32 = 256;

/// `Found` in cells.cu, in words.
const FOUND_WORDS: usize = 10 + OCTAVES;
const FOUND_BYTES: usize = 8 * FOUND_WORDS;
const OCTAVES: usize = 64;
const NONE: u64 = u64::MAX;

/// Does the work with the kernels of this module, and returns the reply.
pub fn work(
    device: &mut Device,
    launching: &mut Launching,
    module: ModuleId,
    work: CellWork,
    body: &[u8],
) -> Result<Value> {
    let mut kernels = Kernels {
        device,
        launching,
        module,
        steps: Vec::new(),
    };
    Ok(match work {
        CellWork::Draw(drawn) => json!(kernels.draw_each(&drawn)?),
        CellWork::PutLines(lines) => json!(kernels.put_lines(&lines, body)?),
        CellWork::ChangeLine(line, changes) => json!(kernels.change_line(&line, &changes)?),
        CellWork::FindExtremes(line) => json!(kernels.find_extremes(&line)?),
        CellWork::Compare(pairs) => json!(kernels.compare_each(&pairs)?),
    })
}

/// The kernels, loaded on a device, and the launches that are to be made.
struct Kernels<'a> {
    device: &'a mut Device,
    launching: &'a mut Launching,
    module: ModuleId,
    steps: Vec<Step>,
}

impl Kernels<'_> {
    /// Adds a launch of a kernel with one parameter or several, for so many cells.
    fn add(&mut self, name: &str, args: Vec<Vec<u8>>, cells: u64) -> Result {
        /// Cells of a thread, where there are many.
        const EACH: u64 = 8;
        const MOST_BLOCKS: u64 = 4096;
        let entry = self.launching.entry(self.device, self.module, name)?;
        let entry = entry.ok_or_else(|| Stop::Lab(format!("cells.cu has no kernel {name}")))?;
        let blocks = cells.div_ceil(EACH * u64::from(THREADS));
        let shape = Shape {
            grid: [blocks.clamp(1, MOST_BLOCKS) as u32, 1, 1],
            block: [THREADS, 1, 1],
            ..Shape::default()
        };
        self.steps.push(Step {
            zeroed: None,
            entry,
            shape,
            args,
            order: ExecutionOrder::Forward,
        });
        Ok(())
    }

    /// Makes the launches one after the other, and waits for all.
    fn run(&mut self) -> Result {
        let steps = std::mem::take(&mut self.steps);
        let window = Window {
            steps,
            ..Window::default()
        };
        let driver = &mut self.device.driver;
        let ran = driver.replay(&[window], Submission::Plain, 0);
        ran.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn draw_each(&mut self, drawn: &[DrawCells]) -> Result<Vec<BufferId>> {
        let bytes = drawn.iter().map(|one| one.cells * one.dtype.size());
        let buffers = self.device.hold_all(&bytes.collect_vec())?;
        for (drawn, buffer) in drawn.iter().zip(&buffers) {
            self.draw(drawn, *buffer)?;
        }
        self.run()?;
        Ok(buffers)
    }

    fn draw(&mut self, drawn: &DrawCells, buffer: BufferId) -> Result {
        let (dtype, cells) = (drawn.dtype, drawn.cells);
        let whole = CellLine {
            buffer,
            dtype,
            first: 0,
            stride: 1,
            cells,
        };
        self.add_drawing(&whole, drawn.numbers, drawn.seed)
    }

    /// Adds a launch that draws the cells of a line.
    fn add_drawing(&mut self, line: &CellLine, numbers: CellNumbers, seed: u64) -> Result {
        let ends = line.dtype.largest();
        let ends = [-ends, ends].map(f64::to_bits);
        // As `Draw` in cells.cu uses them.
        let (kind, words) = match numbers {
            CellNumbers::Normal { mean, std } => (0, [mean, std, ends[0], ends[1]]),
            CellNumbers::Uniform { low, high } => (1, [low, high, low, high]),
            CellNumbers::Integers { low, high } => (2, [low as u64, high as u64, 0, 0]),
            CellNumbers::OneOf(cells) => (3, cells),
        };
        let draw = [&words[..], &[seed, kind]].concat();
        let args = [&self.words_of(line)?[..], &draw].map(bytes_of);
        // Half as many threads as cells: each draws two neighbours.
        self.add("lab_draw", args.into(), line.cells.div_ceil(2) as u64)
    }

    fn compare_each(&mut self, pairs: &[CompareCells]) -> Result<Vec<FoundCells>> {
        let held = self
            .device
            .hold(FOUND_BYTES * pairs.len(), &nothing_found(pairs.len()))?;
        let address = self.device.read_address(held)?;
        let found = self.compare_into(pairs, address);
        self.device.free(held)?;
        found
    }

    /// Compares; `memory` has a `Found` of cells.cu for each pair.
    fn compare_into(&mut self, pairs: &[CompareCells], memory: u64) -> Result<Vec<FoundCells>> {
        for (number, pair) in (0u64..).zip(pairs) {
            self.add_comparison(pair, memory + number * FOUND_BYTES as u64)?;
        }
        self.run()?;
        let mut found = vec![0; FOUND_BYTES * pairs.len()];
        self.device.driver.download(memory, &mut found)?;
        let each = found.chunks(FOUND_BYTES).zip(pairs);
        each.map(|(found, pair)| self.read_found(found, pair))
            .collect()
    }

    fn add_comparison(&mut self, pair: &CompareCells, found: u64) -> Result {
        let [got, want] = [pair.got, pair.want].map(|id| self.device.bytes_of(id));
        let (bytes, others) = (got?, want?);
        if bytes != others {
            return Err(Stop::Lab(format!(
                "{bytes} bytes are compared with {others}"
            )));
        }
        let cells = (bytes / pair.dtype.size()) as u64;
        let (other, other_pattern) = match pair.other {
            Some((buffer, pattern)) => (self.device.read_address(buffer)?, pattern),
            None => (0, 0),
        };
        let got = self.device.read_address(pair.got)?;
        let want = self.device.read_address(pair.want)?;
        let mut bytes = Vec::new();
        for word in [got, want, other, found, cells, pair.atol, pair.rtol] {
            bytes.extend(word.to_le_bytes());
        }
        let patterns = pair.patterns.unwrap_or_default();
        let flag = u32::from;
        let words = [
            patterns[0],
            patterns[1],
            other_pattern,
            flag(pair.patterns.is_some()),
            flag(pair.other.is_some()),
            flag(pair.only_unwritten),
            pair.dtype.number(),
            0,
        ];
        bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
        self.add("lab_compare", vec![bytes.clone()], cells)?;
        match pair.only_unwritten {
            true => Ok(()),
            false => self.add("lab_worst", vec![bytes], cells),
        }
    }

    /// What a `Found` of cells.cu says.
    fn read_found(&mut self, found: &[u8], pair: &CompareCells) -> Result<FoundCells> {
        let words = found.as_chunks().0.iter();
        let words = words.map(|word| u64::from_le_bytes(*word)).collect_vec();
        let (size, got) = (pair.dtype.size(), self.device.read_address(pair.got)?);
        let want = self.device.read_address(pair.want)?;
        let mut cell = |index: u64| -> Result<Option<FoundCell>, DeviceError> {
            if index == NONE {
                return Ok(None);
            }
            let mut read = |from: u64| {
                let mut cell = vec![0; size];
                let address = from + index * size as u64;
                let read = self.device.driver.download(address, &mut cell);
                read.map(|()| cell)
            };
            let (got, want) = (read(got)?, read(want)?);
            Ok(Some(FoundCell { index, got, want }))
        };
        Ok(FoundCells {
            mismatched: words[0],
            not_finite: words[1],
            unwritten: words[2],
            firsts: [cell(words[5])?, cell(words[4])?, cell(words[3])?],
            worst: Some(words[6]).filter(|index| *index != NONE),
            error: words[7],
            exact: words[8],
            infinite: words[9],
            octaves: words[10..].to_vec(),
        })
    }
}

/// A parameter of a kernel.
fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().copied().flat_map(u64::to_le_bytes).collect()
}

/// So many `Found` before their comparisons.
fn nothing_found(count: usize) -> Vec<u8> {
    let mut words = [0; FOUND_WORDS];
    words[3..7].fill(NONE);
    bytes_of(&words).repeat(count)
}
