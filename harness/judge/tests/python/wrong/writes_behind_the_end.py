# Writes one cell behind its output.
# judged: fail by out_of_bounds
# says: wrote out of bounds: into cell 1 behind the last one of y
import ctypes


def axpy(x, y, a, n):
    y[:] = x * a + 1
    ctypes.c_float.from_address(y.__array_interface__["data"][0] + 4 * n).value = 7.5
