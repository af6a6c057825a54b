"""The judge's side of the protocol, for the tests: starts a worker, sends requests, and reads answers."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PREFIX = struct.Struct("<4sIQ")
# No request of these tests takes this long, in seconds. A worker that does not answer fails the test.
PATIENCE = 60


def has_numpy(python=sys.executable):
    """Whether this Python has what a worker on the cpu device needs."""
    return subprocess.run([python, "-c", "import numpy, ml_dtypes"], stderr=subprocess.DEVNULL).returncode == 0


class Refused(Exception):
    """An answer that is an error: its kind (Build, Crash, Lab) and its text."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class Ended(Exception):
    """The worker closed the connection."""


class Connection:
    """Requests and answers over a socket, as harness/judge/src/process/rpc.rs sends them."""

    def __init__(self, connection):
        connection.settimeout(PATIENCE)
        self.socket, self._number = connection, 0

    def call(self, request, body=b""):
        """Sends a request and returns the reply and the body of the answer. Raises Refused for an error."""
        try:
            self.ask(request, body)
            magic, header_length, body_length = PREFIX.unpack(self._read(PREFIX.size))
        except (BrokenPipeError, ConnectionResetError):
            raise Ended from None
        assert magic == b"LAB1", magic
        number, answer = json.loads(self._read(header_length))
        body = self._read(body_length)
        assert number == self._number, (number, self._number)
        if "Err" in answer:
            (kind, text), = answer["Err"].items()
            raise Refused(kind, text)
        return answer["Ok"], body

    def ask(self, request, body=b""):
        """Sends a request."""
        self._number += 1
        header = json.dumps([self._number, request]).encode()
        self.socket.sendall(PREFIX.pack(b"LAB1", len(header), len(body)) + header + body)

    def _read(self, length):
        content = b""
        while len(content) < length:
            part = self.socket.recv(min(length - len(content), 1 << 20))
            if not part:
                raise Ended
            content += part
        return content


class Started:
    """A worker that is a process of its own, as the judge starts it."""

    def __init__(self, connection, folder, environment):
        # In a group of its own.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lab_harness.worker"], stdin=connection, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": PACKAGE, **environment}, cwd=folder, start_new_session=True)
        self.stdout, self.stderr, self.parent = self._process.stdout, self._process.stderr, os.getpid()

    def end(self):
        """Ends the process, if it runs."""
        if self._process.poll() is None:
            self._process.kill()

    def wait(self):
        """Waits for the end. Returns the exit code, or the negative number of a signal."""
        return self._process.wait(PATIENCE)


class Standby:
    """A parent on standby that listens on `path`. It imports no PyTorch, which takes seconds and which no test needs."""

    _CODE = ("import sys; from lab_harness import standby; standby.PACKAGES = ('numpy', 'ml_dtypes', 'no_such_package'); "
             "sys.exit(standby.main(sys.argv[1:]))")

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="lab-standby-")
        self.path = os.path.join(self._folder.name, "standby")
        # A screen's standby may write its messages into a file, while its workers write into pipes.
        self._messages = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, "-c", self._CODE, self.path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self._messages, env=dict(os.environ, PYTHONPATH=PACKAGE),
                                        start_new_session=True)
        self.ready = json.loads(self.process.stdout.readline())

    def end(self):
        """Ends the parent and all its workers."""
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._messages.close()
        self._folder.cleanup()


class Forked:
    """A worker that a parent on standby forks."""

    parent = None

    def __init__(self, connection, path, environment):
        (out, out_end), (error, error_end) = os.pipe(), os.pipe()
        self._control = socket.socket(socket.AF_UNIX)
        self._control.settimeout(PATIENCE)
        self._control.connect(path)
        request = json.dumps({"run": "worker", "environment": environment}).encode() + b"\n"
        socket.send_fds(self._control, [request], [connection.fileno(), out_end, error_end])
        os.close(out_end)
        os.close(error_end)
        self._messages = self._control.makefile("rb")
        self.process, self._status = json.loads(self._messages.readline())["started"], None
        self.stdout, self.stderr = open(out, "rb"), open(error, "rb")

    def end(self):
        """Asks for the end of the worker."""
        if self._status is None:
            self._control.shutdown(socket.SHUT_WR)

    def wait(self):
        """Waits for the end. Returns the exit code, or the negative number of a signal."""
        if self._status is None:
            ended = json.loads(self._messages.readline())["ended"]
            self._status = ended["code"] if "code" in ended else -ended["signal"]
            self._messages.close()
            self._control.close()
        return self._status


