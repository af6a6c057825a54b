"""Checks the worker on a CUDA device: `python harness/python/tests/gpu_check.py`.

Needs a GPU, PyTorch and Triton. Drives a worker over its socket, as the judge does, prints PASS or FAIL for each check,
and exits with 1 if one failed.
"""

import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests import gpu_kernels, judge  # noqa: E402
from tests.judge import Refused, Worker, tensor, value  # noqa: E402

POISONS = (0x7FA57FA5, 0x7F9A7F9A)
FAILED = []


def check(name, is_right, what=""):
    """Prints a line. Notes a failure."""
    print(f"{'PASS' if is_right else 'FAIL'} {name}" + (f": {what}" if what != "" else ""), flush=True)
    if not is_right:
        FAILED.append(name)


def floats(values):
    """The bytes of f32 values."""
    return struct.pack(f"<{len(values)}f", *values)


def refusal(action, *args):
    """The kind and the text of what the worker refuses; None if it does not."""
    try:
        return None, f"no refusal, but {action(*args)}"
    except Refused as refused:
        return refused.kind, refused.text


def expect(name, kind, words, action, *args):
    """Checks that the worker refuses with this kind and these words."""
    found, text = refusal(action, *args)
    check(name, found == kind and all(word in text for word in words), f"{found}: {text[:400]}")


class Axpy:
    """A worker's buffers for y = a x + 1, in several sets."""

    def __init__(self, worker, sets, n):
        self.worker, self.n = worker, n
        self.values = [[float((i * 7 + s) % 100) for i in range(n)] for s in range(sets)]
        self.x = [worker.input(f"x#{s}", floats(values)) for s, values in enumerate(self.values)]
        self.y = [worker.buffer(f"y#{s}", 4 * n) for s in range(sets)]
        self.flush = worker.buffer("the lab's own buffer", 4 * worker.opened["info"]["l2_bytes"])

    def launch(self, module, at, entry="axpy"):
        """The launch on a set."""
        return judge.launch(module, entry, value("a", "f32", floats([2.0])), tensor("x", "f32", [self.n], self.x[at]),
                            tensor("y", "f32", [self.n], self.y[at]), value("n", "i32", struct.pack("<i", self.n)))

    def replay(self, module, submission="graph", flush=False):
        """Poisons the outputs and replays all sets. Returns the fields of the reply."""
        self.worker.call("Fill", fills=[[y, POISONS[1]] for y in self.y], how="Waits")
        launches = [self.launch(module, at) for at in range(len(self.y))]
        return self.worker.replay(launches, [self.flush, POISONS[0]] if flush else None, submission)

    def is_right(self):
        """Whether all outputs are right."""
        return all(self.worker.read(y) == floats([2 * v + 1 for v in values]) for y, values in zip(self.y, self.values))

    def turn(self, module):
        """One turn as the judge makes it. Returns the seconds of the window and of the whole turn."""
        began = time.perf_counter()
        self.worker.call("Reload", module=module)
        seconds = self.replay(module, flush=True)["seconds"]
        return seconds, time.perf_counter() - began


