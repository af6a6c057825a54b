"""Judges one edit of kernels/wavegru/kernel.cu in the way that is usual without lab: a PyTorch script.

    python3 judge_edit.py KERNEL.cu TENSORS BUILD

Builds the kernel by torch.utils.cpp_extension.load_inline (BUILD is kept between edits, so that only
what changed is built again), runs an eager reference of the same model on the GPU, compares tokens,
teacher-forced probabilities and final states, and times six launches. TENSORS is a folder that
`lab harness kernels/wavegru --dump TENSORS` wrote. Prints what took how long; exits 1 if wrong.
Needs PyTorch with CUDA, nvcc and ninja.
"""

import json
import sys
import time
from pathlib import Path

began = time.perf_counter()

import numpy as np
import torch
from torch.utils.cpp_extension import load_inline

imported = time.perf_counter()

KERNEL, TENSORS, BUILD = (Path(argument).resolve() for argument in sys.argv[1:4])
INCLUDE = Path(__file__).resolve().parents[2] / "harness" / "device" / "include"

# What lab generates for the problem.
PROBLEM_HEADER = """#pragma once
struct LabDims { int hidden; int steps; int teacher; };
struct LabRun { int steps; int first_token; unsigned seed_low, seed_high; float temperature; float min_p; };
"""

# Tensors in, milliseconds out, as such sources are written: torch/extension.h at their top is most of the build.
# The kernel's own launch statement is asked for its shape.
BEFORE = "#include <torch/extension.h>\n"
BINDING = """
double run(std::vector<torch::Tensor> weights, torch::Tensor h0, torch::Tensor h1, c10::optional<torch::Tensor> forced,
           torch::Tensor tokens, torch::Tensor probabilities, torch::Tensor work, int64_t first_token, int64_t seed,
           double temperature, double min_p) {
    auto check = [](cudaError_t code) { TORCH_CHECK(code == cudaSuccess, cudaGetErrorString(code)); };
    cudaDeviceProp about;
    check(cudaGetDeviceProperties(&about, 0));
    const int hidden = int(h0.numel()), steps = int(tokens.numel());
    LabDims dims = {hidden, steps, forced.has_value()};
    LabDevice device = {unsigned(about.multiProcessorCount), unsigned(about.sharedMemPerBlockOptin), 0};
    LabShape *on_device, shape;
    check(cudaMalloc(&on_device, sizeof shape));
    lab_launch_wavegru<<<1, 1>>>(dims, device, on_device);
    check(cudaMemcpy(&shape, on_device, sizeof shape, cudaMemcpyDeviceToHost));
    check(cudaFree(on_device));
    check(cudaFuncSetAttribute(wavegru, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shape.shared_bytes)));

    LabRun asked = {steps, int(first_token), unsigned(seed), unsigned(uint64_t(seed) >> 32), float(temperature),
                    float(min_p)};
    std::vector<void*> pointers;
    for (auto& tensor : weights) pointers.push_back(tensor.data_ptr());
    for (auto& tensor : {h0, h1}) pointers.push_back(tensor.data_ptr());
    pointers.push_back(forced ? forced->data_ptr() : nullptr);
    for (auto& tensor : {tokens, probabilities, work}) pointers.push_back(tensor.data_ptr());
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    arguments.push_back(&asked);
    cudaEvent_t before, after;
    check(cudaEventCreate(&before));
    check(cudaEventCreate(&after));
    check(cudaEventRecord(before));
    check(cudaLaunchCooperativeKernel((void*)wavegru, dim3(shape.grid[0], shape.grid[1], shape.grid[2]),
                                      dim3(shape.block[0], shape.block[1], shape.block[2]), arguments.data(),
                                      shape.shared_bytes, 0));
    check(cudaEventRecord(after));
    check(cudaEventSynchronize(after));
    float ms;
    check(cudaEventElapsedTime(&ms, before, after));
    return ms;
}
"""
DECLARED = BINDING[: BINDING.index(" {")].strip() + ";"


