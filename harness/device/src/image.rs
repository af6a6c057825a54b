//! What an image says of itself. The images of both devices are 64-bit ELF files in little endian:
//! a cubin, or a shared object of the cpu device.

use itertools::Itertools as _;
use object::LittleEndian;
use object::SectionIndex;
use object::elf::{EM_CUDA, FileHeader64, SHF_EXECINSTR, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB};
use object::read::elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use std::collections::BTreeSet;

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

/// The version of the ABI from which on the capability is in the second byte of the flags.
const SECOND_LAYOUT: u8 = 8;
/// `sm_90a` in the flags, in the first and in the second layout.
const ACCELERATED: [u32; 2] = [0x800, 0x8];
/// The section with attributes, and the attribute that is 1 for `sm_90a`.
const COMPAT: &[u8] = b".nv.compat";
const ARCH_SPECIFIC: u8 = 9;

type Header = FileHeader64<LittleEndian>;

/// Every number in an image is in little endian.
const ENDIAN: LittleEndian = LittleEndian;

/// The header of an ELF file of this kind.
fn header(file: &[u8]) -> Option<&Header> {
    let header = Header::parse(file).ok()?;
    header.endian().is_ok().then_some(header)
}

/// The sections. `None` where the file is no ELF file of this kind, or ends before its last header.
fn sections(file: &[u8]) -> Option<SectionTable<'_, Header>> {
    header(file)?.sections(ENDIAN, file).ok()
}

/// Whether these bytes are an ELF file whose header tables are all inside the file. The driver gets
/// a cubin's address without its length, and would read past the end of a file that was cut short.
pub fn is_complete(file: &[u8]) -> bool {
    header(file).is_some_and(|header| {
        header.program_headers(ENDIAN, file).is_ok() && header.section_headers(ENDIAN, file).is_ok()
    })
}

/// Returns which functions that allocate memory an image calls. A cubin lists the device runtime's
/// functions (`malloc`, `vprintf`) as undefined symbols, a shared object those of the host's
/// libraries. Empty for a file that is no image.
///
/// ```
/// assert!(lab_device::allocators(b"no image").is_empty());
/// ```
pub fn allocators(image: &[u8]) -> Vec<&'static str> {
    let imports = undefined_symbols(image).unwrap_or_default();
    let is_called = |name: &&str| imports.contains(&name.as_bytes());
    ALLOCATORS.into_iter().filter(is_called).collect()
}

