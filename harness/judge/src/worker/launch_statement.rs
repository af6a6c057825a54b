//! The launch statement of a kernel, `LAB_LAUNCH(entry) { … }` or `LAB_LAUNCHES(entry) { … }`: what
//! it writes into device memory, and which shapes are refused.

use lab_device::{Arg, Shape, extents};

/// `LAB_MOST_LAUNCHES` in lab.h.
pub const MOST_LAUNCHES: usize = 4096;
/// `LAB_MOST_MAPS` in lab.h.
pub const MOST_MAPS: usize = 8;
/// `LAB_MOST_ARGS` in lab.h.
const MOST_ARGS: usize = 8;
/// Most bytes of an argument of a launch.
const ARG_BYTES: usize = 8;
/// `LAB_NAME_BYTES` in lab.h.
const ENTRY_BYTES: usize = 128;
/// Bytes of `LabMapRequest::tensor`.
const TENSOR_BYTES: usize = 64;
/// Dimensions of a map.
pub const MOST_DIMS: usize = 5;

/// Bytes of `LabMapRequest` in lab.h.
const MAP_BYTES: usize = 2 * 8 * MOST_DIMS + 4 * (2 * MOST_DIMS + 8) + TENSOR_BYTES;
/// Bytes of `LabShape` in lab.h.
pub const SHAPE_BYTES: usize =
    4 * 14 + ENTRY_BYTES + MOST_ARGS * (4 + ARG_BYTES) + MOST_MAPS * MAP_BYTES;
/// Bytes of `LabLaunches` in lab.h before its launches.
pub const HEAD_BYTES: usize = 8 + 4 * 4;
/// Bytes of `LabLaunches` in lab.h.
pub const LIST_BYTES: usize = HEAD_BYTES + MOST_LAUNCHES * SHAPE_BYTES;

/// CUDA's limit for the threads of a block.
const MAX_THREADS: u64 = 1024;
/// CUDA's limit for the threads of a block in z.
const MAX_BLOCK_Z: u32 = 64;
/// CUDA's limit for the blocks of a grid in y and in z.
const MAX_GRID_YZ: u32 = 65_535;

/// What a launch statement asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// In order; one for `LAB_LAUNCH`.
    pub launches: Vec<StatedLaunch>,
    /// Whether it is a list: then its kernels also get the scratch pointer.
    pub is_list: bool,
    /// Bytes of the scratch buffer.
    pub scratch_bytes: u64,
    /// Whether the scratch buffer is zeros when the list begins.
    pub zeroed: bool,
    /// The line of the statement in the source; 0 if it is unknown.
    pub line: u32,
}

/// One launch of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedLaunch {
    pub entry: String,
    pub shape: Shape,
    /// The bytes of the arguments that only this launch gets.
    pub args: Vec<Arg>,
    pub maps: Vec<StatedMap>,
    pub line: u32,
}

/// A tensor map that a launch asks for. 0 in an extent, a stride, the rank or the element stands
/// for the tensor's own.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedMap {
    pub tensor: String,
    pub extent: [u64; MOST_DIMS],
    pub stride: [u64; MOST_DIMS],
    pub box_extent: [u32; MOST_DIMS],
    pub element_strides: [u32; MOST_DIMS],
    pub rank: u32,
    pub element: u32,
    pub swizzle: u32,
    pub interleave: u32,
    pub l2_promotion: u32,
    pub fill_nan: bool,
    pub line: u32,
}

/// Reads values from bytes, one after the other. Behind the end everything is 0.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take(&mut self, bytes: usize) -> &[u8] {
        let (front, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        front
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes)
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    fn word(&mut self) -> u32 {
        self.number(4) as u32
    }

    fn words<const N: usize>(&mut self) -> [u32; N] {
        [(); N].map(|()| self.word())
    }

    fn long_words<const N: usize>(&mut self) -> [u64; N] {
        [(); N].map(|()| self.number(8))
    }

    /// A name that ends with a NUL; `None` if it has none.
    fn name(&mut self, bytes: usize) -> Option<String> {
        let text = self.take(bytes);
        let end = text.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }
}

