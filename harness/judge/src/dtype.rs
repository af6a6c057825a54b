//! The element types of tensors, and how a cell is encoded in bytes.

mod float8;

use float8::{E4M3, E5M2};
use half::{bf16, f16};
use lab_device::{
    BYTE_POISONS, FLOAT_POISONS, FLOAT8_POISONS, HUGE_POISONS, MapElement, NEGATIVE_POISONS,
    POISONS,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::IntoStaticStr;

/// An element type, named as in problem.toml.
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
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Dtype {
    /// 32-bit float.
    #[default]
    F32,
    /// 16-bit float (IEEE 754 half).
    F16,
    /// 16-bit brain float.
    Bf16,
    /// 32-bit signed integer.
    I32,
    /// 8-bit float with 4 bits of exponent, without infinity.
    F8e4m3,
    /// 8-bit float with 5 bits of exponent.
    F8e5m2,
    /// 8-bit signed integer.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// 64-bit signed integer.
    I64,
    /// A byte that is 0 or 1.
    Bool,
}

/// The exact value of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellValue {
    Float(f64),
    Integer(i64),
}

impl CellValue {
    /// The nearest f64.
    pub fn as_f64(self) -> f64 {
        match self {
            CellValue::Float(value) => value,
            CellValue::Integer(value) => value as f64,
        }
    }
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
    pub const ALL: [Dtype; 10] = [
        Dtype::F32,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F8e4m3,
        Dtype::F8e5m2,
        Dtype::I8,
        Dtype::U8,
        Dtype::I32,
        Dtype::I64,
        Dtype::Bool,
    ];

    /// What a tensor map calls its cells.
    pub fn map_element(self) -> MapElement {
        match self {
            Dtype::F32 => MapElement::F32,
            Dtype::F16 => MapElement::F16,
            Dtype::Bf16 => MapElement::Bf16,
            Dtype::F8e4m3 | Dtype::F8e5m2 | Dtype::I8 | Dtype::U8 | Dtype::Bool => MapElement::U8,
            Dtype::I32 => MapElement::I32,
            Dtype::I64 => MapElement::I64,
        }
    }

