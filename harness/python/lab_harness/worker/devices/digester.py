"""Kernels of the lab's own on a CUDA device: digests of memory, noise, the wiping of shared memory, a wait.

The kernels are those of harness/device/src/cuda/driver/digest.cu. The table of what to read and the results lie in page-locked host
memory, so that nothing of them lies in device memory, where a kernel could find it.
"""

import ctypes

from numpy import array, concatenate, cumsum, dtype, frombuffer, uint32, uint64, zeros

from ..noise import NOISE_WORDS
from .digest_ptx import TEXT

_CHUNK_WORDS = 1 << 16
_CHUNK = dtype([("address", "<u8"), ("index", "<u8"), ("words", "<u4"), ("first", "<u4"), ("last", "<u4"),
                ("unused", "<u4")])
_STAGING_BYTES = 1 << 20
_MAX_CHUNKS = _STAGING_BYTES // _CHUNK.itemsize
_ALL = 0xFFFF_FFFF
_NUM_REGS, _MAX_DYNAMIC_SHARED = 4, 8
# Ranges whose chunks are remembered.
_REMEMBERED = 4096

_c_u64, _c_uint, _c_void = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p
_addressof, _cast, _copy = ctypes.addressof, ctypes.cast, ctypes.memmove


class Digester:
    """The kernels, loaded into the context that is current."""

    def __init__(self, driver, stream, sms, shared_bytes):
        self._driver, self._stream, self._sms, self._shared_bytes = driver, stream, sms, shared_bytes
        module = driver.ask(_c_void, "cuModuleLoadData", TEXT.encode("ascii"), action="load the digest kernels")
        self._functions = {}
        for name in ("lab_digest", "lab_noise", "lab_scrub", "lab_wait"):
            function = driver.ask(_c_void, "cuModuleGetFunction", module, name.encode(), action=f"find {name}")
            self._functions[name] = function
        driver.call("cuFuncSetAttribute", self._functions["lab_scrub"], _MAX_DYNAMIC_SHARED, shared_bytes,
                    action="let the lab's kernel use all shared memory")
        # While a stream records a graph, nothing can be loaded. To read an attribute loads the kernel.
        for function in self._functions.values():
            driver.ask(ctypes.c_int, "cuFuncGetAttribute", _NUM_REGS, function, action="load the lab's kernels")
        self._host = [driver.ask(_c_void, "cuMemAllocHost_v2", _STAGING_BYTES, action="get page-locked memory")
                      for _ in range(2)]
        self._device = [driver.ask(_c_u64, "cuMemHostGetDevicePointer_v2", host, 0,
                                   action="find page-locked memory on the device") for host in self._host]
        self._chunks = {}

    def _launch(self, name, blocks, threads, shared, *values):
        pointers = (_c_void * len(values))(*[_addressof(value) for value in values])
        self._driver.call("cuLaunchKernel", self._functions[name], blocks, 1, 1, threads, 1, 1, shared, self._stream,
                          pointers, None, action=f"run {name}")

    def wait(self, nanoseconds):
        """Lets the stream wait for about so long."""
        self._launch("lab_wait", 1, 1, 0, _c_u64(nanoseconds))

    def scrub(self):
        """Overwrites the shared memory of every multiprocessor."""
        self._launch("lab_scrub", self._sms, 1024, self._shared_bytes, _c_uint(self._shared_bytes // 4))

    def fill_noise(self, address, length, noise, first):
        """Fills memory with noise, from word `first` on. `address` and `length` are multiples of 4."""
        words = length // 4
        if words:
            self._launch("lab_noise", min(-(-words // 256), 1024), 256, 0, _c_u64(address), _c_u64(words),
                         _c_u64(first), _c_u64(NOISE_WORDS - 1), _c_u64(noise.key))

    def digests(self, ranges, key):
        """The digest of each range (address, bytes) under a key. Waits for the stream."""
        if not ranges:
            return []
        parts = [self._chunks_of(address, length) for address, length in ranges]
        table = concatenate(parts)
        sums = zeros(len(table) + 1, uint64)
        for start in range(0, len(table), _MAX_CHUNKS):
            part = table[start:start + _MAX_CHUNKS]
            content = part.tobytes()
            _copy(self._host[0], content, len(content))
            self._launch("lab_digest", len(part), 256, 0, _c_u64(self._device[0]), _c_u64(self._device[1]), _c_u64(key))
            self._driver.call("cuStreamSynchronize", self._stream, action="compute digests of device memory")
            results = (_c_u64 * len(part)).from_address(self._host[1])
            sums[1 + start:1 + start + len(part)] = frombuffer(results, uint64)
        # Sums of 64 bits that wrap around: the difference of two is exact.
        sums = cumsum(sums, dtype=uint64)
        ends = cumsum(array([0] + [len(part) for part in parts]))
        return (sums[ends[1:]] - sums[ends[:-1]]).tolist()

    def _chunks_of(self, address, length):
        """The table of a range: runs of whole words, with the bits of the first and the last word that belong to it."""
        known = self._chunks.get((address, length))
        if known is not None:
            return known
        head = address % 4
        end = head + length
        words = -(-end // 4) if length else 0
        count = -(-words // _CHUNK_WORDS)
        table = zeros(count, _CHUNK)
        if count:
            index = array(range(count), uint64) * uint64(_CHUNK_WORDS)
            table["address"] = index * uint64(4) + uint64(address - head)
            table["index"] = index
            table["words"] = _CHUNK_WORDS
            table["words"][-1] = words - (count - 1) * _CHUNK_WORDS
            table["first"], table["last"] = _ALL, _ALL
            table["first"][0] = uint32((_ALL << 8 * head) & _ALL)
            if end % 4:
                table["last"][-1] = uint32(_ALL >> 8 * (4 - end % 4))
        if len(self._chunks) >= _REMEMBERED:
            self._chunks.clear()
        self._chunks[(address, length)] = table
        return table
