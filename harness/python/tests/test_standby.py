"""The parent on standby: forks a worker for each run, ends it with all that it started, and says how it ended."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from . import judge
from .judge import Connection, floats, tensor

COPY = "def f(x, y):\n    y[...] = x\n"
HANGS = """import os, signal, sys, time
def f(x, y):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    print("hangs")
    while True:
        pass
"""
# Each process forks two more, to a depth of three. All leave their session, ignore signals, and hold the pipe open.
BOMB = """import os, signal, time
def f(x, y):
    for _ in range(3):
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                for number in (signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                break
    os.write(1, b"forked\\n")
    while True:
        signal.pause()
"""
LEAVES = """import os, signal
def f(x, y):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            os.write(1, b"left\\n")
            while True:
                signal.pause()
    y[...] = x
"""


class Run:
    """A run of the standby, as the judge asks for it."""

    def __init__(self, path, request=None, descriptors=3):
        ours, theirs = socket.socketpair()
        out, out_end = os.pipe()
        error, error_end = os.pipe()
        self.control = socket.socket(socket.AF_UNIX)
        self.control.settimeout(judge.PATIENCE)
        self.control.connect(path)
        message = json.dumps(request or {"run": "worker"}).encode() + b"\n"
        socket.send_fds(self.control, [message], [theirs.fileno(), out_end, error_end][:descriptors])
        theirs.close()
        os.close(out_end)
        os.close(error_end)
        self.out, self.error, self._lines = out, error, self.control.makefile("rb")
        self.connection = Connection(ours)

    def heard(self):
        """The next message of the standby; None at the end of the connection."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def open(self):
        """Opens the device."""
        return self.connection.call({"Open": {"target": "cpu", "parent": None, "under_tool": False, "sandbox": None}})

    def prepare(self, source):
        """Loads a source and returns the launch of its function f on x and y, and the number of y."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernel.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            module = self.connection.call({"Load": {"image": path}})[0]
        x, y = self.connection.call({"Allocate": {"buffers": [["x", 8], ["y", 8]]}})[0]
        self.connection.call({"Write": {"buffers": [x], "are_inputs": True}}, floats(1, 2))
        launch = judge.launch(module, "f", tensor("x", "f32", [2], x), tensor("y", "f32", [2], y))
        return {"Launch": {"fills": [], "launches": [launch], "wiped": False}}, y

    def launch(self, source):
        """Loads a source and launches its function f on x and y. Returns what y holds."""
        launch, y = self.prepare(source)
        self.connection.call(launch)
        return self.connection.call({"Read": {"buffer": y}})[1]

    def printed(self, lines=None):
        """So many lines of the worker's stdout; without a number, all until every process that holds it has ended."""
        content = b""
        while lines is None or content.count(b"\n") < lines:
            ready, _, _ = select.select([self.out], [], [], judge.PATIENCE)
            assert ready, f"the pipe stays open; it brought {content!r}"
            part = os.read(self.out, 4096)
            if not part:
                break
            content += part
        return content

    def end(self):
        """Closes the sending half, which asks for the end of the worker."""
        self.control.shutdown(socket.SHUT_WR)

    def close(self):
        """Closes all that is open."""
        self._lines.close()
        self.control.close()
        self.connection.socket.close()
        for descriptor in (self.out, self.error):
            os.close(descriptor)


@unittest.skipUnless(judge.has_numpy(), "this Python has no NumPy or no ml_dtypes")
class OnStandby(unittest.TestCase):
    def setUp(self):
        started = judge.Standby()
        self.addCleanup(started.end)
        self.standby, self.path = started.process, started.path
        self.assertEqual(sorted(started.ready["ready"]), ["ml_dtypes", "numpy"])

    def run_one(self, *args, **named):
        """Asks for a run, and closes it at the end of the test."""
        run = Run(self.path, *args, **named)
        self.addCleanup(run.close)
        return run

    def started(self, **named):
        """A run whose worker has opened its device."""
        run = self.run_one(**named)
        run.worker = run.heard()["started"]
        run.open()
        return run

    def test_a_worker_runs_a_kernel_and_its_end_is_told(self):
        for _ in range(2):
            run = self.started()
            self.assertEqual(run.launch("import os\nprint(os.getppid(), os.getsid(0), os.environ.get('TEST_OF_LAB'))\n" + COPY),
                             floats(1, 2))
            run.connection.socket.close()
            self.assertEqual(run.heard(), {"ended": {"code": 0}})
            self.assertIsNone(run.heard())
            self.assertEqual(run.printed(), f"{self.standby.pid} {run.worker} None\n".encode())

    def test_a_worker_gets_its_environment_and_nothing_of_other_runs(self):
        one = self.started(request={"run": "worker", "environment": {"TEST_OF_LAB": "1"}})
        other = self.started()
        source = "import os\nprint(os.environ.get('TEST_OF_LAB'), len(os.listdir('/proc/self/fd')))\n" + COPY
        self.assertEqual((one.launch(source), other.launch(source)), (floats(1, 2), floats(1, 2)))
        # stdin, stdout, stderr, the worker's socket, and the folder that is being listed.
        self.assertEqual((one.printed(1), other.printed(1)), (b"1 5\n", b"None 5\n"))

    def test_a_worker_that_ends_by_itself_is_told_with_its_status(self):
        for body, expected in (("os._exit(3)", {"code": 3}), ("os.kill(os.getpid(), 9)", {"signal": 9}),
                               ("ctypes.string_at(8)", {"signal": int(signal.SIGSEGV)})):
            run = self.started()
            with self.assertRaises(judge.Ended):
                run.launch(f"import ctypes, os\ndef f(x, y):\n    {body}\n")
            self.assertEqual(run.heard(), {"ended": expected})
        self.assertEqual(self.started().launch(COPY), floats(1, 2), "the next run is as ever")

    def test_a_worker_that_hangs_and_ignores_signals_is_ended_when_the_judge_asks(self):
        run = self.started()
        self.launch_and_wait(run, HANGS, b"hangs\n")
        run.end()
        self.assertEqual(run.heard(), {"ended": {"signal": 9}})
        run = self.started()
        self.launch_and_wait(run, HANGS, b"hangs\n")
        run.control.close()
        run._lines.close()
        self.assertEqual(run.printed(), b"", "it ended with the judge's connection")

    def launch_and_wait(self, run, source, printed):
        """Asks for a launch that does not answer, and waits until it has printed this."""
        run.connection.ask(run.prepare(source)[0])
        self.assertEqual(run.printed(printed.count(b"\n")), printed)

    def test_everything_that_a_worker_forked_is_ended(self):
        run = self.started()
        self.launch_and_wait(run, BOMB, b"forked\n" * 27)
        run.end()
        self.assertEqual(run.heard(), {"ended": {"signal": 9}})
        self.assertEqual(run.printed(), b"", "no process holds the pipe any more")

    def test_what_a_worker_left_running_is_ended_and_other_runs_go_on(self):
        other = self.started()
        run = self.started()
        self.assertEqual(run.launch(LEAVES), floats(1, 2))
        self.assertEqual(run.printed(3), b"left\n" * 3)
        run.connection.socket.close()
        self.assertEqual(run.heard(), {"ended": {"code": 0}})
        self.assertEqual(run.printed(), b"")
        self.assertEqual(other.launch(COPY), floats(1, 2))

    def test_what_is_no_request_is_refused(self):
        for request, descriptors, words in (({"run": "dance"}, 3, "no request"), ({"run": "worker"}, 2, "2 descriptors"),
                                            ({"run": "worker", "environment": {"A": 1}}, 3, "no request")):
            run = self.run_one(request=request, descriptors=descriptors)
            self.assertIn(words, run.heard()["refused"])
            self.assertIsNone(run.heard())
        self.assertEqual(self.started().launch(COPY), floats(1, 2))

    def test_all_workers_end_with_the_standby(self):
        for how in ("stdin", "SIGTERM"):
            if how == "SIGTERM":
                self.setUp()
            run = self.started()
            self.launch_and_wait(run, HANGS, b"hangs\n")
            if how == "stdin":
                self.standby.stdin.close()
            else:
                self.standby.terminate()
            self.assertEqual(self.standby.wait(judge.PATIENCE), 0, how)
            self.assertEqual(run.printed(), b"", how)

    def test_a_worker_ends_if_the_standby_is_killed(self):
        run = self.started()
        self.launch_and_wait(run, HANGS, b"hangs\n")
        self.standby.kill()
        self.assertEqual(run.printed(), b"")

    def test_a_path_that_cannot_be_had_is_named(self):
        done = subprocess.run([sys.executable, "-m", "lab_harness.standby"], env=dict(os.environ, PYTHONPATH=judge.PACKAGE),
                              capture_output=True, timeout=judge.PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (2, b"usage: python -m lab_harness.standby SOCKET\n"))


if __name__ == "__main__":
    unittest.main()
