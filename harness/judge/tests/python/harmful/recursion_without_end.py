# Calls itself for ever.
# judged: crash: RecursionError


def axpy(x, y, a):
    axpy(x, y, a)