def check_speed(worker):
    """Right results and cheap turns: PyTorch, Triton, an autotuned Triton kernel, torch.compile."""
    sets = Axpy(worker, 4, 1 << 20)
    for name, source in (("torch", gpu_kernels.AXPY), ("triton", gpu_kernels.TRITON_AXPY),
                         ("autotuned", gpu_kernels.AUTOTUNED), ("torch.compile", gpu_kernels.COMPILED),
                         ("graph break", gpu_kernels.BROKEN)):
        began = time.perf_counter()
        module = worker.load(source)
        loaded = time.perf_counter() - began
        worker.call("Fill", fills=[[y, POISONS[0]] for y in sets.y], how="Waits")
        began = time.perf_counter()
        launched = worker.make(sets.launch(module, 0))
        first = time.perf_counter() - began
        check(f"{name}: one launch is right", worker.read(sets.y[0]) == floats([2 * v + 1 for v in sets.values[0]]))
        resources = launched[1].get("resources", [])
        if "triton" in name or name == "autotuned":
            check(f"{name}: resources", resources and resources[0]["registers"] > 0 and
                  resources[0]["name"] == "axpy_kernel", resources)
        for submission in ("graph", "plain"):
            for flush in (False, True):
                replayed = sets.replay(module, submission, flush)
                each = replayed["seconds"] / len(sets.y) * 1e6
                check(f"{name}: {submission}, flush {flush}", sets.is_right() and 0.5 < each < 2e4 and
                      "uncaptured" not in replayed, f"{each:.2f} µs a launch {replayed.get('uncaptured', '')}")
        turns = [sets.turn(module) for _ in range(12)]
        windows, whole = zip(*turns)
        check(f"{name}: after 12 turns right", sets.is_right(),
              f"load {loaded:.2f} s, first launch {first:.2f} s, window {statistics.median(windows) * 1e6:.1f} µs, turn "
              f"median {statistics.median(whole) * 1e3:.1f} ms, first {whole[0] * 1e3:.1f} ms, max {max(whole) * 1e3:.1f} ms")


class Pair:
    """Two buffers x and y of eight cells, and launches of entries of a module."""

    def __init__(self, worker, source, n=8):
        self.worker, self.module, self.n = worker, worker.load(source), n
        self.values = [float(i + 1) for i in range(n)]
        self.x, self.y = worker.input("x", floats(self.values)), worker.buffer("y", 4 * n)

    def spec(self, entry, x=None, y=None):
        """The launch of an entry."""
        return judge.launch(self.module, entry, tensor("x", "f32", [self.n], self.x if x is None else x),
                            tensor("y", "f32", [self.n], self.y if y is None else y))

    def launch(self, entry):
        """Poisons y and launches. Returns the seconds."""
        self.worker.call("Fill", fills=[[self.y, POISONS[0]]], how="Waits")
        return self.worker.make(self.spec(entry))[0]

    def replay(self, entry, submission, flush=None):
        """Poisons y and replays one launch."""
        self.worker.call("Fill", fills=[[self.y, POISONS[0]]], how="Waits")
        return self.worker.replay([self.spec(entry)], flush, submission)

    def is_right(self):
        """Whether y is a copy of x."""
        return self.worker.read(self.y) == floats(self.values)


def check_rules(worker):
    """What a launch must not do."""
    pair = Pair(worker, gpu_kernels.RULES)
    pair.launch("writes_nothing")
    check("what is not written is poison", worker.read(pair.y) == struct.pack("<8I", *8 * [POISONS[0]]))
    expect("a value is returned", "Crash", ["returned a value of type torch.Tensor", "kernel.py:10"], pair.launch, "returns")
    expect("an exception", "Crash", ["ValueError: line 40", "kernel.py:15", "Traceback"], pair.launch, "raises")
    expect("no such function", "Build", ["def axpy(x, y):", "x (f32, 8)"], pair.launch, "axpy")
    pair.launch("lists")
    check("**rest gets what has no parameter", worker.read(pair.y)[:4] == floats([0.0]))
    pair.launch("prints")
    check("a print goes on", pair.is_right())
    pair.launch("forks")
    check("a copy of the process answers nothing", pair.is_right())
    return pair


