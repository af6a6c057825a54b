//! The element types of tensors, and how a cell is encoded in bytes.

mod float8;

use float8::{E4M3, E5M2};
use half::{bf16, f16};
use lab_device::{
    BYTE_POISONS, DOUBLE_POISONS, FLOAT_POISONS, FLOAT8_POISONS, HUGE_POISONS, MapElement,
    NEGATIVE_POISONS, POISONS,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// An element type, named as in problem.toml. The order is that of messages, of `Type` in cells.cu
/// and of `Type` in an export.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Dtype {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    #[default]
    F32,
    /// 16-bit float (IEEE 754 half).
    F16,
    /// 16-bit brain float.
    Bf16,
    /// 8-bit float with 4 bits of exponent, without infinity.
    F8e4m3,
    /// 8-bit float with 5 bits of exponent.
    F8e5m2,
    /// Signed and unsigned integers.
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// A byte that is 0 or 1.
    Bool,
}

/// What is known of a type, whatever a cell holds.
struct Facts {
    in_source: &'static str,
    in_torch: &'static str,
    /// What a tensor map calls its cells.
    element: MapElement,
    /// Bytes of a cell.
    size: usize,
    numbers: Numbers,
}

/// The numbers of a type.
#[derive(Clone, Copy)]
enum Numbers {
    /// The largest finite number, the exponent of 2 of the smallest one above zero, and the bits of
    /// the mantissa.
    Floats {
        largest: f64,
        least: i32,
        digits: u32,
    },
    /// The smallest and the largest one.
    Whole(i128, i128),
}

impl Facts {
    const fn floats(
        [in_source, in_torch]: [&'static str; 2],
        (element, size): (MapElement, usize),
        (largest, least, digits): (f64, i32, u32),
    ) -> Facts {
        Facts {
            in_source,
            in_torch,
            element,
            size,
            numbers: Numbers::Floats {
                largest,
                least,
                digits,
            },
        }
    }

    /// A type of integers from `least` on.
    const fn whole(
        [in_source, in_torch]: [&'static str; 2],
        element: MapElement,
        size: usize,
        least: i128,
    ) -> Facts {
        let largest = least + (1 << (8 * size)) - 1;
        Facts {
            in_source,
            in_torch,
            element,
            size,
            numbers: Numbers::Whole(least, largest),
        }
    }
}

/// The exact value of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellValue {
    Float(f64),
    Integer(i128),
}

impl CellValue {
    /// The nearest f64.
    pub fn as_f64(self) -> f64 {
        match self {
            CellValue::Float(value) => value,
            CellValue::Integer(value) => nearest(value),
        }
    }
}

/// The nearest f64. Not inlined: the compiler would convert an integer of 128 bits for each cell, of
/// a floating-point number too, and that takes longer than all else.
#[inline(never)]
fn nearest(value: i128) -> f64 {
    value as f64
}

impl fmt::Display for CellValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellValue::Float(value) => value.fmt(f),
            CellValue::Integer(value) => value.fmt(f),
        }
    }
}

impl Dtype {
    /// Every type, in the order in which messages list them.
    pub const ALL: &[Dtype] = Dtype::VARIANTS;

