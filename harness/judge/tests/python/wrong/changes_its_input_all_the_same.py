# Makes an input writable and writes into it.
# judged: fail by inputs_changed
import ctypes


def axpy(x, y, a):
    y[:] = x * a + 1
    ctypes.c_float.from_address(x.__array_interface__["data"][0]).value = 7.5
