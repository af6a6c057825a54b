//! Putting launches on the stream, one after the other or while the stream records a graph.
#![allow(unsafe_code)]

use super::CudaDriver;
use super::kernel::Kernel;
use super::refusal::{self, cluster_of};
use super::replay::Timer;
use crate::api::{Arg, DeviceError, Result, Shape, Step, Window, check_parameters};
use crate::arguments::KernelArguments;
use crate::cuda::ffi;
use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};
use std::ffi::{c_char, c_uint};

/// A launch with clusters, as the driver takes it.
pub struct ClusterConfig {
    attributes: [CUlaunchAttribute; 2],
    config: CUlaunchConfig,
}

impl ClusterConfig {
    /// `cluster` are the extents of a cluster. The stream may be null where nothing is launched.
    pub fn new(shape: &Shape, cluster: [u32; 3], stream: CUstream) -> Box<ClusterConfig> {
        let [x, y, z] = cluster;
        let mut dimension = CUlaunchAttributeValue { pad: [0; 64] };
        dimension.clusterDim.x = x;
        dimension.clusterDim.y = y;
        dimension.clusterDim.z = z;
        let cooperative = CUlaunchAttributeValue { cooperative: 1 };
        let attribute = |id, value| CUlaunchAttribute {
            id,
            pad: [0 as c_char; 4],
            value,
        };
        let attributes = [
            attribute(
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                dimension,
            ),
            attribute(
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                cooperative,
            ),
        ];
        let config = CUlaunchConfig {
            gridDimX: shape.grid[0],
            gridDimY: shape.grid[1],
            gridDimZ: shape.grid[2],
            blockDimX: shape.block[0],
            blockDimY: shape.block[1],
            blockDimZ: shape.block[2],
            sharedMemBytes: shape.shared_bytes,
            hStream: stream,
            attrs: std::ptr::null_mut(),
            numAttrs: if shape.cooperative { 2 } else { 1 },
        };
        let mut boxed = Box::new(ClusterConfig { attributes, config });
        boxed.config.attrs = boxed.attributes.as_mut_ptr();
        boxed
    }

    /// Points into the box that [`ClusterConfig::new`] returned, and is valid as long as that.
    pub fn config(&self) -> *const CUlaunchConfig {
        &self.config
    }
}

impl CudaDriver {
    /// Refuses a window whose steps are not possible, and prepares the kernels for them. Nothing is
    /// launched.
    pub fn check_steps(&self, window: &Window) -> Result {
        for step in &window.steps {
            let kernel = self.kernel(step.entry)?;
            self.check_launch(kernel, &step.shape, &step.args)?;
            if let Some(zeroed) = step.zeroed {
                self.allocations.check(zeroed.address, zeroed.bytes)?;
            }
        }
        if let Some((memory, _)) = window.flush {
            self.allocations.check(memory.address, memory.bytes)?;
        }
        Ok(())
    }

    /// Refuses a launch that is not possible, and prepares the kernel for it.
    pub fn check_launch(&self, kernel: &Kernel, shape: &Shape, args: &[Arg]) -> Result {
        let attributes = &kernel.attributes;
        let refuse =
            |reason: Option<String>| reason.map_or(Ok(()), |r| Err(DeviceError::Kernel(r)));
        if let Some(takes) = &attributes.parameters {
            check_parameters(&attributes.name, takes, args.iter().map(Vec::len))?;
        }
        refuse(refusal::of_launch(&self.limits, attributes, shape))?;
        kernel.allow_shared(shape.shared_bytes)?;
        if cluster_of(attributes, shape) != [1; 3] {
            kernel.allow_large_clusters()?;
            // SAFETY: `CudaDriver::kernel` has found the kernel's module among the loaded ones.
            let fitting = unsafe { fitting_clusters(kernel, shape)? };
            refuse(refusal::of_fitting_clusters(attributes, shape, fitting))
        } else if shape.cooperative {
            let blocks = kernel.resident_blocks(shape.threads() as u32, shape.shared_bytes)?;
            refuse(refusal::of_cooperative_launch(
                &self.limits,
                attributes,
                shape,
                blocks,
            ))
        } else {
            Ok(())
        }
    }

