//! Views of a tensor in an extension: PyTorch slices the tensor.

use super::super::file::text::{ProblemFile, TensorText, ViewText};

/// Writes an expression as C++. `None` if it has no C++.
type Formula<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns which view an extension cannot slice, and what to do.
pub fn check(file: &ProblemFile, formula: Formula) -> Result<(), String> {
    for view in file.tensor.iter().flat_map(|tensor| &tensor.views) {
        let mut bounds = view.slice.split([',', ':']).map(str::trim);
        if let Some(bound) = bounds.find(|text| !text.is_empty() && formula(text).is_none()) {
            return Err(format!(
                "the view {} has the bound {bound}, for which an extension has no C++: write it with +, -, * and /",
                view.name
            ));
        }
    }
    Ok(())
}

/// The slices of a view that [`check`] has passed: from the last extent to the first, so that the
/// numbers of the extents before it stay.
pub fn in_cpp(tensor: &TensorText, view: &ViewText, formula: Formula) -> String {
    let name = &view.name;
    let mut out = format!("t_{}", tensor.name);
    let parts: Vec<&str> = view.slice.split(',').collect();
    for (at, part) in parts.into_iter().enumerate().rev() {
        let extent = format!("shape_of_{}[{at}]", tensor.name);
        let place = |text: &str, usual: &str| match text.trim() {
            "" => usual.to_owned(),
            text => {
                let formula = formula(text).unwrap_or_default();
                format!("place({formula}, {extent}, \"{name}\")")
            }
        };
        let mut bounds = part.split(':');
        let from = bounds.next().unwrap_or_default();
        let Some(to) = bounds.next() else {
            out += &format!(".select({at}, {})", place(from, "0"));
            continue;
        };
        let step = match bounds.next().map(str::trim) {
            None | Some("") => "1".to_owned(),
            Some(step) => format!("extent({}, \"{name}\")", formula(step).unwrap_or_default()),
        };
        let (from, to) = (place(from, "0"), place(to, &extent));
        out += &format!(".slice({at}, {from}, {to}, {step})");
    }
    out
}
