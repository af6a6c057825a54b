//! `--dump`: every tensor of every case as .npy, so that anybody can check the reference.

use super::case_data::{CaseData, Contents};
use super::spec::CaseTensor;
use crate::dtype::{CellValue, Dtype};
use crate::outcome::Stop;
use npyz::WriterBuilder;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes `CASE-x.npy` for inputs, and `CASE-y_reference.npy` and `CASE-y_kernel.npy` for outputs.
/// CASE is the case's label, as in `rows3-cols257-Tf16`. Floats of 8 and 16 bits are widened to
/// f32.
pub fn write(folder: &Path, drawn: &CaseData, got: &Contents) -> Result<(), Stop> {
    let label = drawn.case.label.replace('=', "").replace(' ', "-");
    for (i, tensor) in drawn.case.tensors.iter().enumerate() {
        let contents = [
            ("", &drawn.sets[0].inputs[i]),
            ("_reference", &drawn.sets[0].expected[i]),
            ("_kernel", &got[i]),
        ];
        for (suffix, content) in contents {
            let Some(content) = content else { continue };
            let path = folder.join(format!("{label}-{}{suffix}.npy", tensor.name));
            write_npy(&path, tensor, content)
                .map_err(|e| Stop::Lab(format!("{} cannot be written: {e}", path.display())))?;
        }
    }
    Ok(())
}

fn write_npy(path: &Path, shaped: &CaseTensor, content: &[u8]) -> io::Result<()> {
    let dtype = shaped.dtype;
    let cells = content
        .chunks_exact(dtype.size())
        .map(|cell| dtype.value(cell));
    let integers = cells.clone().map(|value| match value {
        CellValue::Integer(value) => value,
        CellValue::Float(value) => value as i64,
    });
    match dtype {
        Dtype::I8 => write_cells(path, shaped, integers.map(|v| v as i8)),
        Dtype::U8 => write_cells(path, shaped, integers.map(|v| v as u8)),
        Dtype::I32 => write_cells(path, shaped, integers.map(|v| v as i32)),
        Dtype::I64 => write_cells(path, shaped, integers),
        Dtype::Bool => write_cells(path, shaped, integers.map(|v| v != 0)),
        Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::F8e4m3 | Dtype::F8e5m2 => {
            write_cells(path, shaped, cells.map(|value| value.as_f64() as f32))
        }
    }
}

fn write_cells<T: npyz::AutoSerialize>(
    path: &Path,
    shaped: &CaseTensor,
    cells: impl Iterator<Item = T>,
) -> io::Result<()> {
    let file = BufWriter::new(std::fs::File::create(path)?);
    let mut npy = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&shaped.extents())
        .writer(file)
        .begin_nd()?;
    npy.extend(cells)?;
    npy.finish()
}
