//! TMA tensor maps: what `cuTensorMapEncodeTiled` takes, and which of its limits a request breaks.
//! The driver itself only answers *invalid value*, so every limit that NVIDIA documents is checked
//! here, with the field and the numbers.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Most dimensions of a map.
pub const MAX_RANK: usize = 5;

/// Bytes of an encoded map, which a kernel takes as one parameter.
pub const MAP_BYTES: usize = 128;

/// What an element of a mapped tensor is, with its value in `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MapElement {
    /// An unsigned integer of 1 byte, or anything that is only copied.
    U8 = 0,
    /// An unsigned integer of 2 bytes, or anything that is only copied.
    U16 = 1,
    /// An unsigned integer of 4 bytes, or anything that is only copied.
    U32 = 2,
    /// A signed integer of 4 bytes.
    I32 = 3,
    /// An unsigned integer of 8 bytes, or anything that is only copied.
    U64 = 4,
    /// A signed integer of 8 bytes.
    I64 = 5,
    /// An IEEE half.
    F16 = 6,
    /// An IEEE single.
    F32 = 7,
    /// An IEEE double.
    F64 = 8,
    /// A bfloat16.
    Bf16 = 9,
}

impl MapElement {
    /// Its size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            MapElement::U8 => 1,
            MapElement::U16 | MapElement::F16 | MapElement::Bf16 => 2,
            MapElement::U32 | MapElement::I32 | MapElement::F32 => 4,
            MapElement::U64 | MapElement::I64 | MapElement::F64 => 8,
        }
    }

    /// The unsigned integer of so many bytes.
    pub fn unsigned(bytes: u32) -> Option<MapElement> {
        Some(match bytes {
            1 => MapElement::U8,
            2 => MapElement::U16,
            4 => MapElement::U32,
            8 => MapElement::U64,
            _ => return None,
        })
    }

    fn is_float(self) -> bool {
        use MapElement::{Bf16, F16, F32, F64};
        matches!(self, F16 | F32 | F64 | Bf16)
    }
}

/// A tiled tensor map. Every list begins with the innermost dimension and has one value for each
/// dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// What its elements are.
    pub element: MapElement,
    /// The device address of the first element.
    pub address: u64,
    /// Bytes of memory from that address on.
    pub bytes: u64,
    /// Elements in each dimension.
    pub extent: Vec<u64>,
    /// Bytes from one element of a dimension to the next. The first is the size of an element.
    pub stride: Vec<u64>,
    /// Elements that one copy moves in each dimension.
    pub box_extent: Vec<u32>,
    /// One of so many elements of the box is moved.
    pub element_strides: Vec<u32>,
    /// `LabSwizzle` in lab.h and `CUtensorMapSwizzle`: none, 32, 64 or 128 bytes.
    pub swizzle: u32,
    /// `LabInterleave` and `CUtensorMapInterleave`: none, 16 or 32 bytes.
    pub interleave: u32,
    /// `LabL2Promotion` and `CUtensorMapL2promotion`: none, 64, 128 or 256 bytes.
    pub l2_promotion: u32,
    /// Elements outside the tensor are NaN instead of 0.
    pub fill_nan: bool,
}

/// The limits that NVIDIA documents for `cuTensorMapEncodeTiled`.
const MAX_EXTENT: u64 = 1 << 32;
const MAX_STRIDE: u64 = 1 << 40;
const MAX_BOX: u64 = 256;
const MAX_ELEMENT_STRIDE: u64 = 8;
const NAMES: [&str; 4] = ["none", "32 bytes", "64 bytes", "128 bytes"];

impl TensorMap {
    /// Returns which field breaks which limit, as the end of a sentence; `None` where the map can
    /// be encoded. `max_shared_bytes` is the shared memory of a block.
    pub fn refusal(&self, max_shared_bytes: u32) -> Option<String> {
        self.check_sizes()
            .and_then(|()| self.check_box(max_shared_bytes))
            .and_then(|()| self.check_modes())
            .err()
    }

