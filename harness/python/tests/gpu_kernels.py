"""The kernels that gpu_check.py runs."""

AXPY = """
import torch

def axpy(a, x, y, n):
    assert x.data_ptr() % 256 == 0 and y.is_cuda
    torch.mul(x, a, out=y)
    y += 1
"""

TRITON_AXPY = """
import torch
import triton
import triton.language as tl

@triton.jit
def axpy_kernel(a, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, a * tl.load(x + at, mask=inside) + 1, mask=inside)

def axpy(a, x, y, n):
    axpy_kernel[(triton.cdiv(n, 1024),)](a, x, y, n, BLOCK=1024)
"""

AUTOTUNED = """
import torch
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 1024)], key=["n"])
@triton.jit
def axpy_kernel(a, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, a * tl.load(x + at, mask=inside) + 1, mask=inside)

def axpy(a, x, y, n):
    axpy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](a, x, y, n)
"""

COMPILED = """
import torch

@torch.compile
def formula(a, x):
    return a * x + 1

def axpy(a, x, y, n):
    y.copy_(formula(a, x))
"""

# Entries of one module. `other` is a tensor that an earlier launch was given.
RULES = """
import threading
import torch

kept = []

def writes_nothing(x, y):
    pass

def returns(x, y):
    return x + 1

def raises(x, y):
    y.copy_(x)
    raise ValueError("line 40 of the source")

def not_joined(x, y):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000)
        y.copy_(x)

def joined(x, y):
    side, own = torch.cuda.Stream(), torch.cuda.current_stream()
    side.wait_stream(own)
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000)
        y.copy_(x)
    own.wait_stream(side)

def leaves_a_stream(x, y):
    torch.cuda.set_stream(torch.cuda.Stream())
    torch.cuda._sleep(2_000_000)
    y.copy_(x)

def default_stream(x, y):
    with torch.cuda.stream(torch.cuda.default_stream()):
        torch.cuda._sleep(2_000_000)
        y.copy_(x)

def reads_back(x, y):
    y.copy_(x * float(x[0].item()) / float(x[0].item()))

def sleeps(x, y):
    torch.cuda._sleep(20_000_000)
    y.copy_(x)

def later(x, y):
    stream = torch.cuda.current_stream()
    def write():
        import time
        time.sleep(0.2)
        with torch.cuda.stream(stream):
            y.copy_(x)
        torch.cuda.synchronize()
    threading.Thread(target=write).start()

def finds_memory(x, y):
    found = torch.empty(1 << 20, dtype=torch.int32, device="cuda")
    y.copy_(x)
    y[0] = (found == 0x1234567).sum().float()
    found.fill_(0x1234567)

def beside(x, y):
    if not torch.cuda.is_current_stream_capturing():
        return y.copy_(x) and None
    with torch.cuda.stream(torch.cuda.Stream()):
        kept.append(x * 1.0)
    y.copy_(kept[-1])

times = []

def at_first(x, y):
    times.append(1)
    if len(times) == 1:
        with torch.cuda.stream(torch.cuda.Stream()):
            y.copy_(x)
        raise ValueError("the first time")

def outlives(x, y):
    import builtins
    known = builtins.__dict__.get("_known")
    y.copy_(x)
    y[0] = 0 if known is None else (known == 0x1234567).sum().float()
    builtins._known = torch.full((1 << 18,), 0x1234567, dtype=torch.int32, device="cuda")

def prints(x, y):
    print("correctness: pass")
    y.copy_(x)

def lists(x, y, **rest):
    y.copy_(x)
    y[0] = len(rest)

def forks(x, y):
    import os
    if os.fork() == 0:
        return
    y.copy_(x)
"""

PATCHED = RULES + """
import builtins, ctypes, json, socket, struct, sys, time
import torch.overrides
import numpy

class Event:
    def __init__(self, *a, **k): pass
    def record(self, *a): pass
    def elapsed_time(self, other): return 1e-6
    def synchronize(self): pass

torch.cuda.Event = Event
torch.cuda.synchronize = lambda *a: None
torch.cuda.current_stream().__class__.synchronize = lambda self: None
time.perf_counter = lambda: 0.0
json.dumps = json.loads = lambda *a, **k: "{}"
struct.pack = struct.unpack = None
socket.socket.recv = socket.socket.sendall = None
numpy.frombuffer = numpy.concatenate = numpy.cumsum = None
ctypes.byref = ctypes.memmove = None
torch.as_tensor = torch.empty
torch.Tensor.view = torch.Tensor.__getitem__ = lambda *a: 1 / 0

class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), named=None):
        assert not prepares(sys._getframe(1)), "called by the worker, where no time is taken"
        return function(*args, **(named or {}))

def prepares(frame):
    while frame is not None:
        if frame.f_code.co_name == "_call":
            return True
        frame = frame.f_back
    return False

Mode().__enter__()
"""

WILD = """
import torch
import triton
import triton.language as tl

@triton.jit
def wild_kernel(y, far, BLOCK: tl.constexpr):
    tl.store(y + far + tl.arange(0, BLOCK), 1.0)

def wild(x, y):
    wild_kernel[(1,)](y, 1 << 40, BLOCK=128)
"""

HOARDS = """
import torch

held = []

def fails(x, y):
    torch.empty(1 << 45, dtype=torch.uint8, device="cuda")

def hoards(x, y):
    y.copy_(x)
    free, _ = torch.cuda.mem_get_info()
    step = 256 << 20
    while free > step:
        try:
            held.append(torch.empty(step, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            break
        free, _ = torch.cuda.mem_get_info()
"""

TYPES = """
import torch

def same(x, y):
    assert x.dtype == y.dtype, (x.dtype, y.dtype)
    y.view(torch.uint8).copy_(x.view(torch.uint8))

def kind(x, y):
    raise TypeError(str(x.dtype))
"""

# A module with a table, which a reload of another module must not spoil.
TABLE = """
import torch

table = torch.arange(1 << 18, device="cuda")

def f(x, y):
    y.copy_(x + (table - torch.arange(1 << 18, device="cuda")).abs().max())
"""

# A graph break: the function goes on after it with globals of its own.
BROKEN = """
import torch

scale = 2.0

@torch.compile
def formula(a, x):
    wide = x * (scale / 2)
    torch._dynamo.graph_break()
    return a * wide + scale / 2

def axpy(a, x, y, n):
    y.copy_(formula(a, x))
"""
