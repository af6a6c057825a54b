# Writes into an input, which NumPy refuses.
# judged: crash: error: ValueError: assignment destination is read-only


def axpy(x, y, a):
    y[:] = x * a + 1
    x[0] = 0