def check_streams(worker, pair):
    """Work on other streams, work that cannot be recorded, work that comes later."""
    elsewhere = "a stream that the measured time does not hold"
    for submission in ("graph", "plain"):
        expect(f"a side stream that is not joined, {submission}", "Crash", [elsewhere], pair.replay, "not_joined", submission)
        seconds = pair.replay("joined", submission)["seconds"]
        check(f"a side stream that is joined, {submission}", pair.is_right() and 3e-4 < seconds < 1e-2, f"{seconds * 1e6:.0f} µs")
        replayed = pair.replay("default_stream", submission)
        check(f"the default stream, {submission}", pair.is_right() and 3e-4 < replayed["seconds"] < 1e-2, replayed)
        replayed = pair.replay("sleeps", submission)
        check(f"a long launch, {submission}", pair.is_right() and 5e-3 < replayed["seconds"] < 5e-2, replayed)
    expect("a launch on a side stream", "Crash", [elsewhere], pair.launch, "not_joined")
    expect("a stream that stays current", "Crash", [elsewhere], pair.launch, "leaves_a_stream")
    replayed = pair.replay("reads_back", "graph")
    check("what cannot be recorded runs plainly and says why", pair.is_right() and "uncaptured" in replayed, replayed)
    pair.replay("beside", "graph")
    check("results that were computed beside the recording are wrong", not pair.is_right())
    for submission in ("graph", "plain"):
        worker.call("Reload", module=pair.module)
        flush = [worker.buffer("flush", 64), POISONS[0]]
        expect(f"work before the window, {submission}", "Crash", [elsewhere], pair.replay, "at_first", submission, flush)


def check_later(worker, pair):
    """Work that comes after a launch. The last check of its worker."""
    expect("a thread that writes after its launch", "Crash", ["left 1 thread running"], pair.launch, "later")


def check_reload(worker, pair):
    """What a module remembers is gone or wrong after a reload."""
    for turn in range(3):
        worker.call("Reload", module=pair.module)
        pair.launch("finds_memory")
        found = struct.unpack("<f", worker.read(pair.y)[:4])[0]
        check(f"memory that PyTorch keeps is wiped, turn {turn}", found == 0, f"{found} words of the launch before")
    for turn in range(2):
        pair.launch("outlives")
        found = struct.unpack("<f", worker.read(pair.y)[:4])[0]
        check(f"a tensor that outlives its module is wiped, turn {turn}", found == 0, f"{found} words")
        worker.call("Reload", module=pair.module)
    table = Pair(worker, gpu_kernels.TABLE)
    table.launch("f")
    worker.call("Reload", module=pair.module)
    table.launch("f")
    check("another module's table is there after a reload", table.is_right())
    check("inputs keep their content", worker.read(pair.x) == floats(pair.values))


def check_types(worker):
    """Tensors of each type."""
    module = worker.load(gpu_kernels.TYPES)
    kinds = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
             "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "bool": "bool"}
    sizes = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8}
    for word, name in kinds.items():
        content = bytes([0, 1] * 21)[:5 * 3 * sizes.get(word, 1)].ljust(15 * sizes.get(word, 1), b"\1")
        x, y = worker.input("x", content), worker.buffer("y", len(content))
        spec = [tensor("x", word, [5, 3], x), tensor("y", word, [5, 3], y)]
        worker.launch(module, "same", *spec)
        kind, text = refusal(worker.launch, module, "kind", *spec)
        check(f"type {word}", worker.read(y) == content and f"torch.{name}" in text, text.partition("\n")[0])
        worker.call("Free", buffer=x)
        worker.call("Free", buffer=y)
    empty = worker.buffer("e", 0)
    worker.launch(module, "same", tensor("x", "f32", [0, 3], empty), tensor("y", "f32", [0, 3], empty))


def check_patched():
    """A kernel that patches what measures it. It has a worker of its own: the patches stay."""
    with_worker(lambda worker: check_patched_in(worker))


def check_patched_in(worker):
    pair = Pair(worker, gpu_kernels.PATCHED)
    for submission in ("graph", "plain"):
        seconds = pair.replay("sleeps", submission)["seconds"]
        check(f"patched events measure the same, {submission}", pair.is_right() and 5e-3 < seconds < 5e-2, f"{seconds:.4f} s")
    worker.call("Reload", module=pair.module)
    check("patched: the worker goes on", pair.launch("writes_nothing") > 0)


