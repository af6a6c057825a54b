"""NAME: z[i] = a * x[i] + y[i].

The tensors are NumPy arrays on the cpu device and torch tensors on a GPU. They view the memory of the lab: a function writes into
its outputs and returns None.
"""


def widened(values):
    """The values as float32."""
    return values.float() if hasattr(values, "float") else values.astype("float32")


def NAME_f32(x, y, z, a):
    z[...] = a * x + y


def NAME_f16(x, y, z, a):
    z[...] = a * widened(x) + widened(y)
