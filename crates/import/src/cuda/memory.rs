//! Memory of the device that only the host code fills or binds.

use super::list::Stage;
use super::slice::Slice;
use super::unit::Unit;
use crate::names::listed;
use lab_source::cpp::items::ItemKind;
use lab_source::cpp::words;
use std::collections::BTreeSet;

/// What is left to do for such memory that the kernels use.
pub fn notes(unit: &Unit, stages: &[Stage], slice: &Slice) -> Vec<String> {
    let places = stages.iter().map(|stage| stage.kernel.place);
    let kept = unit.places().filter(|place| slice.keeps(*place));
    let text = places.chain(kept).map(|place| {
        let (source, item) = unit.item(place);
        words(&source.code.text[item.start..item.end])
    });
    let used: BTreeSet<&str> = text.flatten().collect();
    let (mut filled, mut textures) = (Vec::new(), Vec::new());
    for (source, item) in unit.places().map(|place| unit.item(place)) {
        let names = item
            .names
            .iter()
            .filter(|name| used.contains(name.as_str()));
        if item.kind != ItemKind::Variable {
            continue;
        }
        if source.code.at(item.first) == "texture" {
            textures.extend(names);
        } else {
            filled.extend(names.filter(|name| is_filled(unit, name)));
        }
    }
    let filled = listed(filled).map(|names| {
        format!(
            "kernel.cu: the host code copies values into {names} (cudaMemcpyToSymbol), which stays zero here: write its values \
             there, or make it a tensor"
        )
    });
    let textures = listed(textures).map(|names| {
        format!(
            "kernel.cu: {names} is a texture reference, which CUDA has removed: give the kernel a `const float*` in its place, and \
             run `lab init` again"
        )
    });
    filled.into_iter().chain(textures).collect()
}

/// Whether the host code copies values to a variable of the device.
fn is_filled(unit: &Unit, name: &str) -> bool {
    unit.sources.iter().any(|source| {
        let code = &source.code;
        (0..code.tokens.len()).any(|at| {
            let is_copy = code.word(at).starts_with("cudaMemcpyToSymbol");
            is_copy && (at..code.partner(at + 1)).any(|at| code.word(at) == name)
        })
    })
}
