# Writes where no memory is.
# judged: crash: was ended by SIGSEGV
import ctypes


def axpy(x, y, a):
    ctypes.c_int.from_address(8).value = 1
