//! Shared memory of one block: poisoned at its start, limited as on a GPU, with a red zone after each piece.
#![allow(unsafe_code)]

use super::fibers::fibers;
use crate::api::POISON;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// What one block may ask for: an H100's figure.
pub const LIMIT: u32 = 227 * 1024;
const RED_ZONE: usize = 128;

/// AddressSanitizer has its own, which must lie at the very end.
fn red_zone() -> usize {
    if fibers().is_some() { 0 } else { RED_ZONE }
}

pub struct SharedMemory {
    dynamic: Piece,
    /// One for each static declaration of the module, made when first used.
    pieces: Vec<Option<Piece>>,
    /// What device code looks up: null until the declaration is used in this block.
    slots: Vec<*mut u8>,
    used: usize,
}

impl SharedMemory {
    pub fn new(dynamic_bytes: u32, slots: u32) -> SharedMemory {
        SharedMemory {
            dynamic: Piece::new(dynamic_bytes as usize, 1024),
            pieces: (0..slots).map(|_| None).collect(),
            slots: vec![std::ptr::null_mut(); slots as usize],
            used: 0,
        }
    }

    pub fn begin(&mut self) {
        self.slots.fill(std::ptr::null_mut());
        self.dynamic.poison();
        self.used = self.dynamic.bytes;
    }

    pub fn dynamic(&mut self) -> *mut u8 {
        self.dynamic.at
    }

    /// Address and bytes.
    pub fn dynamic_range(&self) -> (usize, usize) {
        (self.dynamic.at as usize, self.dynamic.bytes)
    }

    /// Whether an address lies in this block's shared memory.
    pub fn holds(&self, address: usize) -> bool {
        let used = self.pieces.iter().zip(&self.slots).filter(|(_, slot)| !slot.is_null());
        let mut all = std::iter::once(&self.dynamic).chain(used.flat_map(|(piece, _)| piece));
        all.any(|piece| address.wrapping_sub(piece.at as usize) < piece.bytes)
    }

    pub fn slots(&mut self) -> *mut *mut u8 {
        self.slots.as_mut_ptr()
    }

    /// The first use of a static declaration in this block.
    pub fn piece(&mut self, slot: u32, bytes: usize, align: usize) -> Result<*mut u8, String> {
        self.used += bytes;
        if self.used > LIMIT as usize {
            return Err(format!(
                "the block uses {} bytes of shared memory, more than the {LIMIT} there are",
                self.used
            ));
        }
        let piece = self.pieces[slot as usize].get_or_insert_with(|| Piece::new(bytes, align.max(128)));
        piece.poison();
        self.slots[slot as usize] = piece.at;
        Ok(piece.at)
    }

    /// Whether every red zone is as it was.
    pub fn intact(&self) -> bool {
        let used = self.pieces.iter().zip(&self.slots).filter(|(_, slot)| !slot.is_null());
        self.dynamic.intact() && used.flat_map(|(piece, _)| piece).all(Piece::intact)
    }
}

struct Piece {
    at: *mut u8,
    bytes: usize,
    layout: Layout,
}

impl Piece {
    fn new(bytes: usize, align: usize) -> Piece {
        let layout = Layout::from_size_align(bytes.next_multiple_of(4).max(4) + red_zone(), align)
            .expect("a few KiB with a power-of-two alignment");
        // SAFETY: the size is not 0.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            handle_alloc_error(layout);
        }
        let mut piece = Piece { at, bytes, layout };
        piece.poison();
        piece
    }

    fn poison(&mut self) {
        let words = self.layout.size() / 4;
        // SAFETY: the layout's size is a multiple of 4, its alignment too.
        unsafe { std::slice::from_raw_parts_mut(self.at.cast::<u32>(), words) }.fill(POISON);
    }

    fn intact(&self) -> bool {
        let words = self.layout.size() / 4;
        // SAFETY: as in `poison`, which has initialised it.
        let all = unsafe { std::slice::from_raw_parts(self.at.cast::<u32>(), words) };
        all[words - red_zone() / 4..].iter().all(|word| *word == POISON)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.at, self.layout) };
    }
}
