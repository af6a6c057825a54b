//! The element types of tensors, and how a cell is encoded in bytes.

use half::{bf16, f16};
use lab_device::POISONS;
use serde::{Deserialize, Serialize};

/// An element type, named as in problem.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 16-bit float (IEEE 754 half).
    F16,
    /// 16-bit brain float.
    Bf16,
    /// 32-bit signed integer.
    I32,
}

impl Dtype {
    /// The name in problem.toml.
    pub fn word(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::I32 => "i32",
        }
    }

    /// Bytes of a cell.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
        }
    }

    /// The largest finite number.
    pub fn largest(self) -> f64 {
        match self {
            Dtype::F32 => f64::from(f32::MAX),
            Dtype::I32 => f64::from(i32::MAX),
            Dtype::F16 => f16::MAX.to_f64(),
            Dtype::Bf16 => bf16::MAX.to_f64(),
        }
    }

    /// The smallest positive number below the normal ones, and how many multiples of it are below them too. `None` for a type
    /// without such numbers.
    pub fn subnormals(self) -> Option<(f64, u32)> {
        let multiples = |exponent: i32, digits: u32| Some((2f64.powi(exponent), (1 << digits) - 1));
        match self {
            Dtype::F32 => multiples(-149, 23),
            Dtype::F16 => multiples(-24, 10),
            Dtype::Bf16 => multiples(-133, 7),
            Dtype::I32 => None,
        }
    }

    /// The exact value of one cell. NaN if `cell` has another length than the type.
    pub fn decode(self, cell: &[u8]) -> f64 {
        match (self, cell) {
            (Dtype::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (Dtype::I32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).into(),
            (Dtype::F16, &[a, b]) => f16::from_le_bytes([a, b]).into(),
            (Dtype::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
            _ => f64::NAN,
        }
    }

    /// Appends the cell that is nearest to `value`, in little endian.
    pub fn encode(self, value: f64, to: &mut Vec<u8>) {
        match self {
            Dtype::F32 => to.extend((value as f32).to_le_bytes()),
            Dtype::I32 => to.extend((value as i32).to_le_bytes()),
            Dtype::F16 => to.extend(f16::from_f64(value).to_le_bytes()),
            Dtype::Bf16 => to.extend(bf16::from_f64(value).to_le_bytes()),
        }
    }

    /// The index of the first cell that still holds one of these patterns.
    pub fn first_poison(self, cells: &[u8]) -> Option<usize> {
        // Compared as words: this looks at whole tensors, ten times as fast as cell by cell.
        match self.size() {
            4 => cells
                .chunks_exact(4)
                .position(|c| POISONS.contains(&u32::from_le_bytes([c[0], c[1], c[2], c[3]]))),
            _ => {
                let halves = POISONS.map(|pattern| pattern as u16);
                cells.chunks_exact(2).position(|c| halves.contains(&u16::from_le_bytes([c[0], c[1]])))
            }
        }
    }

    /// Returns whether a cell still holds one of the patterns that outputs are filled with before a launch.
    pub fn is_poison(self, cell: &[u8]) -> bool {
        POISONS.iter().any(|pattern| pattern.to_le_bytes().starts_with(cell))
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_go_there_and_back() {
        for (dtype, value) in
            [(Dtype::F32, 0.5), (Dtype::F16, -65504.0), (Dtype::Bf16, 3.0e38f64), (Dtype::I32, -7.0)]
        {
            let mut cell = Vec::new();
            dtype.encode(value, &mut cell);
            assert_eq!(cell.len(), dtype.size());
            let back = dtype.decode(&cell);
            assert!((back - value).abs() <= value.abs() / 256.0, "{dtype}: {value} became {back}");
        }
    }

    #[test]
    fn the_ends_of_each_type_are_its_own() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I32] {
            let back = |number: f64| {
                let mut cell = Vec::new();
                dtype.encode(number, &mut cell);
                dtype.decode(&cell)
            };
            assert_eq!(back(dtype.largest()), dtype.largest(), "{dtype}");
            let Some((step, count)) = dtype.subnormals() else { continue };
            assert!((step, back(step / 4.0)) == (back(step), 0.0), "{dtype}: nothing is smaller");
            let (largest, normal) = (step * f64::from(count), step * f64::from(count + 1));
            assert!((back(largest), back(normal)) == (largest, normal), "{dtype}");
            // Normal numbers have one more digit than the first of them shows.
            assert!(back(normal + step) == normal + step && back(2.0 * normal + step) == 2.0 * normal);
        }
    }

    #[test]
    fn poison_is_known_in_each_type() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I32] {
            for pattern in POISONS {
                let mut cells = vec![0; 6 * dtype.size()];
                assert_eq!(dtype.first_poison(&cells), None);
                cells[4 * dtype.size()..][..dtype.size()]
                    .copy_from_slice(&pattern.to_le_bytes()[..dtype.size()]);
                assert_eq!(dtype.first_poison(&cells), Some(4));
                assert!(dtype.is_poison(&pattern.to_le_bytes()[..dtype.size()]));
            }
            for written in [0.0, f64::NAN, f64::INFINITY] {
                let mut cell = Vec::new();
                dtype.encode(written, &mut cell);
                assert!(!dtype.is_poison(&cell), "{dtype} {written}");
            }
        }
        // The NaNs that a GPU's operations give.
        assert!(!Dtype::F16.is_poison(&0x7fff_u16.to_le_bytes()));
        assert!(!Dtype::Bf16.is_poison(&0x7fff_u16.to_le_bytes()));
        assert!(!Dtype::F32.is_poison(&0x7fff_ffff_u32.to_le_bytes()));
    }
}
