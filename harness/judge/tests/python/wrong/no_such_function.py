# Has a function of another name.
# judged: no build: there is no function axpy


def axpby(x, y, a):
    y[:] = x * a + 1