    const fn facts(self) -> Facts {
        use MapElement as Map;
        match self {
            Dtype::F64 => Facts::floats(["double", "Double"], (Map::F64, 8), (f64::MAX, -1074, 52)),
            Dtype::F32 => Facts::floats(
                ["float", "Float"],
                (Map::F32, 4),
                (f32::MAX as f64, -149, 23),
            ),
            Dtype::F16 => Facts::floats(["__half", "Half"], (Map::F16, 2), (65504.0, -24, 10)),
            Dtype::Bf16 => {
                // The upper half of an f32.
                let largest = f32::from_bits(0x7f7f_0000) as f64;
                let names = ["__nv_bfloat16", "BFloat16"];
                Facts::floats(names, (Map::Bf16, 2), (largest, -133, 7))
            }
            Dtype::F8e4m3 => {
                let names = ["__nv_fp8_e4m3", "Float8_e4m3fn"];
                Facts::floats(names, (Map::U8, 1), (448.0, -9, 3))
            }
            Dtype::F8e5m2 => {
                let names = ["__nv_fp8_e5m2", "Float8_e5m2"];
                Facts::floats(names, (Map::U8, 1), (57344.0, -16, 2))
            }
            Dtype::I8 => Facts::whole(["signed char", "Char"], Map::U8, 1, i8::MIN as i128),
            Dtype::U8 => Facts::whole(["unsigned char", "Byte"], Map::U8, 1, 0),
            Dtype::I16 => Facts::whole(["short", "Short"], Map::U16, 2, i16::MIN as i128),
            Dtype::U16 => Facts::whole(["unsigned short", "UInt16"], Map::U16, 2, 0),
            Dtype::I32 => Facts::whole(["int", "Int"], Map::I32, 4, i32::MIN as i128),
            Dtype::U32 => Facts::whole(["unsigned int", "UInt32"], Map::U32, 4, 0),
            Dtype::I64 => Facts::whole(["long long", "Long"], Map::I64, 8, i64::MIN as i128),
            Dtype::U64 => Facts::whole(["unsigned long long", "UInt64"], Map::U64, 8, 0),
            Dtype::Bool => Facts {
                in_source: "bool",
                in_torch: "Bool",
                element: Map::U8,
                size: 1,
                numbers: Numbers::Whole(0, 1),
            },
        }
    }

    /// The place among the types, from 0.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// What a tensor map calls its cells.
    pub fn map_element(self) -> MapElement {
        self.facts().element
    }