/// Reads the `LabShape` of `LAB_LAUNCH(entry)`. The error is the end of a sentence that begins with
/// `asks for`.
pub fn read_single(bytes: &[u8], entry: &str) -> Result<Statement, Refused> {
    let mut launch = read_launch(&mut Cursor(bytes))?;
    launch.entry = entry.to_owned();
    let line = launch.line;
    Ok(Statement {
        launches: vec![launch],
        is_list: false,
        scratch_bytes: 0,
        zeroed: false,
        line,
    })
}

/// Why a statement cannot be read, and the line; 0 if it is unknown.
#[derive(Debug, PartialEq)]
pub struct Refused {
    pub line: u32,
    pub what: String,
}

/// The bytes of a `LabLaunches` that its launches take, from the first on. `head` is its beginning.
pub fn used_bytes(head: &[u8]) -> usize {
    let mut cursor = Cursor(head);
    cursor.number(8);
    let [_, count] = cursor.words();
    HEAD_BYTES + MOST_LAUNCHES.min(count as usize) * SHAPE_BYTES
}

/// Reads the `LabLaunches` of `LAB_LAUNCHES`, as far as [`used_bytes`].
pub fn read_list(bytes: &[u8]) -> Result<Statement, Refused> {
    let mut cursor = Cursor(bytes);
    let scratch_bytes = cursor.number(8);
    let [zeroed, count, line, _] = cursor.words();
    let refused = |what: String| Err(Refused { line, what });
    if count == 0 {
        return refused("no launch at all: add one with launches.add(\"KERNEL\")".into());
    }
    if count as usize > MOST_LAUNCHES {
        return refused(format!(
            "{count} launches, and a list has at most {MOST_LAUNCHES}: let one kernel do the work of several"
        ));
    }
    let launches = (0..count)
        .map(|_| read_launch(&mut cursor))
        .collect::<Result<_, _>>()?;
    Ok(Statement {
        launches,
        is_list: true,
        scratch_bytes,
        zeroed: zeroed != 0,
        line,
    })
}

fn read_launch(cursor: &mut Cursor) -> Result<StatedLaunch, Refused> {
    let (grid, block) = (cursor.words(), cursor.words());
    let [shared_bytes, cooperative] = cursor.words();
    let cluster = cursor.words();
    let [line, maps, args] = cursor.words();
    let entry = cursor.name(ENTRY_BYTES);
    let arg_bytes: [u32; MOST_ARGS] = cursor.words();
    let contents = arg_bytes.map(|bytes| {
        let content = cursor.take(ARG_BYTES);
        content[..content.len().min(bytes as usize)].to_vec()
    });
    let mut rest = Cursor(cursor.take(MOST_MAPS * MAP_BYTES));
    let refused = |line: u32, what: String| Refused { line, what };
    let Some(entry) = entry else {
        return Err(refused(
            line,
            format!(
                "a kernel whose name has more than {} letters",
                ENTRY_BYTES - 1
            ),
        ));
    };
    let counts = [
        ("arguments", args, MOST_ARGS),
        ("tensor maps", maps, MOST_MAPS),
    ];
    if let Some((what, count, most)) = counts.into_iter().find(|(_, n, most)| *n as usize > *most) {
        let asked = format!("{count} {what}, and a launch has at most {most}");
        return Err(refused(line, asked));
    }
    let read = |_| {
        let (extent, stride) = (rest.long_words(), rest.long_words());
        let (box_extent, element_strides) = (rest.words(), rest.words());
        let [
            rank,
            element,
            swizzle,
            interleave,
            l2_promotion,
            fill_nan,
            line,
            _,
        ] = rest.words();
        let tensor = rest.name(TENSOR_BYTES).ok_or_else(|| {
            refused(
                line,
                format!(
                    "a tensor map of a tensor whose name has more than {} letters",
                    TENSOR_BYTES - 1
                ),
            )
        })?;
        let fill_nan = fill_nan != 0;
        Ok(StatedMap {
            tensor,
            extent,
            stride,
            box_extent,
            element_strides,
            rank,
            element,
            swizzle,
            interleave,
            l2_promotion,
            fill_nan,
            line,
        })
    };
    let maps = (0..maps).map(read).collect::<Result<_, _>>()?;
    let shape = Shape {
        grid,
        block,
        shared_bytes,
        cooperative: cooperative != 0,
        cluster,
    };
    Ok(StatedLaunch {
        entry,
        shape,
        args: contents.into_iter().take(args as usize).collect(),
        maps,
        line,
    })
}

