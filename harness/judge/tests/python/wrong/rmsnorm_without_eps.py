# RMSNorm without eps: rows of small numbers are wrong.
# problem: rmsnorm
# judged: fail by y_error
import numpy


def _norm(x, gain, y, eps):
    wide = x.astype(numpy.float32)
    mean = numpy.mean(wide * wide, axis=1, keepdims=True)
    y[...] = (wide / numpy.sqrt(mean + 0 * eps) * gain.astype(numpy.float32)).astype(y.dtype)


rmsnorm_f32 = rmsnorm_f16 = rmsnorm_bf16 = _norm
