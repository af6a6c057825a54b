# NumPy's argmax.
# problem: argmax
# judged: pass
import numpy as np


def argmax(x, at):
    at[:] = np.argmax(x, axis=1)
