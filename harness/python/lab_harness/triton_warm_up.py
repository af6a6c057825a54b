"""What Triton does before its first compilation in a process, done ahead: it hashes its own files, sets up LLVM, and asks
ptxas for its version. That takes 0.4 to 0.9 s, and needs no device.
"""

import ctypes
import os
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# The architecture that kernels are compiled for where the GPU is unknown. ptxas is asked for its version by architecture.
_SM = 80
_THREADS_OF_A_WARP = 32


@triton.jit
def _sum(x, y):
    """Passes through most of the compiler: a load, a reduction over threads, a store."""
    tl.store(y, tl.sum(tl.load(x + tl.arange(0, 128)), 0))


def warm_up():
    """Compiles a small kernel for the first GPU, and leaves no file of it."""
    before = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="lab-triton-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            source = ASTSource(fn=_sum, signature={"x": "*fp32", "y": "*fp32"})
            triton.compile(source, target=GPUTarget("cuda", _sm_of_first_gpu() or _SM, _THREADS_OF_A_WARP))
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before
    _find_the_driver()


def _sm_of_first_gpu():
    """The architecture of the first GPU by the driver's management library, which opens no device; None without a GPU."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2():
        return None
    try:
        device, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
        failed = (nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) or
                  nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)))
        return None if failed else 10 * major.value + minor.value
    finally:
        nvml.nvmlShutdown()


def _find_the_driver():
    """Lets Triton look for libcuda.so, for which it runs a program. Versions differ in where they do so."""
    try:
        from triton.backends.nvidia.driver import libcuda_dirs

        libcuda_dirs()
    except Exception:  # noqa: B902: no documented interface, and the first launch says what is wrong
        return
