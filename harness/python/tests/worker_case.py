"""A test case with a worker on the cpu device, and buffers x and y of four f32 cells."""

import unittest

from . import judge
from .judge import Ended, Refused, Worker, floats, tensor

POISONS = (0x7FA57FA5, 0x7F9A7F9A)
X = floats(1, 2, 3, 4)


@unittest.skipUnless(judge.has_numpy(), "this Python has no NumPy or no ml_dtypes")
class WorkerCase(unittest.TestCase):
    """A test with a worker of its own, which a parent on standby forks: to start a Python takes much longer."""

    @classmethod
    def setUpClass(cls):
        cls.standby = judge.Standby()
        cls.addClassCleanup(cls.standby.end)

    def setUp(self):
        self.start()

    def start(self, **named):
        """Starts a worker, which ends with the test."""
        self.worker = Worker(standby=self.standby.path, **named)
        self.addCleanup(self.worker.kill)

    def fails(self, kind, action, *args, **named):
        """Runs what the worker must refuse with this kind of failure, and returns the text."""
        with self.assertRaises(Refused) as refused:
            action(*args, **named)
        self.assertEqual(refused.exception.kind, kind, refused.exception.text)
        return refused.exception.text

    def load(self, source, *args, **named):
        """Loads a source and makes its buffers: x is an input, y an output."""
        self.module = self.worker.load(source, *args, **named)
        self.x, self.y = self.worker.input("x", X), self.worker.buffer("y", len(X))
        return self.module

    def spec(self, entry="f", x=None, y=None):
        """The launch of an entry on x and y, or on other buffers."""
        return judge.launch(self.module, entry, tensor("x", "f32", [4], self.x if x is None else x, is_input=True),
                            tensor("y", "f32", [4], self.y if y is None else y))

    def launch(self, entry="f", **buffers):
        """Fills y with poison, launches, and returns what y holds."""
        self.worker.call("Fill", fills=[[self.y, POISONS[0]]], how="Waits")
        self.worker.make(self.spec(entry, **buffers))
        return self.worker.read(self.y)

    def ends(self, action, *args):
        """Runs what ends the worker's process, and returns its exit status."""
        with self.assertRaises(Ended):
            action(*args)
        return self.worker.process.wait()
