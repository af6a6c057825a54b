//! A kernel's arguments as both devices take them: an array of pointers to their bytes.

use crate::api::Arg;
use std::ffi::c_void;

/// Bytes that the parameters of a CUDA kernel can have in all, from CUDA 12.1 on.
const MAX_PARAMETER_BYTES: usize = 32_764;

/// Copies of the arguments of one launch, each at an address that is aligned for every type of a
/// parameter.
pub struct KernelArguments {
    /// The bytes that `pointers` point to.
    _lines: Vec<AlignedLine>,
    pointers: Vec<*mut c_void>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct AlignedLine([u8; 64]);

impl KernelArguments {
    /// Copies arguments that were compared with the kernel's parameters.
    pub fn new(args: &[Arg]) -> KernelArguments {
        let lines_of = |arg: &Arg| arg.len().div_ceil(64).max(1);
        let mut lines = vec![AlignedLine([0; 64]); args.iter().map(lines_of).sum()];
        let mut rest = lines.as_mut_slice();
        let mut pointers = Vec::with_capacity(args.len());
        for arg in args {
            let (own, others) = rest.split_at_mut(lines_of(arg));
            for (line, bytes) in own.iter_mut().zip(arg.chunks(64)) {
                line.0[..bytes.len()].copy_from_slice(bytes);
            }
            pointers.push(own.as_mut_ptr().cast());
            rest = others;
        }
        KernelArguments {
            _lines: lines,
            pointers,
        }
    }

    /// Copies arguments for a driver that cannot tell the kernel's parameters. It reads as many
    /// pointers, and as many bytes behind each, as the kernel has parameters. So each argument is
    /// followed by zeros, and the arguments are followed by arguments of zeros, up to the largest
    /// number that a kernel can have, so that the driver reads no other memory.
    pub fn padded(args: &[Arg]) -> KernelArguments {
        let mut args = [args, &[Arg::new()]].concat();
        for arg in &mut args {
            arg.resize(arg.len().max(MAX_PARAMETER_BYTES), 0);
        }
        let mut padded = KernelArguments::new(&args);
        if let Some(zeros) = padded.pointers.last().copied() {
            // A parameter has at least one byte, so a kernel has no more parameters than it has
            // bytes of them.
            let most = padded.pointers.len().max(MAX_PARAMETER_BYTES);
            padded.pointers.resize(most, zeros);
        }
        padded
    }

    /// The array of pointers, valid as long as `self`.
    pub fn pointers(&mut self) -> *mut *mut c_void {
        self.pointers.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_argument_has_lines_of_its_own() {
        let arguments = KernelArguments::new(&[vec![1; 8], vec![2; 65], vec![]]);
        let bytes: Vec<[u8; 2]> = arguments
            ._lines
            .iter()
            .map(|line| [line.0[0], line.0[8]])
            .collect();
        assert_eq!(bytes, [[1, 0], [2, 2], [2, 0], [0, 0]]);
        assert_eq!(arguments.pointers.len(), 3);
    }

    #[test]
    fn unchecked_arguments_are_padded_to_the_largest_number_of_parameters() {
        let args = vec![vec![1u8; 8], vec![2u8; 4]];
        let unchecked = KernelArguments::padded(&args);
        assert_eq!(unchecked.pointers.len(), MAX_PARAMETER_BYTES);
        let lines_of_one = MAX_PARAMETER_BYTES.div_ceil(64);
        assert_eq!(unchecked._lines.len(), 3 * lines_of_one);
        let second = unchecked._lines[lines_of_one].0;
        assert_eq!((&second[..4], second[4]), (&[2u8; 4][..], 0));
        assert_eq!(unchecked._lines[2 * lines_of_one].0, [0; 64]);
    }
}
