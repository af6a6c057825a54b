"""Lets Triton's interpreter compute as a GPU does where the two differ."""

import sys

from ..private import BUILTINS as __builtins__

_modules = sys.modules

# The bits of a 32-bit float that tensor cores read as TF32: the sign, the exponent and ten bits of the fraction.
_TF32 = 0xFFFFE000


def read_tf32():
    """Makes `tl.dot` read 32-bit floats as TF32, as it does on a GPU unless the kernel asks for another `input_precision`."""
    builder = getattr(_modules.get("triton.runtime.interpreter"), "InterpreterBuilder", None)
    dot = getattr(builder, "create_dot", None)
    if dot is None or hasattr(dot, "reads_tf32"):
        return

    def create_dot(self, a, b, d, input_precision, *rest):
        if getattr(input_precision, "name", "") == "TF32":
            a, b = _cut(a), _cut(b)
        return dot(self, a, b, d, input_precision, *rest)

    create_dot.reads_tf32 = True
    builder.create_dot = create_dot


def _cut(operand):
    """A tensor of the interpreter whose cells hold what a tensor core reads of them."""
    kind = operand.data.dtype
    if kind.name != "float32":
        return operand
    bits = operand.data.view("uint32")
    return type(operand)((bits & bits.dtype.type(_TF32)).view(kind), operand.dtype)