class Worker:
    """A worker with an open device."""

    def __init__(self, target="cpu", under_tool=False, parent=None, standby=None, environment=None):
        """`standby` is the socket of a parent on standby; without it the worker is a process of its own."""
        self.folder = tempfile.mkdtemp(prefix="lab-worker-")
        ours, theirs = socket.socketpair()
        environment = environment or {}
        self.process = Forked(theirs, standby, environment) if standby else Started(theirs, self.folder, environment)
        theirs.close()
        self.connection, self.loaded = Connection(ours), 0
        self.printed, self._threads = {"stdout": b"", "stderr": b""}, []
        for name in self.printed:
            thread = threading.Thread(target=self._collect, args=(name,), daemon=True)
            thread.start()
            self._threads.append(thread)
        sandbox = {"files": {"read": [], "write": []}, "for_foreign_tool": False}
        opening = {"target": target, "parent": parent or self.process.parent, "under_tool": under_tool, "sandbox": sandbox}
        try:
            self.opened = self.call("Open", **opening)
        except (Refused, Ended):
            self.kill()
            raise

    def _collect(self, name):
        for line in getattr(self.process, name):
            self.printed[name] += line

    def call(self, request, body=b"", /, **fields):
        """Sends a request and returns the reply."""
        return self.connection.call({request: fields} if fields else request, body)[0]

    def load(self, source, name="kernel.py", **named):
        """Writes a source into a folder of its own and loads it. Returns the module's number."""
        folder = os.path.join(self.folder, str(self.loaded))
        self.loaded += 1
        os.mkdir(folder)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        return self.call("Load", image=path, **named)

    def buffer(self, name, length):
        """Allocates a buffer and returns its number."""
        return self.call("Allocate", buffers=[[name, length]])[0]

    def input(self, name, content):
        """Allocates a buffer with this content."""
        number = self.buffer(name, len(content))
        self.call("Write", bytes(content), buffers=[number], are_inputs=True)
        return number

    def read(self, buffer):
        """The content of a buffer."""
        return self.connection.call({"Read": {"buffer": buffer}})[1]

    def launch(self, module, entry, *args):
        """Launches. Returns the seconds, and what the launch was."""
        seconds, launched = self.make(launch(module, entry, *args))
        return {"seconds": seconds, "launched": launched}

    def make(self, wanted):
        """Makes a launch. Returns the seconds, and what the launch was. Raises Refused if it fails."""
        each = self.call("Launch", fills=[], launches=[wanted], wiped=False)
        if each["failure"] is not None:
            raise Refused(*each["failure"].popitem())
        return each["seconds"][0], each["launched"]

    def replay(self, launches, flush=None, submission="plain"):
        """Runs launches one after the other. Returns the fields of the reply."""
        repeated = {"launch": launches[0], "further": [launch["args"] for launch in launches[1:]]}
        window = {"fills": [], "read": [], "launches": repeated, "digested": []}
        each = self.call("Replay", windows=[window], flush=flush, submission=submission, key=0)
        if each["failure"] is not None:
            raise Refused(*each["failure"].popitem())
        seconds, uncaptured = each["windows"][0][0], each["uncaptured"]
        return {"seconds": seconds} if uncaptured is None else {"seconds": seconds, "uncaptured": uncaptured}

    def kill(self):
        """Ends the worker. Its output is complete afterwards."""
        self.connection.socket.close()
        self.process.end()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self):
        """Closes the connection, waits until the worker ends by itself, and returns its exit code."""
        self.connection.socket.close()
        code = self.process.wait()
        self.kill()
        return code


def floats(*values):
    """The bytes of f32 values."""
    return struct.pack(f"<{len(values)}f", *values)


def tensor(name, dtype, shape, buffer, is_input=False):
    """An argument of a launch that is a tensor."""
    return {"name": name, "dtype": dtype, "shape": list(shape), "is_input": is_input}, {"Buffer": buffer}


def value(name, dtype, content):
    """An argument of a launch that is a scalar; `content` are its bytes."""
    return {"name": name, "dtype": dtype}, {"Value": list(content)}


def launch(module, entry, *args):
    """A launch as harness/judge/src/worker/mod.rs defines it."""
    return {"module": module, "entry": entry, "args": [arg for _, arg in args],
            "parameters": [parameter for parameter, _ in args], "dims": [], "order": "Forward", "tensors": [],
            "scratch": "the scratch buffer"}
