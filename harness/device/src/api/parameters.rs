//! The refusal of arguments that are not a kernel's parameters, in the same words on each device.

/// The text of this refusal behind the kernel's name.
pub const OTHER_PARAMETERS: &str = "takes other parameters than the problem passes";

/// Returns why arguments of these sizes, in bytes, cannot be passed to a kernel whose parameters
/// have the sizes `takes`; `None` if they can.
pub fn other_parameters(kernel: &str, takes: &[usize], passes: &[usize]) -> Option<String> {
    let text = if takes.len() == passes.len() {
        let sizes = takes.iter().zip(passes);
        let (at, (takes, passes)) = sizes
            .enumerate()
            .find(|(_, (takes, passes))| takes != passes)?;
        format!(
            "its parameter {} has {takes} bytes, and that of the problem has {passes}",
            at + 1
        )
    } else {
        format!(
            "it has {}, and the problem has {}",
            takes.len(),
            passes.len()
        )
    };
    Some(format!("kernel '{kernel}' {OTHER_PARAMETERS}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_must_have_the_sizes_of_the_parameters() {
        assert_eq!(other_parameters("k", &[8, 8, 4], &[8, 8, 4]), None);
        let differs =
            |passes: &[usize]| other_parameters("k", &[8, 8, 4], passes).unwrap_or_default();
        let begin = "kernel 'k' takes other parameters than the problem passes: ";
        assert_eq!(
            differs(&[8, 8]),
            format!("{begin}it has 3, and the problem has 2")
        );
        let of_size = "its parameter 2 has 8 bytes, and that of the problem has 4";
        assert_eq!(differs(&[8, 4, 4]), format!("{begin}{of_size}"));
    }
}