/// Returns the names of what a shared object takes from other libraries, without their versions.
pub fn imports(image: &[u8]) -> BTreeSet<String> {
    let names = undefined_symbols(image).unwrap_or_default();
    let names = names.into_iter().map(|name| {
        let name = name.split(|c| *c == b'@').next().unwrap_or(name);
        String::from_utf8_lossy(name).into_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the instructions that access memory in an image that was built for the race detector: the
/// return addresses of the calls of its functions, in bytes from the image's beginning, ascending.
/// Those of launch statements, which one thread runs, and of the lab's own calls of kernels are left
/// out. Empty for any other file.
pub fn watched_instructions(image: &[u8]) -> Vec<u64> {
    let mut found = calls_of(image, is_access).unwrap_or_default();
    found.sort_unstable();
    found
}

/// Whether the instrumentation calls the function of this name at an access to memory.
fn is_access(name: &[u8]) -> bool {
    let kinds = ["read", "write", "unaligned_", "volatile_", "atomic"];
    match name.strip_prefix(b"__tsan_") {
        Some(b"atomic_thread_fence" | b"atomic_signal_fence") => false,
        Some(what) => kinds.iter().any(|kind| what.starts_with(kind.as_bytes())),
        None => matches!(name, b"memcpy" | b"memset"),
    }
}

/// Whether a function, whose name may be mangled, is part of no kernel.
fn is_outside_of_kernels(name: &[u8]) -> bool {
    let parts = [
        "lab_launch",
        "lab_shape_",
        "lab_list_",
        "lab_cpu_call",
        "_GLOBAL__sub_I_",
    ];
    let name = String::from_utf8_lossy(name);
    parts.iter().any(|part| name.contains(part))
}

/// The return addresses of the direct calls of these functions, in an image that kept its
/// relocations. On x86-64 and on AArch64 a call ends 4 bytes after the place that is relocated.
fn calls_of(file: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u64>> {
    let sections = sections(file)?;
    let mut found = Vec::new();
    for section in sections
        .iter()
        .filter(|section| section.sh_type(ENDIAN) == SHT_RELA)
    {
        let target = SectionIndex(section.sh_info(ENDIAN) as usize);
        let is_code = |target: &object::elf::SectionHeader64<LittleEndian>| {
            target.sh_flags(ENDIAN) & u64::from(SHF_EXECINSTR) != 0
        };
        if !sections.section(target).is_ok_and(is_code) {
            continue;
        }
        let (relocations, symbols) = section.rela(ENDIAN, file).ok()??;
        let table = sections.section(symbols).ok()?;
        let symbols = SymbolTable::parse(ENDIAN, file, &sections, symbols, table).ok()?;
        let left_out = symbols.iter().filter(|symbol| {
            let name = symbol.name(ENDIAN, symbols.strings());
            name.is_ok_and(is_outside_of_kernels)
        });
        let left_out = left_out
            .map(|symbol| {
                let start = symbol.st_value(ENDIAN);
                start..start.saturating_add(symbol.st_size(ENDIAN))
            })
            .collect_vec();
        for relocation in relocations {
            let place = relocation.r_offset(ENDIAN);
            if left_out.iter().any(|range| range.contains(&place)) {
                continue;
            }
            let symbol = relocation.symbol(ENDIAN, false);
            let symbol = symbol.and_then(|index| symbols.symbol(index).ok());
            let name = symbol.and_then(|symbol| symbol.name(ENDIAN, symbols.strings()).ok());
            if name.is_some_and(&is_wanted) {
                found.push(place.saturating_add(4));
            }
        }
    }
    Some(found)
}

/// The names of the undefined symbols; `None` if the file is no complete ELF file of this kind.
fn undefined_symbols(file: &[u8]) -> Option<Vec<&[u8]>> {
    let sections = sections(file)?;
    let mut names = Vec::new();
    for (index, section) in sections.enumerate() {
        if ![SHT_SYMTAB, SHT_DYNSYM].contains(&section.sh_type(ENDIAN)) {
            continue;
        }
        let symbols = SymbolTable::parse(ENDIAN, file, &sections, index, section).ok()?;
        for symbol in symbols.iter().filter(|symbol| symbol.is_undefined(ENDIAN)) {
            names.push(symbol.name(ENDIAN, symbols.strings()).ok()?);
        }
    }
    Some(names)
}

/// Returns the architecture of a cubin, such as `sm_90a`; `None` for any other file.
///
/// The flags hold the compute capability, in one of two layouts that the byte EI_ABIVERSION tells
/// apart. Whether it may use the instructions of this architecture alone (`sm_90a`) is a bit of the
/// flags up to NVRTC 12.9, and attribute 9 of the section `.nv.compat` from 13.0 on.
pub fn image_target(image: &[u8]) -> Option<String> {
    let header = header(image).filter(|header| header.e_machine(ENDIAN) == EM_CUDA)?;
    let flags = header.e_flags(ENDIAN);
    let second = header.e_ident().abi_version >= SECOND_LAYOUT;
    let capability = if second { flags >> 8 } else { flags } & 0xff;
    let is_accelerated = flags & ACCELERATED[usize::from(second)] != 0
        || compat(image).is_some_and(|compat| attribute(compat, ARCH_SPECIFIC) == Some(1));
    (capability != 0).then(|| format!("sm_{capability}{}", if is_accelerated { "a" } else { "" }))
}

/// The section with attributes.
fn compat(image: &[u8]) -> Option<&[u8]> {
    let (_, section) = sections(image)?.section_by_name(ENDIAN, COMPAT)?;
    section.data(ENDIAN, image).ok()
}

/// The names of the kernels and of the other functions in a cubin, without the lab's own; empty for
/// any other file.
pub fn image_kernels(image: &[u8]) -> Vec<String> {
    let named = image_target(image).and_then(|_| sections(image));
    let names = named.iter().flat_map(|sections| {
        let name = |section| sections.section_name(ENDIAN, section).ok();
        sections.iter().filter_map(name)
    });
    names
        .filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix(".text."))
        .filter(|name| !name.starts_with("lab_"))
        .map(str::to_owned)
        .collect()
}

/// The value of an attribute. An entry is its form, its number, and two bytes of a value, or of a
/// length that so many bytes follow (form 4).
fn attribute(mut entries: &[u8], number: u8) -> Option<usize> {
    loop {
        let [form, own, low, high, ..] = *entries else {
            return None;
        };
        let value = usize::from(u16::from_le_bytes([low, high]));
        if own == number {
            return Some(value);
        }
        let length = if form == 4 { 4 + value } else { 4 };
        entries = entries.get(length..)?;
    }
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
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[40] = 64;
        file[58] = 64;
        file[60] = 3;
        file[62] = 1;
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

    /// An ELF header with these flags.
    fn header(abi: u8, flags: u32, machine: u16) -> Vec<u8> {
        let mut elf = vec![0u8; 64];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
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
        assert_eq!(image_target(b"\x7fELF\x02\x01\x01"), None);
        assert_eq!(image_target(&[]), None);
        let mut far = with_compat(0x600_5a04, &[2, 9, 1, 0]);
        far[40..48].fill(0xff);
        assert_eq!(
            image_target(&far).as_deref(),
            Some("sm_90"),
            "a table that is not there"
        );
    }

    #[test]
    fn a_file_that_is_cut_short_is_not_complete() {
        let mut elf = vec![0u8; 64 + 3 * 64];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
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
