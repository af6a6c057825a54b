//! `--dump`: every tensor of every case as .npy, so that anybody can check the reference.

use super::case_data::{CaseData, Contents};
use super::spec::CaseTensor;
use crate::dtype::{CellValue, Dtype};
use crate::outcome::{Result, Stop};
use crate::problem::npy_file;
use crate::worker::Cells;
use bytemuck::{Pod, pod_collect_to_vec};
use itertools::Itertools as _;
use npyz::AutoSerialize;
use serde_json::Number;
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
        std::fs::write(&path, text)
            .map_err(|e| Stop::Lab(format!("{} cannot be written: {e}", path.display())))?;
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
                .map_err(|e| Stop::Lab(format!("{} cannot be written: {e}", path.display())))?;
        }
    }
    Ok(())
}

fn write_npy(path: &Path, shaped: &CaseTensor, content: &[u8]) -> io::Result<()> {
    fn as_is<T: Pod + AutoSerialize>(path: &Path, shape: &[usize], cells: &[u8]) -> io::Result<()> {
        npy_file::write::<T>(path, shape, &pod_collect_to_vec(cells))
    }
    let (dtype, shape) = (shaped.dtype, &shaped.shape);
    let write = match dtype {
        Dtype::F64 => as_is::<f64>,
        Dtype::I8 => as_is::<i8>,
        Dtype::U8 => as_is::<u8>,
        Dtype::I16 => as_is::<i16>,
        Dtype::U16 => as_is::<u16>,
        Dtype::I32 => as_is::<i32>,
        Dtype::U32 => as_is::<u32>,
        Dtype::I64 => as_is::<i64>,
        Dtype::U64 => as_is::<u64>,
        Dtype::Bool => {
            let cells = content.iter().map(|cell| *cell != 0).collect_vec();
            return npy_file::write(path, shape, &cells);
        }
        Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::F8e4m3 | Dtype::F8e5m2 => {
            let cells = content.chunks_exact(dtype.size());
            let cells = cells.map(|cell| dtype.decode(cell) as f32).collect_vec();
            return npy_file::write(path, shape, &cells);
        }
    };
    write(path, shape, content)
}
