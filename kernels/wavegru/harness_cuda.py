"""Builds and runs a CUDA kernel on an NVIDIA GPU.

NVRTC, NVIDIA's compiler as a library, compiles kernel.cu to a cubin; the driver loads and launches it. Both are called
through ctypes: the calls below are those of nvrtc.h and cuda.h. Memory and times are PyTorch's.
"""

import ctypes
import os
import sys
import tempfile
from pathlib import Path

import torch

from harness_launch import BuildError, DeviceError, LaunchError, launch_shape, pointers_to

# NVRTC has no headers of the C library. Most of what they declare is built in.
INTEGERS = """\
#pragma once
using int8_t = signed char; using int16_t = short; using int32_t = int; using int64_t = long long;
using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned; using uint64_t = unsigned long long;
using intptr_t = int64_t; using uintptr_t = uint64_t;
"""
HEADERS = {"stdint.h": INTEGERS, "cstdint": INTEGERS}
HEADERS.update(dict.fromkeys(["stdio.h", "cstdio", "stddef.h", "cstddef", "assert.h", "cassert", "math.h", "cmath"], ""))

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h
MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97  # CU_DEVICE_ATTRIBUTE_…


def toolkit():
    """The library of NVRTC and the folder of CUDA's headers: in CUDA_HOME, in the usual folder, or in pip's wheels."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    roots += [str(Path(folder) / "nvidia" / f"cu{torch.version.cuda.split('.')[0]}") for folder in sys.path if folder]
    for root in (Path(root) for root in roots if root):
        libraries = [file for folder in ("lib64", "lib") for file in sorted((root / folder).glob("libnvrtc.so.*"))]
        if libraries and (root / "include" / "cuda_bf16.h").is_file():
            return libraries[0], root / "include"
    raise DeviceError("NVRTC and CUDA's headers are not here: install the CUDA toolkit, or set CUDA_HOME to it")


class Nvrtc:
    """Compiles a text to a cubin."""

    def __init__(self):
        path, self.include = toolkit()
        self.library = ctypes.CDLL(str(path))

    def compile(self, text, name, options):
        """Returns the cubin. Raises BuildError with the log."""
        program = ctypes.c_void_p()
        self.check("nvrtcCreateProgram", ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = self.library.nvrtcCompileProgram(program, len(options), given)
        if code != 0:
            raise BuildError(self.output(program, "nvrtcGetProgramLog").decode(errors="replace").rstrip("\0"))
        cubin = self.output(program, "nvrtcGetCUBIN")
        self.check("nvrtcDestroyProgram", ctypes.byref(program))
        return cubin

    def output(self, program, function):
        size = ctypes.c_size_t()
        self.check(f"{function}Size", program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        self.check(function, program, content)
        return content.raw

    def check(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code != 0:
            raise DeviceError(f"{function} failed with code {code}: is the CUDA toolkit whole?")


class Driver:
    """The functions of libcuda. Each returns a code, which `call` checks."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, function, *arguments, error=LaunchError):
        code = getattr(self.library, function)(*arguments)
        if code != 0:
            name = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(name))
            raise error(f"{function}: {(name.value or b'an unknown error').decode()} ({code})")


class Device:
    emulated = False
    orders = ("the GPU's",)  # a GPU has its own order of threads

    def __init__(self, include, index=0):
        if not torch.cuda.is_available():
            raise DeviceError("PyTorch sees no CUDA device")
        torch.cuda.set_device(index)
        self.torch_name = f"cuda:{index}"
        # PyTorch's context is the current one from here on.
        torch.zeros(1, device=self.torch_name)
        about = torch.cuda.get_device_properties(index)
        self.name, self.sms = about.name, about.multi_processor_count
        self.uuid = f"GPU-{about.uuid}" if hasattr(about, "uuid") else None
        # sm_90a has the instructions of this architecture that sm_90 lacks.
        self.arch = f"sm_{about.major}{about.minor}" + ("a" if about.major >= 9 else "")
        self.include, self.nvrtc, self.driver = include, Nvrtc(), Driver()
        most = ctypes.c_int()
        self.driver.call("cuDeviceGetAttribute", ctypes.byref(most), MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, index)
        self.max_shared_bytes = most.value

    def build(self, source, entry, defines, problem_header):
        """Compiles kernel.cu to a cubin. Raises BuildError with NVRTC's log."""
        with tempfile.TemporaryDirectory(prefix="wavegru-") as work:
            (Path(work) / "lab_problem.h").write_text(problem_header)
            for name, text in HEADERS.items():
                (Path(work) / name).write_text(text)
            cuda = self.nvrtc.include
            folders = [work, self.include, source.parent, cuda, cuda / "cccl"]
            options = [f"--gpu-architecture={self.arch}", "--std=c++17", "--generate-line-info"]
            options += [f"-I{folder}" for folder in folders] + [f"-D{name}={value}" for name, value in defines.items()]
            cubin = self.nvrtc.compile(source.read_text(), source.name, options)
        return Kernel(self, entry, cubin)

    def allocate(self, nbytes):
        return Memory(self, nbytes)


class Memory:
    """Bytes of device memory, as a tensor of PyTorch."""

    def __init__(self, device, nbytes):
        self.tensor = torch.zeros(nbytes, dtype=torch.uint8, device=device.torch_name)
        self.address = self.tensor.data_ptr()

    def write(self, content, offset=0):
        self.tensor[offset : offset + content.size] = torch.from_numpy(content.copy()).to(self.tensor.device)

    def read(self):
        return self.tensor.cpu().numpy()


class Kernel:
    """A built kernel. `reload` gives its global variables their first values again."""

    def __init__(self, device, entry, cubin):
        self.device, self.entry, self.cubin = device, entry, cubin
        self.module = None
        self.reload()

    def reload(self):
        call = self.device.driver.call
        if self.module is not None:
            call("cuModuleUnload", self.module)
        self.module = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.module), self.cubin)
        self.functions = {}
        for name in (self.entry, f"lab_launch_{self.entry}"):
            self.functions[name] = ctypes.c_void_p()
            found = (ctypes.byref(self.functions[name]), self.module, name.encode())
            call("cuModuleGetFunction", *found, error=lambda why: BuildError(f"the kernel has no {name}: {why}"))

    def launch(self, dims, arguments, order=None):
        """Launches the kernel as its launch statement says, and waits for its end. Returns the seconds between two events."""
        shape = launch_shape(self, dims)
        function = self.functions[self.entry]
        shared_bytes = shape[6]
        self.device.driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        before.record()
        self.call(self.entry, arguments, shape)
        after.record()
        self.wait()
        return before.elapsed_time(after) / 1e3

    def run_launch_statement(self, arguments):
        self.call(f"lab_launch_{self.entry}", arguments, [1, 1, 1, 1, 1, 1, 0, 0])
        self.wait()

    def call(self, entry, arguments, shape):
        *extents, shared_bytes, cooperative = shape
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        given = (self.functions[entry], *extents, shared_bytes, stream, pointers_to(arguments))
        if cooperative:
            self.device.driver.call("cuLaunchCooperativeKernel", *given)
        else:
            self.device.driver.call("cuLaunchKernel", *given, None)

    def wait(self):
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise LaunchError(str(error).splitlines()[0]) from error
