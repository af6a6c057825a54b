//! Launches the kernels of `probe.cu` and turns their times into [`DeviceFigures`].

use super::DeviceFigures;
use crate::outcome::{Result, Stop};
use crate::worker::{BufferId, Launch, LaunchArg, ModuleId, Worker};
use lab_device::DeviceInfo;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How much work each kernel does: enough to hide the launch on a GPU, and little enough to test on
/// the cpu device.
struct ProbeSizes {
    /// Launches of which each figure is the best.
    launches: usize,
    /// Bytes of one side of the copy, and bytes that are read from the L2 cache.
    copy_bytes: usize,
    l2_bytes: usize,
    /// Blocks of the kernels that fill the device, and threads of a block.
    grid: u32,
    block: u32,
    rounds: u32,
    /// Cache lines that the pointer chase visits, once each.
    lines: usize,
    exchanges: u32,
    exchange_block: u32,
}

impl ProbeSizes {
    fn on(device: &DeviceInfo) -> ProbeSizes {
        if device.emulated {
            let block = 32;
            return ProbeSizes {
                launches: 1,
                copy_bytes: 1 << 16,
                l2_bytes: 1 << 14,
                grid: 2,
                block,
                rounds: 2,
                lines: 64,
                exchanges: 3,
                exchange_block: 64,
            };
        }
        // Two full blocks a multiprocessor. The copy is a whole number of passes of the grid.
        let (grid, block) = (2 * device.sms, 1024);
        let turn = grid as usize * block as usize * 4 * 16;
        let copy_bytes = (8 * device.l2_bytes as usize).max(256 << 20);
        ProbeSizes {
            launches: 8,
            copy_bytes: copy_bytes.next_multiple_of(turn),
            l2_bytes: 1 << (device.l2_bytes / 4).max(1 << 20).ilog2(),
            grid,
            block,
            rounds: 1000,
            lines: 1 << 15,
            exchanges: 2000,
            exchange_block: 256,
        }
    }
}

/// Measures every figure, with a worker of its own that has loaded [`SOURCE`](super::SOURCE).
/// Returns `None` as soon as `interrupted` returns true, and an error if a figure is not positive
/// and finite.
pub fn measure(
    worker: &mut Worker,
    module: ModuleId,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Option<DeviceFigures>> {
    let device = worker.info().clone();
    let sizes = ProbeSizes::on(&device);
    let mut probe = Probe {
        worker,
        module,
        sizes,
        interrupted,
    };
    let figures = probe.figures(&device)?;
    match figures {
        Some(figures) if !figures.are_sane() => Err(Stop::Lab(format!(
            "the probe of {} measured a figure that is not positive and finite: {figures:?}",
            device.name
        ))),
        other => Ok(other),
    }
}

struct Probe<'a> {
    worker: &'a mut Worker,
    module: ModuleId,
    sizes: ProbeSizes,
    interrupted: &'a mut dyn FnMut() -> bool,
}

/// Returns `None` from the enclosing function if something interrupts the probe.
macro_rules! unless_interrupted {
    ($probe:expr, $figure:expr) => {
        match $figure {
            _ if ($probe.interrupted)() => return Ok(None),
            figure => figure?,
        }
    };
}

