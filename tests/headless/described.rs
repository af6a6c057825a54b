//! Problems of KernelBench and tasks of GPU MODE: Python in, a folder out that the judge takes.

use crate::imported::judged;
use crate::lab::{CommandOutput, Lab, finish};
use std::fs;

/// A problem of KernelBench without weights.
const TANH: &str = r"import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.tanh(x) * 2


rows = 4
shape = (rows, 3)


def get_inputs():
    return [torch.randn(*shape, 2)]


def get_init_inputs():
    return []
";

/// One with the weights of a layer.
const SCALED: &str = r#"import torch
import torch.nn as nn


class Model(nn.Module):
    """Scales by a learned gain, adds, clamps at zero."""

    def __init__(self, features: int, eps: float = 1e-3):
        super().__init__()
        self.eps = eps
        self.fc = nn.Linear(features, 6, bias=True)

    def forward(self, x: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x) + shift + self.eps)


batch_size = 8
features = 5


def get_inputs():
    return [torch.randn(batch_size, features), torch.rand(batch_size, 6)]


def get_init_inputs():
    return [features]
"#;

/// A solution of it.
const NEW: &str = r"import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.fc = nn.Linear(features, 6)

    def forward(self, x, shift):
        return torch.clamp(torch.addmm(self.fc.bias + self.eps, x, self.fc.weight.t()) + shift, min=0)
";

/// The files of a task of GPU MODE, below one folder.
const TASK_FILES: [(&str, &str); 6] = [
    (
        "utils.py",
        r#"import torch


def match_reference(data, output, reference, rtol=1e-05, atol=1e-08):
    expected = reference(data)
    return "" if torch.allclose(output, expected, rtol=rtol, atol=atol) else "mismatch found!"


def make_match_reference(reference, **kwargs):
    def wrapped(data, output):
        return match_reference(data, output, reference=reference, **kwargs)

    return wrapped
"#,
    ),
    (
        "eval.py",
        r"raise SystemExit('this is the harness of GPU MODE')
",
    ),
    (
        "scale_py/task.yml",
        r#"# name: scale

files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}

lang: "py"

description: |
  Multiply each row of a matrix by its weight.

config:
  main: "eval.py"

tests:
  - {"rows": 3, "cols": 5, "seed": 1}
  - {"rows": 4, "cols": 4, "seed": 2}

benchmarks:
  - {"rows": 16, "cols": 64, "seed": 3}
  - {"rows": 16, "cols": 64, "seed": 4}

ranking_by: "geom"
"#,
    ),
    (
        "scale_py/task.py",
        r#"from typing import TypeVar

import torch

input_t = TypeVar("input_t", bound=tuple[torch.Tensor, torch.Tensor, torch.Tensor])
output_t = TypeVar("output_t", bound=torch.Tensor)
"#,
    ),
    (
        "scale_py/reference.py",
        r#"import torch
from task import input_t, output_t
from utils import make_match_reference


def generate_input(rows: int, cols: int, seed: int) -> input_t:
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(rows, cols, device="cuda", dtype=torch.float32, generator=gen).contiguous()
    weight = torch.empty(rows, device="cuda", dtype=torch.float32)
    weight.uniform_(0, 1, generator=gen)
    y = torch.empty(rows, cols, device="cuda", dtype=torch.float32)
    return x, weight, y


def ref_kernel(data: input_t) -> output_t:
    x, weight, y = data
    y[...] = x * weight[:, None]
    return y


check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-4)
"#,
    ),
    (
        "scale_py/submission.py",
        r"from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, weight, y = data
    y.copy_(x)
    y.mul_(weight[:, None])
    return y
",
    ),
];

/// Writes the folder of a task, and the modules that all tasks share.
fn task() -> Lab {
    let lab = Lab::empty();
    fs::create_dir_all(lab.path("tasks/scale_py")).unwrap();
    for (name, text) in TASK_FILES {
        lab.write(&format!("tasks/{name}"), text);
    }
    lab
}

