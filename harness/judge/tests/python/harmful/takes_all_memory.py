# Takes memory until there is none.
# judged: crash: error: 
# says: MemoryError
import numpy as np


def axpy(x, y, a):
    taken = []
    while True:
        # Not touched, so that the machine has it all the time.
        taken.append(np.empty(1 << 30, np.uint8))
