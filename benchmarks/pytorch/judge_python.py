"""Judges a Python kernel without lab, in one script: the checks and the comparison that `lab` makes at a save.

    python3 judge_python.py FOLDER KERNEL.py INCUMBENT.py

FOLDER is a problem with problem.toml and reference.py. The script imports PyTorch and Triton, and for each workload, the held-out
ones too, launches the kernel on several drawn sets of inputs and on sets that hold extremes. It compares every cell with the
reference in float64, and looks for cells that were not written, stores beside the tensors, and changed inputs. Then it times kernel
and incumbent in turns (incumbent, kernel, kernel, incumbent) in CUDA graphs over sets that are not in the cache, until the 99 %
interval of their ratio says faster, slower or same by `lab`'s rule, and compares the results of the timed launches with the checked
ones. Prints what took how long; exits 1 if a result is wrong.

It leaves out what `lab` does against kernels that remember results: sets in a changed order, sets drawn anew between launches,
digests, processes of their own. Needs Python 3.11, PyTorch with CUDA and Triton.
"""

import time

began = time.perf_counter()

import importlib.util
import math
import statistics
import sys
import tomllib
from pathlib import Path

import torch
import triton  # noqa: F401: the kernels need it, and its import takes time

imported = time.perf_counter()

TYPES = {"f16": torch.float16, "f32": torch.float32, "bf16": torch.bfloat16}
# As many sets as lab draws for a workload: windows of so many cells, and one set of a huge workload.
WINDOW, SETS, HUGE = 16 << 20, (2, 16), 8 << 20
GUARD = 256
POISONS = (float("nan"), 12345.0)
# Turns: at least and at most so many quads for each workload. Student's t for 99 %, and lab's limits of same and of faster.
QUADS, T, SAME, CLEAR = (4, 60), 2.8, 0.015, 0.005


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(value, dims):
    """A number of problem.toml, which may be an expression of the dimensions."""
    return float(eval(value, {"__builtins__": {}}, dims)) if isinstance(value, str) else float(value)


def guarded(values):
    """A copy of a tensor between two guards, and the guards."""
    whole = torch.full((values.numel() + 2 * GUARD,), 7.0, dtype=values.dtype, device="cuda")
    inner = whole[GUARD:-GUARD].view(values.shape)
    inner.copy_(values)
    return inner, (whole[:GUARD], whole[-GUARD:])


def draw(tensor, dims):
    shape = [dims[extent] for extent in tensor["shape"]]
    if tensor["role"] == "out":
        return torch.empty(shape, device="cuda").to(TYPES[tensor["type"]])
    (kind, values), = tensor["values"].items()
    if kind == "normal":
        drawn = torch.randn(shape, device="cuda") * values["std"] + values["mean"]
    else:
        drawn = torch.rand(shape, device="cuda") * (values["high"] - values["low"]) + values["low"]
    return drawn.to(TYPES[tensor["type"]])


