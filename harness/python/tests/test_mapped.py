"""Buffers of the judge's own worker, which a Python worker maps: without a GPU, on a device that only notes what it is asked."""

import os
import socket
import tempfile
import unittest

from . import judge


class Block:
    """A block that the device mapped."""

    def __init__(self, base):
        self.base = base


class Device:
    """Maps at addresses that it counts up, and notes what ends."""

    page_bytes = 1

    def __init__(self):
        self.next, self.ended = 0, []

    def map(self, descriptor, length):
        self.next += 1 << 20
        return Block(self.next)

    def unmap(self, block):
        self.ended.append(block.base)

    def map_elsewhere(self, blocks):
        for block in blocks:
            self.next += 1 << 20
            block.base = self.next


@unittest.skipUnless(judge.has_numpy(), "this Python has no NumPy or no ml_dtypes")
class Mapped(unittest.TestCase):
    def setUp(self):
        from lab_harness.worker.memory import Memory

        self.device = Device()
        self.memory = Memory(self.device, guarded=False)
        self.memory.map(0, 4096, [[7, 64, 16], [8, 1024, 32]])

    def test_a_mapped_buffer_lies_at_its_offset_and_is_not_watched_here(self):
        place = self.memory.place(8)
        self.assertEqual((place.address, place.length, place.is_sealed), ((1 << 20) + 1024, 32, False))
        self.assertEqual(self.memory.give([7, 8]), [])
        self.assertEqual(self.memory.breaches(), [])

    def test_a_block_is_mapped_as_long_as_it_has_buffers(self):
        self.memory.unmap([7])
        self.assertEqual(self.device.ended, [])
        self.memory.unmap([8])
        self.assertEqual(self.device.ended, [1 << 20])

    def test_before_a_turn_all_mapped_buffers_get_other_addresses(self):
        before = self.memory.place(7).address
        self.memory.exchange_places()
        after = self.memory.place(7).address
        self.assertNotEqual(before, after)
        self.assertEqual(self.memory.place(8).address - after, 1024 - 64)


def connection(end):
    """The worker's connection at this end of a socket."""
    from lab_harness.worker import framing

    return framing.Connection(end)


def invalid():
    """What the worker raises where no descriptor came."""
    from lab_harness.worker import framing

    return framing.Invalid


class Descriptors(unittest.TestCase):
    def test_a_descriptor_follows_a_frame(self):
        ours, theirs = socket.socketpair()
        with ours, theirs, tempfile.TemporaryFile() as file:
            file.write(b"content")
            file.flush()
            socket.send_fds(ours, [b"f"], [file.fileno()])
            received = connection(theirs).receive_descriptor()
            with os.fdopen(received, "rb") as same:
                same.seek(0)
                self.assertEqual(same.read(), b"content")

    def test_a_byte_without_a_descriptor_is_refused(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(b"f")
            with self.assertRaises(invalid()):
                connection(theirs).receive_descriptor()


if __name__ == "__main__":
    unittest.main()