impl Probe<'_> {
    fn figures(&mut self, device: &DeviceInfo) -> Result<Option<DeviceFigures>> {
        // Arithmetic comes first, because it raises the clocks.
        let fma = unless_interrupted!(self, self.fma());
        let tensor = unless_interrupted!(self, self.tensor());
        let copy = unless_interrupted!(self, self.copy());
        let l2 = unless_interrupted!(self, self.l2());
        let l2_round_trip = unless_interrupted!(self, self.chase());
        let launch = unless_interrupted!(self, self.best("probe_launch", &[]));
        let exchange = unless_interrupted!(self, self.exchange(device));
        Ok(Some(DeviceFigures {
            copy,
            l2,
            fma,
            tensor,
            l2_round_trip,
            launch,
            exchange,
        }))
    }

    fn fma(&mut self) -> Result<f64> {
        /// CHAINS and UNROLL of probe.cu.
        const EACH: f64 = 2.0 * 8.0 * 16.0;
        let words = [0.5f32.to_bits(), self.sizes.rounds];
        let seconds = self.time("probe_fma", &[("out", 4)], &words)?;
        Ok(EACH * self.rounds_of_all() / seconds)
    }

    fn tensor(&mut self) -> Result<Option<f64>> {
        /// TILES of probe.cu, each 16 × 8 × 16 multiply-adds, computed by a warp.
        const EACH: f64 = 4.0 * 2.0 * 16.0 * 8.0 * 16.0 / 32.0;
        if !self.worker.has_entry(self.module, "probe_tensor")? {
            return Ok(None);
        }
        // Zeros keep the sums finite.
        let words = [0, self.sizes.rounds];
        let seconds = self.time("probe_tensor", &[("out", 4)], &words)?;
        Ok(Some(EACH * self.rounds_of_all() / seconds))
    }

    fn copy(&mut self) -> Result<f64> {
        let bytes = self.sizes.copy_bytes;
        let buffers = [("from", bytes), ("to", bytes)];
        let seconds = self.time("probe_copy", &buffers, &[(bytes / 16) as u32])?;
        Ok(2.0 * bytes as f64 / seconds)
    }

    fn l2(&mut self) -> Result<f64> {
        let bytes = self.sizes.l2_bytes;
        let rounds = self.sizes.rounds.min(64);
        let buffers = [("from", bytes), ("out", 4)];
        let seconds = self.time("probe_l2", &buffers, &[(bytes / 16) as u32, rounds])?;
        Ok(f64::from(rounds) * bytes as f64 / seconds)
    }

    /// Follows pointers through lines of 128 bytes in one random cycle, so that nothing can be
    /// prefetched.
    fn chase(&mut self) -> Result<f64> {
        let lines = self.sizes.lines;
        let next = cycle(lines);
        let mut words = vec![0u32; lines * WORDS_A_LINE];
        for (line, next) in next.iter().enumerate() {
            words[line * WORDS_A_LINE] = (next * WORDS_A_LINE) as u32;
        }
        let buffers = self.buffers(&[("next", 4 * words.len()), ("out", 4)])?;
        self.worker
            .write(buffers[0], bytemuck::cast_slice(&words))?;
        // The first launch brings the lines into the cache. The best is one of the others.
        let seconds = self.best("probe_chase", &args(&buffers, &[lines as u32]))?;
        let end: Vec<u32> = bytemuck::pod_collect_to_vec(&self.worker.read(buffers[1])?);
        self.free(&buffers)?;
        if end != [0] {
            return Err(Stop::Lab(
                "the probe's pointer chase did not return to its start, so the L2 round trip is unknown"
                    .into(),
            ));
        }
        Ok(seconds / lines as f64)
    }

    fn exchange(&mut self, device: &DeviceInfo) -> Result<f64> {
        /// WORDS of probe.cu.
        const WORDS: usize = 1024;
        let (exchanges, threads) = (self.sizes.exchanges, self.sizes.exchange_block);
        let out_cells = device.sms as usize * threads as usize;
        let buffers = self.buffers(&[("words", 2 * 8 * WORDS), ("out", 4 * out_cells)])?;
        let args = args(&buffers, &[exchanges]);
        let mut best = f64::INFINITY;
        for _ in 0..self.sizes.launches {
            // The kernel counts its epochs from 1 in every launch.
            self.worker.write(buffers[0], &[0; 2 * 8 * WORDS])?;
            best = best.min(self.launch("probe_exchange", &args, threads)?);
        }
        let sums: Vec<f32> = bytemuck::pod_collect_to_vec(&self.worker.read(buffers[1])?);
        self.free(&buffers)?;
        let arrived: f64 = sums.iter().copied().map(f64::from).sum();
        if arrived != f64::from(exchanges) * WORDS as f64 * f64::from(device.sms) {
            return Err(Stop::Lab(
                "the probe's exchange between multiprocessors lost words, so its time is unknown"
                    .into(),
            ));
        }
        Ok(best / f64::from(exchanges))
    }

    /// The seconds of the fastest of several launches with these buffers and words as arguments.
    fn time(&mut self, entry: &str, buffers: &[(&str, usize)], words: &[u32]) -> Result<f64> {
        let buffers = self.buffers(buffers)?;
        let seconds = self.best(entry, &args(&buffers, words))?;
        self.free(&buffers)?;
        Ok(seconds)
    }

    /// The seconds of the fastest of several launches.
    fn best(&mut self, entry: &str, args: &[LaunchArg]) -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..self.sizes.launches {
            best = best.min(self.launch(entry, args, self.sizes.block)?);
        }
        Ok(best)
    }

    fn launch(&mut self, entry: &str, args: &[LaunchArg], block: u32) -> Result<f64> {
        let dims = bytemuck::cast_slice(&[self.sizes.grid, block]).to_vec();
        self.worker
            .launch(&Launch::of(self.module, entry, args.to_vec(), dims))
    }

    fn buffers(&mut self, wanted: &[(&str, usize)]) -> Result<Vec<BufferId>> {
        let named = wanted.iter();
        self.worker.buffers(
            named
                .map(|(name, bytes)| ((*name).to_owned(), *bytes))
                .collect(),
        )
    }

    fn free(&mut self, buffers: &[BufferId]) -> Result {
        buffers
            .iter()
            .try_for_each(|buffer| self.worker.free(*buffer))
    }

    /// The rounds of all threads of a launch.
    fn rounds_of_all(&self) -> f64 {
        let threads = f64::from(self.sizes.grid) * f64::from(self.sizes.block);
        f64::from(self.sizes.rounds) * threads
    }
}

const WORDS_A_LINE: usize = 128 / 4;

/// The arguments of a launch: these buffers, then these words.
fn args(buffers: &[BufferId], words: &[u32]) -> Vec<LaunchArg> {
    let buffers = buffers.iter().map(|buffer| LaunchArg::Buffer(*buffer));
    let words = words.iter().map(|word| word.to_le_bytes().to_vec());
    buffers.chain(words.map(LaunchArg::Value)).collect()
}

/// Returns for each of `n` places the next one, in a single random cycle through all (S. Sattolo,
/// 1986).
pub(super) fn cycle(n: usize) -> Vec<usize> {
    let mut next: Vec<usize> = (0..n).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for i in (1..n).rev() {
        next.swap(i, rng.next_u64() as usize % i);
    }
    next
}
