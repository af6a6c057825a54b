# A copy of every type, which also looks at what it is given.
# problem: typed
# judged: pass
import ml_dtypes
import numpy as np

_KINDS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn,
          "f8e5m2": ml_dtypes.float8_e5m2, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


def _copy_of(kind):
    def copy(**given):
        x, y, large, n, m = (given.pop(name) for name in ("x", "y", "large", "n", "m"))
        assert not given and x.dtype == kind and y.dtype == kind, (given, x.dtype, y.dtype)
        assert x.shape == y.shape == (n, m) and large == 5_000_000_000 and type(large) is int
        assert not x.flags.writeable and y.flags.writeable and y.flags.c_contiguous
        y[...] = x
    return copy


for _word, _kind in _KINDS.items():
    globals()[f"copy_{_word}"] = _copy_of(np.dtype(_kind))
