"""The cpu device: a kernel gets NumPy arrays that view memory which this process maps, or tensors if it imports PyTorch."""

import bisect
import ctypes
import mmap
import os
import platform
import sys
import time

import numpy
from numpy import dtype, frombuffer, uint8

from .. import dtypes
from ..failures import Lab
from ..private import BUILTINS as __builtins__

_copy = ctypes.CDLL(None).memmove
_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_copy.restype = ctypes.c_void_p
# Without the function of ctypes around it, which looks for this one each time.
_bytes_at = getattr(ctypes, "_string_at", ctypes.string_at)
_Character = ctypes.c_char
_address_of = ctypes.addressof
_perf_counter = time.perf_counter
_bisect, _insort, _duplicate, _close = bisect.bisect_right, bisect.insort, os.dup, os.close
_as_strided = numpy.lib.stride_tricks.as_strided
_map, _PRIVATE, _empty = mmap.mmap, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, numpy.empty

_FILLED_AT_ONCE = 1 << 20

_ML_TYPES = ("bf16", "f8e4m3", "f8e5m2")


def _interpret_triton():
    """Lets Triton run kernels by its interpreter, in NumPy and PyTorch. What was imported without it compiles, and is imported anew."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        return
    os.environ["TRITON_INTERPRET"] = "1"
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton" and "._C" not in name]:
        del sys.modules[name]


def _import_torch():
    """Imports PyTorch, and starts its threads, which the judge would else take for a kernel's."""
    try:
        import torch
    except Exception as error:  # noqa: B902: an installation that is broken fails in many ways
        raise Lab(f"a kernel that uses Triton or PyTorch gets PyTorch's tensors on the cpu device, and {sys.executable} has no "
                  f"PyTorch ({type(error).__name__}: {error}). Install it: `{sys.executable} -m pip install torch`") from None
    square = torch.ones((256, 256))
    square @ square
    return torch


class Block:
    """Memory of the judge's own worker, mapped at an address of this process."""

    def __init__(self, descriptor, length):
        self.descriptor, self.length, self.base = descriptor, length, None


