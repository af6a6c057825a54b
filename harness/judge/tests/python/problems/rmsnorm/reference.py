"""RMSNorm in float64, for every type."""

import numpy


def _norm(x, gain, y, eps):
    wide = x.astype(numpy.float64)
    mean = numpy.mean(wide * wide, axis=1, keepdims=True)
    y[...] = (wide / numpy.sqrt(mean + eps) * gain.astype(numpy.float64)).astype(y.dtype)


rmsnorm_f32 = rmsnorm_f16 = rmsnorm_bf16 = _norm
