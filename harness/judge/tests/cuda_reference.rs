//! The two references of WaveGRU: reference.cu on a GPU and reference.cpp on the processor compute
//! the same. Needs a CUDA device, NVRTC and a C++ compiler, so the test is ignored unless
//! scripts/gpu-tests runs it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, dead_code)]

#[path = "judge/support.rs"]
mod support;

use lab_protocol::{Exit, JudgeRequest, Target};
use std::collections::BTreeMap;
use std::path::Path;
use support::Folder;

const SEEDS: u64 = 16;

/// States are f32, rounded from sums in f64 after each step. Two orders of summation may round to
/// neighbouring numbers, which the next steps carry on.
const MOST_APART: f64 = 1e-6;

/// What the reference of this device expects with this seed, by the name of the file.
fn expected(folder: &Folder, device: Target, seed: u64) -> BTreeMap<String, Vec<f64>> {
    let dump = folder.path().join(format!("dump-{seed}-{device}"));
    support::run(JudgeRequest {
        device,
        seed: Some(seed),
        dump: Some(dump.clone()),
        ..folder.options()
    })
    .expect(Exit::Wrong);
    let mut expected = BTreeMap::new();
    for entry in std::fs::read_dir(dump).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with("_reference.npy") {
            expected.insert(name, numbers(&path));
        }
    }
    expected
}

/// The numbers of an .npy file of f32 or i32.
fn numbers(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let file = npyz::NpyFile::new(&bytes[..]).unwrap();
    match file.dtype().descr().contains("f4") {
        true => file
            .into_vec::<f32>()
            .unwrap()
            .into_iter()
            .map(f64::from)
            .collect(),
        false => file
            .into_vec::<i32>()
            .unwrap()
            .into_iter()
            .map(f64::from)
            .collect(),
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn reference_cu_and_reference_cpp_of_wavegru_agree_on_16_seeds() {
    // On the card and on the processor the same few steps.
    let problem = include_str!("kernels/wavegru/problem.toml").replace("steps = 48", "steps = 24");
    let problem = problem.replace("cpu = { steps = 12 }\n", "");
    // The candidate computes nothing: on the processor that would take longer than the references.
    let kernel = include_str!("../../../kernels/wavegru/kernel.cu");
    let head = kernel.find(" wavegru(").expect("the kernel's head");
    let body = head + kernel[head..].find('{').expect("the kernel's body") + 1;
    let kernel = format!("{}\n    return;{}", &kernel[..body], &kernel[body..]);
    let folder = Folder::new(&[
        ("problem.toml", &problem),
        ("kernel.cu", &kernel),
        (
            "reference.cu",
            include_str!("../../../kernels/wavegru/reference.cu"),
        ),
        (
            "reference.cpp",
            include_str!("../../../kernels/wavegru/reference.cpp"),
        ),
    ]);
    for seed in 1..=SEEDS {
        let on_card = expected(&folder, Target::Cuda(0), seed);
        let on_processor = expected(&folder, Target::Cpu, seed);
        assert!(on_card.len() >= 4, "seed {seed}: {:?}", on_card.keys());
        for (name, card) in &on_card {
            let processor = on_processor
                .get(name)
                .unwrap_or_else(|| panic!("seed {seed}: no {name} on the processor"));
            assert_eq!(card.len(), processor.len(), "seed {seed}: {name}");
            let apart = card.iter().zip(processor).map(|(a, b)| (a - b).abs());
            let apart = apart.fold(0.0, f64::max);
            assert!(
                apart <= MOST_APART,
                "seed {seed}: {name} is {apart:e} apart"
            );
        }
    }
}
