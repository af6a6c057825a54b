"""Kills inside a judge, for scripts/kill-points: the scenarios with the built-in harness on the cpu device.

A judge, its compiler and its worker are started by lab from its own executable, so strace cannot be put around one of them.
Here strace holds every process for a moment at each call that creates, writes, renames or removes (`delay_exit`), and prints
the call. The script reads the calls, counts those of one kind of process, and sends SIGKILL to that process at the count.
So the process dies at the end of that call, or at the next one.
"""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

PROBLEM = """kind = "tensor"
name = "scale"
entry = "scale"
dims = ["n"]

[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { uniform = { low = 0.0, high = 1.0 } }

[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]

[tolerance.f32]
atol = 0.0
rtol = 1e-6

[objective]
samples = "n"

[[workload]]
dims = { n = 256 }

[[keep]]
dims = { n = { from = 1, to = 600 } }
"""

KERNEL = """#include "lab.h"

extern "C" __global__ void scale(const float* x, float* y, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(scale) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
"""

# Each kind of process by the argument that lab starts it with.
KINDS = {"harness": "judge", "harness-compiler": "compiler", "harness-worker": "worker"}
HELD_MS = 4
LIMIT_S = 300

# What differs from one run to the next.
FIGURES = {"results", "workloads", "kernel_us", "objective", "caveats"}


def built_in(work):
    """A problem for the built-in harness, committed, and a kernel that is not judged yet. The cache holds what a first run
    makes: headers, a reference, inputs."""
    work.begin()
    (work.repo / "harness.sh").unlink()
    work.write("lab.toml", 'kernel = "kernel.cu"\ndevice = "cpu"\n')
    work.write("problem.toml", PROBLEM)
    work.write("kernel.cu", KERNEL)
    work.write("reference.cu", KERNEL)
    work.git("add", "-A")
    work.git("commit", "-qm", "start")
    work.do("trust --yes")
    work.do("run")
    work.write("kernel.cu", KERNEL.replace("2.0f * x[i]", "x[i] + x[i]"))


def judged_built_in(work):
    built_in(work)
    work.do("run")


def tuned(work):
    """A kernel whose points are correct, wrong and refused by the compiler."""
    built_in(work)
    tuned = KERNEL.replace("2.0f * x[i]", "FACTOR * x[i]")
    lines = ["// lab: tune FACTOR = 2, 3, 4", "constexpr int FACTOR = 2;", 'static_assert(FACTOR != 4, "too much");']
    work.write("kernel.cu", "\n".join([*lines, tuned]))


def swept(work):
    tuned(work)
    work.do("sweep")


def recorded(text):
    """The points of points.jsonl, each as often as it is recorded."""
    points = []
    for line in text.splitlines():
        try:
            points.append(json.loads(line))
        except ValueError:
            # Half a line of a killed process.
            continue
    return sorted((point["number"], point["values"], point["outcome"]) for point in points)


SCENARIOS = {
    "run-in-the-judge": (built_in, "run"),
    "keep-in-the-sealed-check": (judged_built_in, "keep -m better"),
}


class Trace:
    """A command under strace, whose calls are read while it runs."""

    def __init__(self, work, command, calls, opens_to_change, opens):
        self.work, self.opens, self.opens_to_change = work, opens, opens_to_change
        self.kinds, self.counts = {}, {}
        reader, writer = os.pipe()
        traced = ",".join(f"?{name}" for name in calls)
        self.child = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", f"/dev/fd/{writer}", "-e", f"trace={traced}", "-e",
             f"inject={traced}:delay_exit={HELD_MS * 1000}", str(work.lab), *command],
            cwd=work.repo, env=work.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", pass_fds=[writer])
        os.close(writer)
        self.lines = os.fdopen(reader, errors="replace")

    def kind(self, thread):
        """The kind of process that a thread belongs to, and the process's id."""
        try:
            # It may have run another program since.
            arguments = Path(f"/proc/{thread}/cmdline").read_bytes().split(b"\0")
            found = re.search(r"^Tgid:\s*(\d+)", Path(f"/proc/{thread}/status").read_text(), re.M)
        except OSError:
            return None, None
        names = [KINDS[word.decode()] for word in arguments[1:2] if word.decode(errors="replace") in KINDS]
        return (names or [None])[0], int(found.group(1)) if found else None

    def follow(self, wanted=None, at=None):
        """Reads to the end. Kills the process of the kind `wanted` at its call number `at`. Returns the calls of each kind,
        and what the command said."""
        is_killed = False
        for line in self.lines:
            found = re.match(r"(\d+)\s+(\w+)\((.*)", line)
            if not found or (found.group(2) in self.opens and not self.opens_to_change.search(found.group(3))):
                continue
            kind, process = self.kind(found.group(1))
            if kind is None:
                continue
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if not is_killed and kind == wanted and self.counts[kind] == at:
                is_killed = True
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        said = self.child.stdout.read()
        self.child.wait(LIMIT_S)
        return self.counts, said, is_killed


def left_behind(work):
    """What a killed judge left: processes of this repository, and folders of theirs in the cache."""
    state = b"LAB_STATE_DIR=" + bytes(work.top / "work" / "state")

    def processes():
        found = []
        for entry in Path("/proc").iterdir():
            try:
                is_ours = entry.name.isdigit() and state in (entry / "environ").read_bytes().split(b"\0")
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            found += [f"process {entry.name} is left: {command}"] if is_ours and command else []
        return found

    # A process that was killed gives back its memory first.
    until = time.monotonic() + 5
    while processes() and time.monotonic() < until:
        time.sleep(0.01)
    cache = work.top / "work/home/.cache/lab"
    # One without a lock is young: its judge was killed before it could lock it. It goes after a minute.
    folders = [f for parent in ["private", "snapshots"] for f in (cache / parent).glob("*") if (f / "lock").exists()]
    temporary = list((work.top / "work/tmp").iterdir())
    return processes() + [f"left: {path}" for path in folders + temporary]


def plain(text):
    """Figures differ from run to run, and so do the inputs of a sealed check."""
    return re.sub(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?", "#", text)
