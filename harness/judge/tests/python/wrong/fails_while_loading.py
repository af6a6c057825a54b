# Divides by zero in a function that the module calls.
# judged: no build: error: ZeroDivisionError
# says: File "kernels/a/kernel.py", line
# says: stopped: kernels/a/kernel.py:


def _tile(n):
    return 128 // n


TILE = _tile(0)
