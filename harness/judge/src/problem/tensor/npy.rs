//! Reading a tensor's values from an .npy file, and writing one.

use super::beside;
use crate::dtype::Dtype;
use itertools::Itertools as _;
use std::path::Path;

/// Most bytes of the header. NumPy writes some hundred.
const HEADER_LIMIT: usize = 64 << 10;

/// The array of an .npy file.
#[derive(Debug)]
pub struct NpyArray {
    /// The path in problem.toml.
    pub name: String,
    /// The hash of the whole file, in hex.
    pub hash: String,
    /// The type of a cell as NumPy writes it, as in `<f4`.
    descr: String,
    shape: Vec<usize>,
    /// The cells, in row-major order.
    pub cells: Vec<u8>,
}

/// Reads `name` below the problem's folder. Links that lead out of the folder are not followed.
pub fn read(folder: &Path, name: &str) -> Result<NpyArray, String> {
    if name.is_empty() {
        return Err("npy: name a file, as in npy = \"data/x.npy\"".into());
    }
    let bytes = beside::read(folder, name, "write it, as with numpy.save")?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let Header { descr, shape, data } =
        header(&bytes).map_err(|e| format!("{name} is no .npy file: {e}"))?;
    let cells = bytes.get(data..).unwrap_or_default().to_vec();
    Ok(NpyArray {
        name: name.to_owned(),
        hash,
        descr,
        shape,
        cells,
    })
}

impl NpyArray {
    /// Returns why these are not the cells of a tensor of this type and shape.
    pub fn check(&self, dtype: Dtype, shape: &[usize]) -> Result<(), String> {
        let NpyArray { name, descr, .. } = self;
        let (known, numpy) = numpy_types(dtype);
        if !known.contains(descr) {
            return Err(format!(
                "{name} holds cells of the type '{descr}', and the tensor's are {dtype}: save it as {numpy}"
            ));
        }
        if self.shape != shape {
            return Err(format!(
                "{name} has the shape {}, and the tensor has {}",
                in_brackets(&self.shape),
                in_brackets(shape)
            ));
        }
        let wanted = shape.iter().product::<usize>() * dtype.size();
        if self.cells.len() != wanted {
            let what = if self.cells.len() < wanted {
                "is truncated"
            } else {
                "goes on behind its cells"
            };
            return Err(format!(
                "{name} {what}: it has {} bytes of cells, and its shape needs {wanted}",
                self.cells.len()
            ));
        }
        if dtype == Dtype::Bool
            && let Some(at) = self.cells.iter().position(|cell| *cell > 1)
        {
            return Err(format!(
                "{name} holds {} at cell {at}: a bool is 0 or 1",
                self.cells[at]
            ));
        }
        Ok(())
    }
}

/// The types of NumPy whose cells have the same bytes, and what to save an array as. NumPy has no
/// type of its own for bf16 and the 8-bit floats; ml_dtypes writes them as raw bytes.
fn numpy_types(dtype: Dtype) -> (Vec<String>, String) {
    let raw = |known: &[&str], name: &str, bits: &str| {
        let known = known.iter().map(|descr| (*descr).to_owned());
        let save = format!("ml_dtypes.{name}, or its bits as numpy.{bits}");
        (known.collect(), save)
    };
    const BYTES: &[&str] = &["|V1", "<V1", "|u1", "<f1"];
    let (size, bits) = (dtype.size(), 8 * dtype.size());
    let (letter, name) = match (dtype, dtype.integers()) {
        (Dtype::Bf16, _) => return raw(&["<V2", "|V2", "<u2"], "bfloat16", "uint16"),
        (Dtype::F8e4m3, _) => return raw(BYTES, "float8_e4m3fn", "uint8"),
        (Dtype::F8e5m2, _) => return raw(BYTES, "float8_e5m2", "uint8"),
        (Dtype::Bool, _) => ('b', "bool".into()),
        (_, None) => ('f', format!("float{bits}")),
        (_, Some((0, _))) => ('u', format!("uint{bits}")),
        (_, Some(_)) => ('i', format!("int{bits}")),
    };
    let order = if size == 1 { '|' } else { '<' };
    let known = vec![format!("{order}{letter}{size}")];
    (known, format!("numpy.{name}"))
}

