//! Timed windows: what surrounds the launches of each, and how they get to the device together.

use super::launch_checks::{crash, explained};
use super::launching::{Launching, Plan};
use super::memory::Device;
use super::messages::{ReplayedEach, Window};
use super::{BufferId, Launch, Repeated};
use crate::outcome::{Result, Stop};
use itertools::Itertools as _;
use lab_device::{DeviceError, MemoryRange, Replayed, Submission};

/// Most launches of a graph, unless a single list has more.
const MOST_NODES: usize = 4096;

/// How windows run.
#[derive(Clone, Copy)]
pub struct Manner {
    /// A buffer that each window fills with a pattern just before its launches, so that nothing
    /// else is in the L2 cache.
    pub flush: Option<(BufferId, u32)>,
    pub submission: Submission,
    /// The key of the digests.
    pub key: u64,
}

/// Windows on their way to the device.
struct Queue {
    manner: Manner,
    /// Whether the device computes digests. Else it runs one window after the other.
    has_digests: bool,
    parts: Vec<Part>,
    /// Of the parts of a window that ran already.
    seconds: Option<f64>,
    each: ReplayedEach,
}

/// A window; where the device has too little memory for all scratch buffers, some of its launches.
struct Part {
    on_device: lab_device::Window,
    is_last: bool,
    is_list: bool,
}

impl Queue {
    fn new(device: &mut Device, manner: Manner) -> Result<Self> {
        Ok(Queue {
            manner,
            has_digests: device.has_digests()?,
            parts: Vec::new(),
            seconds: Some(0.0),
            each: ReplayedEach::default(),
        })
    }

    /// Runs what is there.
    fn run(&mut self, device: &mut Device) -> Result {
        let parts = std::mem::take(&mut self.parts);
        let is_list = parts.iter().map(|part| (part.is_last, part.is_list));
        let is_list = is_list.collect_vec();
        let windows = parts.into_iter().map(|part| part.on_device).collect_vec();
        let Manner {
            submission, key, ..
        } = self.manner;
        let Replayed {
            windows: ran,
            failure,
        } = device.driver.replay(&windows, submission, key);
        let failed = is_list.get(ran.len()).is_some_and(|(_, is_list)| *is_list);
        for (ran, (is_last, _)) in ran.into_iter().zip(is_list) {
            let seconds = self.seconds.zip(ran.seconds).map(|(all, more)| all + more);
            self.seconds = seconds;
            if is_last {
                self.seconds = Some(0.0);
                let digests = ran.digests.unwrap_or_default();
                self.each.windows.push((seconds, digests));
            }
        }
        failure.map_or(Ok(()), |failure| Err(explained(failure, failed)))
    }
}

impl Launching {
    /// Runs windows one after the other, up to the first that fails.
    pub fn replay_each(
        &mut self,
        device: &mut Device,
        windows: &[Window],
        manner: Manner,
    ) -> ReplayedEach {
        let mut queue = match Queue::new(device, manner) {
            Ok(queue) => queue,
            Err(failure) => {
                return ReplayedEach {
                    failure: Some(failure),
                    ..ReplayedEach::default()
                };
            }
        };
        let queued = self.queue_all(device, windows, &mut queue);
        let ran = queue.run(device);
        queue.each.failure = ran.err().or(queued.err());
        queue.each
    }

    fn queue_all(&mut self, device: &mut Device, windows: &[Window], queue: &mut Queue) -> Result {
        // All statements first: a statement that runs loads its module again, and entries change.
        for window in windows {
            self.plan(device, &window.launches.launch)?;
        }
        let mut each = windows.iter();
        each.try_for_each(|window| self.queue_window(device, window, queue))
    }

    fn queue_window(&mut self, device: &mut Device, window: &Window, queue: &mut Queue) -> Result {
        let key = queue.manner.key;
        let mut first = lab_device::Window::default();
        for (buffer, pattern) in &window.fills {
            let filled = device.filled_by_window(*buffer, *pattern)?;
            first.fills.extend(filled.map(|range| (range, *pattern)));
        }
        match queue.has_digests {
            true => first.read = device.ranges(&window.read)?,
            false => drop(device.digests(&window.read, key)?),
        }
        self.queue_launches(device, &window.launches, first, queue)?;
        if let Some(last) = queue.parts.last_mut() {
            last.is_last = true;
            if queue.has_digests {
                last.on_device.digested = device.ranges(&window.digested)?;
            }
        }
        if !queue.has_digests {
            queue.run(device)?;
            let digests = device.digests(&window.digested, key)?;
            if let Some(last) = queue.each.windows.last_mut() {
                last.1 = digests;
            }
        }
        Ok(())
    }

