# Forks processes that stay, and processes of those.
# judged: crash: running after its launch; all of it was ended
import os
import signal


def axpy(x, y, a):
    y[:] = x * a + 1
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            os.fork()
            while True:
                signal.pause()
