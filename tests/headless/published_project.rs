//! A published kernel whose headers and whose launch are in other files of its project.

use crate::lab::Lab;
use std::fs;

const SCALE: &str = r#"#include <cuda_runtime.h>
#include "common/ops.h"

void scale_cpu(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) y[i] = 3.0f * x[i];
}

__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = apply(x[i]);
}
"#;

const OPS: &str = "#pragma once\n#include \"common/gain.h\"\n#include <iostream>\n\
    __device__ inline float apply(float x) { return x * GAIN; }\n\
    inline int blocks(int n) { return (n + THREADS - 1) / THREADS; }\n";

const RUN: &str = "#include \"common/ops.h\"\n__global__ void scale(const float* x, float* y, int n);\n\n\
    void run(float* x, float* y, int n) { scale<<<blocks(n), THREADS>>>(x, y, n); }\n";

/// Kernels in one folder, headers in another, the launch in a third.
fn project() -> Lab {
    let lab = Lab::empty();
    for folder in ["src/kernels", "src/host", "include/common"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
    }
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.write("src/kernels/scale.cu", SCALE);
    lab.write("src/host/run.cu", RUN);
    lab.write("include/common/ops.h", OPS);
    lab.write(
        "include/common/gain.h",
        "#define GAIN 3.0f\n#define THREADS 64\n",
    );
    lab
}

#[test]
fn a_kernel_is_read_with_the_headers_and_the_launch_of_its_project() {
    let lab = project();
    lab.lab("init src/kernels/scale.cu")
        .is(0)
        .says("kernel.cu has code of the headers include/common/gain.h, include/common/ops.h")
        .says("that common/ops.h means include/common/ops.h is a guess")
        .says("kernel.cu: the launch is that of src/host/run.cu, line 4")
        .says("next: `lab run scale`");
    let kernel = lab.read("scale/kernel.cu");
    for wanted in [
        "// From include/common/ops.h:\n",
        "// src/host/run.cu, line 4: scale<<<blocks(n), THREADS>>>\n",
        "launch.block[0] = THREADS;",
    ] {
        assert!(kernel.contains(wanted), "{wanted} is not in {kernel}");
    }
    lab.lab("run scale").is(0).says("PASS");
    // Another kernel of the same name is launched otherwise.
    lab.write(
        "src/host/run.cu",
        SCALE.replace("apply(x[i])", "x[i]") + RUN,
    );
    lab.lab("init src/kernels/scale.cu --name alone")
        .is(0)
        .says("kernel.cu: the launch statement is a guess");
}

#[test]
fn a_header_outside_of_the_project_is_read_only_where_the_user_says_so() {
    let lab = project();
    let outside = lab.path("../elsewhere");
    fs::create_dir_all(&outside).unwrap();
    fs::write(
        outside.join("ops.h"),
        OPS.replace("common/gain.h", "gain.h"),
    )
    .unwrap();
    fs::write(
        outside.join("gain.h"),
        "#define GAIN 3.0f\n#define THREADS 64\n",
    )
    .unwrap();
    let text = SCALE.replace("common/ops.h", "../elsewhere/ops.h");
    lab.write("scale.cu", &text);
    lab.lab("init scale.cu --name without")
        .is(0)
        .says("outside of the project of the published file, and not read: ../elsewhere/ops.h. `-I DIR` allows a folder");
    assert!(!lab.read("without/kernel.cu").contains("apply(float"));
    // A link leads no further than a path.
    std::os::unix::fs::symlink(outside.join("ops.h"), lab.path("include/linked.h")).unwrap();
    lab.write("scale.cu", SCALE.replace("common/ops.h", "linked.h"));
    lab.lab("init scale.cu --name linked")
        .is(0)
        .says("not in the project of the published file: linked.h");
    lab.write("scale.cu", &text);
    lab.lab("init scale.cu --name with -I ../elsewhere")
        .is(0)
        .says("elsewhere/ops.h");
    lab.lab("run with").is(0).says("PASS");
    lab.lab("init scale.cu --name no -I ../nowhere")
        .is(1)
        .says("-I ../nowhere: there is no such folder");
}

#[test]
fn the_user_says_which_of_several_headers_is_meant() {
    let lab = project();
    for (folder, gain) in [("old", "2.0f"), ("new", "3.0f")] {
        fs::create_dir_all(lab.path(folder)).unwrap();
        let text = OPS
            .replace("GAIN", gain)
            .replace("#include \"common/gain.h\"\n", "");
        lab.write(&format!("{folder}/tools.h"), text);
    }
    lab.write(
        "src/kernels/scale.cu",
        SCALE.replace("common/ops.h", "tools.h"),
    );
    lab.lab("init src/kernels/scale.cu --name unsaid")
        .is(0)
        .says("tools.h may be new/tools.h or old/tools.h, and was not read: `-I DIR` names the folder of the right one");
    lab.lab("init src/kernels/scale.cu -I new")
        .is(0)
        .says("kernel.cu has code of the headers new/tools.h");
    lab.lab("run scale").is(0).says("PASS");
}
