//! A problem that doubles numbers, for stories about its workloads and its peers. The judge is the real one on the emulated device.

use crate::lab::Lab;

const TENSORS: &str = r#"entry = "twice"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
planted = true
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
[objective]
samples = "n"
"#;

pub const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }
LAB_LAUNCH(twice) { launch.block[0] = dims.n; }
"#;

/// The text of problem.toml with these workloads.
pub fn problem(workloads: &str) -> String {
    TENSORS.to_owned() + workloads
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
