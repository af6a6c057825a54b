# Catches every signal that it can, and never ends.
# judged: crash: the kernel did not end within 2 s
# limit: 2
import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
    signal.signal(number, signal.SIG_IGN)


def axpy(x, y, a):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
