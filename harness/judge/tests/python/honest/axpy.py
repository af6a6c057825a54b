# y = a * x + 1.
# judged: pass
# says: launched_as: plain
# says: | a kernel prints
# says: this run has no sandbox: Python runs with your rights
import numpy as np


print("a kernel prints")


def axpy(a, x, y):
    np.multiply(x, np.float32(a), out=y)
    y += 1
