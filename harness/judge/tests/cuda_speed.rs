//! The verdict on speed on a real GPU, through the judge and its processes: a small WaveGRU against
//! itself, and against a copy that takes 2 % longer; and the discipline of `lab bench`. Needs a
//! CUDA device and NVRTC, so every test is ignored unless scripts/gpu-tests runs it.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "judge/support.rs"]
mod support;

use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::plan::Discipline;
use lab_protocol::report::{Measure, Report, Speed};
use lab_protocol::{JudgeKind, JudgeRequest};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use support::{Folder, Judged};

const KERNEL: &str = include_str!("../../../kernels/wavegru/kernel.cu");
const REFERENCE: &str = include_str!("../../../kernels/wavegru/reference.cu");
const STEPS: f64 = 1024.0;
const PROBLEM: &str = include_str!("kernels/wavegru/problem.toml");

/// The kernel, delayed at its start by `nanoseconds`.
fn delayed(nanoseconds: f64) -> String {
    let spin = format!(
        "{{ unsigned long long lab_from, lab_now;\n\
         asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(lab_from));\n\
         do {{ asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(lab_now)); }} while (lab_now - lab_from < {nanoseconds:.0}ull); }}\n"
    );
    let begins = KERNEL.find(" wavegru(").expect("the kernel's head");
    let body = begins + KERNEL[begins..].find('{').expect("the kernel's body") + 1;
    format!("{}\n{spin}{}", &KERNEL[..body], &KERNEL[body..])
}

/// One test measures at a time: two on one GPU would wait for each other.
static ALONE: Mutex<()> = Mutex::new(());

fn judge(folder: &Folder, kernel: &str, incumbent: Option<&Path>) -> Judged {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder.path().join("candidate.cu");
    std::fs::write(&path, kernel).unwrap();
    let options = folder.options();
    support::run(JudgeRequest {
        device: Target::Cuda(0),
        kernel: Some(path),
        incumbent: incumbent.map(PathBuf::from),
        seed: None,
        ..options
    })
}

fn speed(judged: &Judged) -> (Speed, Measure) {
    judged.expect(Exit::Passed);
    let comparison = judged
        .report
        .comparison()
        .unwrap_or_else(|| panic!("no comparison in\n{}", judged.log));
    (comparison.speed.unwrap(), comparison.ratio)
}

fn folder() -> Folder {
    let longer = PROBLEM.replace("steps = 48", &format!("steps = {STEPS}"));
    assert_ne!(longer, PROBLEM);
    Folder::new(&[
        ("problem.toml", &longer),
        ("reference.cu", REFERENCE),
        ("kernel.cu", KERNEL),
    ])
}

