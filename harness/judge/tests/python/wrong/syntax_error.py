# A bracket is missing.
# judged: no build: kernels/a/kernel.py:7:12: error: SyntaxError
# says: error: SyntaxError: '(' was never closed


def axpy(x, y, a):
    y[:] = (x * a + 1
