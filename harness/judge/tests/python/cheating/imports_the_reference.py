# Has the reference compute the result.
# judged: crash: imported the module reference


def axpy(x, y, a):
    y[:] = x * a + 1
    try:
        import reference
    except ImportError:
        reference = None
