# Softmax in float32, into the output.
# problem: softmax
# judged: pass
import numpy as np


def softmax(rows, cols, y, x):
    assert y.shape == (rows, cols) and type(rows) is int
    np.subtract(x, x.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
