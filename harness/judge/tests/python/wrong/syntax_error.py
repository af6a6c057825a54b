# A bracket is missing.
# judged: no build: kernels/a/kernel.py:5:
# says: error: SyntaxError: '(' was never closed


def axpy(x, y, a):
    y[:] = (x * a + 1
