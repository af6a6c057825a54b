# The text of its exception holds a byte that is no UTF-8, as the name of a file may.
# judged: crash: kernel.py:8: error: OSError: no file /data/caf\udce9.npy
import os


def axpy(x, y, a):
    name = os.fsdecode(b"/data/caf\xe9.npy")
    raise OSError("no file " + name)
