# The last largest number of a row.
# problem: argmax
# judged: fail by at_mismatched
import numpy as np


def argmax(x, at, cols):
    at[:] = cols - 1 - np.argmax(x[:, ::-1], axis=1)
