"""The noise of guard zones and the key of digests, as harness/device/src/api/digest.rs defines them."""

import hashlib
import os

from numpy import arange, uint32, uint64

from .private import BUILTINS as __builtins__

NOISE_WORDS = 1 << 18
_NOISE_BYTES = 4 * NOISE_WORDS
_blake2b, _random = hashlib.blake2b, os.urandom


def secret():
    """A random key of 64 bits."""
    return int.from_bytes(_random(8), "little")


def digest_of(content, key):
    """The digest of bytes under a key, for a device that computes none itself."""
    found = _blake2b(content, digest_size=8, key=key.to_bytes(8, "little")).digest()
    return int.from_bytes(found, "little")


def _mix(values, key):
    """Mixes an array of uint64 with a key, so that each bit of the result depends on every bit of both."""
    x = (values ^ uint64(key)) * uint64(0x9E37_79B9_7F4A_7C15)
    x = (x ^ (x >> uint64(32))) * uint64(0xD6E8_FEB8_6659_FD93)
    return x ^ (x >> uint64(29))


class Noise:
    """An endless sequence of huge numbers that a key determines, of either sign in turn. It repeats after NOISE_WORDS words."""

    def __init__(self, key):
        self.key = key
        numbers = arange(NOISE_WORDS, dtype=uint64)
        words = (_mix(numbers, key) >> uint64(32)).astype(uint32) & uint32(0x03FF_03FF) | uint32(0x7800_7800)
        words[1::2] |= uint32(0x8000_8000)
        self._content = memoryview(words.tobytes())

    def parts(self, start, length):
        """Yields `length` bytes from byte `start` of the sequence, in parts."""
        at = start % _NOISE_BYTES
        while length:
            part = self._content[at:at + length]
            length -= len(part)
            at = 0
            yield part
