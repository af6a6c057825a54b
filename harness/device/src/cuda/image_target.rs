//! The architecture that a cubin is built for, as the cubin itself says it.
//!
//! A cubin is an ELF file for machine 190. Its flags hold the compute capability, in one of two
//! layouts that the byte EI_ABIVERSION tells apart. Whether it may use the instructions of this
//! architecture alone (`sm_90a`) is a bit of the flags up to NVRTC 12.9, and attribute 9 of the
//! section `.nv.compat` from 13.0 on.

/// `e_machine` of a cubin.
const EM_CUDA: u64 = 190;
/// The version of the ABI from which on the capability is in the second byte of the flags.
const SECOND_LAYOUT: u8 = 8;
/// `sm_90a` in the flags, in the first and in the second layout.
const ACCELERATED: [u64; 2] = [0x800, 0x8];
/// The section with attributes, and the attribute that is 1 for `sm_90a`.
const COMPAT: &[u8] = b".nv.compat";
const ARCH_SPECIFIC: u8 = 9;

/// Returns the architecture of a cubin, such as `sm_90a`; `None` for any other file.
pub fn image_target(image: &[u8]) -> Option<String> {
    if !image.starts_with(b"\x7fELF\x02\x01") || integer(image, 18, 2)? != EM_CUDA {
        return None;
    }
    let (flags, second) = (integer(image, 48, 4)?, *image.get(8)? >= SECOND_LAYOUT);
    let capability = if second { flags >> 8 } else { flags } & 0xff;
    let is_accelerated = flags & ACCELERATED[usize::from(second)] != 0
        || section(image, COMPAT).is_some_and(|compat| attribute(compat, ARCH_SPECIFIC) == Some(1));
    (capability != 0).then(|| format!("sm_{capability}{}", if is_accelerated { "a" } else { "" }))
}

/// The names of the kernels and of the other functions in a cubin, without the lab's own; empty for
/// any other file.
pub fn image_kernels(image: &[u8]) -> Vec<String> {
    if image_target(image).is_none() {
        return Vec::new();
    }
    let names = section_names(image).unwrap_or_default().into_iter();
    let functions = names.filter_map(|name| name.strip_prefix(".text.").map(str::to_owned));
    functions.filter(|name| !name.starts_with("lab_")).collect()
}

/// The names of an ELF file's sections that are text.
fn section_names(elf: &[u8]) -> Option<Vec<String>> {
    let (table, size, count) = (
        integer(elf, 40, 8)?,
        integer(elf, 58, 2)?,
        integer(elf, 60, 2)?,
    );
    let header = |index: u64| {
        let start = usize::try_from(table.checked_add(index.checked_mul(size)?)?).ok()?;
        elf.get(start..start.checked_add(64)?)
    };
    let strings = header(integer(elf, 62, 2)?)?;
    let from = usize::try_from(integer(strings, 24, 8)?).ok()?;
    let length = usize::try_from(integer(strings, 32, 8)?).ok()?;
    let strings = elf.get(from..from.checked_add(length)?)?;
    let name = |header: &[u8]| {
        let rest = strings.get(usize::try_from(integer(header, 0, 4)?).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        String::from_utf8(rest[..end].to_vec()).ok()
    };
    Some((0..count).filter_map(header).filter_map(name).collect())
}

/// An integer in little endian.
fn integer(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(size)?)?;
    Some(
        found
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

/// The bytes of a section.
fn section<'a>(elf: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (table, size, count) = (
        integer(elf, 40, 8)?,
        integer(elf, 58, 2)?,
        integer(elf, 60, 2)?,
    );
    let header = |index: u64| {
        let start = usize::try_from(table.checked_add(index.checked_mul(size)?)?).ok()?;
        elf.get(start..start.checked_add(64)?)
    };
    let content = |header: &[u8]| {
        let (offset, bytes) = (integer(header, 24, 8)?, integer(header, 32, 8)?);
        elf.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(bytes)?).ok()?)
    };
    let names = content(header(integer(elf, 62, 2)?)?)?;
    let is_it = |header: &&[u8]| {
        let own = integer(header, 0, 4).and_then(|at| names.get(at as usize..));
        own.is_some_and(|own| {
            own.strip_prefix(name)
                .is_some_and(|rest| rest.first() == Some(&0))
        })
    };
    content((0..count).filter_map(header).find(is_it)?)
}

