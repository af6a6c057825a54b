# Has a function of another name.
# never says: stage: verify
# judged: no build: kernel.py:6: error: there is no function axpy (line 6 defines axpby)


def axpby(x, y, a):
    y[:] = x * a + 1
