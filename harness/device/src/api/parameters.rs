//! The refusal of arguments that are not a kernel's parameters, in the same words on each device.

use super::error::{DeviceError, Result};

/// The text of this refusal behind the kernel's name.
pub const OTHER_PARAMETERS: &str = "takes other parameters than the problem passes";

/// Fails if arguments of the sizes `gets` cannot be passed to a kernel whose parameters have the
/// sizes `takes`, in bytes.
pub fn check_parameters(
    kernel: &str,
    takes: &[usize],
    gets: impl ExactSizeIterator<Item = usize>,
) -> Result {
    let (has, given) = (takes.len(), gets.len());
    let mut sizes = takes.iter().zip(gets).enumerate();
    let text = if has != given {
        format!("it has {has}, and the problem has {given}")
    } else if let Some((at, (takes, gets))) = sizes.find(|(_, (takes, gets))| *takes != gets) {
        format!(
            "its parameter {} has {takes} bytes, and that of the problem has {gets}",
            at + 1
        )
    } else {
        return Ok(());
    };
    Err(DeviceError::Kernel(format!(
        "kernel '{kernel}' {OTHER_PARAMETERS}: {text}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_must_have_the_sizes_of_the_parameters() {
        let check = |passes: &[usize]| check_parameters("k", &[8, 8, 4], passes.iter().copied());
        assert_eq!(check(&[8, 8, 4]), Ok(()));
        let differs = |passes: &[usize]| {
            check(passes).map_or_else(|error| error.to_string(), |()| String::new())
        };
        let begin = "kernel 'k' takes other parameters than the problem passes: ";
        assert_eq!(
            differs(&[8, 8]),
            format!("{begin}it has 3, and the problem has 2")
        );
        let of_size = "its parameter 2 has 8 bytes, and that of the problem has 4";
        assert_eq!(differs(&[8, 4, 4]), format!("{begin}{of_size}"));
    }
}
