//! A device that knows the answers, and what the judge does with a problem on it.

use crate::judge::measuring::{self, Candidate};
use crate::outcome::{Correctness, Stop};
use crate::problem::wavegru::config::WaveGruConfig;
use crate::problem::wavegru::launcher::WORK_BYTES;
use crate::problem::wavegru::reference::ReferenceModel;
use crate::problem::wavegru::run_inputs::RunInputs;
use crate::problem::wavegru::tests::SMALL;
use crate::problem::wavegru::weights::Weights;
use crate::problem::{ProblemContext, wavegru};
use crate::testing;
use crate::worker::{Worker, statement_encoding};
use lab_device::{Arg, DeviceError, DeviceInfo, Driver, Entry, ExecutionOrder, Shape};
use lab_protocol::plan::Plan;
use lab_protocol::report::Log;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where a launch's tensors are in the fake device's memory.
pub struct Seen {
    pub h0: usize,
    pub h1: usize,
    pub forced: usize,
    pub tokens: usize,
    pub teacher_prob: usize,
    pub embed: usize,
}

pub type Spoil = fn(&mut [u8], &Seen);

pub struct Fake {
    memory: Vec<u8>,
    emulated: bool,
    config: WaveGruConfig,
    model: ReferenceModel,
    spoil: Spoil,
    /// Where the tokens of the last teacher-forced launch were.
    taught_at: Option<usize>,
    /// The seed of each launch, and whether it was teacher-forced.
    pub launched: Launched,
}

pub type Launched = Arc<Mutex<Vec<(u64, bool)>>>;

impl Fake {
    fn put<T: bytemuck::NoUninit>(&mut self, at: usize, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn run(&mut self, args: &[Arg]) {
        let address =
            |i: usize| u64::from_le_bytes(args[i].as_slice().try_into().unwrap()) as usize;
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&args[21]);
        let seen = Seen {
            h0: address(15),
            h1: address(16),
            forced: address(17),
            tokens: address(18),
            teacher_prob: address(19),
            embed: address(0),
        };
        let seed = u64::from(words[2]) | u64::from(words[3]) << 32;
        self.launched.lock().unwrap().push((seed, seen.forced != 0));
        let n = words[0] as usize;
        let inputs = RunInputs::draw(256, n, &self.config.ranges(), seed);
        let expected = self
            .model
            .run(std::slice::from_ref(&inputs), 2, &mut |_, _| {})
            .remove(0);
        let drawn = inputs.sampling;
        assert_eq!(words[1] as usize, drawn.first_token);
        assert_eq!(
            words[4..6],
            [drawn.temperature.to_bits(), drawn.min_p.to_bits()]
        );
        assert_eq!(
            self.memory[seen.h0..][..1024],
            *bytemuck::cast_slice::<f32, u8>(&inputs.h0)
        );
        assert_eq!(
            self.memory[address(20)..][..WORK_BYTES],
            vec![0; WORK_BYTES]
        );
        if seen.forced == 0 {
            let left: Vec<u32> = self.taught_at.map_or(Vec::new(), |at| {
                bytemuck::pod_collect_to_vec(&self.memory[at..at + 4 * n])
            });
            assert!(
                left.iter().all(|word| *word > 255),
                "taught tokens are left where tokens are sampled"
            );
            self.put(seen.tokens, &expected.tokens);
        } else {
            self.taught_at = Some(seen.forced);
            assert_eq!(
                self.memory[seen.forced..][..4 * n],
                *bytemuck::cast_slice::<i32, u8>(&expected.tokens)
            );
            let narrow: Vec<f32> = expected.teacher_prob.iter().map(|p| *p as f32).collect();
            self.put(seen.teacher_prob, &narrow);
        }
        self.put(seen.h0, &expected.h0);
        self.put(seen.h1, &expected.h1);
        (self.spoil)(&mut self.memory, &seen);
    }
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            emulated: self.emulated,
            ..testing::device()
        }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        Ok(0)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let index = ["wavegru", "lab_launch_wavegru"]
            .iter()
            .position(|known| *known == name);
        Ok(index.map(|i| Entry {
            module,
            index: i as u32,
        }))
    }
    fn blocks_per_sm(&mut self, _: Entry, _: u32, _: u32) -> Result<u32, DeviceError> {
        Ok(1)
    }
    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        // Address 0 is the null pointer.
        let address = self.memory.len().next_multiple_of(256).max(256);
        self.memory.resize(address + bytes, 0);
        Ok(address as u64)
    }
    fn free(&mut self, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.put(address as usize, bytes);
        Ok(())
    }
    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&self.memory[address as usize..][..bytes.len()]);
        Ok(())
    }
    fn fill(&mut self, address: u64, bytes: usize, pattern: u32) -> Result<(), DeviceError> {
        self.put(address as usize, &vec![pattern; bytes / 4]);
        Ok(())
    }
    fn launch(
        &mut self,
        entry: Entry,
        _: &Shape,
        args: &[Arg],
        _: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        if entry.index == 0 {
            self.run(args);
        } else {
            let out = u64::from_le_bytes(args[2].as_slice().try_into().unwrap()) as usize;
            self.put(
                out,
                &statement_encoding::shape([1, 1, 1, 256, 1, 1, 0, 1], "", 0),
            );
        }
        Ok(0.5)
    }
}

