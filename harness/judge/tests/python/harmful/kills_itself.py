# Kills its own process.
# judged: crash: its process was ended by SIGKILL
import os
import signal


def axpy(x, y, a):
    os.kill(os.getpid(), signal.SIGKILL)