def check_faults(worker):
    """A store to a wild address."""
    pair = Pair(worker, gpu_kernels.WILD)
    expect("a wild store", "Crash", ["address"], pair.launch, "wild")
    kind, text = refusal(worker.read, pair.y)
    check("after a fault every request fails", kind in ("Crash", "Lab"), f"{kind}: {text[:200]}")


def check_memory(worker):
    """A kernel that takes all memory."""
    pair = Pair(worker, gpu_kernels.HOARDS)
    expect("more memory than there is", "Crash", ["OutOfMemoryError", "kernel.py:7"], pair.launch, "fails")
    pair.launch("hoards")
    check("a launch that takes all memory goes on", pair.is_right())
    expect("no memory for the next buffer", "Crash", ["the kernel holds"], worker.buffer, "z", 2 << 30)
    worker.call("Reload", module=pair.module)
    worker.buffer("z", 2 << 30)
    check("a reload frees it", True)


def check_standby():
    """A parent on standby with PyTorch and Triton: how fast its workers are, and that they can use the device."""
    folder = tempfile.mkdtemp()
    began = time.perf_counter()
    path = os.path.join(folder, "standby")
    standby = subprocess.Popen([sys.executable, "-m", "lab_harness.standby", path], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=judge.PACKAGE))
    try:
        ready = standby.stdout.readline().decode().strip()
        print(f"# standby ready after {time.perf_counter() - began:.2f} s: {ready}", flush=True)
        for source, name in ((gpu_kernels.AXPY, "torch"), (gpu_kernels.TRITON_AXPY, "triton"),
                             (gpu_kernels.TRITON_AXPY.replace("+ 1", "+ 1.0"), "a changed triton kernel")):
            began = time.perf_counter()
            worker = Worker("cuda", standby=path)
            opened = time.perf_counter() - began
            sets = Axpy(worker, 1, 1 << 16)
            prepared = time.perf_counter() - began
            module = worker.load(source)
            replayed = sets.replay(module)
            whole = time.perf_counter() - began
            check(f"standby: {name}", sets.is_right() and "uncaptured" not in replayed,
                  f"open after {opened:.2f} s, buffers {prepared:.2f} s, result {whole:.2f} s")
            worker.kill()
        check("standby goes on", standby.poll() is None)
    except Exception:  # noqa: B902: the checks after this one go on
        check("the checks of the standby run to their end", False, traceback.format_exc())
    finally:
        standby.stdin.close()
        check("standby ends with its stdin", standby.wait(60) == 0)
        shutil.rmtree(folder)


def with_worker(*actions):
    """Runs checks with a worker of their own, and prints what the worker printed if one failed."""
    before = len(FAILED)
    began = time.perf_counter()
    worker = Worker("cuda")
    print(f"# worker open after {time.perf_counter() - began:.2f} s: {worker.opened}", flush=True)
    try:
        state = []
        for action in actions:
            state = action(worker, *state) or state
            state = state if isinstance(state, list) else [state]
    except Exception:  # noqa: B902: the checks after this one go on with another worker
        check("the checks run to their end", False, traceback.format_exc())
    finally:
        worker.kill()
        if len(FAILED) > before:
            print(f"# stdout: {worker.printed['stdout'][-2000:]!r}\n# stderr: {worker.printed['stderr'][-4000:].decode()}")
    return worker


def main():
    """Runs all checks. Returns the exit code."""
    with_worker(check_speed)
    worker = with_worker(check_rules, check_streams, check_reload, check_later)
    check("prints reach the pipe", b"correctness: pass\n" in worker.printed["stdout"], worker.printed["stdout"][:80])
    with_worker(check_types)
    check_patched()
    with_worker(check_faults)
    with_worker(check_memory)
    check_standby()
    print(f"{len(FAILED)} failed" + "".join(f"\n  {name}" for name in FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
