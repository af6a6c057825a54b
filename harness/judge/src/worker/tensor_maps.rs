//! The tensor map that a launch statement asks for, of a tensor of the problem or of the scratch
//! buffer.

use super::LaunchParameter;
use super::launch_statement::{MOST_DIMS, StatedMap};
use lab_device::{MapElement, TensorMap};

/// The name of the scratch buffer in a launch statement.
pub const SCRATCH: &str = "scratch";

/// Memory that a map can be asked of.
pub struct Mapped<'a> {
    pub address: u64,
    pub bytes: u64,
    /// `None` for the scratch buffer, which has neither type nor shape.
    pub tensor: Option<&'a LaunchParameter>,
}

/// Returns the map. The error is the end of a sentence that begins with the tensor.
pub fn complete(asked: &StatedMap, mapped: &Mapped) -> Result<TensorMap, String> {
    let element = match (mapped.tensor, asked.element) {
        (Some(tensor), 0) => tensor.dtype.map_element(),
        (Some(tensor), bytes) => MapElement::unsigned(bytes)
            .filter(|element| element.bytes() == tensor.dtype.size() as u64)
            .ok_or_else(|| {
                format!(
                    "element is {bytes} bytes, and the tensor's elements have {}",
                    tensor.dtype.size()
                )
            })?,
        (None, bytes) => MapElement::unsigned(bytes).ok_or_else(|| {
            format!("element is {bytes}: set it to the 1, 2, 4 or 8 bytes of an element")
        })?,
    };
    // The statement begins with the innermost dimension, problem.toml with the outermost.
    let shape = mapped.tensor.and_then(|tensor| tensor.shape.as_ref());
    let own: Vec<u64> = shape.into_iter().flatten().rev().copied().collect();
    let rank = if asked.rank == 0 {
        own.len()
    } else {
        asked.rank as usize
    };
    if !(1..=MOST_DIMS).contains(&rank) {
        return Err(match mapped.tensor {
            Some(_) if asked.rank == 0 => {
                format!(
                    "the tensor has {rank} dimensions, and a map 1 to {MOST_DIMS}: set rank and extent to another shape of it"
                )
            }
            _ => format!("rank is {rank}, and it may be 1 to {MOST_DIMS}"),
        });
    }
    let extent_of = |i: usize| match asked.extent[i] {
        0 if rank == own.len() => Ok(own[i]),
        0 => Err(format!(
            "extent[{i}] is not set, and with a rank of {rank} every extent must be"
        )),
        given => Ok(given),
    };
    let extent: Vec<u64> = (0..rank).map(extent_of).collect::<Result<_, _>>()?;
    if let Some(i) = (0..rank).find(|i| asked.box_extent[*i] == 0) {
        return Err(format!("box[{i}] is not set: it may be 1 to 256"));
    }
    let own_strides = mapped.tensor.and_then(|tensor| tensor.strides.as_ref());
    let own_strides = own_strides.filter(|_| rank == own.len());
    let own_stride = |i: usize| Some(own_strides?[rank - 1 - i] * element.bytes());
    let mut stride = vec![own_stride(0).unwrap_or(element.bytes())];
    for i in 1..rank {
        // As the tensor lies in memory: with another number of elements a row, its rows are still
        // as long.
        let row = if rank == own.len() {
            own[i - 1]
        } else {
            extent[i - 1]
        };
        let dense = stride[i - 1].saturating_mul(row);
        stride.push(match asked.stride[i] {
            0 => own_stride(i).unwrap_or(dense),
            asked => asked,
        });
    }
    if asked.stride[0] != 0 {
        stride[0] = asked.stride[0];
    }
    Ok(TensorMap {
        element,
        address: mapped.address,
        bytes: mapped.bytes,
        extent,
        stride,
        box_extent: asked.box_extent[..rank].to_vec(),
        element_strides: asked.element_strides[..rank].to_vec(),
        swizzle: asked.swizzle,
        interleave: asked.interleave,
        l2_promotion: asked.l2_promotion,
        fill_nan: asked.fill_nan,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dtype::Dtype;

    /// A map with a box of 64 × 32 and nothing else set.
    fn asked() -> StatedMap {
        StatedMap {
            tensor: "x".into(),
            extent: [0; 5],
            stride: [0; 5],
            box_extent: [64, 32, 0, 0, 0],
            element_strides: [1; 5],
            rank: 0,
            element: 0,
            swizzle: 0,
            interleave: 0,
            l2_promotion: 0,
            fill_nan: false,
            line: 7,
        }
    }

    fn matrix() -> LaunchParameter {
        LaunchParameter {
            name: "x".into(),
            dtype: Dtype::F16,
            shape: Some(vec![100, 256]),
            strides: None,
            is_input: true,
        }
    }

    fn of_matrix(asked: &StatedMap) -> Result<TensorMap, String> {
        let tensor = matrix();
        complete(
            asked,
            &Mapped {
                address: 4096,
                bytes: 51_200,
                tensor: Some(&tensor),
            },
        )
    }

    #[test]
    fn what_is_not_set_follows_from_the_tensor() {
        let map = of_matrix(&asked()).unwrap();
        assert_eq!(
            (map.extent.clone(), map.stride.clone()),
            (vec![256, 100], vec![2, 512])
        );
        assert_eq!(
            (map.box_extent.clone(), map.element),
            (vec![64, 32], MapElement::F16)
        );
        assert_eq!(map.refusal(200_000), None);
    }

    #[test]
    fn another_shape_of_the_tensor_has_every_extent() {
        let three = StatedMap {
            rank: 3,
            extent: [64, 4, 100, 0, 0],
            box_extent: [64, 4, 8, 0, 0],
            ..asked()
        };
        let map = of_matrix(&three).unwrap();
        assert_eq!(map.stride, [2, 128, 512]);
        assert_eq!(map.refusal(200_000), None);
        let part = StatedMap {
            extent: [128, 50, 0, 0, 0],
            ..asked()
        };
        assert_eq!(
            of_matrix(&part).unwrap().stride,
            [2, 512],
            "a part of each row, and the rows as far apart"
        );
        let lacking = StatedMap {
            rank: 3,
            extent: [64, 4, 0, 0, 0],
            ..asked()
        };
        assert!(
            of_matrix(&lacking)
                .unwrap_err()
                .contains("extent[2] is not set")
        );
    }

    #[test]
    fn what_cannot_be_completed_names_the_field() {
        let no_box = StatedMap {
            box_extent: [64, 0, 0, 0, 0],
            ..asked()
        };
        assert!(
            of_matrix(&no_box)
                .unwrap_err()
                .starts_with("box[1] is not set")
        );
        let rank = StatedMap { rank: 6, ..asked() };
        assert!(
            of_matrix(&rank)
                .unwrap_err()
                .contains("rank is 6, and it may be 1 to 5")
        );
        let element = StatedMap {
            element: 4,
            ..asked()
        };
        assert!(
            of_matrix(&element)
                .unwrap_err()
                .contains("element is 4 bytes, and the tensor's elements have 2")
        );
        let scratch = complete(
            &asked(),
            &Mapped {
                address: 0,
                bytes: 64,
                tensor: None,
            },
        );
        assert!(scratch.unwrap_err().contains("element is 0: set it"));
    }
}
