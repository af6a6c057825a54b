//! `--dump`: every tensor of every case as .npy, so that anybody can check the reference.

use super::case_data::CaseData;
use super::launcher::Outputs;
use super::spec::{Case, CaseTensor, ProblemSpec};
use crate::dtype::Dtype;
use crate::outcome::Stop;
use npyz::WriterBuilder;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes `CASE-x.npy` for inputs, and `CASE-y_reference.npy` and `CASE-y_kernel.npy` for outputs. CASE is the case's
/// label, as in `rows3-cols257-Tf16`. f16 and bf16 are widened to f32.
pub fn write(
    folder: &Path,
    spec: &ProblemSpec,
    case: &Case,
    drawn: &CaseData,
    got: &Outputs,
) -> Result<(), Stop> {
    let label = case.label.replace('=', "").replace(' ', "-");
    for (i, (tensor, shaped)) in spec.tensors.iter().zip(&case.tensors).enumerate() {
        let contents = [("", &drawn.sets[0][i]), ("_reference", &drawn.expected[0][i]), ("_kernel", &got[i])];
        for (suffix, content) in contents {
            let Some(content) = content else { continue };
            let path = folder.join(format!("{label}-{}{suffix}.npy", tensor.name));
            write_npy(&path, shaped, content)
                .map_err(|e| Stop::Lab(format!("{} cannot be written: {e}", path.display())))?;
        }
    }
    Ok(())
}

fn write_npy(path: &Path, shaped: &CaseTensor, content: &[u8]) -> io::Result<()> {
    let cells = content.chunks_exact(shaped.dtype.size()).map(|cell| shaped.dtype.decode(cell));
    if shaped.dtype == Dtype::I32 {
        write_cells(path, shaped, cells.map(|v| v as i32))
    } else {
        write_cells(path, shaped, cells.map(|v| v as f32))
    }
}

fn write_cells<T: npyz::AutoSerialize>(
    path: &Path,
    shaped: &CaseTensor,
    cells: impl Iterator<Item = T>,
) -> io::Result<()> {
    let shape: Vec<u64> = shaped.shape.iter().map(|n| *n as u64).collect();
    let file = BufWriter::new(std::fs::File::create(path)?);
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd()?;
    npy.extend(cells)?;
    npy.finish()
}
