# RMSNorm in float32, one function for all types.
# problem: rmsnorm
# judged: pass
# says: python: 
# says: sandbox: none
# never says: compiler: 
import numpy


def _norm(x, gain, y, eps):
    wide = x.astype(numpy.float32)
    mean = numpy.mean(wide * wide, axis=1, keepdims=True)
    y[...] = (wide / numpy.sqrt(mean + numpy.float32(eps)) * gain.astype(numpy.float32)).astype(y.dtype)


rmsnorm_f32 = rmsnorm_f16 = rmsnorm_bf16 = _norm
