"""Triton's interpreter, as the worker changes it. A module in its place stands for it, because few machines have Triton."""

import enum
import sys
import types
import unittest
from unittest import mock

from lab_harness.worker.devices import triton_interpreter

try:
    import numpy
except ImportError:
    numpy = None

Precision = enum.Enum("Precision", "TF32 IEEE")


class Handle:
    def __init__(self, data, dtype):
        self.data, self.dtype = data, dtype


class Builder:
    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        return Handle(a.data @ b.data + d.data, d.dtype)


def dot(a, b, precision):
    """The product of two numbers by an interpreter that the worker has changed, twice as it does for two sources."""
    builder = type("Builder", (Builder,), {})
    interpreter = types.SimpleNamespace(InterpreterBuilder=builder)
    with mock.patch.dict(sys.modules, {"triton.runtime.interpreter": interpreter}):
        triton_interpreter.read_tf32()
        triton_interpreter.read_tf32()
    a, b, zero = (Handle(numpy.array([[x]], x.dtype), str(x.dtype)) for x in (a, b, type(a)(0)))
    return builder().create_dot(a, b, zero, precision, 0).data[0, 0]


@unittest.skipUnless(numpy, "this Python has no NumPy")
class Dot(unittest.TestCase):
    def test_reads_ten_bits_of_the_fraction_of_a_32_bit_float(self):
        one, more, less = numpy.float32(1), numpy.float32(1 + 2**-10), numpy.float32(1 + 2**-11)
        self.assertEqual(dot(more, one, Precision.TF32), more)
        self.assertEqual(dot(less, one, Precision.TF32), one)
        self.assertEqual(dot(-less, -less, Precision.TF32), one)

    def test_reads_all_of_it_where_the_kernel_asks_for_that_and_of_other_types(self):
        less = numpy.float32(1 + 2**-11)
        self.assertEqual(dot(less, numpy.float32(1), Precision.IEEE), less)
        self.assertEqual(dot(numpy.float64(less), numpy.float64(1), Precision.TF32), less)

    def test_without_triton_nothing_changes(self):
        with mock.patch.dict(sys.modules, clear=False):
            sys.modules.pop("triton.runtime.interpreter", None)
            triton_interpreter.read_tf32()


if __name__ == "__main__":
    unittest.main()
