"""A parent on standby: has imported what takes long, and forks one worker for each run.

    python -m lab_harness.standby SOCKET

Imports NumPy, ml_dtypes, PyTorch and Triton where they are, lets Triton compile once, opens no device, listens on the unix
socket SOCKET (in a folder that only the user can enter), and writes one line to stdout: `{"ready": {"numpy": "2.3.1", …}}`.
It ends with its parent, on SIGTERM, and when its stdin, if that is a pipe or a socket, is closed. With it end all workers.

One connection to SOCKET is one run. Each message is a line of JSON.

    judge    {"run": "worker", "environment": {"NAME": "value", …}}
             with three descriptors (SCM_RIGHTS): the worker's socket, its stdout, its stderr. "environment" may be left out.
             A PYTHONPATH in it takes the place of the standby's; the package that the standby has imported stays.
    judge    {"run": "compile", "path": "kernel.py", "sm": 90, "calls": […], "environment": …}
             with three descriptors (stdin, stdout, stderr): a process that compiles ahead instead of a worker, see compile_ahead.
    standby  {"started": 1234}               the process id of the worker, which leads a session and a process group
    standby  {"ended": {"code": 3}}          or {"ended": {"signal": 9}}; then the standby closes the connection
    standby  {"refused": "why"}              instead of these two; then the standby closes the connection

The worker speaks the worker's protocol on its socket at once. Its parent is the standby and not the judge, so `Open` has
`"parent": null`. To end a worker, the judge closes the connection, or shuts down its sending half and waits for `ended`: the
standby kills the worker and everything that the worker has started. The same happens if the judge dies. What a worker that
ended by itself has left running is killed before `ended` is sent.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import stat
import struct
import sys
import traceback
import warnings

from . import descendants, search_path
from .worker import domain, process

# What is imported. Each takes a part of a second to seconds, and opens no device.
PACKAGES = ("numpy", "ml_dtypes", "torch", "torch.nn.functional", "triton", "triton.language", "triton.compiler")
# Runs at one time. A judge has a worker for the candidate, one for the incumbent and one for a reference.
MOST_RUNS = 16
# Longest message of a judge, in bytes.
LONGEST = 1 << 16
DESCRIPTORS = 3


def main(args):
    """Serves until its parent or its stdin ends. Returns the exit code."""
    if len(args) != 1:
        print("usage: python -m lab_harness.standby SOCKET", file=sys.stderr)
        return 2
    path = os.path.abspath(args[0])
    process.live_no_longer_than_the_parent()
    # PYTHONPATH names the package; the folder where lab was started must not add modules.
    process.leave_the_start_folder()
    process.let_idle_threads_sleep()
    # A kernel may ask for a process on the socket, as the judge does.
    domain.enter()
    versions = import_packages(PACKAGES)
    warm_up_triton(versions)
    # Also the worker's own modules: a child has nothing left to import.
    importlib.import_module("lab_harness.worker.server")
    for name in ("cpu", "cuda"):
        importlib.import_module(f"lab_harness.worker.devices.{name}")
    try:
        listening = listen(path)
    except OSError as error:
        print(f"lab_harness.standby cannot listen on {path}: {error}", file=sys.stderr)
        return 2
    # What is there now is shared with every child; collections would copy its pages.
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": versions}), flush=True)
    return Standby(listening).serve()


def import_packages(names):
    """Imports each package that is there. Returns the versions. A package that cannot be imported is reported on stderr."""
    versions = {}
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        except Exception as error:  # noqa: B902: a broken installation fails in many ways, and each run will say so
            print(f"lab_harness.standby: {name} cannot be imported: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if "." not in name:
            versions[name] = str(getattr(module, "__version__", "unknown"))
    return versions


def warm_up_triton(versions):
    """Lets Triton do ahead what comes before a first compilation. A failure is reported by the first kernel that meets it."""
    if "triton" not in versions:
        return
    try:
        importlib.import_module("lab_harness.triton_warm_up").warm_up()
        importlib.import_module("lab_harness.compile_ahead")
    except Exception as error:  # noqa: B902: kernels that do not use Triton need nothing of this
        print(f"lab_harness.standby: Triton cannot compile: {type(error).__name__}: {error}", file=sys.stderr)


def listen(path):
    """A listening socket at this path, for this user only."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(path)
    finally:
        os.umask(before)
    listening.listen(MOST_RUNS)
    listening.setblocking(False)
    return listening


class Run:
    """A connection of a judge, and the worker that was forked for it."""

    def __init__(self, connection):
        self.connection, self.received, self.descriptors = connection, b"", []
        # The worker's process id; None before it is started.
        self.worker = None

    def tell(self, message):
        """Sends a message. A judge that is gone gets none."""
        try:
            self.connection.setblocking(True)
            self.connection.settimeout(1)
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass

    def close(self):
        """Closes the connection and what the judge sent with it."""
        self.connection.close()
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


