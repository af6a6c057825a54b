"""The cpu device: buffers are anonymous memory of this process, and a kernel gets NumPy arrays that view them."""

import bisect
import ctypes
import mmap
import platform
import time

import numpy
from numpy import bool_, dtype, float16, float32, float64, frombuffer, int8, int16, int32, int64, uint8, uint32

from .. import dtypes
from ..failures import Lab
from ..noise import digest_of
from ..private import BUILTINS as __builtins__

_libc = ctypes.CDLL(None)
_compare, _copy = _libc.memcmp, _libc.memmove
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_copy.restype = ctypes.c_void_p
# Without the function of ctypes around it, which looks for this one each time.
_bytes_at = getattr(ctypes, "_string_at", ctypes.string_at)
_Character = ctypes.c_char
_address_of = ctypes.addressof
_perf_counter = time.perf_counter
_bisect, _insort = bisect.bisect_right, bisect.insort
_map, _PRIVATE, _empty = mmap.mmap, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, numpy.empty

_COMPARED_AT_ONCE = 1 << 20

_TYPES = {"f64": float64, "f32": float32, "f16": float16, "i8": int8, "u8": uint8, "i16": int16, "i32": int32,
          "u32": uint32, "i64": int64, "bool": bool_}
_ML_TYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


class CpuDevice:
    """The processor. Addresses are those of this process."""

    page_bytes = 1
    # What decides how fast a kernel is, whether or not its source imports it.
    packages = frozenset({"numpy"})
    has_graphs = False
    # Whether it maps memory of the judge's own worker.
    shares_memory = False

    def __init__(self):
        # Anonymous memory by its address. Private: a process that a kernel forks has a copy.
        self._allocations = {}
        self._bases = []
        self._types = {word: dtype(kind) for word, kind in _TYPES.items()}
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        for word, name in _ML_TYPES.items():
            if ml_dtypes is not None:
                self._types[word] = dtype(getattr(ml_dtypes, name))
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
        base = _address_of(_Character.from_buffer(content))
        self._allocations[base] = content
        _insort(self._bases, base)
        return base

    def free(self, base):
        """Frees an allocation. Its memory goes back when no array of the kernel views it any more."""
        self._bases.remove(base)
        del self._allocations[base]

    def upload(self, address, content):
        """Writes bytes to memory."""
        if len(content):
            _copy(address, _pointer(content), len(content))

    def download(self, address, length):
        """Returns bytes of memory."""
        return _bytes_at(address, length)

    def fill(self, address, length, pattern):
        """Fills memory with a repeated 32-bit pattern. `length` is a multiple of 4, and not 0."""
        part = pattern.to_bytes(4, "little") * (min(length, _COMPARED_AT_ONCE) // 4)
        for offset in range(0, length, _COMPARED_AT_ONCE):
            _copy(address + offset, part, min(_COMPARED_AT_ONCE, length - offset))

    # There is no cache to flush that the device knows of.
    flush_cache = fill

    def fill_noise(self, address, length, noise, first):
        """Fills memory with noise, from word `first` of the noise on."""
        for part in noise.parts(4 * first, length):
            self.upload(address, part)
            address += len(part)

    def digests(self, ranges, key):
        """None: to compare the memory with a copy is as fast."""
        return None

    def host_digest(self, address, length, key):
        """The digest of a range under a key."""
        return digest_of(_bytes_at(address, length), key)

    def first_difference(self, address, right):
        """The offset of the first byte that differs from `right`; None if none does."""
        right = memoryview(right)
        for offset in range(0, len(right), _COMPARED_AT_ONCE):
            part = right[offset:offset + _COMPARED_AT_ONCE]
            if _compare(address + offset, _pointer(part), len(part)):
                actual = _bytes_at(address + offset, len(part))
                return offset + next(i for i, (a, b) in enumerate(zip(actual, part)) if a != b)
        return None

    def rotate(self, addresses, length):
        """Moves the content of each address to the next address of the list, and the last content to the first."""
        for offset in range(0, length, _COMPARED_AT_ONCE):
            count = min(_COMPARED_AT_ONCE, length - offset)
            last = _bytes_at(addresses[-1] + offset, count)
            for source, target in zip(addresses[-2::-1], addresses[:0:-1]):
                _copy(target + offset, source + offset, count)
            _copy(addresses[0] + offset, last, count)

    def scrub(self):
        """Nothing: there is no shared memory."""

    # Memory of the process that outlives a module cannot be distinguished from other memory.
    wipe = None

    def compiled(self, namespace):
        """Nothing: NumPy compiles nothing."""

    def use_compiled(self, compiled, namespace):
        """Nothing, as above."""

    def view(self, address, word, shape, is_input):
        """A NumPy array of this memory. An input is read-only."""
        kind = self._types.get(word)
        if kind is None:
            raise Lab(f"a tensor is of type {word}, which NumPy knows by the package ml_dtypes: install ml_dtypes for "
                      "the Python that runs kernels")
        base = self._bases[_bisect(self._bases, address) - 1]
        count = dtypes.cells(shape)
        if count == 0:
            array = _empty(0, kind)
        else:
            array = frombuffer(self._allocations[base], uint8, count * kind.itemsize, address - base).view(kind)
        array = array.reshape(shape)
        if is_input:
            array.setflags(write=False)
        return array

    def run(self, calls, flush, as_graph, take_back):
        """Runs the calls one after the other. Returns the seconds, and None: the calls ran as asked.

        What they wrote is taken back while the clock runs: nothing can be written at a time that does not count.
        """
        began = _perf_counter()
        for call in calls:
            call.run()
        for call in calls:
            call.let_go()
        take_back()
        return max(_perf_counter() - began, 1e-9), None

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
