"""Compiles the Triton kernels of a source for several calls at the same time, before a worker makes these calls.

A worker makes one call after the other, and Triton compiles for each shape that needs it: six shapes take most of a second. Here
children of their own each execute the source and make some of the calls, with tensors that have a type and a shape and no memory.
A launch of a Triton kernel then only compiles, and Triton keeps the result in its cache folder, where the worker finds it. No device
is opened and nothing is launched. What a call computes has no meaning, and nobody looks at it: the worker makes every call itself. A
call that cannot do without a device or without values fails here, and its kernel is compiled by the worker, as it would be without
this module.
"""

import os
import resource
import sys
import types

import torch
import triton
from triton.backends.compiler import GPUTarget

from .worker import dtypes
from .worker.audit import Watch

# Most children at one time.
MOST = 8
# Seconds of processor time of a child. A call may never end without values; the judge ends the children after its checks.
_SECONDS = 30
_THREADS_OF_A_WARP = 32


def run(request):
    """Compiles for the calls of a request, in children, and waits for them. Returns the exit code.

    `path` is the source, `sm` the architecture of the device (90), and `calls` a list of {"entry": "f", "parameters": […]}. A parameter
    has a name and a dtype, and a shape or the bytes of its value.
    """
    calls = request["calls"]
    count = min(len(calls), MOST, max(1, len(os.sched_getaffinity(0)) // 2))
    children = []
    for first in range(count):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
                _compile(request["path"], request["sm"], calls[first::count])
                code = 0
            except BaseException:  # noqa: B902: the worker makes the same call, and says what is wrong
                pass
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return 0 if not any(codes) else 1


class _Driver:
    """Stands for Triton's driver: it knows the architecture, and has no device."""

    def __init__(self, sm):
        self._target = GPUTarget("cuda", sm, _THREADS_OF_A_WARP)

    def get_current_target(self):
        return self._target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0


def _compile(path, sm, calls):
    """Executes the source and makes these calls. A call that fails keeps no other from being made."""
    # A source that would open a device fails instead: another process on it would disturb measurements.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    triton.runtime.driver.set_active(_Driver(sm))
    kind = triton.runtime.jit.JITFunction
    launch = kind.run

    def only_compile(self, *args, grid, warmup, **options):
        return launch(self, *args, grid=grid, warmup=True, **options)

    kind.run = only_compile
    watch = _EndingWatch(_Child)
    watch.allow(path)
    watch.start()
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    module = types.ModuleType("kernel")
    module.__file__ = path
    sys.modules["kernel"] = module
    exec(code, module.__dict__)
    for call in calls:
        try:
            function = getattr(module, call["entry"])
            given = {parameter["name"]: _argument(parameter) for parameter in call["parameters"]}
            wanted = function.__code__.co_varnames[:function.__code__.co_argcount]
            function(**{name: given[name] for name in wanted if name in given})
        except Exception:  # noqa: B902: see above
            continue


def _argument(parameter):
    if parameter.get("shape") is None:
        return dtypes.scalar(parameter["dtype"], bytes(parameter["value"]))
    options = {"dtype": getattr(torch, dtypes.NAMES[parameter["dtype"]]), "device": "meta"}
    if parameter.get("strides") is None:
        return torch.empty(parameter["shape"], **options)
    return torch.empty_strided(parameter["shape"], parameter["strides"], **options)


class _Child:
    """This process, for the watch: it answers no judge."""

    @staticmethod
    def is_owner():
        return False


class _EndingWatch(Watch):
    """Ends this process before the source opens a forbidden file: no judge would see an error of this process."""

    def _hook(self, event, args):
        super()._hook(event, args)
        if self.found() is not None:
            os._exit(1)
