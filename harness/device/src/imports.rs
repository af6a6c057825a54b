//! The functions that a built image calls and does not contain. Both devices' images are 64-bit ELF
//! files in little endian: a cubin lists the device runtime's functions (`malloc`, `vprintf`) as
//! undefined symbols, a shared object those of the host's libraries.

/// Functions that allocate memory, on either device. Memory that a kernel allocates lives on after
/// the launch, and on a GPU even after the module was unloaded.
const ALLOCATORS: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "mmap",
    "mmap64",
    "sbrk",
    // operator new
    "_Znwm",
    "_Znam",
];

/// Returns which functions that allocate memory an image calls. Empty for a file that is no image.
///
/// ```
/// assert!(lab_device::allocators(b"no image").is_empty());
/// ```
pub fn allocators(image: &[u8]) -> Vec<&'static str> {
    let imports = undefined_symbols(image).unwrap_or_default();
    let is_called = |name: &&str| imports.contains(&name.as_bytes());
    ALLOCATORS.into_iter().filter(is_called).collect()
}

/// The names of the undefined symbols; `None` if the file is no complete ELF file of this kind.
fn undefined_symbols(file: &[u8]) -> Option<Vec<&[u8]>> {
    const SYMBOLS: [u64; 2] = [2, 11]; // SHT_SYMTAB, SHT_DYNSYM
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = integer(file, 40, 8)? as usize;
    let (size, count) = (
        integer(file, 58, 2)? as usize,
        integer(file, 60, 2)? as usize,
    );
    let section = |index: usize| -> Option<&[u8]> {
        let start = sections.checked_add(size.checked_mul(index)?)?;
        file.get(start..start.checked_add(size)?)
    };
    let content = |header: &[u8]| -> Option<&[u8]> {
        let (start, length) = (
            integer(header, 24, 8)? as usize,
            integer(header, 32, 8)? as usize,
        );
        file.get(start..start.checked_add(length)?)
    };
    let mut names = Vec::new();
    for index in 0..count {
        let header = section(index)?;
        if !SYMBOLS.contains(&integer(header, 4, 4)?) {
            continue;
        }
        let strings = content(section(integer(header, 40, 4)? as usize)?)?;
        // A symbol: name (4 bytes), info, other, section (2 bytes), value, size.
        for symbol in content(header)?.chunks_exact(24) {
            let is_undefined = integer(symbol, 6, 2)? == 0;
            let name = strings
                .get(integer(symbol, 0, 4)? as usize..)?
                .split(|byte| *byte == 0)
                .next()?;
            if is_undefined && !name.is_empty() {
                names.push(name);
            }
        }
    }
    Some(names)
}

/// The unsigned integer of `size` bytes at an offset.
fn integer(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file whose symbol table has these names. The second is defined.
    fn image(names: [&str; 3]) -> Vec<u8> {
        let mut strings = vec![0u8];
        let mut symbols = vec![0u8; 24];
        for (number, name) in names.iter().enumerate() {
            let mut symbol = [0u8; 24];
            symbol[..4].copy_from_slice(&(strings.len() as u32).to_le_bytes());
            symbol[6] = if number == 1 { 7 } else { 0 };
            symbols.extend(symbol);
            strings.extend(name.bytes().chain([0]));
        }
        let header = |kind: u32, offset: usize, length: usize, link: u32| {
            let mut header = [0u8; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(length as u64).to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            header
        };
        let mut file = vec![0u8; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[40] = 64;
        file[58] = 64;
        file[60] = 3;
        let content = 4 * 64;
        file.extend(header(0, 0, 0, 0));
        file.extend(header(3, content, strings.len(), 0));
        file.extend(header(2, content + strings.len(), symbols.len(), 1));
        file.extend(strings);
        file.extend(symbols);
        file
    }

    #[test]
    fn a_called_allocator_is_found_and_a_defined_function_is_none() {
        assert_eq!(allocators(&image(["vprintf", "k", "malloc"])), ["malloc"]);
        assert_eq!(allocators(&image(["_Znam", "malloc", "free"])), ["_Znam"]);
        assert!(allocators(&image(["vprintf", "k", "mallocate"])).is_empty());
    }

    #[test]
    fn a_damaged_file_is_no_image() {
        let whole = image(["vprintf", "k", "malloc"]);
        for length in 0..whole.len() {
            let _ = allocators(&whole[..length]);
        }
        let mut wrong = whole.clone();
        wrong[40..48].fill(0xff);
        assert!(allocators(&wrong).is_empty());
        assert!(allocators(&whole[..100]).is_empty());
    }
}
