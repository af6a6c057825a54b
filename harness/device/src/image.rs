//! What an image says of itself. The images of both devices are 64-bit ELF files in little endian:
//! a cubin, or a shared object of the cpu device.

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

/// `e_machine` of a cubin.
const EM_CUDA: usize = 190;
/// The version of the ABI from which on the capability is in the second byte of the flags.
const SECOND_LAYOUT: u8 = 8;
/// `sm_90a` in the flags, in the first and in the second layout.
const ACCELERATED: [usize; 2] = [0x800, 0x8];
/// The section with attributes, and the attribute that is 1 for `sm_90a`.
const COMPAT: &[u8] = b".nv.compat";
const ARCH_SPECIFIC: u8 = 9;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";

/// The sections of an ELF file.
struct Sections<'f> {
    file: &'f [u8],
    headers: Vec<&'f [u8]>,
}

impl<'f> Sections<'f> {
    /// `None` where the file is no ELF file of this kind, or ends before its last header.
    fn of(file: &'f [u8]) -> Option<Sections<'f>> {
        if !file.starts_with(MAGIC) {
            return None;
        }
        let (table, size) = (integer(file, 40, 8)?, integer(file, 58, 2)?);
        let header = |index: usize| {
            let start = table.checked_add(size.checked_mul(index)?)?;
            file.get(start..start.checked_add(64)?)
        };
        let headers = (0..integer(file, 60, 2)?).map(header);
        Some(Sections {
            file,
            headers: headers.collect::<Option<_>>()?,
        })
    }

    fn content(&self, header: &[u8]) -> Option<&'f [u8]> {
        let start = integer(header, 24, 8)?;
        self.file
            .get(start..start.checked_add(integer(header, 32, 8)?)?)
    }

    /// Each section's name and header.
    fn named(&self) -> Option<Vec<(&'f [u8], &'f [u8])>> {
        let strings = self.content(self.headers.get(integer(self.file, 62, 2)?)?)?;
        let named = |header: &&'f [u8]| Some((text_at(strings, integer(header, 0, 4)?)?, *header));
        Some(self.headers.iter().filter_map(named).collect())
    }
}

/// The unsigned integer of `size` bytes at an offset.
fn integer(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | usize::from(*byte)),
    )
}

/// The text at an offset, up to its NUL.
fn text_at(strings: &[u8], at: usize) -> Option<&[u8]> {
    strings.get(at..)?.split(|byte| *byte == 0).next()
}

/// Whether these bytes are an ELF file whose header tables are all inside the file. The driver gets
/// a cubin's address without its length, and would read past the end of a file that was cut short.
pub fn is_complete(file: &[u8]) -> bool {
    // A table at offset 0 does not exist.
    let is_inside = |offset, size, count| {
        let length = integer(file, size, 2)?.checked_mul(integer(file, count, 2)?)?;
        let start = integer(file, offset, 8)?;
        Some(start == 0 || start.checked_add(length)? <= file.len())
    };
    // Program headers, then section headers.
    file.starts_with(MAGIC)
        && is_inside(32, 54, 56) == Some(true)
        && is_inside(40, 58, 60) == Some(true)
        && file.len() >= 64
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

/// The names of the undefined symbols; `None` if the file is no complete ELF file of this kind.
fn undefined_symbols(file: &[u8]) -> Option<Vec<&[u8]>> {
    const SYMBOLS: [usize; 2] = [2, 11]; // SHT_SYMTAB, SHT_DYNSYM
    let sections = Sections::of(file)?;
    let mut names = Vec::new();
    for header in &sections.headers {
        if !SYMBOLS.contains(&integer(header, 4, 4)?) {
            continue;
        }
        let strings = sections.content(sections.headers.get(integer(header, 40, 4)?)?)?;
        // A symbol: name (4 bytes), info, other, section (2 bytes), value, size.
        for symbol in sections.content(header)?.chunks_exact(24) {
            let name = text_at(strings, integer(symbol, 0, 4)?)?;
            if integer(symbol, 6, 2)? == 0 && !name.is_empty() {
                names.push(name);
            }
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
    if !image.starts_with(MAGIC) || integer(image, 18, 2)? != EM_CUDA {
        return None;
    }
    let (flags, second) = (integer(image, 48, 4)?, *image.get(8)? >= SECOND_LAYOUT);
    let capability = if second { flags >> 8 } else { flags } & 0xff;
    let is_accelerated = flags & ACCELERATED[usize::from(second)] != 0
        || compat(image).is_some_and(|compat| attribute(compat, ARCH_SPECIFIC) == Some(1));
    (capability != 0).then(|| format!("sm_{capability}{}", if is_accelerated { "a" } else { "" }))
}

/// The section with attributes.
fn compat(image: &[u8]) -> Option<&[u8]> {
    let sections = Sections::of(image)?;
    let mut named = sections.named()?.into_iter();
    let (_, header) = named.find(|(name, _)| *name == COMPAT)?;
    sections.content(header)
}

/// The names of the kernels and of the other functions in a cubin, without the lab's own; empty for
/// any other file.
pub fn image_kernels(image: &[u8]) -> Vec<String> {
    if image_target(image).is_none() {
        return Vec::new();
    }
    let named = Sections::of(image).and_then(|sections| sections.named());
    let names = named.into_iter().flatten();
    names
        .filter_map(|(name, _)| std::str::from_utf8(name).ok()?.strip_prefix(".text."))
        .filter(|name| !name.starts_with("lab_"))
        .map(str::to_owned)
        .collect()
}

/// The value of an attribute. An entry is its form, its number, and two bytes of a value, or of a
/// length that so many bytes follow (form 4).
fn attribute(mut entries: &[u8], number: u8) -> Option<usize> {
    loop {
        let [form, own, ..] = *entries else {
            return None;
        };
        let value = integer(entries, 2, 2)?;
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
