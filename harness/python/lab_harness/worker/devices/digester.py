"""Kernels of the lab's own on a CUDA device: digests of memory, the wiping of shared memory, a wait.

They are those of harness/device/src/cuda/driver/digest.cu, and one that scrambles memory. The table of what to read and the
results lie in page-locked host memory, so that nothing of them lies in device memory, where a kernel could find it.
"""

import ctypes

from numpy import array, concatenate, cumsum, dtype, frombuffer, uint32, uint64, zeros

from ..private import BUILTINS as __builtins__
from . import digest_ptx, scramble_ptx

_CHUNK_WORDS = 1 << 16
_CHUNK = dtype([("address", "<u8"), ("index", "<u8"), ("words", "<u4"), ("first", "<u4"), ("last", "<u4"),
                ("unused", "<u4")])
# Tables are joined as rows of whole words: NumPy needs a hundred times as long to join tables with named fields.
_ROW_WORDS = _CHUNK.itemsize // 8
_STAGING_BYTES = 1 << 20
_MAX_CHUNKS = _STAGING_BYTES // _CHUNK.itemsize
_ALL = 0xFFFF_FFFF
# A NaN, a huge number and a huge negative one.
_SHARED_POISONS = (0x7FFF_7FFF, 0x7A7A_7A7A, 0xFAFA_FAFA)
_NUM_REGS, _MAX_DYNAMIC_SHARED = 4, 8
# Ranges whose chunks are remembered.
_REMEMBERED = 4096

_c_u64, _c_uint, _c_void = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p
_addressof, _copy = ctypes.addressof, ctypes.memmove


class Digester:
    """The kernels, loaded into the context that is current."""

    def __init__(self, driver, stream, sms, shared_bytes):
        self._driver, self._stream, self._sms, self._shared_bytes = driver, stream, sms, shared_bytes
        self._functions, self._scrubs = {}, -1
        for text, names in ((digest_ptx.TEXT, ("lab_digest", "lab_scrub", "lab_wait")),
                            (scramble_ptx.TEXT, ("lab_scramble",))):
            module = driver.ask(_c_void, "cuModuleLoadData", text.encode("ascii"), action="load the lab's kernels")
            for name in names:
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
        """Overwrites the shared memory of every multiprocessor, with a NaN, a huge number and a huge negative one in turn."""
        self._scrubs += 1
        self._launch("lab_scrub", self._sms, 1024, self._shared_bytes, _c_uint(self._shared_bytes // 4),
                     _c_uint(_SHARED_POISONS[self._scrubs % len(_SHARED_POISONS)]))

    def digests(self, ranges, key):
        """The digest of each range (address, bytes) under a key. Waits for the stream."""
        if not ranges:
            return []
        parts = [self._chunks_of(address, length) for address, length in ranges]
        table = concatenate(parts)
        sums = zeros(len(table) + 1, uint64)
        for start in range(0, len(table), _MAX_CHUNKS):
            part = table[start:start + _MAX_CHUNKS]
            self._stage(part)
            self._digest_staged(len(part), key)
            sums[1 + start:1 + start + len(part)] = self._results(len(part))
        # Sums of 64 bits that wrap around: the difference of two is exact.
        sums = cumsum(sums, dtype=uint64)
        ends = cumsum(array([0] + [len(part) for part in parts]))
        return (sums[ends[1:]] - sums[ends[:-1]]).tolist()

    def staged(self, ranges, key):
        """Prepares the digest of all ranges together. Returns a function that launches it, and one that waits for it.

        Nothing else may use the kernels in between. None if there are too many ranges, or none.
        """
        table = concatenate([self._chunks_of(address, length) for address, length in ranges]) if ranges else ()
        count = len(table)
        if not 0 < count <= _MAX_CHUNKS:
            return None
        self._stage(table)
        return (lambda: self._digest_staged(count, key)), (lambda: self._results(count).tolist())

    def scramble(self, ranges, key):
        """Makes memory unreadable, or restores it: combines each of its words with a key of 32 bits. Waits."""
        table = concatenate([self._chunks_of(address, length) for address, length in ranges])
        for start in range(0, len(table), _MAX_CHUNKS):
            part = table[start:start + _MAX_CHUNKS]
            self._stage(part)
            self._launch("lab_scramble", len(part), 256, 0, _c_u64(self._device[0]), _c_uint(key))
            self._driver.call("cuStreamSynchronize", self._stream, action="scramble device memory")

    def _stage(self, table):
        """Puts a table where the kernels find it."""
        content = table.tobytes()
        _copy(self._host[0], content, len(content))

    def _digest_staged(self, count, key):
        self._launch("lab_digest", count, 256, 0, _c_u64(self._device[0]), _c_u64(self._device[1]), _c_u64(key))

    def _results(self, count):
        """Waits, and returns the digest of each chunk."""
        self._driver.call("cuStreamSynchronize", self._stream, action="compute digests of device memory")
        return frombuffer((_c_u64 * count).from_address(self._host[1]), uint64).copy()

    def _chunks_of(self, address, length):
        """The rows of a range: runs of whole words, with the bits of the first and the last word that belong to it."""
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
        rows = table.view(uint64).reshape(count, _ROW_WORDS)
        self._chunks[(address, length)] = rows
        return rows
