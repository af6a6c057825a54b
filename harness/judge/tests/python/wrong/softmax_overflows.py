# Softmax without taking the largest number off: it overflows.
# problem: softmax
# judged: fail by y_not_finite
import numpy as np


def softmax(x, y):
    np.exp(x, out=y)
    y /= y.sum(axis=1, keepdims=True)