/// `lab init` with the Python that judges too.
fn init(lab: &Lab, args: &str) -> CommandOutput {
    let python = std::env::var("LAB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut init = lab.plain_lab_command(&format!("init {args}"));
    init.env("LAB_PYTHON", python);
    finish(init.spawn().unwrap())
}

/// A Triton kernel with its host code, as people publish it.
const TRITON: &str = r#"import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, scale,
                   BLOCK_SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        start = input_ptr + row * input_row_stride
        cols = tl.arange(0, BLOCK_SIZE)
        x = tl.load(start + cols, mask=cols < n_cols, other=-float("inf")) * scale
        top = tl.exp(x - tl.max(x, axis=0))
        to = output_ptr
        to += row * output_row_stride
        tl.store(to + cols, top / tl.sum(top, axis=0), mask=cols < n_cols)


def softmax(x):
    rows, n = x.shape
    y = torch.empty_like(x)
    size = triton.next_power_of_2(n)
    programs = 32
    softmax_kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), rows, n, 1.0, BLOCK_SIZE=size, num_warps=4)
    return y


print(softmax(torch.ones(4, 4, device=DEVICE)))
"#;

#[test]
fn a_triton_kernel_becomes_a_problem() {
    let lab = Lab::empty();
    lab.write("rows.py", TRITON);
    lab.lab("init rows.py")
        .is(0)
        .says("wrote softmax/kernel.py for softmax_kernel of rows.py: problem.toml, kernel.py, reference.py")
        .says("problem.toml: shapes and types are guesses")
        .says("next: write reference.py, which says what is right, then `lab trust`, then `lab run softmax`");
    let problem = lab.read("softmax/problem.toml");
    for said in [
        "entry = \"softmax\"",
        "dims = [\"n_rows\", \"n_cols\"]",
        "name = \"output_ptr\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"n_rows\", \"n_cols\"]",
        "name = \"input_ptr\"\nrole = \"in\"\n",
        "name = \"scale\"\ntype = \"f32\"",
    ] {
        assert!(problem.contains(said), "{said}: {problem}");
    }
    let kernel = lab.read("softmax/kernel.py");
    let entry = "def softmax(output_ptr, input_ptr, scale, n_rows, n_cols):\n    \
                 BLOCK_SIZE = triton.next_power_of_2(n_cols)\n    grid = (32, 1, 1)\n    \
                 softmax_kernel[grid](output_ptr, input_ptr, input_ptr.stride(0), output_ptr.stride(0), n_rows, n_cols, scale, \
                 BLOCK_SIZE=BLOCK_SIZE, num_warps=4)\n";
    assert!(kernel.ends_with(entry), "{kernel}");
    assert!(
        !kernel.contains("print(") && !kernel.contains("DEVICE ="),
        "{kernel}"
    );
    // What the file does not say is named, and nothing is written.
    lab.write("odd.py", TRITON.replace("scale,\n", "scale, stride_z,\n"));
    lab.lab("init odd.py --name odd")
        .is(1)
        .says("no problem can be written for odd.py: no pointer goes with stride_z");
    assert!(!lab.path("odd").exists());
}

/// The first launch of a file has sizes that the kernel does not get, and options that depend on
/// others.
const ROWS: &str = r"import torch
import triton
import triton.language as tl


