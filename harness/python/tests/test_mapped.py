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
        self.memory = Memory(self.device)
        self.memory.map(0, 4096, [[7, 64, 16], [8, 1024, 32]])

    def test_a_mapped_buffer_lies_at_its_offset(self):
        place = self.memory.place(8)
        self.assertEqual((place.address, place.length), ((1 << 20) + 1024, 32))

    def test_a_block_is_mapped_as_long_as_it_has_buffers(self):
        self.memory.unmap([7])
        self.assertEqual(self.device.ended, [])
        self.memory.unmap([8])
        self.assertEqual(self.device.ended, [1 << 20])

    def test_before_a_turn_all_mapped_buffers_get_other_addresses(self):
        before = self.memory.place(7).address
        self.memory.map_elsewhere()
        after = self.memory.place(7).address
        self.assertNotEqual(before, after)
        self.assertEqual(self.memory.place(8).address - after, 1024 - 64)


@unittest.skipUnless(judge.has_numpy(), "this Python has no NumPy or no ml_dtypes")
class OnCpu(unittest.TestCase):
    def test_judge_and_kernel_see_one_memory_and_an_old_array_does_no_harm(self):
        from lab_harness.worker.devices.cpu import CpuDevice
        from lab_harness.worker.memory import Memory

        memory = Memory(CpuDevice())
        with open(os.memfd_create("lab"), "r+b") as file:
            file.truncate(4096)
            memory.map(file.fileno(), 4096, [[7, 64, 16]])
            file.seek(64)
            file.write(judge.floats(1, 2, 3, 4))
            file.flush()
            device, place = memory._device, memory.place(7)
            before = place.address
            array = device.view(before, "f32", [4], False)
            self.assertEqual(array.tolist(), [1, 2, 3, 4])
            memory.map_elsewhere()
            self.assertNotEqual(memory.place(7).address, before)
            device.view(memory.place(7).address, "f32", [4], False)[0] = 9
            self.assertEqual(array[0], 9, "an array that a kernel keeps can still be read")
            file.seek(64)
            self.assertEqual(file.read(4), judge.floats(9))
        memory.unmap([7])
        self.assertEqual(array[1], 2)


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