    /// Queues launches in as few parts as there is room for their scratch buffers, and as a graph can
    /// have nodes. `first` is what comes before them.
    fn queue_launches(
        &mut self,
        device: &mut Device,
        launches: &Repeated,
        first: lab_device::Window,
        queue: &mut Queue,
    ) -> Result {
        let launch = &launches.launch;
        let plan = self.plan(device, launch)?;
        let mut rest = launches.args().collect_vec();
        let mut next = Some(first);
        let lists = (MOST_NODES / plan.statement.launches.len().max(1)).max(1);
        while !rest.is_empty() {
            let mut part = next.take().unwrap_or_default();
            let count = rest.len().min(lists);
            let scratch = self.take_scratch(device, (launch, &plan), count, queue)?;
            let here = rest
                .drain(..scratch.len().clamp(1, rest.len()))
                .collect_vec();
            for (args, scratch) in here.into_iter().zip(scratch) {
                if let Some(buffer) = scratch.filter(|_| !plan.statement.zeroed) {
                    let pattern = self.scratch.poison();
                    let filled = device.filled_by_window(buffer, pattern)?;
                    part.fills.extend(filled.map(|range| (range, pattern)));
                }
                self.steps(device, (launch, args), &plan, scratch, &mut part.steps)?;
            }
            part.flush = flush(device, queue.manner)?;
            queue.parts.push(Part {
                on_device: part,
                is_last: false,
                is_list: plan.statement.is_list,
            });
        }
        Ok(())
    }

    /// A scratch buffer for each of the first of so many launches, `None` where they need none.
    /// Usually for all of them. If the device has too little memory for that, they take turns.
    fn take_scratch(
        &mut self,
        device: &mut Device,
        (launch, plan): (&Launch, &Plan),
        launches: usize,
        queue: &mut Queue,
    ) -> Result<Vec<Option<BufferId>>> {
        let statement = &plan.statement;
        if statement.scratch_bytes == 0 {
            return Ok(vec![None; launches]);
        }
        let bytes = statement.scratch_bytes.next_multiple_of(4) as usize;
        let wanted = if statement.zeroed { 1 } else { launches };
        if self.scratch.frees_others(device, bytes, wanted) {
            // What is queued may use them.
            queue.run(device)?;
        }
        let taken = self.scratch.take(device, &launch.scratch, bytes, wanted);
        let taken = taken.map_err(|e| {
            crash(
                statement.line,
                &format!(
                    "the launch list of {} asks for {} bytes of scratch: {e}",
                    launch.entry, statement.scratch_bytes
                ),
            )
        })?;
        Ok(if statement.zeroed {
            vec![taken.first().copied(); launches]
        } else {
            taken.into_iter().map(Some).collect()
        })
    }

    /// Runs the launch list that a launch is, and returns its seconds.
    pub(super) fn run_list(&mut self, device: &mut Device, launch: &Launch) -> Result<f64> {
        let manner = Manner {
            flush: None,
            submission: Submission::Plain,
            key: 0,
        };
        let mut queue = Queue::new(device, manner)?;
        let launches = launch.clone().into();
        self.queue_launches(device, &launches, lab_device::Window::default(), &mut queue)?;
        if let Some(last) = queue.parts.last_mut() {
            last.is_last = true;
        }
        queue.run(device)?;
        let ran = queue.each.windows.first().and_then(|(seconds, _)| *seconds);
        ran.ok_or_else(|| Stop::Lab("the device gave no time of a launch list".into()))
    }
}

/// What a window flushes the cache with.
fn flush(device: &mut Device, manner: Manner) -> Result<Option<(MemoryRange, u32)>, DeviceError> {
    Ok(match manner.flush {
        Some((buffer, pattern)) => Some((device.flush_range(buffer, pattern)?, pattern)),
        None => None,
    })
}
