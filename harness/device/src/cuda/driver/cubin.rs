//! Whether a file is a complete cubin.

/// Whether these bytes are a 64-bit ELF file whose header tables are all inside the file. A cubin
/// is such a file. The driver gets its address without its length, and would read past the end of a
/// file that was cut short.
pub fn is_complete(bytes: &[u8]) -> bool {
    const HEADER: usize = 64;
    const MAGIC: &[u8] = b"\x7fELF\x02\x01";
    let integer = |at: usize, size: usize| -> u64 {
        bytes[at..at + size]
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    };
    // Offset of a table in the file, size of an entry, number of entries. A table at offset 0 does
    // not exist.
    let is_inside = |offset: u64, size: u64, count: u64| {
        let end = size
            .checked_mul(count)
            .and_then(|length| length.checked_add(offset));
        offset == 0 || end.is_some_and(|end| end <= bytes.len() as u64)
    };
    let table =
        |offset, size, count| is_inside(integer(offset, 8), integer(size, 2), integer(count, 2));
    // Program headers, then section headers.
    bytes.len() >= HEADER && bytes.starts_with(MAGIC) && table(32, 54, 56) && table(40, 58, 60)
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn a_file_that_is_cut_short_is_not_complete() {
        let mut elf = vec![0u8; 64 + 3 * 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[40] = 64;
        elf[58] = 64;
        elf[60] = 3;
        assert!(is_complete(&elf));
        assert!(!is_complete(&elf[..elf.len() - 1]));
        assert!(!is_complete(&elf[..20]));
        assert!(!is_complete(&[0; 4096]));
        assert!(!is_complete(&[]));
        elf[40..48].fill(0xff);
        assert!(!is_complete(&elf), "an offset that overflows");
    }
}
