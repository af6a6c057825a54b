# Right for one workload.
# says: launch 1
# never says: threads in
# judged: fail by y_unwritten
import numpy as np


def axpy(x, y, a):
    y[:1000] = x[:1000] * np.float32(a) + 1