    fn check_sizes(&self) -> Result<(), String> {
        let (rank, element) = (self.extent.len(), self.element.bytes());
        within("rank", rank as u64, 1..=MAX_RANK as u64)?;
        if self.interleave != 0 && rank < 3 {
            return Err(format!(
                "rank is {rank}, and interleave needs 3 to {MAX_RANK}"
            ));
        }
        let alignment = if self.interleave == 2 { 32 } else { 16 };
        if !self.address.is_multiple_of(alignment) {
            return Err(format!(
                "the tensor begins at {:#x}, and a map needs a multiple of {alignment}",
                self.address
            ));
        }
        for (i, extent) in self.extent.iter().enumerate() {
            within(&format!("extent[{i}]"), *extent, 1..=MAX_EXTENT)?;
        }
        if self.stride.first() != Some(&element) {
            return Err(format!(
                "stride[0] is not the {element} bytes of an element: it cannot be set"
            ));
        }
        for (i, stride) in self.stride.iter().enumerate().skip(1) {
            if !stride.is_multiple_of(alignment) || *stride == 0 || *stride >= MAX_STRIDE {
                return Err(format!(
                    "stride[{i}] is {stride} bytes, and it must be a multiple of {alignment} below {MAX_STRIDE}: \
                     pad dimension {} of the tensor, or map another shape of it",
                    i - 1
                ));
            }
        }
        let reach = |last: u64, (extent, stride): (&u64, &u64)| {
            last.checked_add((extent - 1).checked_mul(*stride)?)
        };
        let mut dimensions = self.extent.iter().zip(&self.stride);
        let end = dimensions.try_fold(element, reach);
        if end.is_none_or(|end| end > self.bytes) {
            let end = end.map_or("far more".into(), |end| end.to_string());
            return Err(format!(
                "extents and strides reach over {end} bytes, and the tensor has {}",
                self.bytes
            ));
        }
        Ok(())
    }

    fn check_box(&self, max_shared_bytes: u32) -> Result<(), String> {
        let element = self.element.bytes();
        let dimensions = || self.box_extent.iter().zip(&self.element_strides);
        for (i, (extent, stride)) in dimensions().enumerate() {
            within(&format!("box[{i}]"), (*extent).into(), 1..=MAX_BOX)?;
            let what = format!("element_strides[{i}]");
            within(&what, (*stride).into(), 1..=MAX_ELEMENT_STRIDE)?;
        }
        let inner = u64::from(self.box_extent.first().copied().unwrap_or(0)) * element;
        let inner_box = format!(
            "box[0] is {} elements of {element} bytes = {inner} bytes",
            inner / element
        );
        if !inner.is_multiple_of(16) {
            return Err(format!(
                "{inner_box}, and it must be a multiple of 16 bytes"
            ));
        }
        let swizzled = [0, 32, 64, 128].get(self.swizzle as usize);
        let swizzled = swizzled.copied().unwrap_or(0);
        if self.interleave == 0 && swizzled > 0 && inner > swizzled {
            return Err(format!(
                "{inner_box}, and with a swizzle of {swizzled} bytes it may have {swizzled} at most"
            ));
        }
        let moved = dimensions().map(|(extent, stride)| u64::from(extent.div_ceil(*stride)));
        let bytes = moved.product::<u64>() * element;
        if bytes > max_shared_bytes.into() {
            return Err(format!(
                "a box of {:?} has {bytes} bytes, and the shared memory of a block {max_shared_bytes}",
                self.box_extent
            ));
        }
        Ok(())
    }