def plant(values, what):
    """Writes extremes into a drawn tensor: at its edges, as ties, as whole rows."""
    flat, rows = values.view(-1), values.view(-1, values.shape[-1])
    largest = 8 * flat.abs().max()
    if what == "edges":
        flat[0], flat[-1], rows[:, 0], rows[:, -1] = largest, -largest, largest, largest
    elif what == "ties":
        rows[:, : rows.shape[1] // 2] = largest
    elif what == "zeros":
        rows[0], rows[-1] = 0.0, -0.0
    elif what == "denormals":
        rows[-1] = torch.finfo(values.dtype).smallest_normal / 4
    elif what == "nan":
        rows[rows.shape[0] // 2, rows.shape[1] // 2] = float("nan")


class Set:
    """The tensors of one launch, between guards."""

    def __init__(self, problem, dims, scalars, planted=None):
        self.guards, self.tensors, self.inputs = [], {}, {}
        self.outputs = [tensor for tensor in problem["tensor"] if tensor["role"] == "out"]
        for tensor in problem["tensor"]:
            values = draw(tensor, dims)
            allowed = tensor.get("planted")
            if planted and allowed and (planted != "nan" or (allowed is not True and "nan" in allowed)):
                plant(values, planted)
            self.tensors[tensor["name"]], guards = guarded(values)
            self.guards += guards
            if tensor["role"] != "out":
                self.inputs[tensor["name"]] = values
        self.given = {**dims, **scalars}
        self.expected = {}

    def call(self, function, tensors=None):
        values = {**self.given, **self.tensors, **(tensors or {})}
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return function(**{name: values[name] for name in names})

    def expect(self, reference):
        self.expected = {tensor["name"]: torch.empty_like(self.tensors[tensor["name"]]) for tensor in self.outputs}
        self.call(reference, self.expected)

    def poison(self, value):
        for tensor in self.outputs:
            self.tensors[tensor["name"]].fill_(value)

    def is_right(self, problem, dims):
        right = torch.ones((), dtype=torch.bool, device="cuda")
        for tensor in self.outputs:
            limit, name = problem["tolerance"][tensor["type"]], tensor["name"]
            close = torch.isclose(self.tensors[name].double(), self.expected[name].double(), equal_nan=True,
                                  rtol=number(limit["rtol"], dims), atol=number(limit["atol"], dims))
            right &= close.all()
        for name, values in self.inputs.items():
            right &= (self.tensors[name].view(torch.uint8) == values.view(torch.uint8)).all()
        for guard in self.guards:
            right &= (guard == 7.0).all()
        return bool(right)


def check(problem, dims, scalars, judged, reference):
    """Launches on every set. Returns whether all is right, and the drawn sets."""
    cells = sum(math.prod(dims[extent] for extent in tensor["shape"]) for tensor in problem["tensor"])
    count = 1 if cells > HUGE else min(max(WINDOW // cells, SETS[0]), SETS[1])
    drawn = [Set(problem, dims, scalars) for _ in range(count)]
    planted = [Set(problem, dims, scalars, what) for what in ("edges", "ties", "zeros", "denormals", "nan")]
    right = True
    for one in drawn + planted:
        one.expect(reference)
        for poison in POISONS:
            one.poison(poison)
            one.call(judged)
            torch.cuda.synchronize()
            right = one.is_right(problem, dims) and right
    return right, drawn


def graph(function, sets):
    """One launch on each set, as a CUDA graph."""
    for one in sets[:1]:
        one.call(function)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for one in sets:
            one.call(function)
    return captured


def seconds(replayed, flush):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush.zero_()
    start.record()
    replayed.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def interval(ratios):
    """The mean of the logarithms of the workloads' ratios, and half the width of its 99 % interval."""
    means = [statistics.fmean(one) for one in ratios]
    errors = [statistics.variance(one) / len(one) for one in ratios]
    return statistics.fmean(means), T * math.sqrt(sum(errors)) / len(ratios)


def is_decided(mean, half):
    return max(abs(mean - half), abs(mean + half)) < SAME or abs(mean) - half > CLEAR


def main(folder, kernel, incumbent):
    problem = tomllib.loads((folder / "problem.toml").read_text())
    entry = problem["entry"]
    judged, beside = getattr(load(kernel, "kernel"), entry), getattr(load(incumbent, "incumbent"), entry)
    reference = getattr(load(folder / "reference.py", "reference"), entry)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    scalars = {scalar["name"]: scalar["value"] for scalar in problem.get("scalar", [])}
    at = time.perf_counter()
    right, timed = True, []
    for workload in problem["workload"] + problem.get("held_out", []):
        passed, drawn = check(problem, workload["dims"], scalars, judged, reference)
        right = passed and right
        if workload in problem["workload"]:
            timed.append((workload["dims"], drawn))
    checked = time.perf_counter()
    graphs = [(graph(beside, sets), graph(judged, sets)) for _, sets in timed]
    ratios, mean, half = [[] for _ in timed], 0.0, math.inf
    for quad in range(QUADS[1]):
        for of_workload, (a, b) in zip(ratios, graphs):
            turns = [seconds(replayed, flush) for replayed in (a, b, b, a)]
            of_workload.append(math.log((turns[0] + turns[3]) / (turns[1] + turns[2])))
        if quad + 1 >= QUADS[0]:
            mean, half = interval(ratios)
            if is_decided(mean, half):
                break
    # The last replay was the incumbent's: once more the kernel's, whose results are compared.
    for (dims, sets), (_, replayed) in zip(timed, graphs):
        for one in sets:
            one.poison(POISONS[0])
        replayed.replay()
        torch.cuda.synchronize()
        right = all([one.is_right(problem, dims) for one in sets]) and right
    ended = time.perf_counter()
    print(
        f"{'pass' if right else 'FAIL'}, {math.exp(mean):.4f}x the incumbent ({math.exp(mean - half):.4f} … {math.exp(mean + half):.4f},"
        f" {len(ratios[0])} quads); import {imported - began:.2f} s, compile and check {checked - at:.2f} s, time {ended - checked:.2f} s,"
        f" all {ended - began:.2f} s"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:4])))
