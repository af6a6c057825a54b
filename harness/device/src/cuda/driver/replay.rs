//! Launches that run one after the other without the host in between: a CUDA graph with a device event before its
//! first kernel and one behind its last.
//!
//! A device takes up the first nodes of a graph with varying delays. Therefore the graph begins with work that is not
//! timed and takes longer than that: the flush of the L2 cache, or else a kernel that waits. When it ends, the device
//! has taken up the launches. On an H200 the turns of a problem with launches of 8 µs vary by 0.2 to 0.6 % so, and by
//! 0.8 to 3 % without it.
#![allow(unsafe_code)]

use super::arguments::LaunchArguments;
use super::{CudaDriver, fflush, let_go_of_kept_lines};
use crate::api::{DeviceError, MemoryRange, Step};
use crate::cuda::devices::check;
use crate::cuda::ffi;
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::ffi::c_uint;

/// `CU_EVENT_RECORD_EXTERNAL`: the event becomes a node of the graph, and its time can be read after the replay.
const EXTERNAL: c_uint = 1;

/// The wait before launches without a flush, in nanoseconds: as long as a flush takes on an H200.
const WAIT_NS: u64 = 60_000;

/// A graph that can be launched. Dropping it destroys it.
struct Graph {
    graph: CUgraph,
    executable: CUgraphExec,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: each handle was made once and is destroyed once, or it is null, which the driver refuses. No replay is
        // under way: each is waited for.
        unsafe {
            ffi::cuGraphExecDestroy(self.executable);
            ffi::cuGraphDestroy(self.graph);
        }
    }
}

impl CudaDriver {
    /// See [`crate::Driver::replay`].
    pub(super) fn replay_graph(
        &mut self,
        steps: &[Step],
        flush: Option<(MemoryRange, u32)>,
    ) -> Result<f64, DeviceError> {
        let names: Vec<&str> = steps
            .iter()
            .map(|step| Ok(self.kernel(step.entry)?.attributes.name.as_str()))
            .collect::<Result<_, DeviceError>>()?;
        let action = match names.first() {
            Some(name) => format!("run {name} ({} launches in a graph)", names.len()),
            None => return Ok(0.0),
        };
        for step in steps {
            let kernel = self.kernel(step.entry)?;
            if let Some(reason) = self.refusal(kernel, &step.shape, &step.args)? {
                return Err(DeviceError::Kernel(reason));
            }
            kernel.allow_shared(step.shape.shared_bytes)?;
        }
        if let Some((memory, _)) = flush {
            self.allocations.check(memory.address, memory.bytes)?;
            let_go_of_kept_lines()?;
        }
        let graph = self.capture(flush, steps, &action)?;
        let mut milliseconds = 0.0;
        // SAFETY: graph, stream and events are live and belong to the context that is current. A null stream makes
        // `fflush` flush all. `milliseconds` is a live float to write to. The kernels may do anything: see `launch`.
        unsafe {
            check(ffi::cuGraphLaunch(graph.executable, self.stream), &action)?;
            let waited = self.wait(&action);
            // The kernels' output is now in the buffer of the C library. It must leave the process even if a launch
            // failed.
            fflush(std::ptr::null_mut());
            waited?;
            check(ffi::cuEventElapsedTime(&mut milliseconds, self.started, self.ended), "read the time")?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// Records the launches as a graph. The stream is not capturing afterwards, whatever failed.
    fn capture(
        &self,
        flush: Option<(MemoryRange, u32)>,
        steps: &[Step],
        action: &str,
    ) -> Result<Graph, DeviceError> {
        let mut graph = Graph { graph: std::ptr::null_mut(), executable: std::ptr::null_mut() };
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is live and captures nothing yet. The handles in `graph` are live to write to.
        unsafe {
            check(ffi::cuStreamBeginCapture_v2(self.stream, mode), action)?;
            let recorded = self.record(flush, steps, action);
            let ended = check(ffi::cuStreamEndCapture(self.stream, &mut graph.graph), action);
            recorded?;
            ended?;
            check(ffi::cuGraphInstantiateWithFlags(&mut graph.executable, graph.graph, 0), action)?;
        }
        Ok(graph)
    }

    /// Puts flush or wait, event, launches, event on the stream, which is capturing.
    fn record(
        &self,
        flush: Option<(MemoryRange, u32)>,
        steps: &[Step],
        action: &str,
    ) -> Result<(), DeviceError> {
        match (flush, &self.digester) {
            (Some((MemoryRange { address, bytes }, pattern)), _) => {
                // SAFETY: the range is inside a live allocation, which no call frees before the graph has run. The
                // driver refuses an address that is not a multiple of 4.
                check(unsafe { ffi::cuMemsetD32Async(address, pattern, bytes / 4, self.stream) }, action)?;
            }
            // SAFETY: the stream belongs to the context in which the kernel was loaded.
            (None, Some(kernels)) => unsafe { kernels.wait(self.stream, WAIT_NS)? },
            (None, None) => {}
        }
        // SAFETY: event and stream are live and belong to the context that is current.
        check(unsafe { ffi::cuEventRecordWithFlags(self.started, self.stream, EXTERNAL) }, action)?;
        for step in steps {
            let kernel = self.kernel(step.entry)?;
            let mut arguments = LaunchArguments::new(&step.args, kernel.attributes.parameters.is_some());
            let ([gx, gy, gz], [bx, by, bz]) = (step.shape.grid, step.shape.block);
            let (function, shared, stream) = (kernel.function, step.shape.shared_bytes, self.stream);
            let parameters = arguments.pointers();
            // SAFETY: the function's module is loaded. The driver copies the arguments into the graph's node before the
            // call returns, and no more of them than there are: see `LaunchArguments::new`.
            let code = unsafe {
                if step.shape.cooperative {
                    ffi::cuLaunchCooperativeKernel(
                        function, gx, gy, gz, bx, by, bz, shared, stream, parameters,
                    )
                } else {
                    let extra = std::ptr::null_mut();
                    ffi::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)
                }
            };
            check(code, action)?;
        }
        // SAFETY: as above.
        check(unsafe { ffi::cuEventRecordWithFlags(self.ended, self.stream, EXTERNAL) }, action)
    }
}
