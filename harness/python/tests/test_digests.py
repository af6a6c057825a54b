"""The digests that a CUDA device computes, against their definition on the host."""

import importlib.util
import os
import unittest

from . import judge

ALL = (1 << 64) - 1
MASK = (1 << 32) - 1


def mix(value, key):
    """The definition in harness/device/src/api/digest.rs."""
    x = (value ^ key) * 0x9E3779B97F4A7C15 & ALL
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 & ALL
    return x ^ x >> 29


def digest(content, address, key):
    """The definition of the digest of a range."""
    head = address % 4
    padded = bytes(head) + bytes(content) + bytes(-(head + len(content)) % 4)
    words = [int.from_bytes(padded[i:i + 4], "little") for i in range(0, len(padded), 4)] if content else []
    return sum(mix(i << 32 | word, key) for i, word in enumerate(words)) & ALL


@unittest.skipUnless(importlib.util.find_spec("numpy"), "this Python has no NumPy")
class Digests(unittest.TestCase):
    def test_the_package_carries_the_kernels_of_the_repository(self):
        from lab_harness.worker.devices import digest_ptx

        path = os.path.join(os.path.dirname(judge.PACKAGE), "device", "src", "cuda", "driver", "digest.ptx")
        with open(path, encoding="ascii") as file:
            self.assertEqual(digest_ptx.TEXT, file.read())

    def test_the_chunks_of_a_range_make_its_digest(self):
        from lab_harness.worker.devices import digester

        chunks_of = digester.Digester._chunks_of
        known = type("Known", (), {"_chunks": {}})()
        words = digester._CHUNK_WORDS
        memory = bytes((i * 7 + i // 256) % 256 for i in range(4 * words + 4096))
        for address, length in ((0, 0), (3, 0), (4, 4), (5, 1), (5, 2), (6, 11), (2, 2), (1, 4 * words), (8, 4 * words + 5)):
            total = 0
            for chunk in chunks_of(known, address, length).view(digester._CHUNK).reshape(-1):
                at, index, count = int(chunk["address"]), int(chunk["index"]), int(chunk["words"])
                for i in range(count):
                    word = int.from_bytes(memory[at + 4 * i:at + 4 * i + 4], "little")
                    word &= int(chunk["first"]) if i == 0 else MASK
                    word &= int(chunk["last"]) if i == count - 1 else MASK
                    total += mix(index + i << 32 | word, 5)
            self.assertEqual(total & ALL, digest(memory[address:address + length], address, 5), (address, length))


if __name__ == "__main__":
    unittest.main()
