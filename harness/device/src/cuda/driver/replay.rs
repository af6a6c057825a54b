//! Windows of launches, timed one after the other without the host in between: each is a CUDA graph
//! with a device event before its first kernel and one behind its last.
//!
//! A device takes up the first nodes of a graph with varying delays. Therefore the graph begins
//! with work that is not timed and takes longer than that: the flush of the L2 cache, and without a
//! flush or before many launches a kernel that waits. When it ends, the device has taken up the launches. On an H200 the turns of a
//! problem with launches of 8 µs vary by 0.2 to 0.6 % so, and by 0.8 to 3 % without it.
//!
//! Several windows are put on the stream before the first is waited for. So the host prepares a
//! graph while the device runs the ones before it: on the host of an H200, to make a graph of 16
//! launches and to start it takes 0.08 ms.
//!
//! So the tables and results of digests lie in page-locked memory while kernels of the same request
//! run. No kernel is told where. One that found out could change a digest, and nothing looks for
//! that.
#![allow(unsafe_code)]

use super::digest::Table;
use super::staging::PageLocked;
use super::{CudaDriver, let_go_of_kept_lines};
use crate::api::{Driver, Filling, Replayed, ReplayedWindow, Result, Step, Submission, Window};
use crate::cuda::ffi;
use cudarc::driver::sys::{CUevent, CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::ffi::c_uint;
use std::ptr::null_mut;

/// `CU_EVENT_RECORD_EXTERNAL`: the event becomes a node of the graph, and its time can be read
/// after the replay.
const EXTERNAL: c_uint = 1;

/// The wait before launches, in nanoseconds for each one that a flush does not hide, and for few and
/// many of them. On an H200, 80 of 100 windows of 16 launches of 1.5 µs lie within 4 % after 40 µs,
/// within 31 % after 20 µs, and those of 4 launches within 13 % after 10 µs as after 60 µs.
const WAIT_NS: u64 = 3_000;
const LEAST_WAIT_NS: u64 = 10_000;
const MOST_WAIT_NS: u64 = 60_000;

/// Launches that a device takes up during a flush.
const FLUSHED_LAUNCHES: usize = 12;

/// Most windows on the stream at a time.
pub const MOST_QUEUED: usize = 16;

/// The device events around timed launches.
#[derive(Clone, Copy)]
pub struct Timer {
    pub started: CUevent,
    pub ended: CUevent,
}

impl Timer {
    /// As many as windows are timed at once. They live as long as the context that is current.
    pub fn all() -> Result<[Timer; MOST_QUEUED]> {
        let mut timers = [Timer {
            started: null_mut(),
            ended: null_mut(),
        }; MOST_QUEUED];
        for timer in &mut timers {
            // SAFETY: both pointers are to live handles to write to.
            unsafe {
                ffi::cuEventCreate(&mut timer.started, 0).check("create an event")?;
                ffi::cuEventCreate(&mut timer.ended, 0).check("create an event")?;
            }
        }
        Ok(timers)
    }

    /// The seconds between the events.
    pub fn seconds(&self) -> Result<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is a live float to write to, and the events are live and belong to
        // the context that is current.
        unsafe { ffi::cuEventElapsedTime(&mut milliseconds, self.started, self.ended) }
            .check("read the time")?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

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

/// Windows on the stream, which are not waited for yet.
struct Queue {
    /// The tables of what is filled and digested lie in the first, the digests and then the marks
    /// of the windows that have ended in the second.
    pages: [PageLocked; 2],
    /// The digests of each window.
    digests: Vec<Option<Table>>,
    /// The end of the tables so far.
    parts: usize,
    graphs: Vec<Graph>,
}

impl CudaDriver {
    /// See [`crate::Driver::replay`].
    pub fn replay_windows(
        &mut self,
        windows: &[Window],
        submission: Submission,
        key: u64,
    ) -> Replayed {
        let mut replayed = Replayed::default();
        while replayed.failure.is_none() && replayed.windows.len() < windows.len() {
            let rest = &windows[replayed.windows.len()..];
            if let Err(failure) = self.replay_next(rest, submission, key, &mut replayed) {
                replayed.failure = Some(failure);
            }
        }
        replayed
    }

    /// Runs as many of these windows as go on the stream together, at least one.
    fn replay_next(
        &mut self,
        windows: &[Window],
        submission: Submission,
        key: u64,
        replayed: &mut Replayed,
    ) -> Result {
        let mut queue = Queue {
            pages: self.staging.page_locked()?,
            digests: Vec::new(),
            parts: 0,
            graphs: Vec::new(),
        };
        queue.clear_marks();
        let mut refused = None;
        let together = &windows[..windows.len().min(MOST_QUEUED)];
        // Once for all of them: the host asks before the first one runs, and none has memory of another.
        if together.iter().any(|window| window.flush.is_some()) {
            let_go_of_kept_lines()?;
        }
        for window in together {
            match self.queue(window, submission, key, &mut queue) {
                Ok(true) => {}
                Ok(false) if queue.digests.is_empty() => {
                    return self.replay_large(window, submission, key, replayed);
                }
                Ok(false) => break,
                Err(failure) => {
                    refused = Some(failure);
                    break;
                }
            }
        }
        // SAFETY: the stream lives as long as `self`. A null stream makes `fflush` flush all: the
        // driver writes the output of `printf` to the buffer of the C library, and it must leave
        // the process even if a launch failed.
        let code = unsafe {
            let code = ffi::cuStreamSynchronize(self.stream);
            libc::fflush(null_mut());
            code
        };
        let is_well = code == ffi::CUDA_SUCCESS;
        let ended = if is_well {
            queue.digests.len()
        } else {
            queue.marked()
        };
        for (timer, digests) in self.timers.iter().zip(&queue.digests).take(ended) {
            replayed.windows.push(ReplayedWindow {
                seconds: is_well.then(|| timer.seconds()).transpose()?,
                // SAFETY: the stream was waited for, or the window has left its mark.
                digests: (digests.as_ref()).map(|digests| unsafe { digests.read(&queue.pages[1]) }),
            });
        }
        // A kernel that failed is also the reason why nothing more could be put on the stream.
        let failed = windows.get(ended).map(|window| &window.steps[..]);
        code.check(&self.action_of(failed.unwrap_or_default(), submission)?)?;
        refused.map_or(Ok(()), Err)
    }

    /// Runs a window whose tables do not fit into the buffers.
    fn replay_large(
        &mut self,
        window: &Window,
        submission: Submission,
        key: u64,
        replayed: &mut Replayed,
    ) -> Result {
        let mut bare = window.clone();
        let digested = std::mem::take(&mut bare.digested);
        for (memory, pattern) in std::mem::take(&mut bare.fills) {
            self.fill(memory, pattern, Filling::Ahead)?;
        }
        self.digests(&std::mem::take(&mut bare.read), key)?;
        self.replay_next(&[bare], submission, key, replayed)?;
        let digests = self.digests(&digested, key)?;
        if let Some(last) = replayed.windows.last_mut() {
            last.digests = digests;
        }
        Ok(())
    }

    /// Puts a window on the stream. Returns false, and puts nothing there, if the tables of the
    /// digests have no room.
    fn queue(
        &self,
        window: &Window,
        submission: Submission,
        key: u64,
        queue: &mut Queue,
    ) -> Result<bool> {
        let action = self.action_of(&window.steps, submission)?;
        self.check_steps(window)?;
        let filled = window.fills.iter().map(|(range, _)| range);
        for range in filled.chain(&window.read).chain(&window.digested) {
            self.allocations.check(range.address, range.bytes)?;
        }
        let Some([filled, read, digested]) = queue.make_room(window) else {
            return Ok(false);
        };
        match &self.digester {
            // SAFETY: as in `queue_digests`.
            Some(kernels) => unsafe { kernels.fill(&queue.pages, self.stream, &filled)? },
            None => {
                for (memory, pattern) in &window.fills {
                    self.put_words(*memory, *pattern, &action)?;
                }
            }
        }
        self.queue_digests(&read, key, queue)?;
        let timer = self.timers[queue.digests.len()];
        match submission {
            Submission::Graph => {
                let graph = self.capture(window, &timer, &action)?;
                // SAFETY: graph and stream are live and belong to the context that is current.
                let launched = unsafe { ffi::cuGraphLaunch(graph.executable, self.stream) };
                queue.graphs.push(graph);
                launched.check(&action)?;
            }
            // The flush has ended when the clock starts, so that it hides nothing of what the host
            // needs for a launch.
            Submission::Plain => {
                if let Some((memory, pattern)) = window.flush {
                    self.put_words(memory, pattern, &action)?;
                    self.wait(&action)?;
                }
                self.between(&timer, &action, || {
                    self.submit_steps(&window.steps, &action)
                })?;
            }
        }
        self.queue_digests(&digested, key, queue)?;
        let mark = queue.mark(queue.digests.len()).device;
        // SAFETY: the word is in page-locked memory that lives as long as `self`, and only windows
        // that are on the stream write there.
        unsafe { ffi::cuMemsetD32Async(mark, MARK, 1, self.stream) }.check(&action)?;
        queue
            .digests
            .push(self.digester.is_some().then_some(digested));
        Ok(true)
    }

    fn queue_digests(&self, digests: &Table, key: u64, queue: &Queue) -> Result {
        let Some(digester) = &self.digester else {
            return Ok(());
        };
        // SAFETY: `queue` has found the ranges allocated. Stream, kernels and buffers belong to the
        // context that is current, and the parts of the tables are those of these digests alone.
        unsafe { digester.queue(&queue.pages, self.stream, digests, key) }
    }

    /// Records the launches as a graph. The stream is not capturing afterwards, whatever failed.
    fn capture(&self, window: &Window, timer: &Timer, action: &str) -> Result<Graph> {
        let mut graph = Graph {
            graph: null_mut(),
            executable: null_mut(),
        };
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is live and captures nothing yet. The handles in `graph` are live to
        // write to.
        unsafe {
            ffi::cuStreamBeginCapture_v2(self.stream, mode).check(action)?;
            let recorded = self.record(window, timer, action);
            let ended = ffi::cuStreamEndCapture(self.stream, &mut graph.graph).check(action);
            recorded?;
            ended?;
            ffi::cuGraphInstantiateWithFlags(&mut graph.executable, graph.graph, 0)
                .check(action)?;
        }
        Ok(graph)
    }

    /// Puts flush or wait, event, launches, event on the stream, which is capturing.
    fn record(&self, window: &Window, timer: &Timer, action: &str) -> Result {
        if let Some((memory, pattern)) = window.flush {
            self.put_words(memory, pattern, action)?;
        }
        let hidden = window.flush.map_or(0, |_| FLUSHED_LAUNCHES);
        let launches = window.steps.len().saturating_sub(hidden);
        if let Some(kernels) = self.digester.as_ref().filter(|_| launches > 0) {
            let wait = (WAIT_NS * launches as u64).clamp(LEAST_WAIT_NS, MOST_WAIT_NS);
            // SAFETY: the stream belongs to the context in which the kernel was loaded.
            unsafe { kernels.wait(self.stream, wait)? }
        }
        // SAFETY: event and stream are live and belong to the context that is current.
        unsafe { ffi::cuEventRecordWithFlags(timer.started, self.stream, EXTERNAL) }
            .check(action)?;
        self.submit_steps(&window.steps, action)?;
        // SAFETY: as above.
        unsafe { ffi::cuEventRecordWithFlags(timer.ended, self.stream, EXTERNAL) }.check(action)
    }

    /// What an error calls these steps.
    fn action_of(&self, steps: &[Step], submission: Submission) -> Result<String> {
        let Some(first) = steps.first() else {
            return Ok("run no launches".into());
        };
        let name = &self.kernel(first.entry)?.attributes.name;
        let how = match submission {
            Submission::Graph => "in a graph",
            Submission::Plain => "one after the other",
        };
        Ok(match steps.len() {
            1 => format!("run {name}"),
            launches => format!("run {name} ({launches} launches {how})"),
        })
    }
}

/// What a window leaves in its word when it has ended.
const MARK: u32 = 1;

impl Queue {
    /// The word of a window.
    fn mark(&self, window: usize) -> PageLocked {
        // SAFETY: the marks lie behind the results of digests, inside the buffer.
        unsafe { self.pages[1].at(Table::RESULT_BYTES + 4 * window) }
    }

    fn clear_marks(&mut self) {
        for window in 0..MOST_QUEUED {
            // SAFETY: the word is inside the page-locked memory, which nothing else uses yet.
            unsafe { self.mark(window).host.cast::<u32>().write_volatile(0) };
        }
    }

    /// How many windows have ended.
    fn marked(&self) -> usize {
        let each = (0..self.digests.len()).map(|window| {
            // SAFETY: the word is inside the page-locked memory, and the device writes there no
            // more.
            unsafe { self.mark(window).host.cast::<u32>().read_volatile() }
        });
        each.take_while(|word| *word == MARK).count()
    }

    /// The tables of what a window fills, reads and digests; `None` if there is no room.
    fn make_room(&mut self, window: &Window) -> Option<[Table; 3]> {
        let filled = Table::of_fills(&window.fills, self.parts)?;
        let read = Table::of(&window.read, filled.end())?;
        let digested = Table::of(&window.digested, read.end())?;
        self.parts = digested.end();
        Some([filled, read, digested])
    }
}
