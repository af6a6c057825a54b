"""Device buffers between guard zones, and what each byte that no launch may write must hold.

A buffer has an allocation of its own. Everything in the allocation before and behind the buffer is a guard zone: noise
under a key that only this process knows. A buffer's own content is known too, unless a launch got the buffer: an input,
a pattern, or the results that launches left. So a store is found wherever in the lab's memory it goes. The judge's own
worker has the same rules (harness/judge/src/worker/memory.rs). Where the device shares memory between processes, that worker
has the buffers of launches, and watches them. This process then maps them, and knows only where they are.
"""

from .content import Open, Pattern, Results, Sealed
from .failures import Lab
from .noise import Noise, secret
from .private import BUILTINS as __builtins__

# Bytes of the guard zone before a buffer. As a multiple of 256 they keep the alignment of the allocation.
FRONT = 64 << 10
# Least bytes of the guard zone behind a buffer on a device with pages, where the zone goes on to the end of the page.
BACK_BEFORE_PAGE_END = 256 << 10
# Bytes of the guard zone behind a buffer on a device without pages.
BACK = 2 << 20
# Bytes of a guard zone, beside the buffer, that are compared after launches that were not given the buffer, on a device
# that computes no digests.
NEAR = 16 << 10

POISONS = (0x7FA5_7FA5, 0x7F9A_7F9A)
POISON = POISONS[0]
_ALL_POISONS = frozenset(POISONS + (0xA5A5_A5A5, 0x9A9A_9A9A, 0x7D7D_7D7D, 0xFDFD_FDFD, 0x7B7B_7B7B, 0xFBFB_FBFB,
                                    0x8585_8585))


class Place:
    """An allocation with its guard zones. Buffers of one size can exchange their places."""

    def __init__(self, base, front, length, allocated, noise):
        self.base, self.front, self.length, self.allocated = base, front, length, allocated
        # The first word of the noise in the allocation.
        self.noise = noise
        # The digests of both zones, on a device that computes digests.
        self.digests = [None, None]
        end = front + length
        self._ranges = [(base, front), (base + front, length), (base + end, allocated - end)]

    def ranges(self):
        """Address and bytes of the zone before the buffer, of the buffer, and of the zone behind it."""
        return self._ranges


class Buffer:
    """A buffer of the judge: its place, and its expected content."""

    def __init__(self, name, place):
        self.name, self.place = name, place
        self.content = Open()
        # Whether a launch was given the buffer since the last check, and the number of the last launch that was.
        self.given, self.launch = False, None
        # The digest of the content, on a device that computes digests. None while a launch may write to the buffer.
        self.digest = None

    @property
    def address(self):
        """The address of its first byte."""
        return self.place.base + self.place.front

    @property
    def length(self):
        """Its bytes."""
        return self.place.length

    @property
    def is_sealed(self):
        """Whether it is an input, which no launch may write."""
        return type(self.content) is Sealed

    def right_digests(self):
        """The digests of its three ranges if nothing was changed; None while its content is unknown."""
        front, back = self.place.digests
        return [front, self.digest, back] if self.content.is_known else None

    def open(self):
        """Notes that a launch may write to the buffer from now on, or that the judge has."""
        self.content, self.digest = Open(), None


class Mapped:
    """A buffer of the judge's own worker, in a block of memory that this process maps."""

    # The judge's own worker knows its inputs.
    is_sealed = False

    def __init__(self, block, offset, length):
        self.block, self.offset, self.length = block, offset, length

    @property
    def address(self):
        """The address of its first byte."""
        return self.block.base + self.offset


