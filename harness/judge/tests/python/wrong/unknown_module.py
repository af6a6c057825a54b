# Imports what is not there.
# judged: no build: kernels/a/kernel.py:3: error: ModuleNotFoundError: No module named 'helper_beside_the_kernel'
import helper_beside_the_kernel


def axpy(x, y, a):
    helper_beside_the_kernel.axpy(x, y, a)
