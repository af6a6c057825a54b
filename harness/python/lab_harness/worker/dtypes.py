"""The element types of tensors, by the words of problem.toml."""

import struct

from .private import BUILTINS as __builtins__

# Bytes of an element.
SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1}
SIZES.update({"i8": 1, "u8": 1, "i16": 2, "i32": 4, "u32": 4, "i64": 8, "bool": 1})

# The names of PyTorch's types.
TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "u32": "uint32",
         "i64": "int64", "bool": "bool"}

_CODES = {"f64": "<d", "f32": "<f", "f16": "<e", "i8": "<b", "u8": "<B", "i16": "<h", "i32": "<i", "u32": "<I",
          "i64": "<q", "bool": "<?"}
_SCALARS = {word: struct.Struct(code).unpack for word, code in _CODES.items()}
_unpack_f32 = _SCALARS["f32"]
# A bf16 is the upper half of an f32.
_SCALARS["bf16"] = lambda content: _unpack_f32(b"\0\0" + content)


def scalar(word, content):
    """Returns the value of a scalar argument as a Python int, float or bool. Raises ValueError for other types."""
    unpack = _SCALARS.get(word)
    if unpack is None or len(content) != SIZES[word]:
        raise ValueError(f"{len(content)} bytes are no scalar of type {word}")
    return unpack(content)[0]


def cells(shape):
    """The number of elements of a shape."""
    count = 1
    for extent in shape:
        count *= extent
    return count