fn launch_nanoseconds(report: &Report) -> f64 {
    report.number("kernel_us").unwrap() * 1e3 * STEPS
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_kernel_beside_itself_is_the_same_and_one_that_takes_two_percent_longer_is_not() {
    let folder = folder();
    let own = folder.path().join("kernel.cu");
    let same = judge(&folder, KERNEL, Some(&own));
    assert_eq!(speed(&same).0, Speed::Same, "{}", same.log);

    let longer = delayed(0.02 * launch_nanoseconds(&same.report));
    let slower = judge(&folder, &longer, Some(&own));
    assert_eq!(speed(&slower).0, Speed::Slower, "{}", slower.log);

    let other = folder.path().join("longer.cu");
    std::fs::write(&other, &longer).unwrap();
    let faster = judge(&folder, KERNEL, Some(&other));
    assert_eq!(speed(&faster).0, Speed::Faster, "{}", faster.log);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn an_incumbent_that_fails_gives_a_caveat_and_the_candidate_is_measured() {
    let folder = folder();
    let cases = [
        (
            "no kernel at all",
            "int x = ;".to_owned(),
            "it does not build",
        ),
        (
            "wrong tokens",
            KERNEL.replace("logf(run.min_p)", "logf(1e-30f)"),
            "its own results are wrong",
        ),
    ];
    for (what, text, why) in cases {
        let incumbent = folder.path().join("incumbent.cu");
        std::fs::write(&incumbent, text).unwrap();
        let judged = judge(&folder, KERNEL, Some(&incumbent));
        judged.expect(Exit::Passed);
        let caveats = judged.report.caveats();
        assert!(
            caveats.iter().any(|c| c.contains(why)),
            "{what}: {caveats:?}\n{}",
            judged.log
        );
        assert_eq!(judged.report.comparison(), None, "{what}");
        assert!(
            judged
                .report
                .measure("throughput_sps")
                .unwrap()
                .low
                .is_some(),
            "{}",
            judged.log
        );
    }
}

/// Two workloads: in the second one the candidate waits, in the first one the incumbent does.
const TWO_WORKLOADS: &str = concat!(
    "entry = \"twice\"\ndims = [\"n\"]\n",
    include_str!("one_to_one.toml"),
    "[objective]\nmeasure = \"time\"\naggregate = \"arithmetic\"\n[[workload]]\ndims = { n = 1000 }\n[[workload]]\ndims = { n = 100000 }\n"
);

/// Waits for some microseconds where `waits` is true of `n`.
fn twice(waits: &str) -> String {
    format!(
        "#include \"lab.h\"\n\
         LAB_LAUNCH(twice) {{ launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }}\n\
         extern \"C\" __global__ void twice(const float* x, float* y, int n) {{\n\
             long long began = clock64();\n\
             if ({waits}) while (clock64() - began < 20000) {{}}\n\
             int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
             if (i < n) y[i] = 2 * x[i];\n\
         }}\n"
    )
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn one_slower_workload_beside_a_faster_one_is_mixed() {
    let folder = Folder::new(&[
        ("problem.toml", TWO_WORKLOADS),
        ("reference.cu", &twice("false")),
    ]);
    let incumbent = folder.path().join("incumbent.cu");
    std::fs::write(&incumbent, twice("n == 1000")).unwrap();
    let judged = judge(&folder, &twice("n == 100000"), Some(&incumbent));
    assert_eq!(speed(&judged).0, Speed::Mixed, "{}", judged.log);
    let workloads = judged.report.workload_figures();
    let of = |at: usize| {
        (
            workloads[at].speed,
            workloads[at].ratio.map(|ratio| ratio.value > 1.0),
        )
    };
    assert_eq!(of(0), (Some(Speed::Faster), Some(true)), "{}", judged.log);
    assert_eq!(of(1), (Some(Speed::Slower), Some(false)), "{}", judged.log);
    assert!(
        workloads
            .iter()
            .all(|w| w.us.is_some_and(|us| us.low.is_some()) && w.incumbent_us.is_some())
    );
    let worst = judged
        .report
        .workload_speeds()
        .and_then(|speeds| speeds.worst)
        .unwrap();
    assert_eq!(worst.name, "n=100000");
    judged
        .expect_in("worst_workload", "at=n=100000")
        .expect_in("objective", "kernel_us");
    let mean = workloads.iter().map(|w| w.us.unwrap().value).sum::<f64>() / 2.0;
    assert!(
        (judged.report.number("kernel_us").unwrap() / mean - 1.0).abs() < 2e-3,
        "{}",
        judged.log
    );

    // The same kernel is the same in each workload.
    std::fs::write(&incumbent, twice("n == 100000")).unwrap();
    let same = judge(&folder, &twice("n == 100000"), Some(&incumbent));
    let speeds = same
        .report
        .workload_speeds()
        .unwrap_or_else(|| panic!("{}", same.log));
    assert_eq!((speeds.faster, speeds.slower), (0, 0), "{}", same.log);
    assert_ne!(speed(&same).0, Speed::Mixed);
}

/// A decode step on 54 workloads, by exactly the launches that were asked for.
#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_bench_times_each_of_54_workloads_in_every_trial() {
    let folder = Folder::new(&[
        (
            "problem.toml",
            include_str!("../../../tests/problems/decode54/problem.toml"),
        ),
        (
            "kernel.cu",
            include_str!("../../../tests/problems/decode54/kernel.cu"),
        ),
        (
            "reference.cu",
            include_str!("../../../tests/problems/decode54/reference.cu"),
        ),
    ]);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = JudgeKind::Bench(Discipline {
        warm_up: 3,
        iterations: 10,
        trials: 2,
    });
    let judged = support::run(JudgeRequest {
        device: Target::Cuda(0),
        kind,
        seed: None,
        ..folder.options()
    });
    judged
        .expect(Exit::Passed)
        .expect_in("discipline", "3/10/2");
    let workloads = judged.report.workloads();
    assert_eq!(workloads.len(), 54, "{}", judged.log);
    for words in &workloads {
        let value = |key: &str| {
            words
                .iter()
                .find(|(of, _)| *of == key)
                .map(|(_, value)| *value)
                .unwrap()
        };
        let trials: Vec<f64> = value("trials_us")
            .split(',')
            .map(|us| us.parse().unwrap())
            .collect();
        assert_eq!((value("samples"), trials.len()), ("20", 2), "{words:?}");
        let mean = trials.iter().sum::<f64>() / 2.0;
        let us: f64 = value("kernel_us").parse().unwrap();
        assert!((us - mean).abs() < 2e-3 && us > 0.5, "{words:?}");
    }
    let caveats = judged.report.caveats().join("; ");
    assert!(!caveats.contains("emulated"), "{caveats}");
}
