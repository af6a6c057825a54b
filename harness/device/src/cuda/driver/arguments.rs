//! A kernel's arguments as the driver takes them: an array of pointers to their bytes.

use crate::api::Arg;
use std::ffi::c_void;

/// Bytes that a kernel's parameters can have in all, from CUDA 12.1 on.
const MAX_PARAMETER_BYTES: usize = 32_764;

/// The arguments of one launch.
pub struct LaunchArguments {
    /// The bytes that `pointers` point to.
    _bytes: Vec<Vec<u8>>,
    pointers: Vec<*mut c_void>,
}

impl LaunchArguments {
    /// Copies the arguments. The driver reads as many pointers, and as many bytes behind each, as
    /// the kernel has parameters. Where `checked` says that they were compared with the kernel's
    /// parameters, the arguments are exactly these. An old driver cannot tell the parameters. Then
    /// each argument is followed by zeros, and the arguments are followed by arguments of zeros, up
    /// to the largest number that a kernel can have, so that the driver reads no other memory.
    pub fn new(args: &[Arg], checked: bool) -> LaunchArguments {
        let mut bytes = args.to_vec();
        if !checked {
            for arg in &mut bytes {
                arg.resize(arg.len().max(MAX_PARAMETER_BYTES), 0);
            }
            bytes.push(vec![0; MAX_PARAMETER_BYTES]);
        }
        let mut pointers: Vec<*mut c_void> = bytes
            .iter_mut()
            .map(|arg| arg.as_mut_ptr().cast())
            .collect();
        if let (false, Some(zeros)) = (checked, pointers.last().copied()) {
            // A parameter has at least one byte, so a kernel has no more parameters than it has
            // bytes of them.
            pointers.resize(pointers.len().max(MAX_PARAMETER_BYTES), zeros);
        }
        LaunchArguments {
            _bytes: bytes,
            pointers,
        }
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
    fn unchecked_arguments_are_padded_to_the_largest_number_of_parameters() {
        let args = vec![vec![1u8; 8], vec![2u8; 4]];
        let checked = LaunchArguments::new(&args, true);
        assert_eq!((checked.pointers.len(), checked._bytes), (2, args.clone()));
        let unchecked = LaunchArguments::new(&args, false);
        assert_eq!(unchecked.pointers.len(), MAX_PARAMETER_BYTES);
        assert!(
            unchecked
                ._bytes
                .iter()
                .all(|arg| arg.len() == MAX_PARAMETER_BYTES)
        );
        assert_eq!(
            (&unchecked._bytes[1][..4], unchecked._bytes[1][4]),
            (&[2u8; 4][..], 0)
        );
    }
}