/// Why no device launches this shape, as the end of a sentence that begins with `asks for`; `None`
/// if it is allowed. `max_shared_bytes` is the device's limit for the dynamic shared memory of a
/// block.
pub fn refusal(shape: &Shape, max_shared_bytes: u32) -> Option<String> {
    let threads = shape.threads();
    if shape.grid.contains(&0) || shape.block.contains(&0) {
        let (grid, block) = (extents(shape.grid), extents(shape.block));
        return Some(format!(
            "a grid of {grid} blocks of {block} threads: no extent may be 0"
        ));
    }
    if shape.cluster.contains(&0) {
        return Some(format!(
            "clusters of {} blocks: no extent may be 0",
            extents(shape.cluster)
        ));
    }
    if threads > MAX_THREADS || shape.block[2] > MAX_BLOCK_Z {
        return Some(format!(
            "blocks of {} = {threads} threads: at most {MAX_THREADS}, and {MAX_BLOCK_Z} in z",
            extents(shape.block)
        ));
    }
    if shape.grid[0] > i32::MAX as u32 || shape.grid[1] > MAX_GRID_YZ || shape.grid[2] > MAX_GRID_YZ
    {
        return Some(format!(
            "a grid of {} blocks: at most {} in x, {MAX_GRID_YZ} in y and z",
            extents(shape.grid),
            i32::MAX
        ));
    }
    (shape.shared_bytes > max_shared_bytes).then(|| {
        format!(
            "{} bytes of dynamic shared memory; this device gives a block at most {max_shared_bytes}",
            shape.shared_bytes
        )
    })
}

#[cfg(test)]
pub mod encoding {
    //! Writing what a launch statement writes, for tests.
    use super::*;

    /// The bytes of a `LabShape` with these first eight words, an entry and no maps.
    pub fn shape(words: [u32; 8], entry: &str, line: u32) -> Vec<u8> {
        let all = words.into_iter().chain([1, 1, 1, line, 0, 0]);
        let mut bytes: Vec<u8> = all.flat_map(u32::to_le_bytes).collect();
        bytes.extend_from_slice(entry.as_bytes());
        bytes.resize(SHAPE_BYTES, 0);
        bytes
    }

    /// The same launch with these arguments, each of four bytes.
    pub fn with_args(mut shape: Vec<u8>, args: &[u32]) -> Vec<u8> {
        let (count, sizes) = (4 * 13, 4 * 14 + ENTRY_BYTES);
        shape[count..count + 4].copy_from_slice(&(args.len() as u32).to_le_bytes());
        for (i, arg) in args.iter().enumerate().take(MOST_ARGS) {
            let at = sizes + 4 * MOST_ARGS + ARG_BYTES * i;
            shape[sizes + 4 * i] = 4;
            shape[at..at + 4].copy_from_slice(&arg.to_le_bytes());
        }
        shape
    }

    /// The bytes of a `LabLaunches`. `count` may differ from the launches that are there.
    pub fn list(scratch_bytes: u64, zeroed: bool, count: u32, launches: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = scratch_bytes.to_le_bytes().to_vec();
        bytes.extend(
            [u32::from(zeroed), count, 3, 0]
                .into_iter()
                .flat_map(u32::to_le_bytes),
        );
        bytes.extend(launches.concat());
        bytes.resize(LIST_BYTES, 0);
        bytes
    }
}