@triton.jit
def _norm(X, Y, W, Mean, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(X + cols, mask=mask, other=0.0)
    tl.store(Mean + row, tl.sum(x, axis=0) / N)
    tl.store(Y + cols, x * tl.load(W + cols, mask=mask) + eps, mask=mask)


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        y = torch.empty_like(x)
        x_arg = x.reshape(-1, x.shape[-1])
        M, N = x_arg.shape
        mean = torch.empty((M, ), dtype=torch.float32, device=x.device)
        MAX_FUSED_SIZE = 65536 // x.element_size()
        BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(N))
        num_warps = 4
        if BLOCK_SIZE >= 2048:
            num_warps = 8
        _norm[(M, )](x_arg, y, weight, mean, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
        M = 1
        return y
";

#[test]
fn the_grid_and_the_options_of_a_triton_kernel_are_those_of_its_launch() {
    let lab = Lab::empty();
    lab.write("norm.py", ROWS);
    let made = lab.lab("init norm.py --name norm").is(0);
    assert!(
        !format!("{made:?}").contains("of the launch: a guess"),
        "{made:?}"
    );
    let problem = lab.read("norm/problem.toml");
    for said in [
        "dims = [\"M\", \"N\"]",
        "name = \"X\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"M\", \"N\"]",
        "name = \"y\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"M\", \"N\"]",
        "name = \"W\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"N\"]",
        "name = \"mean\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"M\"]",
        "dims = { M = 64, N = 128 }",
        "dims = { M = 4096, N = 4096 }",
    ] {
        assert!(problem.contains(said), "{said}: {problem}");
    }
    let kernel = lab.read("norm/kernel.py");
    let entry = "def norm(X, y, W, mean, eps, M, N):\n    Y = y\n    Mean = mean\n    \
                 BLOCK_SIZE = min(65536 // X.element_size(), triton.next_power_of_2(N))\n    grid = (M,)\n    \
                 _norm[grid](X, Y, W, Mean, X.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, \
                 num_warps=8 if BLOCK_SIZE >= 2048 else 4)\n";
    assert!(kernel.ends_with(entry), "{kernel}");
}

/// A constant of the module, a heuristic, a number with a fraction, and a function for another kernel.
const SCALED_ROWS: &str = r"import torch, triton
import triton.language as tl
from einops import rearrange

BLOCK = 1024


@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.jit
def scale_kernel(x, y, a, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, a * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def other_kernel(x, n):
    tl.store(x, n)


def scale(x, a=1e-5):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, y, a, n, BLOCK=BLOCK)
    return rearrange(y, 'a b -> b a')


def other(x):
    other_kernel[(1,)](x, 1)
";

#[test]
fn a_triton_kernel_gets_what_it_needs_of_its_module_alone() {
    let lab = Lab::empty();
    lab.write("rows.py", SCALED_ROWS);
    lab.lab("init rows.py")
        .is(1)
        .says("several kernels: scale_kernel, other_kernel");
    assert!(!lab.path("lab.toml").exists());
    lab.lab("init rows.py --entry scale_kernel").is(0);
    let problem = lab.read("scale/problem.toml");
    for said in [
        "dims = [\"n\"]",
        "name = \"a\"\ntype = \"f32\"\nvalue = 1e-05",
    ] {
        assert!(problem.contains(said), "{said}: {problem}");
    }
    let kernel = lab.read("scale/kernel.py");
    assert!(
        kernel.contains("scale_kernel[grid](x, y, a, n, BLOCK=BLOCK)\n")
            && kernel.contains("\nBLOCK = 1024\n"),
        "{kernel}"
    );
    for left_out in ["einops", "other_kernel", "    BLOCK = BLOCK"] {
        assert!(!kernel.contains(left_out), "{left_out}: {kernel}");
    }
    // What the launch makes of a constant of the module needs another name.
    let twice = SCALED_ROWS.replace("BLOCK=BLOCK)", "BLOCK=BLOCK * 2)");
    lab.write("twice.py", twice);
    lab.lab("init twice.py --entry scale_kernel --name twice")
        .is(0);
    let kernel = lab.read("twice/kernel.py");
    assert!(
        kernel.contains("    BLOCK_ = BLOCK * 2\n") && kernel.contains("BLOCK=BLOCK_)"),
        "{kernel}"
    );
    lab.lab("init gone.py --entry k")
        .is(1)
        .says("there is no gone.py");
}

#[test]
fn a_solution_of_kernelbench_alone_asks_for_its_problem() {
    let lab = Lab::empty();
    lab.write("new.py", "class ModelNew(nn.Module):\n    pass\n");
    lab.lab("init new.py")
        .is(1)
        .says("new.py holds ModelNew")
        .says("`lab init PROBLEM.py --solution new.py`");
}

#[test]
fn a_problem_of_kernelbench_is_read_and_executed_only_in_a_trusted_folder() {
    let lab = Lab::empty();
    let leaves_a_trace = format!("open({:?}, \"w\")\n", lab.path("executed"));
    lab.write("8_Tanh.py", TANH.to_owned() + &leaves_a_trace);
    init(&lab, "8_Tanh.py")
        .is(0)
        .says("wrote Tanh/kernel.py for tanh of 8_Tanh.py: problem.toml, kernel.py, reference.py")
        .says("problem.toml: the shape of output is a guess, that of the first input")
        .says("nothing of it was executed: `lab trust`, then `lab init` again");
    let problem = lab.read("Tanh/problem.toml");
    for wanted in [
        "shape = [\"rows\", 3, 2]\nvalues = { normal = { mean = 0.0, std = 1.0 } }",
        "[tolerance.f32]\natol = 1e-4",
        "[[workload]]\ndims = { rows = 4 }",
    ] {
        assert!(problem.contains(wanted), "{wanted} is not in {problem}");
    }
    // The weights of a layer cannot be read.
    lab.write("7_Scaled_ReLU_.py", SCALED.to_owned() + &leaves_a_trace);
    init(&lab, "7_Scaled_ReLU_.py")
        .is(1)
        .says("line 11: the weights of `nn.Linear(features, 6, bias=True)` can only be known by executing it")
        .says("look at it, then `lab trust`");
    assert!(!lab.path("Scaled_ReLU").exists() && !lab.path("executed").exists());
}

#[test]
fn a_number_that_no_memory_holds_is_not_computed() {
    let lab = Lab::empty();
    for size in ["10 ** 10 ** 10", "4 // 0", "2 ** 60 * 2 ** 60"] {
        let source = TANH.replace("rows = 4", &format!("rows = {size}"));
        lab.write("3_Tanh.py", source);
        init(&lab, "3_Tanh.py")
            .is(1)
            .says("can only be known by executing it");
    }
}

#[test]
fn a_model_s_weights_are_inputs_and_modelnew_is_the_kernel() {
    let lab = Lab::empty();
    lab.write("7_Scaled_ReLU_.py", SCALED);
    lab.write("new.py", NEW);
    lab.write("wrong.py", NEW.replace(" + shift", ""));
    lab.lab("trust --yes").is(0);
    let made = init(&lab, "7_Scaled_ReLU_.py --solution new.py --name right");
    if made.code != 0 {
        // Without PyTorch nothing can be executed, which is said.
        made.is(1).says("No module named 'torch'");
        return;
    }
    init(&lab, "7_Scaled_ReLU_.py --solution wrong.py --name wrong").is(0);
    let problem = lab.read("right/problem.toml");
    assert!(
        problem.contains("name = \"fc_weight\"\nrole = \"in\"\ntype = \"f32\"\nshape = [6, 5]\nvalues = { uniform = { low = -0.447"),
        "{problem}"
    );
    judged(&lab, "right", "torch").unwrap().is(0).says("PASS");
    judged(&lab, "wrong", "torch").unwrap().is(1).says("FAIL");
}

#[test]
fn a_task_of_gpu_mode_becomes_a_problem_and_its_kernel_a_submission_again() {
    let lab = task();
    init(&lab, "tasks/scale_py --name read").is(0);
    let problem = lab.read("read/problem.toml");
    for wanted in [
        "# Multiply each row of a matrix by its weight.",
        "name = \"weight\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"rows\"]\nvalues = { uniform = { low = 0.0, high = 1.0 } }",
        "name = \"y\"\nrole = \"out\"",
        "[[workload]]\ndims = { rows = 16, cols = 64 }\n\n[[held_out]]\ndims = { rows = 3, cols = 5 }",
    ] {
        assert!(problem.contains(wanted), "{wanted} is not in {problem}");
    }
    assert_eq!(problem.matches("[[workload]]").count(), 1, "{problem}");
    lab.lab("export read/kernel.py --to gpu-mode --output submission.py")
        .is(0)
        .says("popcorn-cli submit submission.py");
    assert!(
        lab.read("submission.py")
            .contains("def custom_kernel(data: input_t)"),
        "{}",
        lab.read("submission.py")
    );
    lab.lab("trust --yes").is(0);
    init(&lab, "tasks/scale_py/submission.py --name right")
        .is(0)
        .says("generate_input is not carried over")
        .says("nothing depends on seed");
    if let Some(run) = judged(&lab, "right", "torch") {
        run.is(0).says("PASS");
        assert_eq!(
            lab.read("right/problem.toml").replace("right", "read"),
            problem
        );
        let kernel = lab.read("right/kernel.py");
        lab.write("right/kernel.py", kernel.replace("y.mul_(", "y.add_("));
        judged(&lab, "right", "torch").unwrap().is(1).says("FAIL");
    }
}

#[test]
fn tasks_that_lab_cannot_judge_are_named() {
    let lab = task();
    let task = lab.read("tasks/scale_py/task.yml");
    for (from, to, why) in [
        ("lang: \"py\"", "lang: \"cu\"", "its submissions are in cu"),
        (
            "ranking_by: \"geom\"",
            "multi_gpu: true",
            "its kernels run on several GPUs",
        ),
        ("lang: \"py\"", "lang: [", "it is not YAML"),
    ] {
        lab.write("tasks/scale_py/task.yml", task.replace(from, to));
        lab.lab("init tasks/scale_py").is(1).says(why);
    }
    lab.lab("import tasks/scale_py")
        .is(64)
        .says("there is no `lab import`: `lab init tasks/scale_py` writes a problem");
}