/// Judges a kernel that gives the right answers and then spoils them with `spoil`. Returns the log.
pub fn judge(emulated: bool, spoil: Spoil) -> String {
    judge_in(
        tempfile::tempdir().unwrap().path(),
        emulated,
        spoil,
        Judging::default(),
    )
    .0
}

/// [`judge`] with this cache folder. Returns the log, and the seed and kind of each launch.
pub fn judge_in(
    cache_dir: &Path,
    emulated: bool,
    spoil: Spoil,
    judging: Judging,
) -> (String, Vec<(u64, bool)>) {
    let fake = fake(emulated, spoil);
    let launched = fake.launched.clone();
    let worker = Worker::on_a_thread(move || Ok(Box::new(fake)), Duration::from_secs(30)).unwrap();
    let log = judge_worker(worker, Path::new("image"), cache_dir, judging);
    let launched = launched.lock().unwrap().clone();
    (log, launched)
}

/// A device that knows the answers to every run.
pub fn fake(emulated: bool, spoil: Spoil) -> Fake {
    let config = WaveGruConfig::read(Path::new("wavegru/problem.toml"), SMALL).unwrap();
    let model = ReferenceModel::new(&Weights::draw(256, 1));
    Fake {
        memory: Vec::new(),
        emulated,
        config,
        model,
        spoil,
        taught_at: None,
        launched: Launched::default(),
    }
}

/// What a test of the judge does differently.
#[derive(Clone, Copy, Default)]
pub struct Judging<'a> {
    pub dump: Option<&'a Path>,
    /// Sealed runs to check; `None` judges as on save.
    pub sealed: Option<usize>,
    /// Draws the runs as on save, from the pool, and not from a fixed seed.
    pub from_pool: bool,
    /// Fills the stock first, as a judge on standby does.
    pub on_standby: bool,
}

/// Does with the problem what the judge does, in the same order, and returns the log.
pub fn judge_worker(
    mut worker: Worker,
    image: &Path,
    cache_dir: &Path,
    judging: Judging,
) -> String {
    let device = worker.info().clone();
    let log = Log::default();
    let mut out = log.writer();
    let mut cx = ProblemContext {
        memory: None,
        device: &device,
        figures: None,
        cache_dir,
        seed: 5,
        seed_is_fixed: !judging.from_pool,
        out: &mut out,
        spawn_worker: &mut |_| Err(Stop::Lab("this problem needs no second worker".into())),
        build: &mut |_, _| Err(Stop::Lab("this problem builds nothing else".into())),
    };
    let mut problem = wavegru::open(Path::new("wavegru/problem.toml"), SMALL).unwrap();
    assert_eq!(problem.name(), "wavegru");
    if let Some(sealed) = judging.sealed {
        problem.use_held_out_inputs(5, sealed).unwrap();
    }
    problem.prepare(&mut cx, &mut worker).unwrap();
    if judging.on_standby {
        problem.prepare_held_out(&mut cx, &mut || true).unwrap();
    }
    let module = worker.load(image).unwrap();
    let mut verdict = problem.verify(&mut cx, &mut worker, module).unwrap();
    if let Some(folder) = judging.dump {
        problem.dump(&mut cx, &mut worker, module, folder).unwrap();
    }
    if verdict == Correctness::Pass && !(judging.sealed.is_some() && device.emulated) {
        let candidate = Candidate {
            problem: &mut *problem,
            worker: &mut worker,
            module,
            image,
        };
        verdict = measuring::measure(&mut cx, &Plan::default(), candidate, &mut None, &mut |_| {
            Ok(false)
        })
        .unwrap();
    }
    cx.out
        .line(
            "correctness",
            if verdict == Correctness::Pass {
                "pass"
            } else {
                "fail"
            },
        )
        .unwrap();
    log.text()
}