    /// The name in problem.toml.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The name in kernel.cu.
    pub fn in_source(self) -> &'static str {
        self.facts().in_source
    }

    /// The name in PyTorch's C++, behind `at::k`.
    pub fn in_torch(self) -> &'static str {
        self.facts().in_torch
    }

    /// Bytes of a cell.
    pub fn size(self) -> usize {
        self.facts().size
    }

    /// Whether f32 does not hold all values.
    pub fn is_wide(self) -> bool {
        self.size() > 4 || self.size() == 4 && self.integers().is_some()
    }

    /// The smallest and the largest value of an integer or a bool; `None` for a float.
    pub fn integers(self) -> Option<(i128, i128)> {
        match self.facts().numbers {
            Numbers::Whole(least, largest) => Some((least, largest)),
            Numbers::Floats { .. } => None,
        }
    }

    /// The largest finite number of a float, and the largest value of an integer.
    pub fn largest(self) -> f64 {
        match self.facts().numbers {
            Numbers::Whole(_, largest) => largest as f64,
            Numbers::Floats { largest, .. } => largest,
        }
    }

    /// The largest whole number up to which a cell holds every whole number exactly.
    pub fn counts_to(self) -> i128 {
        match self.facts().numbers {
            Numbers::Whole(_, largest) => largest,
            Numbers::Floats { digits, .. } => 2 << digits,
        }
    }

    /// The smallest positive number below the normal ones, and how many multiples of it are below
    /// them too. `None` for a type without such numbers.
    pub fn subnormals(self) -> Option<(f64, i64)> {
        match self.facts().numbers {
            Numbers::Whole(..) => None,
            Numbers::Floats { least, digits, .. } => {
                Some((f64::from(least).exp2(), (1 << digits) - 1))
            }
        }
    }

    /// The exact value of one cell. NaN if `cell` has another length than the type.
    pub fn value(self, cell: &[u8]) -> CellValue {
        let float = |value: f64| CellValue::Float(value);
        match (self, cell) {
            (Dtype::F64, _) if cell.len() == 8 => float(f64::from_bits(bits_of(cell))),
            (Dtype::F32, &[a, b, c, d]) => float(f32::from_le_bytes([a, b, c, d]).into()),
            (Dtype::F16, &[a, b]) => float(f16::from_le_bytes([a, b]).into()),
            (Dtype::Bf16, &[a, b]) => float(bf16::from_le_bytes([a, b]).into()),
            (Dtype::F8e4m3, &[a]) => float(E4M3.decode(a)),
            (Dtype::F8e5m2, &[a]) => float(E5M2.decode(a)),
            _ => match self.integers() {
                Some((least, _)) if cell.len() == self.size() => {
                    let (bits, unused) = (bits_of(cell), 64 - 8 * cell.len());
                    CellValue::Integer(match least {
                        0 => bits.into(),
                        _ => ((bits << unused) as i64 >> unused).into(),
                    })
                }
                _ => float(f64::NAN),
            },
        }
    }

    /// The f64 nearest to the value of one cell. NaN if `cell` has another length than the type.
    pub fn decode(self, cell: &[u8]) -> f64 {
        self.value(cell).as_f64()
    }

    /// Whether all cells are finite. For whole tensors: the type is looked at once.
    pub fn are_finite(self, cells: &[u8]) -> bool {
        match self {
            Dtype::F64 => every_cell(cells, |cell| f64::from_le_bytes(cell).is_finite()),
            Dtype::F32 => every_cell(cells, |cell| f32::from_le_bytes(cell).is_finite()),
            Dtype::F16 => every_cell(cells, |cell| f16::from_le_bytes(cell).is_finite()),
            Dtype::Bf16 => every_cell(cells, |cell| bf16::from_le_bytes(cell).is_finite()),
            Dtype::F8e4m3 => every_cell(cells, |[cell]| E4M3.decode(cell).is_finite()),
            Dtype::F8e5m2 => every_cell(cells, |[cell]| E5M2.decode(cell).is_finite()),
            _ => true,
        }
    }

    /// The cell that is nearest to `value`, in little endian.
    pub fn cell(self, value: f64) -> Vec<u8> {
        let mut cell = vec![0; self.size()];
        self.encode_each(&mut cell, || value);
        cell
    }

    /// The bytes of the cell that is nearest to `value`, as [`bits_of`] gives them.
    pub fn bits(self, value: f64) -> u64 {
        bits_of(&self.cell(value))
    }

    /// The exact value of the cell with these bytes.
    pub fn value_of_bits(self, bits: u64) -> CellValue {
        self.value(&bits.to_le_bytes()[..self.size()])
    }

    /// Writes a cell with these bytes.
    pub fn put_bits(self, cell: &mut [u8], bits: u64) {
        cell.copy_from_slice(&bits.to_le_bytes()[..self.size()]);
    }

    /// Fills cells with the ones that are nearest to these values. For whole tensors: the type is
    /// looked at once.
    pub fn encode_each(self, cells: &mut [u8], mut values: impl FnMut() -> f64) {
        match self {
            Dtype::F64 => each_cell(cells, || values().to_le_bytes()),
            Dtype::F32 => each_cell(cells, || (values() as f32).to_le_bytes()),
            // By way of f32: straight from f64, processors differ in how they round.
            Dtype::F16 => each_cell(cells, || f16::from_f32(values() as f32).to_le_bytes()),
            Dtype::Bf16 => each_cell(cells, || bf16::from_f32(values() as f32).to_le_bytes()),
            Dtype::F8e4m3 => each_cell(cells, || [E4M3.encode(values())]),
            Dtype::F8e5m2 => each_cell(cells, || [E5M2.encode(values())]),
            Dtype::I8 => each_cell(cells, || (values() as i8).to_le_bytes()),
            Dtype::U8 => each_cell(cells, || [values() as u8]),
            Dtype::I16 => each_cell(cells, || (values() as i16).to_le_bytes()),
            Dtype::U16 => each_cell(cells, || (values() as u16).to_le_bytes()),
            Dtype::I32 => each_cell(cells, || (values() as i32).to_le_bytes()),
            Dtype::U32 => each_cell(cells, || (values() as u32).to_le_bytes()),
            Dtype::I64 => each_cell(cells, || (values() as i64).to_le_bytes()),
            Dtype::U64 => each_cell(cells, || (values() as u64).to_le_bytes()),
            Dtype::Bool => each_cell(cells, || [(values() != 0.0).into()]),
        }
    }

    /// Whether a cell can hold exactly this number.
    pub fn encodes(self, number: f64) -> bool {
        let back = self.decode(&self.cell(number));
        (back.is_nan() && number.is_nan())
            || (back == number && back.is_sign_negative() == number.is_sign_negative())
    }

    /// [`Dtype::encode_each`] for whole numbers. They are exact in an integer of 64 bits; a u64 from
    /// 2⁶³ on is the i64 of the same bits.
    pub fn encode_each_integer(self, cells: &mut [u8], mut values: impl FnMut() -> i64) {
        match self {
            // An f64 does not hold each of them.
            Dtype::I64 | Dtype::U64 => each_cell(cells, || values().to_le_bytes()),
            _ => self.encode_each(cells, || values() as f64),
        }
    }

    /// The cell that is nearest to a whole number, in little endian. An integer that fits is exact.
    pub fn integer_cell(self, value: i128) -> Vec<u8> {
        let mut cell = vec![0; self.size()];
        self.encode_each_integer(&mut cell, || value as i64);
        cell
    }

    /// The patterns that outputs of this type are filled with before a launch, in turn: each second
    /// one is huge, positive or negative. They differ from their neighbours in every cell, and
    /// those between are no value that kernels often write, as the ends of a type's range are.
    pub fn poisons(self) -> [u32; 4] {
        let ([first, third], [second, fourth]) = match (self, self.size()) {
            (Dtype::F64, _) => (DOUBLE_POISONS, HUGE_POISONS),
            (Dtype::F32 | Dtype::F16 | Dtype::Bf16, _) => return FLOAT_POISONS,
            (Dtype::F8e5m2, _) => (FLOAT8_POISONS, HUGE_POISONS),
            (Dtype::F8e4m3, _) => (BYTE_POISONS, HUGE_POISONS),
            (_, 1) => (BYTE_POISONS, [HUGE_POISONS[0], NEGATIVE_POISONS[0]]),
            _ => (POISONS, NEGATIVE_POISONS),
        };
        [first, second, third, fourth]
    }

    /// The patterns among them that no operation gives, which mark a cell that a kernel never wrote.
    /// `None` if each may also be a value: such a cell is then known only by two launches, before
    /// which it held two patterns.
    pub fn marks(self) -> Option<[u32; 2]> {
        match self {
            Dtype::F64 => Some(DOUBLE_POISONS),
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 => Some(POISONS),
            Dtype::F8e5m2 => Some(FLOAT8_POISONS),
            _ => None,
        }
    }

    /// Whether a cell with this pattern is one that the kernel never wrote. A huge number of 32
    /// bits or more is not met by chance.
    pub fn is_mark(self, pattern: u32) -> bool {
        let is_huge = matches!(self, Dtype::F64 | Dtype::F32) && HUGE_POISONS.contains(&pattern);
        is_huge || self.marks().is_some_and(|all| all.contains(&pattern))
    }

    /// Whether the value is one that memory may hold before a kernel writes it. Types of less than 32
    /// bits have such values by chance.
    pub fn is_unset(self, value: CellValue) -> bool {
        let words = match (self, value) {
            (Dtype::F32, CellValue::Float(value)) => [(value as f32).to_bits(); 2],
            (Dtype::F64, CellValue::Float(value)) => {
                let bits = value.to_bits();
                [bits as u32, (bits >> 32) as u32]
            }
            (Dtype::I32 | Dtype::U32, CellValue::Integer(value)) => [value as u32; 2],
            _ => return false,
        };
        words[0] == words[1] && lab_device::is_unset(words[0])
    }

    /// Returns whether a cell still holds this pattern.
    #[inline]
    pub fn holds(self, cell: &[u8], pattern: u32) -> bool {
        // As numbers: this is asked of every wrong cell.
        match *cell {
            [a] => a == pattern as u8,
            [a, b] => u16::from_le_bytes([a, b]) == pattern as u16,
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) == pattern,
            _ => cell
                .as_chunks()
                .0
                .iter()
                .all(|half| u32::from_le_bytes(*half) == pattern),
        }
    }
}

