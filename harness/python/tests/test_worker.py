"""The requests of a worker on the cpu device."""

import struct
import unittest

from . import judge
from .judge import Worker, tensor, value

AXPY = """import numpy as np

def axpy(a, x, y, n):
    assert type(a) is float and type(n) is int
    np.multiply(x, a, out=y)
    y += 1
"""


def floats(*values):
    """The bytes of f32 values."""
    return struct.pack(f"<{len(values)}f", *values)


class WorkerCase(unittest.TestCase):
    """A test with a worker of its own."""

    def setUp(self):
        self.worker = Worker()
        self.addCleanup(self.worker.kill)

    def fails(self, kind, action, *args):
        """Runs what the worker must refuse with this kind of failure, and returns the text."""
        with self.assertRaises(judge.Refused) as refused:
            action(*args)
        self.assertEqual(refused.exception.kind, kind, refused.exception.text)
        return refused.exception.text


class Requests(WorkerCase):
    def test_a_launch_writes_its_output_and_breaks_no_rule(self):
        worker = self.worker
        module = worker.load(AXPY)
        self.assertIsNone(worker.call("MissingEntry", module=module, entry="axpy")["MissingEntry"])
        self.assertEqual(worker.call("MissingEntry", module=module, entry="gemm")["MissingEntry"], "gemm")
        x, y = worker.input("x", floats(1, 2, 3)), worker.buffer("y", 12)
        self.assertEqual(worker.read(y), struct.pack("<3I", *[0x7FA57FA5] * 3), "a new buffer is poison")
        reply = worker.launch(module, "axpy", value("a", "f32", floats(2)), tensor("x", "f32", [3], x),
                              tensor("y", "f32", [3], y), value("n", "i32", struct.pack("<i", 3)))
        self.assertGreater(reply["seconds"], 0)
        self.assertEqual(reply["launched"], {"kernels": [], "is_list": False, "scratch_bytes": 0, "zeroed": False})
        self.assertEqual(worker.read(y), floats(3, 5, 7))
        self.assertEqual(worker.breaches(), [])
        info = worker.opened["info"]
        self.assertRegex(info["name"], r"^cpu \(NumPy \d+\.\d+\.\d+, Python 3\.\d+\)$")
        self.assertTrue(info["emulated"])
        self.assertIn("None", worker.opened["sandbox"])
        self.assertEqual(worker.close(), 0)
