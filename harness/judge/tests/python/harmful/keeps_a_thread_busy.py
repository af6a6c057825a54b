# Leaves a thread that computes.
# judged: crash: the kernel left 1 thread running after its launch
import threading


def _compute():
    while True:
        pass


def axpy(x, y, a):
    y[:] = x * a + 1
    threading.Thread(target=_compute, daemon=True).start()
