//! Launches that run one after the other without the host in between: a CUDA graph with a device
//! event before its first kernel and one behind its last.
//!
//! A device takes up the first nodes of a graph with varying delays. Therefore the graph begins
//! with work that is not timed and takes longer than that: the flush of the L2 cache, or else a
//! kernel that waits. When it ends, the device has taken up the launches. On an H200 the turns of a
//! problem with launches of 8 µs vary by 0.2 to 0.6 % so, and by 0.8 to 3 % without it.
#![allow(unsafe_code)]

use super::CudaDriver;
use crate::api::{DeviceError, MemoryRange, Step};
use crate::cuda::ffi;
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::ffi::c_uint;

/// `CU_EVENT_RECORD_EXTERNAL`: the event becomes a node of the graph, and its time can be read
/// after the replay.
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
        // SAFETY: each handle was made once and is destroyed once, or it is null, which the driver
        // refuses. No replay is under way: each is waited for.
        unsafe {
            ffi::cuGraphExecDestroy(self.executable);
            ffi::cuGraphDestroy(self.graph);
        }
    }
}

impl CudaDriver {
    /// See [`crate::Driver::replay`].
    pub fn replay_graph(
        &mut self,
        steps: &[Step],
        flush: Option<(MemoryRange, u32)>,
    ) -> Result<f64, DeviceError> {
        let Some(action) = self.action_of(steps, "in a graph")? else {
            return Ok(0.0);
        };
        self.check_steps(steps, flush)?;
        let graph = self.capture(flush, steps, &action)?;
        // SAFETY: graph and stream are live and belong to the context that is current.
        unsafe { ffi::cuGraphLaunch(graph.executable, self.stream) }.check(&action)?;
        self.finish(&action)
    }

    /// Records the launches as a graph. The stream is not capturing afterwards, whatever failed.
    fn capture(
        &self,
        flush: Option<(MemoryRange, u32)>,
        steps: &[Step],
        action: &str,
    ) -> Result<Graph, DeviceError> {
        let mut graph = Graph {
            graph: std::ptr::null_mut(),
            executable: std::ptr::null_mut(),
        };
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is live and captures nothing yet. The handles in `graph` are live to
        // write to.
        unsafe {
            ffi::cuStreamBeginCapture_v2(self.stream, mode).check(action)?;
            let recorded = self.record(flush, steps, action);
            let ended = ffi::cuStreamEndCapture(self.stream, &mut graph.graph).check(action);
            recorded?;
            ended?;
            ffi::cuGraphInstantiateWithFlags(&mut graph.executable, graph.graph, 0)
                .check(action)?;
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
            (Some((memory, pattern)), _) => self.put_words(memory, pattern, action)?,
            // SAFETY: the stream belongs to the context in which the kernel was loaded.
            (None, Some(kernels)) => unsafe { kernels.wait(self.stream, WAIT_NS)? },
            (None, None) => {}
        }
        // SAFETY: event and stream are live and belong to the context that is current.
        unsafe { ffi::cuEventRecordWithFlags(self.started, self.stream, EXTERNAL) }
            .check(action)?;
        self.submit_steps(steps, action)?;
        // SAFETY: as above.
        unsafe { ffi::cuEventRecordWithFlags(self.ended, self.stream, EXTERNAL) }.check(action)
    }
}