/// A cell's bytes as a number in little endian.
pub fn bits_of(cell: &[u8]) -> u64 {
    cell.iter()
        .rev()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

fn every_cell<const SIZE: usize>(cells: &[u8], is_meant: impl Fn([u8; SIZE]) -> bool) -> bool {
    cells.as_chunks().0.iter().all(|cell| is_meant(*cell))
}

fn each_cell<const SIZE: usize>(cells: &mut [u8], mut cell: impl FnMut() -> [u8; SIZE]) {
    cells
        .as_chunks_mut()
        .0
        .iter_mut()
        .for_each(|to| *to = cell());
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_device::is_poison;

    impl Dtype {
        /// Returns whether a cell still holds one of the patterns that outputs are filled with
        /// before a launch.
        fn is_poison(self, cell: &[u8]) -> bool {
            let patterns = self.marks().unwrap_or(BYTE_POISONS);
            patterns.iter().any(|pattern| self.holds(cell, *pattern))
        }
    }

    #[test]
    fn cells_go_there_and_back() {
        for (dtype, value) in [
            (Dtype::F64, 1e300),
            (Dtype::F32, 0.5),
            (Dtype::F16, -65504.0),
            (Dtype::Bf16, 3.0e38f64),
            (Dtype::I32, -7.0),
            (Dtype::F8e4m3, -0.4375),
            (Dtype::F8e5m2, 57344.0),
            (Dtype::I8, -128.0),
            (Dtype::U8, 255.0),
            (Dtype::I16, -32768.0),
            (Dtype::U16, 65535.0),
            (Dtype::U32, 4294967295.0),
            (Dtype::U64, 1e19),
            (Dtype::I64, -1e15),
            (Dtype::Bool, 1.0),
        ] {
            let cell = dtype.cell(value);
            assert_eq!(cell.len(), dtype.size());
            let back = dtype.decode(&cell);
            assert!(
                (back - value).abs() <= value.abs() / 256.0,
                "{dtype}: {value} became {back}"
            );
        }
    }

    #[test]
    fn the_subnormal_numbers_of_a_float_are_its_own() {
        for &dtype in Dtype::ALL {
            let back = |number: f64| dtype.decode(&dtype.cell(number));
            let Some((step, count)) = dtype.subnormals() else {
                assert!(dtype.integers().is_some(), "{dtype}");
                continue;
            };
            assert!(
                (step, back(step / 4.0)) == (back(step), 0.0),
                "{dtype}: nothing is smaller"
            );
            let (largest, normal) = (step * count as f64, step * (count + 1) as f64);
            assert!(
                (back(largest), back(normal)) == (largest, normal),
                "{dtype}"
            );
            // The first normal numbers are as far apart; further ones are not.
            assert_eq!(back(normal + step), normal + step);
            // An f64 does not hold the number that an f64 rounds.
            let further = 2.0 * normal + step;
            assert!(dtype == Dtype::F64 || back(further) != further, "{dtype}");
        }
    }

    #[test]
    fn every_type_is_listed_once_under_the_name_that_serde_reads() {
        for (i, dtype) in Dtype::ALL.iter().enumerate() {
            assert!(!Dtype::ALL[..i].contains(dtype));
            assert_eq!(serde_json::to_value(dtype).ok(), Some(dtype.word().into()));
        }
    }

    #[test]
    fn whole_numbers_of_64_bits_are_exact() {
        for (dtype, value) in [
            (Dtype::I64, i64::MIN.into()),
            (Dtype::I64, -9_007_199_254_740_993),
            (Dtype::I64, 9_007_199_254_740_993),
            (Dtype::I64, i64::MAX.into()),
            (Dtype::U64, 9_007_199_254_740_993),
            (Dtype::U64, u64::MAX.into()),
        ] {
            let cell = dtype.integer_cell(value);
            assert_eq!(dtype.value(&cell), CellValue::Integer(value));
            assert_eq!(dtype.value(&cell).to_string(), value.to_string());
        }
    }

    #[test]
    fn every_whole_number_up_to_the_limit_of_a_type_is_exact() {
        for &dtype in Dtype::ALL {
            let limit = dtype.counts_to().min(1 << 20);
            for value in 0..=limit {
                let cell = dtype.integer_cell(value);
                assert_eq!(dtype.decode(&cell), value as f64, "{dtype}");
            }
        }
        let cell = Dtype::F16.integer_cell(Dtype::F16.counts_to() + 1);
        assert_ne!(Dtype::F16.decode(&cell), 2049.0);
    }

    #[test]
    fn a_tensor_is_finite_if_each_cell_is() {
        for &dtype in Dtype::ALL {
            let cells = dtype.cell(1.0).repeat(9);
            assert!(dtype.are_finite(&cells), "{dtype}");
            for value in [f64::NAN, f64::INFINITY] {
                let cells = [&cells[..], &dtype.cell(value)].concat();
                let last = dtype.decode(&dtype.cell(value));
                assert_eq!(dtype.are_finite(&cells), last.is_finite(), "{dtype}");
            }
        }
    }

    #[test]
    fn poison_is_known_in_each_type() {
        for &dtype in Dtype::ALL {
            let size = dtype.size();
            for pattern in dtype.marks().unwrap_or(BYTE_POISONS) {
                let mut cells = vec![0; 6 * size];
                assert!(!cells.chunks(size).any(|cell| dtype.is_poison(cell)));
                // As memory is filled: the pattern again and again.
                let filled = pattern.to_le_bytes().repeat(12);
                cells[4 * size..][..size].copy_from_slice(&filled[4 * size..][..size]);
                let mut each = cells.chunks(size);
                let first = each.position(|cell| dtype.is_poison(cell));
                assert_eq!(first, Some(4), "{dtype}");
                assert!(
                    filled.chunks_exact(size).all(|cell| dtype.is_poison(cell)),
                    "{dtype}"
                );
            }
            for written in [
                0.0,
                1.0,
                f64::NAN,
                f64::INFINITY,
                -1.0,
                127.0,
                -128.0,
                255.0,
            ] {
                let cell = dtype.cell(written);
                assert!(!dtype.is_poison(&cell), "{dtype} {written}");
            }
        }
        // The NaNs that a GPU's operations give.
        assert!(!Dtype::F16.is_poison(&0x7fff_u16.to_le_bytes()));
        assert!(!Dtype::Bf16.is_poison(&0x7fff_u16.to_le_bytes()));
        assert!(!Dtype::F32.is_poison(&0x7fff_ffff_u32.to_le_bytes()));
        assert!(!Dtype::F8e4m3.is_poison(&[0x7f]) && !Dtype::F8e5m2.is_poison(&[0x7f]));
        assert!(
            [0x7e, 0xfe, 0xff]
                .iter()
                .all(|nan| !Dtype::F8e5m2.is_poison(&[*nan]))
        );
    }

    #[test]
    fn neighbouring_patterns_differ_in_every_cell_and_only_marks_are_no_numbers() {
        for &dtype in Dtype::ALL {
            let poisons = dtype.poisons();
            let filled = poisons.map(|pattern| pattern.to_le_bytes().repeat(8));
            for (at, one) in filled.iter().enumerate() {
                let next = &filled[(at + 1) % filled.len()];
                let size = dtype.size();
                for (one, next) in one.chunks_exact(size).zip(next.chunks_exact(size)) {
                    assert_ne!(one, next, "{dtype}");
                    let is_mark = dtype.marks().is_some_and(|all| all.contains(&poisons[at]));
                    assert_eq!(dtype.decode(one).is_nan(), is_mark, "{dtype} {one:x?}");
                }
            }
            assert!(poisons.iter().all(|pattern| is_poison(*pattern)));
        }
    }

    #[test]
    fn each_type_has_a_huge_positive_and_a_huge_negative_pattern() {
        for &dtype in Dtype::ALL {
            let each = dtype.poisons().map(|pattern| {
                let cells = pattern.to_le_bytes().repeat(2);
                dtype.decode(&cells[..dtype.size()])
            });
            let largest = dtype.largest();
            let most = each.iter().copied().fold(0.0, f64::max);
            let least = each.iter().copied().fold(0.0, f64::min);
            // As far as the exponent goes, of which a float's pattern uses most.
            assert!(most.ln() > 0.6 * largest.ln(), "{dtype}: {most}");
            let is_signed = dtype.integers().is_none_or(|(least, _)| least < 0);
            assert!(
                !is_signed || (-least).ln() > 0.6 * largest.ln(),
                "{dtype}: {least}"
            );
        }
    }
}