class CpuDevice:
    """The processor. Addresses are those of this process."""

    # What decides how fast a kernel is, whether or not its source imports it.
    packages = frozenset({"numpy"})
    has_graphs = False
    # Whether it maps memory of the judge's own worker.
    shares_memory = True

    def __init__(self):
        self._torch = None
        # Memory by its address. What is the worker's own is private: a process that a kernel forks has a copy.
        self._allocations = {}
        self._bases = []
        self._types = {word: dtype(name) for word, name in dtypes.NAMES.items() if word not in _ML_TYPES}
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        for word in _ML_TYPES:
            if ml_dtypes is not None:
                self._types[word] = dtype(getattr(ml_dtypes, dtypes.NAMES[word]))
        _interpret_triton()
        # Starts the threads of the linear algebra library, which the judge would else take for a kernel's.
        square = numpy.ones((256, 256))
        square @ square

    def info(self):
        """The device as the judge's DeviceInfo."""
        python = ".".join(platform.python_version_tuple()[:2])
        return {"name": f"cpu (emulated, NumPy {numpy.__version__}, Python {python})", "emulated": True, "sms": 1, "arch": "",
                "max_shared_bytes": 0, "l2_bytes": 0, "memory_bytes": 0, "uuid": "", "driver": "none (emulated)"}

    def allocate(self, length):
        """Allocates memory, aligned to a page, and returns its address."""
        try:
            # At least a page: an empty map is refused.
            content = _map(-1, max(length, 1), flags=_PRIVATE)
        except (OSError, OverflowError, ValueError) as error:
            raise Lab(f"{length} bytes of memory cannot be had: {error}") from None
        return self._note(content)

    def _note(self, content):
        base = _address_of(_Character.from_buffer(content))
        self._allocations[base] = content
        _insort(self._bases, base)
        return base

    def free(self, base):
        """Frees an allocation. Its memory goes back when no array of the kernel views it any more."""
        self._bases.remove(base)
        del self._allocations[base]

    def map(self, descriptor, length):
        """Maps so many bytes of the judge's own worker, and returns the Block. The caller keeps the descriptor."""
        block = Block(_duplicate(descriptor), max(length, 1))
        block.base = self._note(_map(block.descriptor, block.length))
        return block

    def map_elsewhere(self, blocks):
        """Gives these blocks other addresses. An array of the kernel keeps the earlier one."""
        earlier = [block.base for block in blocks]
        for block in blocks:
            block.base = self._note(_map(block.descriptor, block.length))
        # Not before: a block could get the address that it had.
        for base in earlier:
            self.free(base)

    def unmap(self, block):
        """Ends the mapping of a Block, once no array of the kernel views it any more."""
        self.free(block.base)
        _close(block.descriptor)

    def upload(self, address, content):
        """Writes bytes to memory."""
        if len(content):
            _copy(address, _pointer(content), len(content))

    def download(self, address, length):
        """Returns bytes of memory."""
        return _bytes_at(address, length)

    def fill(self, address, length, pattern):
        """Fills memory with a repeated 32-bit pattern. `length` is a multiple of 4, and not 0."""
        part = pattern.to_bytes(4, "little") * (min(length, _FILLED_AT_ONCE) // 4)
        for offset in range(0, length, _FILLED_AT_ONCE):
            _copy(address + offset, part, min(_FILLED_AT_ONCE, length - offset))

    # There is no cache to flush that the device knows of.
    flush_cache = fill

    def scrub(self):
        """Nothing: there is no shared memory."""

    # Memory of the process that outlives a module cannot be distinguished from other memory.
    wipe = None

    def compiled(self, namespace):
        """Nothing: NumPy compiles nothing."""

    def use_compiled(self, compiled, namespace):
        """Nothing, as above."""

    def view(self, address, word, shape, is_input, strides=None):
        """A NumPy array of this memory, with strides in elements if it is a part of a tensor. An input is read-only."""
        kind = self._types.get(word)
        if kind is None:
            raise Lab(f"a tensor is of type {word}, which NumPy knows by the package ml_dtypes: install ml_dtypes for "
                      "the Python that runs kernels")
        array = self._cells(address, dtypes.span(shape, strides) * kind.itemsize).view(kind)
        if strides is None:
            array = array.reshape(shape)
        else:
            array = _as_strided(array, shape, [stride * kind.itemsize for stride in strides])
        if is_input:
            array.setflags(write=False)
        return array

    def tensor(self, address, word, shape, is_input, strides=None):
        """A PyTorch tensor of this memory."""
        torch = self._torch = self._torch or _import_torch()
        kind = getattr(torch, dtypes.NAMES.get(word, ""), None)
        if kind is None:
            raise Lab(f"a tensor is of type {word}, which PyTorch {torch.__version__} does not have")
        cells = torch.from_numpy(self._cells(address, dtypes.span(shape, strides) * dtypes.SIZES[word])).view(kind)
        return cells.reshape(shape) if strides is None else torch.as_strided(cells, shape, strides)

    def _cells(self, address, length):
        """So many bytes of this memory."""
        if length == 0:
            return _empty(0, uint8)
        base = self._bases[_bisect(self._bases, address) - 1]
        return frombuffer(self._allocations[base], uint8, length, address - base)

    def run(self, calls, flush, as_graph):
        """Runs the calls one after the other. Returns the seconds, and None: the calls ran as asked."""
        began = _perf_counter()
        for call in calls:
            call.run()
        seconds = _perf_counter() - began
        for call in calls:
            call.store()
        began = _perf_counter()
        for call in calls:
            call.let_go()
        return max(seconds + _perf_counter() - began, 1e-9), None

    def resources(self, calls):
        """Nothing: no Triton kernel runs here."""
        return []


def _pointer(content):
    """The address of a bytes-like object's content, which the caller keeps alive."""
    if type(content) is bytes:
        return content
    view = content if type(content) is memoryview else memoryview(content)
    if view.readonly:
        return frombuffer(view, uint8).__array_interface__["data"][0]
    return _address_of(_Character.from_buffer(view))