    /// The name in problem.toml.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The name in kernel.cu.
    pub fn in_source(self) -> &'static str {
        match self {
            Dtype::F32 => "float",
            Dtype::F16 => "__half",
            Dtype::Bf16 => "__nv_bfloat16",
            Dtype::I32 => "int",
            Dtype::F8e4m3 => "__nv_fp8_e4m3",
            Dtype::F8e5m2 => "__nv_fp8_e5m2",
            Dtype::I8 => "signed char",
            Dtype::U8 => "unsigned char",
            Dtype::I64 => "long long",
            Dtype::Bool => "bool",
        }
    }

    /// Bytes of a cell.
    pub fn size(self) -> usize {
        match self {
            Dtype::I64 => 8,
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F8e4m3 | Dtype::F8e5m2 | Dtype::I8 | Dtype::U8 | Dtype::Bool => 1,
        }
    }

    /// The smallest and the largest value of an integer or a bool; `None` for a float.
    pub fn integers(self) -> Option<(i64, i64)> {
        match self {
            Dtype::I8 => Some((i8::MIN.into(), i8::MAX.into())),
            Dtype::U8 => Some((0, u8::MAX.into())),
            Dtype::I32 => Some((i32::MIN.into(), i32::MAX.into())),
            Dtype::I64 => Some((i64::MIN, i64::MAX)),
            Dtype::Bool => Some((0, 1)),
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::F8e4m3 | Dtype::F8e5m2 => None,
        }
    }

    /// The largest finite number of a float, and the largest value of an integer.
    pub fn largest(self) -> f64 {
        match self {
            Dtype::F32 => f32::MAX.into(),
            Dtype::F16 => f16::MAX.into(),
            Dtype::Bf16 => bf16::MAX.into(),
            Dtype::F8e4m3 => E4M3.largest(),
            Dtype::F8e5m2 => E5M2.largest(),
            Dtype::I8 | Dtype::U8 | Dtype::I32 | Dtype::I64 | Dtype::Bool => {
                self.integers().map_or(0.0, |(_, largest)| largest as f64)
            }
        }
    }

    /// The largest whole number up to which a cell holds every whole number exactly.
    pub fn counts_to(self) -> i64 {
        // The numbers from the smallest normal one to its double are as far apart as the subnormal
        // ones: there are so many steps, and twice as many up to the double.
        match (self.integers(), self.subnormals()) {
            (Some((_, largest)), _) => largest,
            (None, Some((_, count))) => 2 * (i64::from(count) + 1),
            (None, None) => 0,
        }
    }

    /// The smallest positive number below the normal ones, and how many multiples of it are below
    /// them too. `None` for a type without such numbers.
    pub fn subnormals(self) -> Option<(f64, u32)> {
        let multiples = |exponent: i32, digits: u32| Some((2f64.powi(exponent), (1 << digits) - 1));
        match self {
            Dtype::F32 => multiples(-149, 23),
            Dtype::F16 => multiples(-24, 10),
            Dtype::Bf16 => multiples(-133, 7),
            Dtype::F8e4m3 => multiples(-9, 3),
            Dtype::F8e5m2 => multiples(-16, 2),
            Dtype::I8 | Dtype::U8 | Dtype::I32 | Dtype::I64 | Dtype::Bool => None,
        }
    }

    /// The exact value of one cell. NaN if `cell` has another length than the type.
    pub fn value(self, cell: &[u8]) -> CellValue {
        let float = |value: f64| CellValue::Float(value);
        match (self, cell) {
            (Dtype::F32, &[a, b, c, d]) => float(f32::from_le_bytes([a, b, c, d]).into()),
            (Dtype::F16, &[a, b]) => float(f16::from_le_bytes([a, b]).into()),
            (Dtype::Bf16, &[a, b]) => float(bf16::from_le_bytes([a, b]).into()),
            (Dtype::F8e4m3, &[a]) => float(E4M3.decode(a)),
            (Dtype::F8e5m2, &[a]) => float(E5M2.decode(a)),
            (Dtype::I32, &[a, b, c, d]) => {
                CellValue::Integer(i32::from_le_bytes([a, b, c, d]).into())
            }
            (Dtype::I8, &[a]) => CellValue::Integer((a as i8).into()),
            (Dtype::U8 | Dtype::Bool, &[a]) => CellValue::Integer(a.into()),
            (Dtype::I64, &[a, b, c, d, e, f, g, h]) => {
                CellValue::Integer(i64::from_le_bytes([a, b, c, d, e, f, g, h]))
            }
            _ => float(f64::NAN),
        }
    }

    /// The f64 nearest to the value of one cell. NaN if `cell` has another length than the type.
    pub fn decode(self, cell: &[u8]) -> f64 {
        self.value(cell).as_f64()
    }

    /// Appends the cell that is nearest to `value`, in little endian.
    #[inline]
    pub fn encode(self, value: f64, to: &mut Vec<u8>) {
        let start = to.len();
        to.resize(start + self.size(), 0);
        self.encode_each(&mut to[start..], || value);
    }

    /// The bytes of the cell that is nearest to `value`, as [`bits_of`] gives them.
    pub fn bits(self, value: f64) -> u64 {
        let mut cell = Vec::new();
        self.encode(value, &mut cell);
        bits_of(&cell)
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
            Dtype::F32 => each_cell(cells, || (values() as f32).to_le_bytes()),
            // By way of f32: straight from f64, processors differ in how they round.
            Dtype::F16 => each_cell(cells, || f16::from_f32(values() as f32).to_le_bytes()),
            Dtype::Bf16 => each_cell(cells, || bf16::from_f32(values() as f32).to_le_bytes()),
            Dtype::I32 => each_cell(cells, || (values() as i32).to_le_bytes()),
            Dtype::F8e4m3 => each_cell(cells, || [E4M3.encode(values())]),
            Dtype::F8e5m2 => each_cell(cells, || [E5M2.encode(values())]),
            Dtype::I8 => each_cell(cells, || (values() as i8).to_le_bytes()),
            Dtype::U8 => each_cell(cells, || [values() as u8]),
            Dtype::I64 => each_cell(cells, || (values() as i64).to_le_bytes()),
            Dtype::Bool => each_cell(cells, || [(values() != 0.0).into()]),
        }
    }

    /// Whether a cell can hold exactly this number.
    pub fn encodes(self, number: f64) -> bool {
        let mut cell = Vec::new();
        self.encode(number, &mut cell);
        let back = self.decode(&cell);
        (back.is_nan() && number.is_nan())
            || (back == number && back.is_sign_negative() == number.is_sign_negative())
    }

    /// [`Dtype::encode_each`] for whole numbers. An i64 is exact.
    pub fn encode_each_integer(self, cells: &mut [u8], mut values: impl FnMut() -> i64) {
        match self {
            // An f64 does not hold each of them.
            Dtype::I64 => each_cell(cells, || values().to_le_bytes()),
            _ => self.encode_each(cells, || values() as f64),
        }
    }

    /// The cell that is nearest to a whole number, in little endian. An i64 is exact.
    pub fn integer_cell(self, value: i64) -> Vec<u8> {
        let mut cell = vec![0; self.size()];
        self.encode_each_integer(&mut cell, || value);
        cell
    }

    /// The patterns that outputs of this type are filled with before a launch, in turn: each second
    /// one is huge, positive or negative. They differ from their neighbours in every cell, and
    /// those between are no value that kernels often write, as the ends of a type's range are.
    pub fn poisons(self) -> [u32; 4] {
        let ([first, third], [second, fourth]) = match self {
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 => return FLOAT_POISONS,
            Dtype::F8e5m2 => (FLOAT8_POISONS, HUGE_POISONS),
            Dtype::F8e4m3 => (BYTE_POISONS, HUGE_POISONS),
            Dtype::I8 | Dtype::U8 | Dtype::Bool => {
                (BYTE_POISONS, [HUGE_POISONS[0], NEGATIVE_POISONS[0]])
            }
            Dtype::I32 | Dtype::I64 => (POISONS, NEGATIVE_POISONS),
        };
        [first, second, third, fourth]
    }

    /// The patterns among them that no operation gives, which mark a cell that a kernel never wrote.
    /// `None` if each may also be a value: such a cell is then known only by two launches, before
    /// which it held two patterns.
    pub fn marks(self) -> Option<[u32; 2]> {
        match self {
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 => Some(POISONS),
            Dtype::F8e5m2 => Some(FLOAT8_POISONS),
            Dtype::F8e4m3 | Dtype::I8 | Dtype::U8 | Dtype::I32 | Dtype::I64 | Dtype::Bool => None,
        }
    }

    /// Whether a cell with this pattern is one that the kernel never wrote. A huge number of 32
    /// bits is not met by chance.
    pub fn is_mark(self, pattern: u32) -> bool {
        let is_huge = self == Dtype::F32 && HUGE_POISONS.contains(&pattern);
        is_huge || self.marks().is_some_and(|all| all.contains(&pattern))
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
            (Dtype::F32, 0.5),
            (Dtype::F16, -65504.0),
            (Dtype::Bf16, 3.0e38f64),
            (Dtype::I32, -7.0),
            (Dtype::F8e4m3, -0.4375),
            (Dtype::F8e5m2, 57344.0),
            (Dtype::I8, -128.0),
            (Dtype::U8, 255.0),
            (Dtype::I64, -1e15),
            (Dtype::Bool, 1.0),
        ] {
            let mut cell = Vec::new();
            dtype.encode(value, &mut cell);
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
        for dtype in Dtype::ALL {
            let back = |number: f64| {
                let mut cell = Vec::new();
                dtype.encode(number, &mut cell);
                dtype.decode(&cell)
            };
            let Some((step, count)) = dtype.subnormals() else {
                assert!(dtype.integers().is_some(), "{dtype}");
                continue;
            };
            assert!(
                (step, back(step / 4.0)) == (back(step), 0.0),
                "{dtype}: nothing is smaller"
            );
            let (largest, normal) = (step * f64::from(count), step * f64::from(count + 1));
            assert!(
                (back(largest), back(normal)) == (largest, normal),
                "{dtype}"
            );
            // The first normal numbers are as far apart; further ones are not.
            assert!(
                back(normal + step) == normal + step
                    && back(2.0 * normal + step) != 2.0 * normal + step
            );
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
        for value in [
            i64::MIN,
            -9_007_199_254_740_993,
            9_007_199_254_740_993,
            i64::MAX,
        ] {
            let cell = Dtype::I64.integer_cell(value);
            assert_eq!(Dtype::I64.value(&cell), CellValue::Integer(value));
            assert_eq!(Dtype::I64.value(&cell).to_string(), value.to_string());
        }
    }

    #[test]
    fn every_whole_number_up_to_the_limit_of_a_type_is_exact() {
        for dtype in Dtype::ALL {
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
    fn poison_is_known_in_each_type() {
        for dtype in Dtype::ALL {
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
                let mut cell = Vec::new();
                dtype.encode(written, &mut cell);
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
        for dtype in Dtype::ALL {
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
        for dtype in Dtype::ALL {
            let each = dtype.poisons().map(|pattern| {
                let cells = pattern.to_le_bytes().repeat(2);
                dtype.decode(&cells[..dtype.size()])
            });
            let largest = dtype.largest();
            let most = each.iter().copied().fold(0.0, f64::max);
            let least = each.iter().copied().fold(0.0, f64::min);
            // As far as the exponent goes, of which a float's pattern uses most.
            assert!(most.ln() > 0.6 * largest.ln(), "{dtype}: {most}");
            let is_signed = !matches!(dtype, Dtype::U8 | Dtype::Bool);
            assert!(
                !is_signed || (-least).ln() > 0.6 * largest.ln(),
                "{dtype}: {least}"
            );
        }
    }
}
