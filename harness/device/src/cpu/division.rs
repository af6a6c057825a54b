//! Divisions of integers that this processor refuses: by zero, and of the lowest number by -1. A GPU
//! goes on with some number, and so does the kernel here: the lowest number and a remainder of 0, or
//! all bits and the dividend. Other processors than x86 go on by themselves.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use libc::{REG_RAX, REG_RDX, REG_RIP};
use std::ffi::c_void;

/// Gives the division at which a SIGFPE came the result of a GPU, and goes on behind it. Returns
/// false where the instruction is none.
///
/// # Safety
/// `context` is what Linux passed to the handler of the signal.
#[cfg(target_arch = "x86_64")]
pub unsafe fn go_on(context: *mut c_void) -> bool {
    // SAFETY: the caller promises a valid context. The instruction that ran is mapped, and no longer
    // than 15 bytes are read of it, as far as its own bytes say.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[REG_RIP as usize] as *const u8;
        let Some((division, length)) = Division::read(|i| at.add(i).read()) else {
            return false;
        };
        let (low, high) = (registers[REG_RAX as usize], registers[REG_RDX as usize]);
        let (low, high) = division.result(low as u64, high as u64);
        registers[REG_RAX as usize] = low as i64;
        registers[REG_RDX as usize] = high as i64;
        registers[REG_RIP as usize] += length as i64;
        true
    }
}

/// # Safety
/// None: it does nothing.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn go_on(_context: *mut c_void) -> bool {
    false
}

/// A `div` or an `idiv`.
#[derive(Debug, PartialEq)]
struct Division {
    bits: u32,
    is_signed: bool,
}

impl Division {
    /// Reads the instruction whose bytes these are. Returns it with its length.
    fn read(byte: impl Fn(usize) -> u8) -> Option<(Division, usize)> {
        let (mut at, mut bits) = (0, 32);
        if byte(at) == 0x66 {
            (at, bits) = (at + 1, 16);
        }
        if byte(at) & 0xf0 == 0x40 {
            // The bit W of a REX prefix.
            bits = if byte(at) & 8 != 0 { 64 } else { bits };
            at += 1;
        }
        match byte(at) {
            0xf6 => bits = 8,
            0xf7 => {}
            _ => return None,
        }
        let form = byte(at + 1);
        let (mode, operation, operand) = (form >> 6, form >> 3 & 7, form & 7);
        if operation < 6 {
            return None;
        }
        at += 2;
        let mut base = operand;
        if mode != 3 && operand == 4 {
            base = byte(at) & 7;
            at += 1;
        }
        at += match (mode, base) {
            (1, _) => 1,
            (2, _) | (0, 5) => 4,
            _ => 0,
        };
        let is_signed = operation == 7;
        Some((Division { bits, is_signed }, at))
    }

    /// The registers RAX and RDX behind the division, from those before it.
    fn result(&self, low: u64, high: u64) -> (u64, u64) {
        if self.bits == 8 {
            // The dividend is AX; the quotient goes to AL, the remainder to AH.
            let is_lowest = self.is_signed && low & 0xffff == 0xff80;
            let both = if is_lowest {
                0x0080
            } else {
                (low & 0xff) << 8 | 0xff
            };
            return (low & !0xffff | both, high);
        }
        let mask = u64::MAX >> (64 - self.bits);
        let lowest = 1 << (self.bits - 1);
        let is_lowest = self.is_signed && low & mask == lowest && high & mask == mask;
        let (quotient, remainder) = if is_lowest {
            (lowest, 0)
        } else {
            (mask, low & mask)
        };
        // An instruction on 32 bits clears the upper half of its registers.
        let kept = if self.bits == 16 { !mask } else { 0 };
        (low & kept | quotient, high & kept | remainder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(u32, bool, usize)> {
        let read = Division::read(|i| bytes.get(i).copied().unwrap_or(0));
        read.map(|(division, length)| (division.bits, division.is_signed, length))
    }

    #[test]
    fn divisions_are_read_with_their_lengths() {
        // idiv ecx; div r8; idiv word [rbx]; div byte [rsi + 8]; idiv dword [rsp + 16];
        // idiv dword [rip + …]; div qword [rax * 4 + …].
        assert_eq!(read(&[0xf7, 0xf9]), Some((32, true, 2)));
        assert_eq!(read(&[0x49, 0xf7, 0xf0]), Some((64, false, 3)));
        assert_eq!(read(&[0x66, 0xf7, 0x3b]), Some((16, true, 3)));
        assert_eq!(read(&[0xf6, 0x76, 8]), Some((8, false, 3)));
        assert_eq!(read(&[0xf7, 0x7c, 0x24, 16]), Some((32, true, 4)));
        assert_eq!(read(&[0xf7, 0x3d, 1, 2, 3, 4]), Some((32, true, 6)));
        assert_eq!(
            read(&[0x48, 0xf7, 0x34, 0x85, 1, 2, 3, 4]),
            Some((64, false, 8))
        );
        // mul ecx; add eax, ecx.
        assert_eq!(read(&[0xf7, 0xe1]), None);
        assert_eq!(read(&[0x01, 0xc8]), None);
    }

    #[test]
    fn results_are_those_of_a_gpu() {
        let result = |bits, is_signed, low, high| Division { bits, is_signed }.result(low, high);
        assert_eq!(result(32, false, 7, 0), (0xffff_ffff, 7));
        assert_eq!(result(32, true, 0x8000_0000, 0xffff_ffff), (0x8000_0000, 0));
        assert_eq!(result(64, true, 5, 0), (u64::MAX, 5));
        assert_eq!(
            result(16, false, 0xabcd_0007, 0x1234_0000),
            (0xabcd_ffff, 0x1234_0007)
        );
        assert_eq!(result(8, true, 0x1_0009, 3), (0x1_09ff, 3));
        assert_eq!(result(8, true, 0xff80, 3), (0x0080, 3));
    }
}
