# Writes behind the end of its output, and rewrites the worker's own modules, which look for that.
# judged: fail by out_of_bounds
import ctypes
import sys

import lab_harness.worker.memory as memory

for module in [memory, *(module for name, module in sys.modules.items() if name.startswith("lab_harness"))]:
    for kind in vars(module).values():
        if isinstance(kind, type) and hasattr(kind, "breaches"):
            kind.breaches = kind.breaches_of_given = lambda self: []
            kind.check = lambda self: None


def axpy(x, y, a):
    y[:] = x * a + 1
    end = y.__array_interface__["data"][0] + y.nbytes
    ctypes.c_ubyte.from_address(end + 64).value ^= 1
