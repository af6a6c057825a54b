//! Plants every extreme that a type has into lines in the judge's memory and into the same lines of
//! held tensors, and compares the cells. A test program includes this beside its imports.

use super::{
    Axis, CaseTensor, Cells, DrawCells, Dtype, Extreme, InputValues, JudgeMemory, PlantedSets,
    Planting, plant,
};
use std::sync::Arc;
use strum::VariantArray;

/// Panics if a cell of a held tensor differs. The lines have `cells` cells, which are neighbours or
/// are not; those of up to `most_sent` cells are sent.
pub fn compare(
    memory: &Arc<JudgeMemory>,
    dtype: Dtype,
    values: &InputValues,
    cells: usize,
    most_sent: usize,
) {
    let kinds = Extreme::VARIANTS.iter().copied();
    let kinds: Vec<Extreme> = kinds.filter(|kind| kind.is_in(dtype)).collect();
    let lines = [
        (vec![cells], Axis::All),
        (vec![2, cells, 3], Axis::Extent(1)),
    ];
    for (shape, axis) in lines {
        let tensors = [CaseTensor {
            name: "x".into(),
            dtype,
            shape,
            values: Some(values.clone()),
            planted: Planting {
                by_default: false,
                kinds: kinds.clone(),
                along: vec![axis],
            },
            ..CaseTensor::default()
        }];
        let sets = PlantedSets::of(&tensors, usize::MAX, 1);
        let as_drawn = values.fill(dtype, &tensors[0].shape, SEED);
        for further in (0..sets.further()).map(Some).chain([None]) {
            let placed = sets.places(further, &tensors, 3);
            let drawn = DrawCells {
                dtype,
                cells: tensors[0].cells(),
                seed: SEED,
                numbers: values.numbers().unwrap(),
            };
            let there = memory.draw(vec![drawn]).unwrap().remove(0);
            let planted = |cells: Cells| {
                let mut inputs = [Some(cells)];
                let sent = plant(&mut inputs, &placed, &tensors, 9, &[SEED], most_sent);
                sent.unwrap().send(memory).unwrap();
                let [cells] = inputs.map(Option::unwrap);
                cells.to_host().unwrap().into_owned()
            };
            let (here, there) = (planted(Cells::Host(as_drawn.clone())), planted(there));
            let size = dtype.size();
            let mut both = here.chunks(size).zip(there.chunks(size));
            let differs = both.position(|(one, other)| one != other);
            assert_eq!(differs, None, "{dtype} {values:?} {placed:?}");
        }
    }
}

/// What the tensors are drawn with.
const SEED: u64 = 7;
