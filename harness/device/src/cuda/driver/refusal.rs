//! Which launches a device refuses. These messages hold the numbers; the driver's own errors do not.

use crate::api::Shape;

/// What a device allows for any launch.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimits {
    /// Threads of a block.
    pub threads: u32,
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Static and dynamic shared memory of one block, in bytes.
    pub shared_bytes: u32,
    /// Multiprocessors.
    pub sms: u32,
    /// Threads that one multiprocessor holds at once.
    pub threads_per_sm: u32,
}

/// What a built kernel kernel.
#[derive(Clone, Debug)]
pub struct KernelAttributes {
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Threads that a block may have, given the registers and `__launch_bounds__`.
    pub threads: u32,
    pub static_shared_bytes: u32,
    /// Size of each parameter in bytes. `None` where the driver is too old to tell.
    pub parameters: Option<Vec<usize>>,
}

/// Returns why this launch is not possible. `None` where it is possible.
pub fn of_launch(limits: &DeviceLimits, kernel: &KernelAttributes, shape: &Shape) -> Option<String> {
    let name = &kernel.name;
    let [x, y, z] = shape.block;
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    for (what, extents, most) in [("block", shape.block, limits.block), ("grid", shape.grid, limits.grid)] {
        for (axis, (extent, most)) in ["x", "y", "z"].iter().zip(extents.iter().zip(most)) {
            if *extent == 0 || *extent > most {
                return Some(format!(
                    "{name} cannot be launched: launch.{what} is {extents:?}, and {axis} may be 1 to {most}. Change it in \
                     the launch statement."
                ));
            }
        }
    }
    if threads > u64::from(limits.threads) {
        return Some(format!(
            "{name} cannot be launched: a block of {x} × {y} × {z} has {threads} threads, and this device \
             allows {}. Ask for fewer in launch.block.",
            limits.threads
        ));
    }
    if threads > u64::from(kernel.threads) {
        return Some(format!(
            "{name} cannot be launched: it uses {} registers per thread, so a block may have {} threads, \
             and launch.block asks for {threads}. Ask for fewer, or compile it with __launch_bounds__({threads}).",
            kernel.registers, kernel.threads
        ));
    }
    let shared = u64::from(kernel.static_shared_bytes) + u64::from(shape.shared_bytes);
    if shared > u64::from(limits.shared_bytes) {
        return Some(format!(
            "{name} cannot be launched: it asks for {} bytes of dynamic shared memory and has {} bytes of static \
             shared memory, and a block on this device may have {}. Lower launch.shared_bytes.",
            shape.shared_bytes, kernel.static_shared_bytes, limits.shared_bytes
        ));
    }
    None
}

/// Returns why a cooperative launch is not possible, where `blocks_per_sm` blocks fit on one multiprocessor.
pub fn of_cooperative_launch(
    limits: &DeviceLimits,
    kernel: &KernelAttributes,
    shape: &Shape,
    blocks_per_sm: u32,
) -> Option<String> {
    let blocks: u64 = shape.grid.iter().map(|n| u64::from(*n)).product();
    let fitting = u64::from(blocks_per_sm) * u64::from(limits.sms);
    (blocks > fitting).then(|| {
        format!(
            "{} cannot be launched: a cooperative launch must have all its blocks on the device at once. \
             The launch statement asks for {blocks}, and {fitting} fit: {blocks_per_sm} on each of {} \
             multiprocessors ({} registers per thread, {} bytes of shared memory per block). Ask for fewer.",
            kernel.name,
            limits.sms,
            kernel.registers,
            u64::from(kernel.static_shared_bytes) + u64::from(shape.shared_bytes),
        )
    })
}

/// Returns why arguments of these sizes, in bytes, cannot be passed.
pub fn of_arguments(kernel: &KernelAttributes, sizes: &[usize]) -> Option<String> {
    let parameters = kernel.parameters.as_ref()?;
    if parameters.len() != sizes.len() {
        return Some(format!(
            "{} takes {} parameters, and the problem passes {}: compare its signature with the problem's",
            kernel.name,
            parameters.len(),
            sizes.len()
        ));
    }
    let differs = |(_, (takes, passed)): &(usize, (&usize, &usize))| takes != passed;
    let (index, (takes, passed)) = parameters.iter().zip(sizes).enumerate().find(differs)?;
    Some(format!(
        "parameter {} of {} has {takes} bytes, and the problem passes {passed}: compare its signature with \
         the problem's",
        index + 1,
        kernel.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: DeviceLimits = DeviceLimits {
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [2147483647, 65535, 65535],
        shared_bytes: 232_448,
        sms: 132,
        threads_per_sm: 2048,
    };

    fn kernel() -> KernelAttributes {
        KernelAttributes {
            name: "k".into(),
            registers: 168,
            threads: 384,
            static_shared_bytes: 1024,
            parameters: Some(vec![8, 8, 4]),
        }
    }

    fn shape(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Shape {
        Shape { grid, block, shared_bytes, cooperative: true }
    }

    #[track_caller]
    fn refused(grid: [u32; 3], block: [u32; 3], shared_bytes: u32, words: &str) {
        let text = of_launch(&H200, &kernel(), &shape(grid, block, shared_bytes)).unwrap_or_default();
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_launch_within_the_limits_is_possible() {
        assert_eq!(of_launch(&H200, &kernel(), &shape([132, 1, 1], [256, 1, 1], 200_000)), None);
    }

    #[test]
    fn a_launch_beyond_a_limit_is_refused_with_the_numbers() {
        refused([1, 65536, 1], [32, 1, 1], 0, "launch.grid is [1, 65536, 1], and y may be 1 to 65535");
        refused([0, 1, 1], [32, 1, 1], 0, "x may be 1 to");
        refused([1, 1, 1], [64, 32, 1], 0, "a block of 64 × 32 × 1 has 2048 threads");
        refused([1, 1, 1], [512, 1, 1], 0, "168 registers per thread, so a block may have 384 threads");
        refused(
            [1, 1, 1],
            [32, 1, 1],
            232_000,
            "232000 bytes of dynamic shared memory and has 1024 bytes of static",
        );
    }

    #[test]
    fn a_cooperative_grid_must_fit_at_once() {
        assert_eq!(of_cooperative_launch(&H200, &kernel(), &shape([264, 1, 1], [256, 1, 1], 0), 2), None);
        let text = of_cooperative_launch(&H200, &kernel(), &shape([265, 1, 1], [256, 1, 1], 0), 2);
        assert!(text.unwrap_or_default().contains("asks for 265, and 264 fit: 2 on each of 132"));
    }

    #[test]
    fn arguments_must_have_the_sizes_of_the_parameters() {
        assert_eq!(of_arguments(&kernel(), &[8, 8, 4]), None);
        assert!(of_arguments(&kernel(), &[8, 8]).unwrap_or_default().contains("takes 3 parameters"));
        let text = of_arguments(&kernel(), &[8, 4, 4]).unwrap_or_default();
        assert!(text.starts_with("parameter 2 of k has 8 bytes, and the problem passes 4"), "{text}");
    }
}
