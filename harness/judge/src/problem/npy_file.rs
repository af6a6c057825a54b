//! Writing an .npy file.

use npyz::{AutoSerialize, WriterBuilder};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes cells in row-major order as an array of this shape.
pub fn write<T: AutoSerialize + Copy>(path: &Path, shape: &[usize], cells: &[T]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&shape)
        .writer(&mut file)
        .begin_nd()?;
    writer.extend(cells.iter().copied())?;
    writer.finish()?;
    file.flush()
}
