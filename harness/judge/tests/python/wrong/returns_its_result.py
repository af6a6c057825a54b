# Returns the result instead of writing it.
# judged: crash: kernels/a/kernel.py:5: error: axpy returned a value of type numpy.ndarray


def axpy(x, y, a):
    return x * a + 1
