"""y = a * x + 1 in float64."""


def axpy(x, y, a):
    y[:] = a * x.astype("float64") + 1
