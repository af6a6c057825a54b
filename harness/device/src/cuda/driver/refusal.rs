//! Which launches a device refuses. These messages hold the numbers; the driver's own errors do
//! not.

use crate::api::{Shape, volume};

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
    /// Whether blocks can form clusters: from compute capability 9.0 on.
    pub clusters: bool,
}

/// What the driver knows about a built kernel.
#[derive(Clone, Debug)]
pub struct KernelAttributes {
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Threads that a block may have, given the registers and `__launch_bounds__`.
    pub threads: u32,
    pub static_shared_bytes: u32,
    /// The clusters that `__cluster_dims__` in the source asks for.
    pub required_cluster: Option<[u32; 3]>,
    /// Size of each parameter in bytes. `None` where the driver is too old to tell.
    pub parameters: Option<Vec<usize>>,
}

/// Returns why this launch is not possible. `None` where it is possible.
pub fn of_launch(
    limits: &DeviceLimits,
    kernel: &KernelAttributes,
    shape: &Shape,
) -> Option<String> {
    let name = &kernel.name;
    let [x, y, z] = shape.block;
    let threads = shape.threads();
    for (what, extents, most) in [
        ("block", shape.block, limits.block),
        ("grid", shape.grid, limits.grid),
    ] {
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
    of_cluster(limits, kernel, shape)
}

/// Blocks of a cluster that every device with clusters allows, and that a kernel may have if it
/// asks for them.
const MAX_CLUSTER: u64 = 16;

fn of_cluster(limits: &DeviceLimits, kernel: &KernelAttributes, shape: &Shape) -> Option<String> {
    let (name, cluster) = (&kernel.name, cluster_of(kernel, shape));
    if let Some(required) = kernel
        .required_cluster
        .filter(|required| shape.has_clusters() && *required != shape.cluster)
    {
        return Some(format!(
            "{name} cannot be launched: launch.cluster is {:?}, and its __cluster_dims__ is {required:?}. Leave \
             launch.cluster out, or remove __cluster_dims__.",
            shape.cluster
        ));
    }
    if cluster == [1; 3] {
        return None;
    }
    if !limits.clusters {
        return Some(format!(
            "{name} cannot be launched: launch.cluster is {cluster:?}, and this device has no thread block clusters \
             (they need compute capability 9.0)"
        ));
    }
    let blocks = volume(cluster);
    if blocks == 0 || blocks > MAX_CLUSTER {
        return Some(format!(
            "{name} cannot be launched: launch.cluster is {cluster:?} = {blocks} blocks, and a cluster has 1 to \
             {MAX_CLUSTER}"
        ));
    }
    let axes = ["x", "y", "z"].iter().zip(shape.grid.iter().zip(cluster));
    for (axis, (grid, cluster)) in axes {
        if grid % cluster != 0 {
            return Some(format!(
                "{name} cannot be launched: launch.grid is {:?} and launch.cluster has {cluster} blocks in {axis}, \
                 so the grid must be a multiple of {cluster} there: round it up, and let the blocks behind the end return",
                shape.grid
            ));
        }
    }
    None
}

/// The clusters of a launch: those of the launch statement, or else those of the source.
pub fn cluster_of(kernel: &KernelAttributes, shape: &Shape) -> [u32; 3] {
    if shape.has_clusters() {
        shape.cluster
    } else {
        kernel.required_cluster.unwrap_or([1; 3])
    }
}

/// Returns why a launch with clusters is not possible, where `fitting` clusters fit on the device
/// at once.
pub fn of_fitting_clusters(
    kernel: &KernelAttributes,
    shape: &Shape,
    fitting: u32,
) -> Option<String> {
    let cluster = cluster_of(kernel, shape);
    let asked = shape.blocks() / volume(cluster).max(1);
    if fitting == 0 {
        return Some(format!(
            "{} cannot be launched: no cluster of {cluster:?} blocks with {} threads and {} bytes of shared memory each \
             fits on this device. Ask for less shared memory, or for smaller clusters.",
            kernel.name,
            shape.threads(),
            u64::from(kernel.static_shared_bytes) + u64::from(shape.shared_bytes),
        ));
    }
    (shape.cooperative && asked > u64::from(fitting)).then(|| {
        format!(
            "{} cannot be launched: a cooperative launch must have all its blocks on the device at once. The launch \
             statement asks for {asked} clusters of {cluster:?} blocks, and {fitting} fit. Ask for fewer.",
            kernel.name
        )
    })
}

/// Returns why a cooperative launch is not possible, where `blocks_per_sm` blocks fit on one
/// multiprocessor.
pub fn of_cooperative_launch(
    limits: &DeviceLimits,
    kernel: &KernelAttributes,
    shape: &Shape,
    blocks_per_sm: u32,
) -> Option<String> {
    let blocks = shape.blocks();
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
        clusters: true,
    };

    fn kernel() -> KernelAttributes {
        KernelAttributes {
            name: "k".into(),
            registers: 168,
            threads: 384,
            static_shared_bytes: 1024,
            required_cluster: None,
            parameters: Some(vec![8, 8, 4]),
        }
    }

    fn shape(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Shape {
        Shape {
            grid,
            block,
            shared_bytes,
            cooperative: true,
            ..Shape::default()
        }
    }

    #[track_caller]
    fn refused(grid: [u32; 3], block: [u32; 3], shared_bytes: u32, words: &str) {
        let text =
            of_launch(&H200, &kernel(), &shape(grid, block, shared_bytes)).unwrap_or_default();
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_launch_within_the_limits_is_possible() {
        assert_eq!(
            of_launch(&H200, &kernel(), &shape([132, 1, 1], [256, 1, 1], 200_000)),
            None
        );
    }

    #[test]
    fn a_launch_beyond_a_limit_is_refused_with_the_numbers() {
        refused(
            [1, 65536, 1],
            [32, 1, 1],
            0,
            "launch.grid is [1, 65536, 1], and y may be 1 to 65535",
        );
        refused([0, 1, 1], [32, 1, 1], 0, "x may be 1 to");
        refused(
            [1, 1, 1],
            [64, 32, 1],
            0,
            "a block of 64 × 32 × 1 has 2048 threads",
        );
        refused(
            [1, 1, 1],
            [512, 1, 1],
            0,
            "168 registers per thread, so a block may have 384 threads",
        );
        refused(
            [1, 1, 1],
            [32, 1, 1],
            232_000,
            "232000 bytes of dynamic shared memory and has 1024 bytes of static",
        );
    }

    #[track_caller]
    fn cluster_refused(grid: [u32; 3], cluster: [u32; 3], words: &str) {
        let shape = Shape {
            cluster,
            ..shape(grid, [128, 1, 1], 0)
        };
        let text = of_launch(&H200, &kernel(), &shape).unwrap_or_default();
        assert!(
            if words.is_empty() {
                text.is_empty()
            } else {
                text.contains(words)
            },
            "{text}"
        );
    }

    #[test]
    fn clusters_must_divide_the_grid_and_fit() {
        cluster_refused([4, 1, 1], [2, 1, 1], "");
        cluster_refused([16, 1, 1], [16, 1, 1], "");
        cluster_refused(
            [5, 1, 1],
            [2, 1, 1],
            "launch.grid is [5, 1, 1] and launch.cluster has 2 blocks in x",
        );
        cluster_refused(
            [32, 1, 1],
            [32, 1, 1],
            "[32, 1, 1] = 32 blocks, and a cluster has 1 to 16",
        );
        cluster_refused([4, 1, 1], [0, 1, 1], "[0, 1, 1] = 0 blocks");
        cluster_refused(
            [4, 1, 1],
            [u32::MAX; 3],
            "blocks, and a cluster has 1 to 16",
        );
        let two = Shape {
            cluster: [2, 1, 1],
            ..shape([6, 1, 1], [128, 1, 1], 0)
        };
        let old = DeviceLimits {
            clusters: false,
            ..H200
        };
        assert!(
            of_launch(&old, &kernel(), &two)
                .unwrap_or_default()
                .contains("has no thread block clusters")
        );
        assert_eq!(of_fitting_clusters(&kernel(), &two, 3), None);
        assert!(
            of_fitting_clusters(&kernel(), &two, 2)
                .unwrap_or_default()
                .contains("asks for 3 clusters")
        );
        let text = of_fitting_clusters(&kernel(), &two, 0).unwrap_or_default();
        assert!(
            text.contains("no cluster of [2, 1, 1] blocks with 128 threads and 1024 bytes"),
            "{text}"
        );
    }

    #[test]
    fn clusters_of_the_source_are_those_of_the_launch() {
        let of_source = KernelAttributes {
            required_cluster: Some([2, 1, 1]),
            ..kernel()
        };
        let odd = shape([5, 1, 1], [128, 1, 1], 0);
        let text = of_launch(&H200, &of_source, &odd).unwrap_or_default();
        assert!(text.contains("launch.cluster has 2 blocks in x"), "{text}");
        let other = Shape {
            cluster: [4, 1, 1],
            ..shape([8, 1, 1], [128, 1, 1], 0)
        };
        let text = of_launch(&H200, &of_source, &other).unwrap_or_default();
        assert!(text.contains("its __cluster_dims__ is [2, 1, 1]"), "{text}");
    }

    #[test]
    fn a_cooperative_grid_must_fit_at_once() {
        assert_eq!(
            of_cooperative_launch(&H200, &kernel(), &shape([264, 1, 1], [256, 1, 1], 0), 2),
            None
        );
        let text = of_cooperative_launch(&H200, &kernel(), &shape([265, 1, 1], [256, 1, 1], 0), 2);
        assert!(
            text.unwrap_or_default()
                .contains("asks for 265, and 264 fit: 2 on each of 132")
        );
    }
}