    fn check_modes(&self) -> Result<(), String> {
        within("swizzle", self.swizzle.into(), 0..=3)?;
        within("interleave", self.interleave.into(), 0..=2)?;
        within("l2_promotion", self.l2_promotion.into(), 0..=3)?;
        if self.interleave == 2 && self.swizzle != 1 {
            let name = NAMES[self.swizzle as usize];
            return Err(format!(
                "swizzle is {name}, and interleave of 32 bytes needs a swizzle of 32 bytes"
            ));
        }
        if self.fill_nan && !self.element.is_float() {
            return Err("fill_nan is for elements of type f16, bf16 or f32".to_owned());
        }
        Ok(())
    }
}

fn within(what: &str, value: u64, allowed: RangeInclusive<u64>) -> Result<(), String> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let (least, most) = allowed.into_inner();
    Err(format!(
        "{what} is {value}, and it may be {least} to {most}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64 × 64 tile of a matrix of 1024 rows and 512 columns in f16.
    fn map() -> TensorMap {
        TensorMap {
            element: MapElement::F16,
            address: 0x7000_0000,
            bytes: 1024 * 512 * 2,
            extent: vec![512, 1024],
            stride: vec![2, 1024],
            box_extent: vec![64, 64],
            element_strides: vec![1, 1],
            swizzle: 3,
            interleave: 0,
            l2_promotion: 2,
            fill_nan: false,
        }
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut TensorMap), words: &str) {
        let mut changed = map();
        change(&mut changed);
        let text = changed.refusal(232_448).unwrap_or_default();
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_map_within_the_limits_is_encoded() {
        assert_eq!(map().refusal(232_448), None);
    }

    #[test]
    fn a_map_beyond_a_limit_is_refused_with_the_field_and_the_limit() {
        refused(
            |m| m.box_extent[0] = 128,
            "box[0] is 128 elements of 2 bytes = 256 bytes, and with a swizzle of 128",
        );
        refused(
            |m| m.box_extent[1] = 257,
            "box[1] is 257, and it may be 1 to 256",
        );
        refused(|m| m.box_extent[1] = 0, "box[1] is 0");
        refused(
            |m| m.box_extent[0] = 7,
            "box[0] is 7 elements of 2 bytes = 14 bytes, and it must be a multiple of 16",
        );
        refused(
            |m| m.stride[1] = 1022,
            "stride[1] is 1022 bytes, and it must be a multiple of 16",
        );
        refused(
            |m| m.stride[1] = 1 << 40,
            "stride[1] is 1099511627776 bytes",
        );
        refused(
            |m| m.stride[0] = 4,
            "stride[0] is not the 2 bytes of an element",
        );
        refused(
            |m| m.extent[1] = 1025,
            "extents and strides reach over 1049600 bytes, and the tensor has 1048576",
        );
        refused(|m| m.extent[1] = 0, "extent[1] is 0");
        refused(
            |m| m.extent[1] = (1 << 32) + 1,
            "extent[1] is 4294967297, and it may be 1 to 4294967296",
        );
        refused(
            |m| m.element_strides[1] = 9,
            "element_strides[1] is 9, and it may be 1 to 8",
        );
        refused(
            |m| m.address += 8,
            "begins at 0x70000008, and a map needs a multiple of 16",
        );
        refused(|m| m.extent.clear(), "rank is 0, and it may be 1 to 5");
        refused(
            |m| m.interleave = 1,
            "rank is 2, and interleave needs 3 to 5",
        );
        refused(|m| m.swizzle = 4, "swizzle is 4, and it may be 0 to 3");
        refused(|m| m.l2_promotion = 9, "l2_promotion is 9");
        refused(
            |m| (m.element, m.fill_nan) = (MapElement::U16, true),
            "fill_nan is for elements of type f16, bf16 or f32",
        );
        let large = TensorMap {
            swizzle: 0,
            box_extent: vec![256, 256],
            ..map()
        };
        let text = large.refusal(100_000).unwrap_or_default();
        assert_eq!(
            text,
            "a box of [256, 256] has 131072 bytes, and the shared memory of a block 100000"
        );
    }
}
