//! A problem that doubles numbers, for stories about its workloads and its peers. The judge is the
//! real one on the emulated device.

use crate::lab::Lab;

const TENSORS: &str = include_str!("../../harness/judge/tests/one_to_one.toml");

pub const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }
LAB_LAUNCH(twice) { launch.block[0] = dims.n; }
"#;

/// The text of problem.toml with these workloads.
pub fn problem(workloads: &str) -> String {
    let values = "values = { normal = {} }\n";
    let tensors = TENSORS.replace(values, &format!("{values}planted = true\n"));
    format!("entry = \"twice\"\ndims = [\"n\"]\n{tensors}[objective]\nsamples = \"n\"\n{workloads}")
}

/// A repository with this problem.toml, and others of `files`, committed. Its kernel is right.
pub fn repository(problem: &str, files: &[(&str, String)]) -> Lab {
    let lab = Lab::empty();
    lab.write("problem.toml", problem);
    lab.write("reference.cu", KERNEL);
    lab.write("kernel.cu", KERNEL);
    for (name, text) in files {
        std::fs::create_dir_all(lab.path(name).parent().unwrap()).unwrap();
        lab.write(name, text);
    }
    lab.write("lab.toml", "kernel = \"kernel.cu\"\ndevice = \"cpu\"\ntime_limit_s = 300\n[measure]\ntrials = 1\niterations = 2\n");
    lab.git("add -A");
    lab.git("commit -qm twice");
    lab
}