/// The .npy file of an array in row-major order. `dtype` is one that NumPy has.
pub fn file(dtype: Dtype, shape: &[usize], cells: &[u8]) -> Vec<u8> {
    let descr = numpy_types(dtype).0.swap_remove(0);
    let extents: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let keys = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    // The cells begin at a multiple of 64 bytes.
    let length = (10 + keys.len() + 1).next_multiple_of(64) - 10;
    let header = format!("{keys:width$}\n", width = length - 1);
    let length = (length as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), cells].concat()
}

fn in_brackets(shape: &[usize]) -> String {
    let extents = shape.iter().map(usize::to_string).join(", ");
    format!("[{extents}]")
}

struct Header {
    descr: String,
    shape: Vec<usize>,
    /// Where the cells begin.
    data: usize,
}

/// Reads the header of version 1, 2 or 3: a dictionary of Python with the three keys that NumPy
/// writes.
fn header(bytes: &[u8]) -> Result<Header, String> {
    let short = || "its header is truncated".to_owned();
    let start = bytes
        .strip_prefix(b"\x93NUMPY")
        .ok_or("it does not begin as NumPy's files do")?;
    let (length, before) = match start {
        [1, _, low, high, ..] => (usize::from(u16::from_le_bytes([*low, *high])), 10),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        [1..=3, ..] | [] => return Err(short()),
        [version, ..] => return Err(format!("version {version} of the format is unknown")),
    };
    if length > HEADER_LIMIT {
        return Err(format!(
            "its header has {length} bytes, and at most {HEADER_LIMIT} are read"
        ));
    }
    let text = bytes.get(before..before + length).ok_or_else(short)?;
    let text = std::str::from_utf8(text).map_err(|_| "its header is not text")?;
    let behind = |key: &str| {
        let at = [format!("'{key}':"), format!("\"{key}\":")]
            .iter()
            .find_map(|k| Some(text.find(k)? + k.len()));
        at.map(|at| text[at..].trim_start())
            .ok_or(format!("its header has no {key}"))
    };
    let descr = behind("descr")?;
    let descr = ['\'', '"']
        .into_iter()
        .find_map(|quote| descr.strip_prefix(quote)?.split(quote).next());
    let descr = descr
        .ok_or("its cells are records: save one array")?
        .to_owned();
    if descr.starts_with('>') {
        return Err(format!("'{descr}' is big-endian: save it in little endian"));
    }
    if !behind("fortran_order")?.starts_with("False") {
        return Err("its cells are in Fortran's order: save numpy.ascontiguousarray of it".into());
    }
    let shape = behind("shape")?
        .strip_prefix('(')
        .and_then(|rest| rest.split(')').next());
    let shape = shape
        .ok_or("its shape is not a tuple")?
        .split(',')
        .map(str::trim);
    let shape: Result<Vec<usize>, _> = shape
        .filter(|extent| !extent.is_empty())
        .map(str::parse)
        .collect();
    let shape = shape.map_err(|_| "its shape holds something else than whole numbers")?;
    Ok(Header {
        descr,
        shape,
        data: before + length,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The bytes of an .npy file of version 1.
    fn npy(descr: &str, order: &str, shape: &str, cells: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let length = (text.len() as u16).to_le_bytes();
        [
            b"\x93NUMPY\x01\x00".as_slice(),
            &length,
            text.as_bytes(),
            cells,
        ]
        .concat()
    }

    fn read_bytes(bytes: &[u8]) -> Result<NpyArray, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.npy"), bytes).unwrap();
        read(folder.path(), "x.npy")
    }

    #[test]
    fn an_array_is_read_with_its_shape_and_its_hash() {
        let bytes = npy("'<i4'", "False", "(2, 3)", &[7; 24]);
        let array = read_bytes(&bytes).unwrap();
        assert_eq!(array.check(Dtype::I32, &[2, 3]), Ok(()));
        assert_eq!(array.cells, [7; 24]);
        assert_eq!(array.hash, blake3::hash(&bytes).to_hex().to_string());
        let mut second = bytes.clone();
        second.splice(6..10, [2, 0, bytes[8], bytes[9], 0, 0]);
        assert_eq!(
            read_bytes(&second).unwrap().check(Dtype::I32, &[2, 3]),
            Ok(())
        );
    }

    #[test]
    fn another_shape_type_or_length_is_refused_with_the_reason() {
        let error = |descr: &str, shape: &str, cells: usize, dtype: Dtype| {
            read_bytes(&npy(descr, "False", shape, &vec![2; cells]))
                .unwrap()
                .check(dtype, &[3])
                .unwrap_err()
        };
        assert_eq!(
            error("'<f4'", "(4,)", 16, Dtype::F32),
            "x.npy has the shape [4], and the tensor has [3]"
        );
        assert_eq!(
            error("'<f8'", "(3,)", 24, Dtype::F32),
            "x.npy holds cells of the type '<f8', and the tensor's are f32: save it as numpy.float32"
        );
        assert_eq!(
            error("'<f4'", "(3,)", 11, Dtype::F32),
            "x.npy is truncated: it has 11 bytes of cells, and its shape needs 12"
        );
        assert!(error("'<f4'", "(3,)", 13, Dtype::F32).contains("goes on behind its cells"));
        assert_eq!(
            error("'|b1'", "(3,)", 3, Dtype::Bool),
            "x.npy holds 2 at cell 0: a bool is 0 or 1"
        );
        assert!(error("'<f4'", "(18446744073709551615,)", 0, Dtype::F32).contains("has the shape"));
    }

    #[test]
    fn raw_bytes_stand_for_types_that_numpy_lacks() {
        for (dtype, descr) in [
            (Dtype::Bf16, "'<V2'"),
            (Dtype::F8e4m3, "'|u1'"),
            (Dtype::F8e5m2, "'|V1'"),
        ] {
            let array =
                read_bytes(&npy(descr, "False", "(2,)", &vec![1; 2 * dtype.size()])).unwrap();
            assert_eq!(array.check(dtype, &[2]), Ok(()), "{dtype}");
        }
    }

    #[test]
    fn what_is_no_array_is_refused_with_the_reason() {
        let error = |bytes: &[u8]| read_bytes(bytes).unwrap_err();
        assert_eq!(
            error(b"PK\x03\x04"),
            "x.npy is no .npy file: it does not begin as NumPy's files do"
        );
        assert!(error(b"\x93NUMPY").contains("truncated"));
        assert!(error(b"\x93NUMPY\x01\x00").contains("truncated"));
        assert!(error(b"\x93NUMPY\x01\x00\xff\x00{'descr'").contains("truncated"));
        assert!(error(b"\x93NUMPY\x09\x00\x01\x00").contains("version 9"));
        assert!(error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{").contains("at most 65536"));
        assert!(error(&npy("'>f4'", "False", "(3,)", &[0; 12])).contains("big-endian"));
        assert!(error(&npy("'<f4'", "True", "(3,)", &[0; 12])).contains("ascontiguousarray"));
        assert!(error(&npy("[('a', '<f4')]", "False", "(3,)", &[0; 12])).contains("records"));
        assert!(error(&npy("'<f4'", "False", "(-3,)", &[0; 12])).contains("whole numbers"));
        assert!(error(&npy("'<f4'", "False", "3", &[0; 12])).contains("not a tuple"));
    }

    #[test]
    fn a_file_outside_of_the_folder_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("problem");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(
            folder.path().join("x.npy"),
            npy("'<f4'", "False", "(1,)", &[0; 4]),
        )
        .unwrap();
        let error = |name: &str| read(&inner, name).unwrap_err();
        assert!(error("../x.npy").contains("is not below the problem's folder"));
        assert!(error("/etc/passwd").contains("is not below the problem's folder"));
        assert!(error("").contains("name a file"));
        assert_eq!(
            error("y.npy"),
            "there is no y.npy beside problem.toml: write it, as with numpy.save"
        );
        std::os::unix::fs::symlink("../x.npy", inner.join("link.npy")).unwrap();
        assert!(error("link.npy").starts_with("link.npy cannot be read: "));
        let large = std::fs::File::create(inner.join("large.npy")).unwrap();
        large.set_len(beside::SIZE_LIMIT + 1).unwrap();
        assert!(
            error("large.npy").contains("at most 8388608 are read"),
            "{}",
            error("large.npy")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_array_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64), version in 1u8..4) {
            let _ = header(&bytes);
            let _ = header(&[b"\x93NUMPY".as_slice(), &[version, 0, 40, 0], &bytes].concat());
        }
    }
}
