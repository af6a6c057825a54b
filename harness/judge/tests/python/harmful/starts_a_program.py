# Starts a program and leaves it.
# judged: crash: 1 process running after its launch
import subprocess


def axpy(x, y, a):
    y[:] = x * a + 1
    subprocess.Popen(["sleep", "600"], start_new_session=True)