    /// Puts the steps on the stream. [`CudaDriver::check_steps`] has passed them.
    pub fn submit_steps(&self, steps: &[Step], action: &str) -> Result {
        for step in steps {
            if let Some(memory) = step.zeroed {
                self.put_words(memory, 0, action)?;
            }
            self.submit(self.kernel(step.entry)?, &step.shape, &step.args, action)?;
        }
        Ok(())
    }

    /// Puts one launch on the stream. [`CudaDriver::check_launch`] has passed it.
    pub fn submit(&self, kernel: &Kernel, shape: &Shape, args: &[Arg], action: &str) -> Result {
        let mut arguments = match kernel.attributes.parameters {
            Some(_) => KernelArguments::new(args),
            None => KernelArguments::padded(args),
        };
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (function, shared, stream) = (kernel.function, shape.shared_bytes, self.stream);
        let (parameters, extra) = (arguments.pointers(), std::ptr::null_mut());
        let cluster = cluster_of(&kernel.attributes, shape);
        // SAFETY: function and stream belong to the context that is current, and are live. The
        // driver reads the configuration and the arguments before the call returns (a recording
        // stream copies them into the graph's node), and no more arguments than there are: see
        // `KernelArguments`. The kernel itself may do anything, on some machines even to this
        // process's memory: it runs in a worker process, whose answers the judge checks.
        unsafe {
            if cluster != [1; 3] {
                let config = ClusterConfig::new(shape, cluster, stream);
                ffi::cuLaunchKernelEx(config.config(), function, parameters, extra)
            } else if shape.cooperative {
                ffi::cuLaunchCooperativeKernel(
                    function, gx, gy, gz, bx, by, bz, shared, stream, parameters,
                )
            } else {
                ffi::cuLaunchKernel(
                    function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra,
                )
            }
        }
        .check(action)
    }

    /// Runs what `submit` puts on the stream between two events, waits for it, lets the kernels'
    /// output leave the process, and returns the seconds between the events.
    pub fn timed(&self, action: &str, submit: impl FnOnce() -> Result) -> Result<f64> {
        let timer = &self.timers[0];
        self.between(timer, action, submit)?;
        let waited = self.wait(action);
        // SAFETY: a null stream makes `fflush` flush all. The driver writes the output of `printf`
        // to the buffer of the C library, and it must leave the process even if a launch failed.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        waited?;
        timer.seconds()
    }

    /// Puts an event, what `submit` puts there, and an event on the stream.
    pub fn between(&self, timer: &Timer, action: &str, submit: impl FnOnce() -> Result) -> Result {
        // SAFETY: event and stream are live and belong to the context that is current.
        unsafe { ffi::cuEventRecord(timer.started, self.stream) }.check(action)?;
        submit()?;
        // SAFETY: as above.
        unsafe { ffi::cuEventRecord(timer.ended, self.stream) }.check(action)
    }
}

/// How many clusters of this shape the device holds at once.
///
/// # Safety
/// The kernel's module is loaded in the context that is current.
unsafe fn fitting_clusters(kernel: &Kernel, shape: &Shape) -> Result<u32> {
    let config = ClusterConfig::new(
        shape,
        cluster_of(&kernel.attributes, shape),
        std::ptr::null_mut(),
    );
    let mut clusters = 0;
    // SAFETY: `clusters` is a live integer to write to, the configuration lives until the call
    // returns, and the caller promises that the module is loaded.
    unsafe { ffi::cuOccupancyMaxActiveClusters(&mut clusters, kernel.function, config.config()) }
        .check(&format!(
        "compute how many clusters of {} fit",
        kernel.attributes.name
    ))?;
    Ok(clusters as c_uint)
}
