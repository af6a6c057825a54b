"""The buffers of a worker, by the judge's numbers.

The judge's own worker has the buffers of launches, and watches them (harness/judge/src/worker/memory.rs). This process maps
them, and knows only where they are. A buffer of its own, such as the one that flushes the cache, is watched by nobody.
"""

from .failures import Lab
from .private import BUILTINS as __builtins__


class Own:
    """A buffer that this process has allocated."""

    def __init__(self, address, length):
        self.address, self.length = address, length


class Mapped:
    """A buffer of the judge's own worker, in a block of memory that this process maps."""

    def __init__(self, block, offset, length):
        self.block, self.offset, self.length = block, offset, length

    @property
    def address(self):
        """The address of its first byte."""
        return self.block.base + self.offset


class Memory:
    """The buffers of a worker, by the judge's numbers."""

    def __init__(self, device):
        self._device, self._own, self._mapped, self._next = device, {}, {}, 0

    def place(self, number):
        """The buffer with this number. Raises Lab if it does not exist."""
        buffer = self._mapped.get(number) or self._own.get(number)
        if buffer is None:
            raise Lab(f"no buffer {number}")
        return buffer

    def map(self, descriptor, length, buffers):
        """Maps a block of the judge's own worker, which has these buffers: the number, the offset and the bytes of each."""
        block = self._device.map(descriptor, length)
        self._mapped.update({number: Mapped(block, offset, size) for number, offset, size in buffers})

    def unmap(self, numbers):
        """Lets go of mapped buffers. A block without buffers is not mapped any more."""
        blocks = {self._mapped.pop(number).block for number in numbers if number in self._mapped}
        for block in blocks.difference(mapped.block for mapped in self._mapped.values()):
            self._device.unmap(block)

    def map_elsewhere(self):
        """Gives mapped buffers other addresses. What a kernel remembers by address is wrong afterwards."""
        if self._mapped:
            self._device.map_elsewhere(list({mapped.block: None for mapped in self._mapped.values()}))

    def allocate(self, length):
        """Allocates a buffer, and returns its number."""
        self._own[self._next] = Own(self._device.allocate(length), length)
        self._next += 1
        return self._next - 1

    def free(self, number):
        """Frees a buffer of its own."""
        self._device.free(self.place(number).address)
        del self._own[number]

    def write(self, number, content):
        """Writes a whole buffer."""
        buffer = self.place(number)
        if len(content) != buffer.length:
            raise Lab(f"{len(content)} bytes for buffer {number}, which holds {buffer.length}")
        self._device.upload(buffer.address, content)

    def read(self, number):
        """The content of a whole buffer."""
        buffer = self.place(number)
        return self._device.download(buffer.address, buffer.length)

    def fill(self, number, pattern, flushes_cache=False):
        """Fills a buffer with a repeated pattern, and may so replace what the L2 cache holds."""
        buffer = self.place(number)
        tail = buffer.length % 4
        even = buffer.length - tail
        if even:
            (self._device.flush_cache if flushes_cache else self._device.fill)(buffer.address, even, pattern)
        if tail:
            self._device.upload(buffer.address + even, pattern.to_bytes(4, "little")[:tail])