/// The value of an attribute. An entry is its form, its number, and two bytes of a value, or of a
/// length that so many bytes follow (form 4).
fn attribute(mut entries: &[u8], number: u8) -> Option<u64> {
    loop {
        let [form, own, ..] = *entries else {
            return None;
        };
        let value = integer(entries, 2, 2)?;
        if own == number {
            return Some(value);
        }
        let length = if form == 4 { 4 + value as usize } else { 4 };
        entries = entries.get(length..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with these flags.
    fn header(abi: u8, flags: u32, machine: u16) -> Vec<u8> {
        let mut elf = vec![0u8; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[8] = abi;
        elf[18..20].copy_from_slice(&machine.to_le_bytes());
        elf[48..52].copy_from_slice(&flags.to_le_bytes());
        elf
    }

    /// A cubin with these bytes in `.nv.compat`.
    fn with_compat(flags: u32, compat: &[u8]) -> Vec<u8> {
        let mut elf = header(8, flags, 190);
        let names = b"\0.nv.compat\0.shstrtab\0";
        let names_at = elf.len() as u64;
        elf.extend_from_slice(names);
        let compat_at = elf.len() as u64;
        elf.extend_from_slice(compat);
        let table = elf.len() as u64;
        for (name, offset, bytes) in [(1u32, compat_at, compat.len()), (12, names_at, names.len())]
        {
            let mut section = [0u8; 64];
            section[..4].copy_from_slice(&name.to_le_bytes());
            section[24..32].copy_from_slice(&offset.to_le_bytes());
            section[32..40].copy_from_slice(&(bytes as u64).to_le_bytes());
            elf.extend_from_slice(&section);
        }
        elf[40..48].copy_from_slice(&table.to_le_bytes());
        elf[58..64].copy_from_slice(&[64, 0, 2, 0, 1, 0]);
        elf
    }

    #[test]
    fn the_target_is_read_from_the_flags() {
        // As NVRTC 12.9 and 13.5 wrote them.
        for (abi, flags, target) in [
            (7, 0x50_0550, "sm_80"),
            (7, 0x5a_055a, "sm_90"),
            (7, 0x5a_0d5a, "sm_90a"),
            (8, 0x600_6402, "sm_100"),
            (8, 0x600_640a, "sm_100a"),
            (8, 0x600_780a, "sm_120a"),
            (8, 0x600_5a04, "sm_90"),
        ] {
            assert_eq!(
                image_target(&header(abi, flags, 190)).as_deref(),
                Some(target),
                "{flags:#x}"
            );
        }
    }

    #[test]
    fn the_target_of_nvrtc_13_is_read_from_its_attributes() {
        let entries = |specific: u8| {
            [
                4, 11, 8, 0, 9, 0, 0, 0, 9, 9, 1, 1, 2, 9, specific, 0, 2, 12, 0, 0,
            ]
        };
        assert_eq!(
            image_target(&with_compat(0x600_5a04, &entries(1))).as_deref(),
            Some("sm_90a")
        );
        assert_eq!(
            image_target(&with_compat(0x600_5a04, &entries(0))).as_deref(),
            Some("sm_90")
        );
        assert_eq!(
            image_target(&with_compat(0x600_5a04, &[4, 1, 255, 255, 2])).as_deref(),
            Some("sm_90")
        );
    }

    #[test]
    fn the_kernels_are_the_sections_of_code_without_the_labs_own() {
        let mut elf = header(8, 0x600_5a04, 190);
        let names = b"\0.text.lab_launch_toy\0.text.toy\0.shstrtab\0";
        let names_at = elf.len() as u64;
        elf.extend_from_slice(names);
        let table = elf.len() as u64;
        for name in [1u32, 22, 32] {
            let mut section = [0u8; 64];
            section[..4].copy_from_slice(&name.to_le_bytes());
            section[24..32].copy_from_slice(&names_at.to_le_bytes());
            section[32..40].copy_from_slice(&(names.len() as u64).to_le_bytes());
            elf.extend_from_slice(&section);
        }
        elf[40..48].copy_from_slice(&table.to_le_bytes());
        elf[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
        assert_eq!(image_kernels(&elf), ["toy"]);
        assert!(image_kernels(&header(0, 0, 62)).is_empty());
        elf[40..48].fill(0xff);
        assert!(image_kernels(&elf).is_empty(), "a table that is not there");
    }

    #[test]
    fn a_file_that_is_no_cubin_has_no_target() {
        assert_eq!(
            image_target(&header(0, 0, 62)),
            None,
            "a shared object of the cpu device"
        );
        assert_eq!(image_target(b"\x7fELF\x02\x01"), None);
        assert_eq!(image_target(&[]), None);
        let mut far = with_compat(0x600_5a04, &[2, 9, 1, 0]);
        far[40..48].fill(0xff);
        assert_eq!(
            image_target(&far).as_deref(),
            Some("sm_90"),
            "a table that is not there"
        );
    }
}
