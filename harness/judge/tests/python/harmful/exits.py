# Calls sys.exit in a launch.
# judged: crash: SystemExit
import sys


def axpy(x, y, a):
    y[:] = x * a + 1
    sys.exit(0)