class Standby:
    """The loop that takes connections, forks workers and reaps them."""

    def __init__(self, listening):
        self._listening, self._runs = listening, {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ, self._accept)
        self._is_over = False
        self._wake, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._wake, selectors.EVENT_READ, self._signalled)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        if stat.S_IFMT(os.fstat(0).st_mode) in (stat.S_IFIFO, stat.S_IFSOCK):
            self._selector.register(0, selectors.EVENT_READ, self._read_stdin)

    def serve(self):
        """Serves until it is told to end. Returns the exit code."""
        while not self._is_over:
            for key, _ in self._selector.select():
                if not self._is_over:
                    key.data(key.fileobj)
        for run in list(self._runs.values()):
            self._kill(run)
        descendants.kill_below(os.getpid())
        return 0

    def _stop(self, *_):
        self._is_over = True

    def _read_stdin(self, _):
        if not os.read(0, 4096):
            self._stop()

    def _signalled(self, _):
        try:
            os.read(self._wake, 4096)
        except BlockingIOError:
            pass
        self._reap()

    def _accept(self, _):
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        run = Run(connection)
        if user != os.getuid():
            run.tell({"refused": "another user's standby"})
            run.close()
            return
        connection.setblocking(False)
        self._runs[connection] = run
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection):
        run = self._runs.get(connection)
        if run is None:
            # Its worker was reaped by an event of the same round.
            return
        try:
            content, descriptors, _, _ = socket.recv_fds(connection, LONGEST, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            content, descriptors = b"", []
        run.descriptors += descriptors
        run.received += content
        if run.worker is not None and content:
            # A judge says nothing more after its request.
            run.received = b""
        elif not content:
            self._selector.unregister(connection)
            if run.worker is None:
                self._forget(run)
            else:
                # The judge learns of the worker's end when the worker is reaped, if the judge still listens.
                self._kill(run)
        elif b"\n" in run.received:
            self._start(run)
        elif len(run.received) > LONGEST:
            self._refuse(run, "a message that is too long")

    def _start(self, run):
        try:
            request = json.loads(run.received.partition(b"\n")[0])
            is_right = request.get("run") in ("worker", "compile") and all(
                type(name) is str and type(value) is str for name, value in request.get("environment", {}).items())
        except (ValueError, AttributeError):
            is_right, request = False, {}
        if not is_right:
            self._refuse(run, "a message that is no request to run a worker: lab and standby are of different versions")
        elif len(run.descriptors) != DESCRIPTORS:
            self._refuse(run, f"{len(run.descriptors)} descriptors, where a run needs {DESCRIPTORS}")
        elif sum(1 for other in self._runs.values() if other.worker is not None) >= MOST_RUNS:
            self._refuse(run, f"{MOST_RUNS} runs are going on")
        else:
            self._fork(run, request)

    def _fork(self, run, request):
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            with warnings.catch_warnings():
                # Threads of the linear algebra library wait in the parent; it starts its own in the child.
                warnings.simplefilter("ignore", DeprecationWarning)
                worker = os.fork()
        except OSError as error:
            self._refuse(run, f"no process can be started: {error}")
            return
        if worker == 0:
            code = 70
            try:
                code = self._be_a_worker(run, request)
            except BaseException:  # noqa: B902: nothing may return into the parent's loop
                traceback.print_exc()
            finally:
                os._exit(code)
        run.worker = worker
        for descriptor in run.descriptors:
            os.close(descriptor)
        run.descriptors = []
        run.tell({"started": worker})
        run.connection.setblocking(False)

    def _be_a_worker(self, run, request):
        """The child: takes the descriptors, and serves the judge or compiles ahead. Returns the exit code."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        parent = os.getppid()
        process.live_no_longer_than_the_parent()
        if os.getppid() != parent:
            return 0
        for target, source in zip((0, 1, 2), run.descriptors):
            os.dup2(source, target)
            os.close(source)
        # Python's own streams remember what kind of file they had: a regular file can be sought in, a pipe cannot.
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = open(number, "w", buffering=1, errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        self._selector.close()
        for other in (self._wake, self._woken, self._listening, *self._runs):
            os.close(other) if type(other) is int else other.close()
        environment = request.get("environment", {})
        if "PYTHONPATH" in environment:
            search_path.search([folder for folder in environment["PYTHONPATH"].split(":") if folder])
            importlib.invalidate_caches()
        os.environ.update(environment)
        # A domain of its own: one worker must not read the memory of another.
        domain.enter()
        if request["run"] == "compile":
            from . import compile_ahead

            return compile_ahead.run(request)
        connection = process.take_socket()
        from .worker import server

        code = server.serve(connection)
        process.Output().flush()
        return code

    def _refuse(self, run, why):
        run.tell({"refused": why})
        self._selector.unregister(run.connection)
        self._forget(run)

    def _forget(self, run):
        del self._runs[run.connection]
        run.close()

    def _kill(self, run):
        """Kills a worker with everything below it."""
        if run.worker is not None:
            descendants.kill_tree(run.worker)

    def _reap(self):
        """Reaps ended processes, kills the processes that ended workers left, and tells the judges."""
        ended = {}
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if child == 0:
                break
            ended[child] = status
        if not ended:
            return
        # A process that is not a worker's and has become this process's child was left by a worker.
        workers = {run.worker for run in self._runs.values() if run.worker is not None}
        descendants.kill_below(os.getpid(), workers - ended.keys())
        for run in [run for run in self._runs.values() if run.worker in ended]:
            status = ended[run.worker]
            killed = os.WIFSIGNALED(status)
            run.tell({"ended": {"signal": os.WTERMSIG(status)} if killed else {"code": os.WEXITSTATUS(status)}})
            try:
                self._selector.unregister(run.connection)
            except KeyError:
                # The judge has closed its half.
                pass
            self._forget(run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
