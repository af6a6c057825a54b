"""Builds and runs a CUDA kernel on the processor, for machines without a GPU.

The host's C++ compiler compiles kernel.cu with lab's headers (harness/device/include/cpu), which give CUDA's names a meaning on
the processor, and with harness_cpu.cpp, which runs the CUDA threads. The result is a shared object that ctypes calls.
Device memory is host memory. Times say nothing about a GPU.
"""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path

import numpy as np

from harness_launch import BuildError, DeviceError, LaunchError, launch_shape, pointers_to

FLAGS = [
    "-std=c++20", "-O2", "-march=native", "-fPIC", "-pthread", "-w",
    "-ffp-contract=off",  # a multiplication and an addition become one operation only where the source says so
    "-fno-exceptions", "-fno-strict-aliasing", "-fwrapv", "-fno-finite-loops", "-fvisibility=hidden",
    "-fno-diagnostics-show-caret", "-U_FORTIFY_SOURCE",
    "-DLAB_CPU_HOST",  # the C++ library is the host's
]  # fmt: skip

# The parts of lab_cpu that hold the content of CUDA's headers.
HEADERS = {
    "cuda.h": [], "cuda_runtime.h": [], "math_constants.h": ["constants.h"], "cuda/atomic": ["atomic_ref.h"],
    "cuda_fp16.h": ["half.h"], "cuda_bf16.h": ["half.h"], "cuda_fp8.h": ["half.h", "fp8.h"],
    "cooperative_groups.h": ["groups.h"], "cooperative_groups/reduce.h": ["groups.h"],
    "cooperative_groups/scan.h": ["groups.h"],
}

# Shared memory belongs to a block, which no C++ declaration says. So declarations are rewritten:
#     extern __shared__ float x[];      ->  float* const x = static_cast<float*>(lab_cpu_dynamic());
#     __shared__ float a[32], b;        ->  struct S1 { float a[32], b; }; auto& a = lab_cpu_shared<S1>().a; auto& b = …
DYNAMIC_SHARED_MEMORY = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?(\w+)\s+(\w+)\s*\[\s*\]\s*;")
STATIC_SHARED_MEMORY = re.compile(r"__shared__\s+([^;]+);")


def with_shared_memory(text):
    """Rewrites the declarations of shared memory in the text of a kernel. No line moves."""

    def static(found):
        struct, declared = f"shared_memory_{found.start()}", found[1]
        without_extents = re.sub(r"\[[^\]]*\]|<[^>]*>", "", declared)
        names = [part.split()[-1] for part in without_extents.split(",")]
        references = " ".join(f"auto& {name} = lab_cpu_shared<{struct}>().{name};" for name in names)
        return f"struct {struct} {{ {declared}; }}; {references}"

    text = DYNAMIC_SHARED_MEMORY.sub(r"\1* const \2 = static_cast<\1*>(lab_cpu_dynamic());", text)
    return STATIC_SHARED_MEMORY.sub(static, text)


class Device:
    emulated = True
    uuid = None
    sms, max_shared_bytes = 16, 227 << 10
    orders = ("forward", "reverse")  # the orders of threads in which the check repeats a launch

    def __init__(self, include):
        self.include = include
        self.name = f"cpu (emulated by harness_cpu.py, {os.cpu_count()} threads)"
        self.compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
        if self.compiler is None:
            raise DeviceError("no C++ compiler is here: install g++ (Debian, Ubuntu: apt install g++) or set CXX")

    def build(self, source, entry, defines, problem_header):
        """Compiles kernel.cu. Raises BuildError with the compiler's messages."""
        folder = tempfile.TemporaryDirectory(prefix="wavegru-")
        work = Path(folder.name)
        for name, content in HEADERS.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text("".join(f'#include "lab_cpu/{part}"\n' for part in content))
        (work / "lab_problem.h").write_text(problem_header)
        text = with_shared_memory(source.read_text())
        defined = "".join(f"#define {name} {value}\n" for name, value in defines.items())
        registered = "".join(
            f'static lab_cpu_register lab_cpu_entry_{name}{{"{name}", lab_cpu_call<&{name}>{{}}, 0}};\n'
            for name in (entry, f"lab_launch_{entry}")
        )
        # With #line, the compiler's messages name the lines of kernel.cu.
        unit = f'{defined}#line 1 "{source.name}"\n{text}\n#line 1 "registration"\n{registered}'
        (work / "unit.cpp").write_text(unit)
        folders = [f"-I{path}" for path in (work, self.include, self.include / "cpu", source.parent)]
        runtime = Path(__file__).resolve().with_name("harness_cpu.cpp")
        try:
            self.compile(["-c", str(runtime), "-o", str(work / "runtime.o"), *folders])
            self.compile(["-include", "lab_cpu.h", "-c", str(work / "unit.cpp"), "-o", str(work / "unit.o"), *folders])
            objects = [str(work / "runtime.o"), str(work / "unit.o")]
            self.compile(["-shared", "-Wl,-z,defs", *objects, "-o", str(work / "kernel.so")])
        except BuildError:
            folder.cleanup()
            raise
        return Kernel(self, entry, folder)

    def compile(self, arguments):
        flags = FLAGS if "clang" in self.compiler else [*FLAGS, "-fno-gnu-unique"]
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run([self.compiler, *flags, *arguments], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise BuildError(done.stderr)

    def allocate(self, nbytes):
        return Memory(nbytes)


class Memory:
    """Bytes of device memory, aligned to 256."""

    def __init__(self, nbytes):
        whole = np.zeros(nbytes + 256, dtype=np.uint8)
        start = -whole.ctypes.data % 256
        self.bytes = whole[start : start + nbytes]
        self.address = self.bytes.ctypes.data

    def write(self, content, offset=0):
        self.bytes[offset : offset + content.size] = content

    def read(self):
        return self.bytes.copy()


class Kernel:
    """A built kernel. `reload` gives its global variables their first values again."""

    def __init__(self, device, entry, folder):
        self.device, self.entry, self.folder = device, entry, Path(folder.name)
        weakref.finalize(self, folder.cleanup)
        self.loads = 0
        self.reload()

    def reload(self):
        # The loader knows an object by its file, so each load needs a file of its own.
        self.loads += 1
        copy = self.folder / f"kernel{self.loads}.so"
        shutil.copy(self.folder / "kernel.so", copy)
        self.library = ctypes.CDLL(str(copy))
        self.library.harness_launch.restype = ctypes.c_char_p

    def launch(self, dims, arguments, order="forward"):
        """Launches the kernel as its launch statement says, and waits for its end. Returns the seconds."""
        shape = launch_shape(self, dims)
        began = time.perf_counter()
        self.call(self.entry, arguments, shape, order)
        return time.perf_counter() - began

    def run_launch_statement(self, arguments):
        self.call(f"lab_launch_{self.entry}", arguments, [1, 1, 1, 1, 1, 1, 0, 0], "forward")

    def call(self, entry, arguments, shape, order):
        why = self.library.harness_launch(
            entry.encode(), pointers_to(arguments), (ctypes.c_uint * 8)(*shape), int(order == "reverse")
        )
        if why is not None:
            raise LaunchError(why.decode())
