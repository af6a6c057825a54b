"""Judges a Python kernel in the way that is usual without lab: one script.

    python3 judge_python.py FOLDER KERNEL.py INCUMBENT.py

FOLDER is a problem with problem.toml and reference.py. Imports PyTorch and Triton, draws inputs for each workload, compares
the kernel with the reference in float64, and times kernel and incumbent in turns with CUDA events. Prints what took how
long; exits 1 if a result is wrong. Needs Python 3.11, PyTorch with CUDA and Triton.
"""

import time

began = time.perf_counter()

import importlib.util
import statistics
import sys
import tomllib
from pathlib import Path

import torch
import triton  # noqa: F401: the kernels need it, and its import takes time

imported = time.perf_counter()

TURNS, LAUNCHES = 12, 20
TYPES = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(value, dims):
    """A number of problem.toml, which may be an expression of the dimensions."""
    return float(eval(value, {"__builtins__": {}}, dims)) if isinstance(value, str) else float(value)


def draw(tensor, dims):
    shape = [dims[extent] for extent in tensor["shape"]]
    if tensor["role"] == "out":
        return torch.full(shape, float("nan"), dtype=TYPES[tensor["type"]], device="cuda")
    (kind, values), = tensor["values"].items()
    if kind == "normal":
        drawn = torch.randn(shape, device="cuda") * values["std"] + values["mean"]
    else:
        drawn = torch.rand(shape, device="cuda") * (values["high"] - values["low"]) + values["low"]
    return drawn.to(TYPES[tensor["type"]])


def seconds(function, flush):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush.zero_()
    start.record()
    for _ in range(LAUNCHES):
        function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / LAUNCHES / 1e3


def main(folder, kernel, incumbent):
    problem = tomllib.loads((folder / "problem.toml").read_text())
    entry = problem["entry"]
    judged, beside = getattr(load(kernel, "kernel"), entry), getattr(load(incumbent, "incumbent"), entry)
    reference = getattr(load(folder / "reference.py", "reference"), entry)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    scalars = {scalar["name"]: scalar["value"] for scalar in problem.get("scalar", [])}
    right, ratios, checking, timing = True, [], 0.0, 0.0
    for workload in problem["workload"] + problem.get("held_out", []):
        dims = workload["dims"]
        at = time.perf_counter()
        tensors = {tensor["name"]: draw(tensor, dims) for tensor in problem["tensor"]}
        given = {**tensors, **dims, **scalars}
        expected = {t["name"]: torch.empty_like(tensors[t["name"]]) for t in problem["tensor"] if t["role"] == "out"}

        def call(function, changed={}):
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
            values = {**given, **changed}
            return function(**{name: values[name] for name in names})

        call(reference, expected)
        call(judged)
        torch.cuda.synchronize()
        for name, wanted in expected.items():
            limit = problem["tolerance"][next(t["type"] for t in problem["tensor"] if t["name"] == name)]
            close = torch.allclose(
                tensors[name], wanted, rtol=number(limit["rtol"], dims), atol=number(limit["atol"], dims)
            )
            right = right and close
        checking += time.perf_counter() - at
        if workload in problem["workload"]:
            at = time.perf_counter()
            turns = []
            for _ in range(TURNS):
                a, b = seconds(lambda: call(beside), flush), seconds(lambda: call(judged), flush)
                turns.append(a / b)
            ratios.append(statistics.median(turns))
            timing += time.perf_counter() - at
    print(
        f"{'pass' if right else 'FAIL'}, {statistics.geometric_mean(ratios):.4f}x the incumbent; import"
        f" {imported - began:.2f} s, compile and check {checking:.2f} s, time {timing:.2f} s,"
        f" all {time.perf_counter() - began:.2f} s"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:4])))
