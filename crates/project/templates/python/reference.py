"""The reference: its results are what is right. Plain float64. It need not be fast."""


def wide(values):
    """The values as float64: a torch tensor on a GPU, a NumPy array on the cpu device."""
    return values.double() if hasattr(values, "double") else values.astype("float64")


def NAME_f32(x, y, z, a):
    z[...] = a * wide(x) + wide(y)


NAME_f16 = NAME_f32