def build(hidden):
    BUILD.mkdir(parents=True, exist_ok=True)
    header = BUILD / "lab_problem.h"
    if not header.exists():
        header.write_text(PROBLEM_HEADER)
    major, minor = torch.cuda.get_device_capability()
    suffix = "a" if major >= 9 else ""
    target = f"-gencode=arch=compute_{major}{minor}{suffix},code=sm_{major}{minor}{suffix}"
    # PyTorch takes operators of bf16 away by default; kernels may use them.
    allowed = [f"-U__CUDA_NO_{what}__" for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS")]
    return load_inline(
        name="wavegru",
        cpp_sources=DECLARED,
        cuda_sources=BEFORE + KERNEL.read_text() + BINDING,
        functions=["run"],
        extra_cuda_cflags=allowed + [target, "-O3", "-std=c++17", f"-DLAB_HIDDEN={hidden}", f"-I{INCLUDE}", f"-I{BUILD}"],
        build_directory=str(BUILD),
    )


def gumbel(seed, steps):
    """Philox4x32-10 (Salmon and others 2011), key: the seed, counter: (token / 4, step, 0, 0)."""
    mask = np.uint64(0xFFFFFFFF)
    step, group = np.meshgrid(np.arange(steps, dtype=np.uint64), np.arange(64, dtype=np.uint64), indexing="ij")
    word = [group, step, np.zeros_like(step), np.zeros_like(step)]
    key = [np.uint64(seed) & mask, np.uint64(seed) >> np.uint64(32)]
    for _ in range(10):
        first, second = word[0] * np.uint64(0xD2511F53), word[2] * np.uint64(0xCD9E8D57)
        word = [
            (second >> np.uint64(32)) ^ word[1] ^ key[0],
            second & mask,
            (first >> np.uint64(32)) ^ word[3] ^ key[1],
            first & mask,
        ]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    words = np.stack(word, axis=-1).reshape(steps, 256)
    uniform = ((words >> np.uint64(9)).astype(np.float64) + 0.5) * 2.0**-23
    return torch.from_numpy(-np.log(-np.log(uniform))).float().cuda()


@torch.inference_mode()
def reference(w, facts):
    """The model, one step after the other, as one writes it in PyTorch."""
    linear, noise = torch.nn.functional.linear, gumbel(facts["seed"], facts["steps"])
    threshold = float(np.log(facts["min_p"]))
    h0, h1 = w["h0_start"].clone(), w["h1_start"].clone()

    def norm(x, gain):
        return gain * x * torch.rsqrt((x * x).mean() + 1e-5)

    def cell(x, h, layer):
        of_input = linear(x, w[f"w_ih{layer}"], w[f"b_ih{layer}"])
        of_state = linear(h, w[f"w_hh{layer}"], w[f"b_hh{layer}"])
        ir, iz, ic = of_input.chunk(3)
        sr, sz, sc = of_state.chunk(3)
        r, z = torch.sigmoid(ir + sr), torch.sigmoid(iz + sz)
        return (1 - z) * torch.tanh(ic + r * sc) + z * h

    token = torch.tensor(facts["first_token"], device="cuda")
    tokens, probabilities = [], []
    for t in range(facts["steps"]):
        x = w["embed"][token]
        h0 = cell(norm(x, w["rms_gain0"]), h0, 0)
        h1 = cell(norm(x + h0, w["rms_gain1"]), h1, 1)
        value, gate = linear(h1, w["w_glu"], w["b_glu"]).chunk(2)
        logits = linear(value * torch.sigmoid(gate), w["w_out"], w["b_out"]) / facts["temperature"]
        scores = torch.where(logits >= logits.max() + threshold, logits + noise[t], -torch.inf)
        token = scores.argmax()
        tokens.append(token)
        probabilities.append(torch.softmax(logits, 0)[token])
    return torch.stack(tokens).int(), torch.stack(probabilities), h0, h1


def main():
    facts = json.loads((TENSORS / "run.json").read_text())
    names = ["embed", "rms_gain0", "rms_gain1", "w_ih0", "w_hh0", "w_ih1", "w_hh1", "b_ih0", "b_hh0", "b_ih1", "b_hh1"]
    names += ["w_glu", "b_glu", "w_out", "b_out"]
    w = {name: torch.from_numpy(np.load(TENSORS / f"{name}.npy")).cuda() for name in names + ["h0_start", "h1_start"]}
    module = build(w["h0_start"].numel())
    built = time.perf_counter()

    tokens, probabilities, h0, h1 = reference(w, facts)
    torch.cuda.synchronize()
    referred = time.perf_counter()

    matrices = [w[name].bfloat16() if w[name].dim() == 2 else w[name] for name in names]

    def launch(forced):
        out = {
            "h0": w["h0_start"].clone(),
            "h1": w["h1_start"].clone(),
            "tokens": torch.full((facts["steps"],), -1, dtype=torch.int32, device="cuda"),
            "probabilities": torch.full((facts["steps"],), torch.nan, device="cuda"),
        }
        work = torch.zeros(8 << 20, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        out["ms"] = module.run(matrices, out["h0"], out["h1"], forced, out["tokens"], out["probabilities"], work,
                               facts["first_token"], facts["seed"], facts["temperature"], facts["min_p"])
        return out

    sampled, taught = launch(None), launch(tokens)
    mismatches = int((sampled["tokens"] != tokens).sum())
    errors = {
        "teacher_prob_max_diff": float((taught["probabilities"] - probabilities).abs().max()),
        "h0_max_diff": float((taught["h0"] - h0).abs().max()),
        "h1_max_diff": float((taught["h1"] - h1).abs().max()),
    }
    ms = float(np.median([launch(None)["ms"] for _ in range(6)]))
    ended = time.perf_counter()
    right = mismatches == 0 and all(error <= 2e-5 for error in errors.values())
    print(f"sample_mismatches {mismatches} of {facts['steps']}, {errors}")
    print(f"{facts['steps'] / ms * 1e3:.0f} samples/s: {'right' if right else 'WRONG'}")
    print(
        f"import {imported - began:.2f} s, build {built - imported:.2f} s, "
        f"reference {referred - built:.2f} s, compare and time {ended - referred:.2f} s"
    )
    sys.exit(0 if right else 1)


main()
