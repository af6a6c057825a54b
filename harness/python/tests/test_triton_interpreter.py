"""Triton's interpreter, as the worker changes it. A module in its place stands for it, because few machines have Triton."""

import enum
import sys
import types
import unittest
from unittest import mock

from lab_harness.worker import failures
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


class Advice(unittest.TestCase):
    def told(self, file, numpy_version):
        """What is said of `range(0, [])` in a file, with this NumPy."""
        with mock.patch.dict(sys.modules, {"numpy": types.SimpleNamespace(__version__=numpy_version)}):
            try:
                exec(compile("range(0, [])", file, "exec"))
            except TypeError as error:
                return failures.explain(error, "/kernels/kernel.py", is_cpu=True)

    def test_a_type_that_a_new_numpy_refuses_names_numpy_and_no_gpu(self):
        interpreter = "/site-packages/triton/runtime/interpreter.py"
        told = self.told(interpreter, "2.4.1")
        self.assertIn("cannot be interpreted as an integer. Triton's interpreter may not work with NumPy 2.4.1 yet", told)
        self.assertIn("pip install 'numpy<2.4'", told)
        self.assertNotIn("GPU", told)
        for version in ("2.3.5", "1.26.4"):
            self.assertNotIn("numpy<2.4", self.told(interpreter, version))

    def test_triton_without_its_interpreter_needs_a_gpu(self):
        self.assertIn("A Triton kernel needs a GPU", self.told("/site-packages/triton/runtime/jit.py", "2.4.1"))


if __name__ == "__main__":
    unittest.main()
