//! `--dump`: every tensor of every case as .npy, so that anybody can check the reference.

use super::case_data::{CaseData, Contents};
use super::npy;
use super::spec::CaseTensor;
use crate::dtype::{CellValue, Dtype};
use crate::outcome::{OrLab, Result};

use crate::worker::Cells;

use serde_json::Number;
use std::borrow::Cow;
use std::io;
use std::path::Path;

/// Writes `CASE-x.npy` for inputs, and `CASE-y_reference.npy` and `CASE-y_kernel.npy` for outputs.
/// CASE is the case's label, as in `rows3-cols257-Tf16`. Floats of 8 and 16 bits are widened to
/// f32. `CASE-scalars.json` holds the scalars.
pub fn write(folder: &Path, drawn: &CaseData, got: &Contents) -> Result {
    let label = drawn.case.label.replace('=', "").replace(' ', "-");
    let scalars = drawn.case.scalars.iter().zip(&drawn.sets[0].scalars);
    let scalars = scalars.map(|(scalar, bytes)| {
        let value = match scalar.dtype.value(bytes) {
            CellValue::Integer(value) => Number::from_i128(value).into(),
            // JSON has no infinity and no NaN.
            CellValue::Float(value) if !value.is_finite() => value.to_string().into(),
            CellValue::Float(value) => value.into(),
        };
        (scalar.name.clone(), value)
    });
    let scalars: serde_json::Map<String, serde_json::Value> = scalars.collect();
    if !scalars.is_empty() {
        let path = folder.join(format!("{label}-scalars.json"));
        let text = serde_json::Value::Object(scalars).to_string() + "\n";
        std::fs::write(&path, text).or_lab(|| format!("{} cannot be written", path.display()))?;
    }
    for (i, tensor) in drawn.case.tensors.iter().enumerate() {
        let fixed = tensor.fixed.as_ref();
        let fixed = fixed.map(|fixed| Cells::Host(fixed.bytes().to_vec()));
        let contents = [
            ("", &fixed),
            ("", &drawn.sets[0].inputs[i]),
            ("_reference", &drawn.sets[0].expected[i]),
            ("_kernel", &got[i]),
        ];
        for (suffix, content) in contents {
            let Some(content) = content else { continue };
            let path = folder.join(format!("{label}-{}{suffix}.npy", tensor.name));
            write_npy(&path, tensor, &content.to_host()?)
                .or_lab(|| format!("{} cannot be written", path.display()))?;
        }
    }
    Ok(())
}

fn write_npy(path: &Path, shaped: &CaseTensor, content: &[u8]) -> io::Result<()> {
    let (dtype, cells) = (shaped.dtype, content.chunks_exact(shaped.dtype.size()));
    let (dtype, cells): (Dtype, Cow<[u8]>) = match (dtype, dtype.integers()) {
        (Dtype::Bool, _) => (dtype, cells.map(|cell| u8::from(*cell != [0])).collect()),
        (_, None) if dtype.size() < 4 => {
            let wide = cells.flat_map(|cell| (dtype.decode(cell) as f32).to_le_bytes());
            (Dtype::F32, wide.collect())
        }
        _ => (dtype, content.into()),
    };
    std::fs::write(path, npy::file(dtype, &shaped.shape, &cells))
}
