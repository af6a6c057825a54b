"""Times each of many decode steps: the kernel as a CUDA graph, the kernel by plain launches, PyTorch eager, PyTorch as a CUDA graph.

    python3 kernels/decode_graph/steps.py

It needs a GPU, PyTorch and nvcc, and no lab. The time of a step is the time between two CUDA events. A step with changing lengths begins
with the copy of its lengths to the buffer that the graph reads. Neighbouring steps use different weights and caches, over 200 MB in all,
which the L2 cache does not hold. The four take turns in ROUNDS rounds.
"""

import ctypes
import functools
import pathlib
import subprocess
import tempfile

import torch

import peer

HIDDEN, INTER, CACHE, SHORTEST = 1024, 4096, 2048, 128
EPS, SCALE, STEPS, ROUNDS = 1e-6, 0.125, 500, 4
FOLDER = pathlib.Path(__file__).resolve().parent


def built():
    """Builds steps.cu and returns its function."""
    with tempfile.TemporaryDirectory() as folder:
        problem = f"#define LAB_HIDDEN {HIDDEN}\n#define LAB_INTER {INTER}\n#define LAB_CACHE {CACHE}\n"
        problem += "struct LabDims { int batch, hidden, inter, cache, longest, shortest; };\n"
        pathlib.Path(folder, "lab_problem.h").write_text(problem)
        major, minor = torch.cuda.get_device_capability()
        options = ["-O3", "-std=c++17", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC"]
        headers = ["-I", folder, "-I", FOLDER.parents[1] / "harness/device/include"]
        subprocess.run(["nvcc", *options, *headers, FOLDER / "steps.cu", "-o", f"{folder}/steps.so"], check=True)
        function = ctypes.CDLL(f"{folder}/steps.so").step
    pointer, whole = ctypes.c_void_p, ctypes.c_int
    function.argtypes = [pointer] * 9 + [ctypes.c_float] * 2 + [whole] * 6 + [pointer, whole, pointer]
    return function


class Set:
    """Inputs and outputs of a step, drawn as problem.toml says."""

    def __init__(self, batch, shortest):
        def uniform(high, *shape):
            return (torch.rand(shape, device="cuda") * 2 * high - high).half()

        self.x, self.gain = torch.randn(batch, HIDDEN, device="cuda").half(), (torch.rand(HIDDEN, device="cuda") + 0.5).half()
        self.w_q = uniform((3 / HIDDEN) ** 0.5, HIDDEN, HIDDEN)
        self.k, self.v = (uniform(high, batch, CACHE, HIDDEN // 64, 64) for high in (3.0, 2.0))
        self.w_gate_up = uniform(3.2 / HIDDEN ** 0.5, 2, INTER, HIDDEN)
        self.lengths = lengths_of(batch, shortest, 1)[0].clone()
        self.ff, self.y = (torch.zeros(batch, width, device="cuda").half() for width in (INTER, HIDDEN))
        self.batch, self.shortest = batch, shortest

    def inputs(self):
        return self.x, self.gain, self.w_q, self.k, self.v, self.w_gate_up, self.lengths

    def launches(self, step, scratch):
        """Returns what launches the kernel on this stream."""
        places = [tensor.data_ptr() for tensor in (*self.inputs(), self.ff, self.y)]
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        return functools.partial(step, *places, EPS, SCALE, self.batch, HIDDEN, INTER, CACHE, CACHE, self.shortest, scratch.data_ptr(),
                                 sms, torch.cuda.current_stream().cuda_stream)

    def eager(self):
        return peer.step(*self.inputs(), EPS, SCALE, CACHE, self.shortest)

    def check(self):
        """Compares the kernel's outputs with PyTorch's by the tolerance of problem.toml."""
        for name, got, wanted in zip(("ff", "y"), (self.ff, self.y), self.eager()):
            error = (got.float() - wanted.float()).abs() / (0.03 / self.shortest ** 0.5 + 1e-2 * wanted.float().abs())
            if not error.max() <= 1:
                raise SystemExit(f"{name} is wrong: {error.max().item()} times the tolerance")


def lengths_of(batch, shortest, steps):
    return torch.randint(shortest, CACHE + 1, (steps, batch), device="cuda", dtype=torch.int32)


def captured(call, outputs):
    """Captures a call as a CUDA graph, and returns what replays it. `outputs` keeps what the call returns."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        outputs.append(call())
    return graph.replay


def times(sets, calls, lengths):
    """Microseconds of each step."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(STEPS + 1)]
    events[0].record()
    for i in range(STEPS):
        if lengths is not None:
            sets[i % len(sets)].lengths.copy_(lengths[i])
        calls[i % len(sets)]()
        events[i + 1].record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1000 for begin, end in zip(events, events[1:])]


def main():
    step, scratch = built(), torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; p50 and p95 of {ROUNDS * STEPS} steps in µs")
    for batch, shortest in ((1, CACHE), (4, CACHE), (8, CACHE), (1, SHORTEST), (8, SHORTEST)):
        count = 200_000_000 // (2 * HIDDEN * (HIDDEN + 2 * INTER + 2 * batch * CACHE)) + 1
        sets = [Set(batch, shortest) for _ in range(count)]
        kernels, outputs = [one.launches(step, scratch) for one in sets], []
        ways = {"graph": [captured(call, outputs) for call in kernels], "plain launches": kernels, "PyTorch eager": [one.eager for one in sets],
                "PyTorch graph": [captured(one.eager, outputs) for one in sets]}
        for one in sets:
            one.ff.fill_(float("nan"))
        for replay in ways["graph"]:
            replay()
        if any(outputs[:count]):
            raise SystemExit(f"a launch failed with CUDA error {max(outputs[:count])}")
        for one in sets:
            one.check()
        lengths = None if shortest == CACHE else list(lengths_of(batch, shortest, STEPS))
        found = {name: [] for name in ways}
        for turn in range(ROUNDS + 1):
            for name, calls in ways.items():
                of = times(sets, calls, lengths)
                found[name] += of if turn else []      # the first turn is a warm-up
        for name, of in found.items():
            of.sort()
            found[name] = [of[len(of) * percent // 100] for percent in (50, 95)]
        shown = ", ".join(f"{name} {p50:.1f} {p95:.1f}" for name, (p50, p95) in found.items())
        ratios = [eager / graph for eager, graph in zip(found["PyTorch eager"], found["graph"])]
        print(f"batch {batch}, lengths {'fixed' if lengths is None else 'changing'}: {shown}; eager / graph {ratios[0]:.1f} {ratios[1]:.1f}", flush=True)


if __name__ == "__main__":
    with torch.cuda.stream(torch.cuda.Stream()):
        main()
