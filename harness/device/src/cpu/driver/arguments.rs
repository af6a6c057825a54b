//! A kernel's arguments, and the check against its parameters.

use crate::api::{Arg, DeviceError, other_parameters};
use crate::cpu::abi::EntryRecord;
use std::ffi::c_void;

/// Copies of a kernel's arguments, each at an address that is aligned for every type of a
/// parameter.
pub struct AlignedArguments {
    /// The bytes that `addresses` point to.
    _lines: Vec<AlignedLine>,
    addresses: Vec<*mut c_void>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct AlignedLine([u8; 64]);

impl AlignedArguments {
    pub fn new(args: &[Arg]) -> AlignedArguments {
        let lines_of = |arg: &Arg| arg.len().div_ceil(64).max(1);
        let mut lines = vec![AlignedLine([0; 64]); args.iter().map(lines_of).sum()];
        let mut rest = lines.as_mut_slice();
        let mut addresses = Vec::with_capacity(args.len());
        for arg in args {
            let (own, others) = rest.split_at_mut(lines_of(arg));
            for (line, bytes) in own.iter_mut().zip(arg.chunks(64)) {
                line.0[..bytes.len()].copy_from_slice(bytes);
            }
            addresses.push(own.as_mut_ptr().cast());
            rest = others;
        }
        AlignedArguments {
            _lines: lines,
            addresses,
        }
    }

    /// The array of addresses, valid as long as `self`.
    pub fn addresses(&mut self) -> *mut *mut c_void {
        self.addresses.as_mut_ptr()
    }
}

/// Fails where the arguments do not have the sizes of the kernel's parameters.
pub fn check(name: &str, record: &EntryRecord, args: &[Arg]) -> Result<(), DeviceError> {
    // SAFETY: `sizes` is an array with one size for each parameter, and each index is below their
    // number.
    let size = |i| unsafe { *record.sizes.add(i) } as usize;
    let takes: Vec<usize> = (0..record.arguments as usize).map(size).collect();
    let passes: Vec<usize> = args.iter().map(Vec::len).collect();
    other_parameters(name, &takes, &passes).map_or(Ok(()), |why| Err(DeviceError::Kernel(why)))
}
