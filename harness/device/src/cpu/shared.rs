//! The shared memory of one block. It is poisoned when a block begins, limited as on a GPU, and has
//! a red zone behind each declaration.
#![allow(unsafe_code)]

use super::asan::asan;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// Bytes of shared memory that one block may use, as on an H100.
pub const LIMIT: u32 = 227 * 1024;
/// Bytes behind each declaration that must stay poisoned.
const RED_ZONE: usize = 128;

/// Bytes of a red zone. AddressSanitizer has its own red zones, which must lie directly behind the
/// memory.
fn red_zone() -> usize {
    if asan().is_some() { 0 } else { RED_ZONE }
}

/// The shared memory of one resident block, used by one block after another.
pub struct SharedMemory {
    dynamic: SharedPiece,
    /// By static declaration of the module. Allocated when the declaration is first used.
    pieces: Vec<Option<SharedPiece>>,
    /// The address of each declaration, which device code reads. Null until the declaration is used
    /// in this block.
    slots: Vec<*mut u8>,
    /// Bytes that this block uses.
    used_bytes: usize,
    /// What it holds when a block begins, and the red zones always.
    pattern: u32,
}

impl SharedMemory {
    pub fn new(dynamic_bytes: u32, slots: u32, pattern: u32) -> SharedMemory {
        SharedMemory {
            dynamic: SharedPiece::new(dynamic_bytes as usize, 1024, pattern),
            pieces: (0..slots).map(|_| None).collect(),
            slots: vec![std::ptr::null_mut(); slots as usize],
            used_bytes: 0,
            pattern,
        }
    }

    /// A new block begins.
    pub fn begin(&mut self) {
        self.slots.fill(std::ptr::null_mut());
        self.dynamic.poison();
        self.used_bytes = self.dynamic.bytes;
    }

    /// The address of dynamic shared memory.
    pub fn dynamic(&mut self) -> *mut u8 {
        self.dynamic.at
    }

    /// Address and bytes of dynamic shared memory.
    pub fn dynamic_range(&self) -> (usize, usize) {
        (self.dynamic.at as usize, self.dynamic.bytes)
    }

    /// The pieces that this block uses.
    fn used(&self) -> impl Iterator<Item = &SharedPiece> {
        let pieces = self.pieces.iter().zip(&self.slots);
        let used = pieces.filter(|(_, slot)| !slot.is_null());
        std::iter::once(&self.dynamic).chain(used.flat_map(|(piece, _)| piece))
    }

    /// Whether an address lies in this block's shared memory.
    pub fn contains(&self, address: usize) -> bool {
        self.used()
            .any(|piece| address.wrapping_sub(piece.at as usize) < piece.bytes)
    }

    /// The array of the declarations' addresses. It stays where it is as long as `self` lives.
    pub fn slots(&mut self) -> *mut *mut u8 {
        self.slots.as_mut_ptr()
    }

    /// Returns the memory of a static declaration at its first use in this block. Fails where the
    /// block uses too much; the error gives the numbers. `slot` is below the number of the module's
    /// declarations, and a slot always has the same `bytes` and `align`.
    pub fn piece(&mut self, slot: u32, bytes: usize, align: usize) -> Result<*mut u8, String> {
        self.used_bytes += bytes;
        if self.used_bytes > LIMIT as usize {
            return Err(format!(
                "the block uses {} bytes of shared memory, more than the {LIMIT} that a block may use",
                self.used_bytes
            ));
        }
        let piece = self.pieces[slot as usize]
            .get_or_insert_with(|| SharedPiece::new(bytes, align.max(128), self.pattern));
        piece.poison();
        self.slots[slot as usize] = piece.at;
        Ok(piece.at)
    }

    /// Whether nobody has written to a red zone.
    pub fn is_intact(&self) -> bool {
        self.used().all(SharedPiece::is_intact)
    }
}

/// The memory of one declaration and its red zone.
struct SharedPiece {
    at: *mut u8,
    /// Without the red zone.
    bytes: usize,
    layout: Layout,
    pattern: u32,
}

impl SharedPiece {
    fn new(bytes: usize, align: usize, pattern: u32) -> SharedPiece {
        let layout = Layout::from_size_align(bytes.next_multiple_of(4).max(4) + red_zone(), align)
            .expect("a few KiB with a power-of-two alignment");
        // SAFETY: the size is at least 4.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            handle_alloc_error(layout);
        }
        let mut piece = SharedPiece {
            at,
            bytes,
            layout,
            pattern,
        };
        piece.poison();
        piece
    }

    fn poison(&mut self) {
        for word in 0..self.layout.size() / 4 {
            // SAFETY: `new` allocated this many words at an address that is a multiple of 4. A word
            // is written without a reference to it, because the memory may be uninitialised.
            unsafe { self.at.cast::<u32>().add(word).write(self.pattern) };
        }
    }

    fn is_intact(&self) -> bool {
        let words = self.layout.size() / 4;
        (words - red_zone() / 4..words).all(|word| {
            // SAFETY: `new` allocated this many words at an address that is a multiple of 4, and
            // `poison` initialised them.
            unsafe { self.at.cast::<u32>().add(word).read() == self.pattern }
        })
    }
}

impl Drop for SharedPiece {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with this layout, and it is freed once. The block that
        // used it is gone.
        unsafe { dealloc(self.at, self.layout) };
    }
}
