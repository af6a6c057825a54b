"""Copies between the device's memory and the host's through page-locked memory, a chunk at a time.

The device copies from and to page-locked memory several times as fast as from and to other memory. While one chunk is
copied on, the next one is under way. harness/device/src/cuda/driver/staging.rs does the same.
"""

import ctypes

from ..private import BUILTINS as __builtins__

# Bytes of a chunk. Copies of fewer bytes than the least are sooner done by the driver.
CHUNK, LEAST = 4 << 20, 64 << 10

_c_void, _Character = ctypes.c_void_p, ctypes.c_char
_addressof, _copy = ctypes.addressof, ctypes.memmove


class Staging:
    """Two page-locked buffers that are used in turns, each with an event that follows its last copy."""

    def __init__(self, driver, stream):
        self._driver, self._stream = driver, stream
        self._buffers = [(driver.ask(_c_void, "cuMemAllocHost_v2", CHUNK, action="get page-locked memory"),
                          driver.ask(_c_void, "cuEventCreate", 0, action="create an event")) for _ in range(2)]

    def upload(self, address, content):
        """Copies a bytearray to the device. It is there when the stream has ended its work."""
        driver, stream = self._driver, self._stream
        source = _addressof((_Character * len(content)).from_buffer(content))
        for number, offset in enumerate(range(0, len(content), CHUNK)):
            length = min(CHUNK, len(content) - offset)
            memory, copied = self._buffers[number % 2]
            driver.call("cuEventSynchronize", copied, action="copy to the device")
            _copy(memory, source + offset, length)
            driver.call("cuMemcpyHtoDAsync_v2", address + offset, memory, length, stream, action="copy to the device")
            driver.call("cuEventRecord", copied, stream, action="copy to the device")

    def download(self, address, content):
        """Copies memory of the device into a bytearray."""
        target = _addressof((_Character * len(content)).from_buffer(content))
        ended = None
        for number, offset in enumerate(range(0, len(content), CHUNK)):
            begun = (*self._buffers[number % 2], offset, min(CHUNK, len(content) - offset))
            self._begin(address, *begun)
            if ended is not None:
                self._end(target, *ended)
            ended = begun
        if ended is not None:
            self._end(target, *ended)

    def _begin(self, address, memory, copied, offset, length):
        driver, stream = self._driver, self._stream
        driver.call("cuMemcpyDtoHAsync_v2", memory, address + offset, length, stream, action="copy from the device")
        driver.call("cuEventRecord", copied, stream, action="copy from the device")

    def _end(self, target, memory, copied, offset, length):
        self._driver.call("cuEventSynchronize", copied, action="copy from the device")
        _copy(target + offset, memory, length)
