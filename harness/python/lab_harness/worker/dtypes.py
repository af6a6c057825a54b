"""The element types of tensors, by the words of problem.toml."""

import struct

from .private import BUILTINS as __builtins__

# The name in NumPy (of bf16 and the 8-bit floats in ml_dtypes) and in PyTorch, the bytes of an element, and its code in `struct`.
_TYPES = {"f64": ("float64", 8, "<d"), "f32": ("float32", 4, "<f"), "f16": ("float16", 2, "<e"), "bf16": ("bfloat16", 2, None),
          "f8e4m3": ("float8_e4m3fn", 1, None), "f8e5m2": ("float8_e5m2", 1, None), "i8": ("int8", 1, "<b"), "u8": ("uint8", 1, "<B"),
          "i16": ("int16", 2, "<h"), "u16": ("uint16", 2, "<H"), "i32": ("int32", 4, "<i"), "u32": ("uint32", 4, "<I"),
          "i64": ("int64", 8, "<q"), "u64": ("uint64", 8, "<Q"), "bool": ("bool", 1, "<?")}
NAMES = {word: name for word, (name, _, _) in _TYPES.items()}
SIZES = {word: size for word, (_, size, _) in _TYPES.items()}

_SCALARS = {word: struct.Struct(code).unpack for word, (_, _, code) in _TYPES.items() if code}
_unpack_f32 = _SCALARS["f32"]
# A bf16 is the upper half of an f32.
_SCALARS["bf16"] = lambda content: _unpack_f32(b"\0\0" + content)


def scalar(word, content):
    """Returns the value of a scalar argument as a Python int, float or bool. Raises ValueError for other types."""
    unpack = _SCALARS.get(word)
    if unpack is None or len(content) != SIZES[word]:
        raise ValueError(f"{len(content)} bytes are no scalar of type {word}")
    return unpack(content)[0]


def span(shape, strides):
    """The elements from the first to the last one of a view; without strides those of the shape."""
    if strides is None:
        return cells(shape)
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))


def cells(shape):
    """The number of elements of a shape."""
    count = 1
    for extent in shape:
        count *= extent
    return count