class Memory:
    """The buffers of a worker, by the judge's numbers."""

    def __init__(self, device, guarded=True):
        """`guarded` is False for a worker under a tool: no guard zones and no poison, which the tool replaces."""
        self._device, self._guarded = device, guarded
        self._buffers, self._next = {}, 0
        # Buffers of the judge's own worker.
        self._mapped = {}
        self._noise, self._key = Noise(secret()), secret()
        # The digests of buffers that hold a pattern, by bytes and pattern.
        self._patterns = {}
        # Breaches that were found before the judge asked for them.
        self._found = []
        # Whether there was a launch since the last check, and how many there were in all.
        self._launched, self._launches = False, 0

    def get(self, number):
        """The buffer with this number. Raises Lab if it does not exist."""
        buffer = self._buffers.get(number)
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

    def place(self, number):
        """The buffer with this number, whichever process watches it."""
        return self._mapped.get(number) or self.get(number)

    def allocate(self, name, length):
        """Allocates a buffer, filled with poison, and returns its number."""
        front, allocated = 0, length
        if self._guarded:
            page = self._device.page_bytes
            step, back = (4, BACK) if page == 1 else (page, BACK_BEFORE_PAGE_END)
            front, allocated = FRONT, -(-(length + FRONT + back) // step) * step
        base = self._device.allocate(allocated)
        # The windows of two buffers differ, so that a copy from one zone into another is a change.
        buffer = Buffer(name, Place(base, front, length, allocated, self._next * 40_503))
        if self._guarded:
            self._fill_zones(buffer.place)
            self._fill_with(buffer, POISON, self._device.fill)
        number = self._next
        self._buffers[number] = buffer
        self._next += 1
        return number

    def free(self, number):
        """Frees a buffer."""
        buffer = self.get(number)
        del self._buffers[number]
        self._device.free(buffer.place.base)

    def give(self, numbers):
        """Notes that a launch gets these buffers, and may write to those that are not sealed. Returns its own ones."""
        self._launched = True
        self._launches += 1
        buffers = [self.get(number) for number in numbers if number not in self._mapped]
        for buffer in buffers:
            buffer.given = True
            if not buffer.is_sealed:
                buffer.open()
        return buffers

    def take_back(self, buffers):
        """Notes what a launch left in these buffers. A thread that writes later is found as a stray store."""
        if not self._guarded:
            return
        fresh = [buffer for buffer in buffers if type(buffer.content) is Open]
        digests = self._device.digests([(b.address, b.length) for b in fresh], self._key)
        for i, buffer in enumerate(fresh):
            self._know_results(buffer, None if digests is None else digests[i])
            buffer.launch = self._launches

    def digests(self, numbers, key):
        """The digest of each buffer under a key that the kernel does not know."""
        buffers = [self.get(number) for number in numbers]
        found = self._device.digests([(b.address, b.length) for b in buffers], key)
        if found is None:
            found = [self._device.host_digest(b.address, b.length, key) for b in buffers]
        return found

    def write(self, number, content):
        """Writes a whole buffer. Breaks its seal: the judge may write to an input, and a kernel may not."""
        buffer = self.get(number)
        if len(content) != buffer.length:
            raise Lab(f"{len(content)} bytes for buffer {buffer.name}, which holds {buffer.length}")
        buffer.open()
        self._device.upload(buffer.address, content)

    def read(self, number):
        """The content of a whole buffer."""
        buffer = self.get(number)
        return self._device.download(buffer.address, buffer.length)

    def wipe_shared(self):
        """Wipes shared memory. A tool that watches instead would watch this too, store by store."""
        if self._guarded:
            self._device.scrub()

    def fill(self, number, pattern):
        """Fills a buffer with a repeated pattern. Breaks its seal."""
        self._fill_content(number, pattern, self._device.fill)

    def flush_cache(self, number, pattern):
        """As `fill`, and nothing that was in the L2 cache before is there afterwards."""
        self._fill_content(number, pattern, self._device.flush_cache)

    def flush_range(self, number, pattern):
        """Address and bytes of a buffer that a replay flushes the cache with. It holds the pattern already."""
        buffer = self.get(number)
        if not (type(buffer.content) is Pattern and buffer.content.pattern == pattern):
            self.flush_cache(number, pattern)
        return buffer.address, buffer.length

    def seal(self, number, content=None):
        """Declares the content of a buffer an input. `content` are its bytes, if they are known."""
        buffer = self.get(number)
        right = self.read(number) if content is None else content
        digests = self._device.digests([(buffer.address, buffer.length)], self._key) if self._guarded else None
        buffer.digest = digests[0] if digests else None
        buffer.content = Sealed(right)

    def breaches(self):
        """The first changed byte of each zone and of each buffer that no launch may have written.

        What is known of them is restored, so that each breach is reported once.
        """
        self.check()
        found, self._found = self._found, []
        return found

    def breaches_of_given(self):
        """As `breaches`, for the buffers that launches were given since the last check.

        What launches wrote elsewhere is found by the next check of all.
        """
        self._check_those([buffer for buffer in self._buffers.values() if buffer.given])
        found, self._found = self._found, []
        return found

    def check(self):
        """As `breaches`, and keeps the result for the next call of `breaches`."""
        self._check_those(list(self._buffers.values()))
        self._launched = False

    def _check_those(self, buffers):
        if not (self._guarded and self._launched):
            return
        ranges = [part for buffer in buffers for part in buffer.place.ranges()]
        digests = self._device.digests(ranges, self._key)
        for i, buffer in enumerate(buffers):
            now = [None] * 3 if digests is None else digests[3 * i:3 * i + 3]
            # Nearly always all is as it must be.
            if now[1] is not None and now == buffer.right_digests():
                buffer.given = False
            else:
                self._check(buffer, now)

    def exchange_places(self):
        """Gives each buffer the place of another one of its size, with its content.

        What a kernel remembers by address is wrong afterwards. Mapped buffers get other addresses.
        """
        if self._mapped:
            self._device.map_elsewhere(list({mapped.block: None for mapped in self._mapped.values()}))
        sizes = {}
        for buffer in self._buffers.values():
            if buffer.length:
                sizes.setdefault(buffer.length, []).append(buffer)
        for length, buffers in sizes.items():
            if len(buffers) > 1:
                self._device.rotate([buffer.address for buffer in buffers], length)
                places = [buffer.place for buffer in buffers]
                for buffer, place in zip(buffers, places[1:] + places[:1]):
                    buffer.place = place

    def _fill_zones(self, place):
        zones = place.ranges()
        self._device.fill_noise(zones[0][0], zones[0][1], self._noise, place.noise)
        # From the beginning of the word in which the buffer ends.
        end = (place.front + place.length) // 4 * 4
        self._device.fill_noise(place.base + end, place.allocated - end, self._noise, place.noise + end // 4)
        # The buffer's own part of that word is filled next, and is no part of the zone.
        digests = self._device.digests([zones[0], zones[2]], self._key)
        if digests is not None:
            place.digests = digests

    def _fill_content(self, number, pattern, fill_words):
        buffer = self.get(number)
        if self._guarded:
            self._fill_with(buffer, pattern, fill_words)
        elif pattern not in _ALL_POISONS:
            _fill(self._device, buffer, pattern, fill_words)

    def _fill_with(self, buffer, pattern, fill_words):
        buffer.open()
        _fill(self._device, buffer, pattern, fill_words)
        key = (buffer.length, pattern)
        if key not in self._patterns:
            digests = self._device.digests([(buffer.address, buffer.length)], self._key)
            self._patterns[key] = digests[0] if digests else None
        buffer.digest = self._patterns[key]
        buffer.content = Pattern(pattern)

    def _check(self, buffer, now):
        """Compares zones and content with what they must hold. `now` are their present digests, if there are any."""
        place, ranges = buffer.place, buffer.place.ranges()
        for number, zone in enumerate((0, 2)):
            address, length = ranges[zone]
            if now[zone] is not None and now[zone] == place.digests[number]:
                continue
            if now[zone] is None and not buffer.given:
                near = min(length, NEAR)
                address, length = address + (length - near if zone == 0 else 0), near
            at = self._restore_zone(place, address, length)
            if at is not None:
                offset = address + at - buffer.address
                self._found.append({"OutOfBounds": {"buffer": buffer.name, "offset": offset}})
        buffer.given = False
        address, length = ranges[1]
        is_new = not buffer.content.is_known
        if now[1] is None or now[1] != buffer.digest:
            at = buffer.content.difference(self._device, address, length, now[1] is not None)
            if at is not None:
                self._found.append(buffer.content.breach(buffer.name, at, buffer.launch == self._launches))
                buffer.content.restore(self._device, address, length)
                is_new = is_new or type(buffer.content) is Results
        if is_new:
            self._know_results(buffer, now[1])

    def _know_results(self, buffer, digest):
        """Notes the content as the results that launches left."""
        copy = self._device.download(buffer.address, buffer.length) if digest is None else None
        buffer.content, buffer.digest = Results(copy), digest

    def _restore_zone(self, place, address, length):
        """The offset in this part of a zone that differs from the noise; None if none does. Writes the noise again."""
        offset, first = 0, None
        for right in self._noise.parts(4 * place.noise + (address - place.base), length):
            at = self._device.first_difference(address + offset, right)
            if at is not None:
                self._device.upload(address + offset, right)
                first = offset + at if first is None else first
            offset += len(right)
        return first


def _fill(device, buffer, pattern, fill_words):
    tail = buffer.length % 4
    even = buffer.length - tail
    if even:
        fill_words(buffer.address, even, pattern)
    if tail:
        device.upload(buffer.address + even, pattern.to_bytes(4, "little")[:tail])
