# Wants a parameter that the problem does not have.
# never says: stage: verify
# judged: no build: error: axpy has the parameter b


def axpy(x, y, a, b):
    y[:] = x * a + b
