"""The requests of the judge: opens the device, and answers until the judge closes the connection."""

import os
import traceback

from .. import search_path
from . import domain, framing, process, versions
from .audit import Watch
from .calling import Call
from .devices import open_device
from .failures import Crash, Failure, Lab, blame
from .interpreter import Interpreter
from .memory import Memory
from .modules import Modules
from .private import BUILTINS as __builtins__

_traceback, _close = traceback.format_exc, os.close

# What the judge shows beside a run that nothing holds back.
NO_SANDBOX = "Python kernels run with the user's rights"
NO_DOMAIN = "; this Linux has no Landlock, or one before 5.19, so they can also read and write the memory of the judge"


def serve(connection):
    """Serves the judge on this socket. Returns the exit code of the process."""
    connection = framing.Connection(connection)
    try:
        header, _ = connection.receive()
        number, request = header
        name, fields = _split(request)
        if name != "Open":
            raise framing.Invalid(f"{name} before Open")
        parent = fields.get("parent")
        if parent is not None and not process.parent_is(parent):
            return 0
        try:
            worker = Worker(fields)
            reply = {"Ok": worker.opened(fields)}
        except Failure as failure:
            connection.send([number, failure.answer()])
            return 0
        connection.send([number, reply])
        worker.serve(connection)
        return 0
    except framing.Closed:
        return 0
    except (framing.Invalid, OSError) as error:
        process.complain(f"the connection to the judge failed: {error}")
        return 2


class Worker:
    """An open device with its memory and its modules."""

    def __init__(self, request):
        self._device = open_device(request["target"])
        self._memory = Memory(self._device)
        self._output = process.Output()
        self._process = process.Identity()
        self._interpreter = Interpreter(search_path.module_folders())
        self._watch = Watch(self._process)
        self._modules = Modules(self._process, self._interpreter, self._watch, self._device.info()["emulated"])
        # Bound now: see `serve`.
        self._requests = {name: getattr(self, f"_{word}") for name, word in _REQUESTS.items()}
        process.hide_package()
        self._watch.start()

    def opened(self, request):
        """The reply to Open."""
        why = NO_SANDBOX if domain.is_in_one() else NO_SANDBOX + NO_DOMAIN
        sandbox = None if request.get("sandbox") is None else {"None": {"why": why}}
        return {"info": self._device.info(), "has_graphs": self._device.has_graphs, "sandbox": sandbox,
                "shares_memory": self._device.shares_memory}

    def serve(self, connection):
        """Answers requests until the judge closes the connection, which raises Closed."""
        while True:
            header, body = connection.receive()
            number, request = header
            name, fields = _split(request)
            if name == "Map":
                body = connection.receive_descriptor()
            content = b""
            try:
                answer = self._requests.get(name)
                if answer is None:
                    raise Lab(f"there is no request {name}")
                reply = answer(fields, body)
                if type(reply) in (bytes, bytearray):
                    reply, content = None, reply
                result = {"Ok": reply}
            except Failure as failure:
                result = failure.answer()
            except MemoryError:
                result = Lab(f"there is not enough memory for the request {name}").answer()
            except BaseException as error:  # noqa: B902: a method of a kernel's object may raise anything
                result = self._failure(name, error).answer()
            self._process.end_a_copy()
            self._output.flush()
            connection.send([number, result], content)

    def _failure(self, request, error):
        """What an exception outside of a kernel's call is: the fault of the kernel whose code raised it, else of the worker."""
        module = self._modules.where(error)
        if module is not None:
            return blame(Crash, error, module.path, module.is_cpu)
        return Lab(f"the worker failed in the request {request}:\n{_traceback()}")

    def _open(self, fields, body):
        raise Lab("the device is open already")

    def _load(self, fields, body):
        return self._modules.load(fields["image"], fields.get("functions", ()))

    def _reload(self, fields, body):
        self._modules.reload(fields["module"], self._device)
        self._memory.map_elsewhere()
        self._device.scrub()

    def _missing_entry(self, fields, body):
        module, entry, parameters = self._modules.get(fields["module"]), fields["entry"], fields.get("parameters")
        if parameters:
            # A launch would find it as well, later.
            module.require(entry, parameters).bind(parameters, parameters)
        return None if module.entry(entry) is not None else module.name_of(entry)

    def _allocate(self, fields, body):
        return [self._memory.allocate(length) for _, length in fields["buffers"]]

    def _write(self, fields, body):
        for buffer in fields["buffers"]:
            length = self._memory.place(buffer).length
            self._memory.write(buffer, body[:length])
            body = body[length:]

    def _read(self, fields, body):
        return self._memory.read(fields["buffer"])

    def _fill(self, fields, body):
        for buffer, pattern in fields["fills"]:
            self._memory.fill(buffer, pattern, fields["how"] == "FlushesCache")

    def _free(self, fields, body):
        self._memory.free(fields["buffer"])

    def _map(self, fields, descriptor):
        try:
            self._memory.map(descriptor, fields["bytes"], fields["buffers"])
        finally:
            _close(descriptor)

    def _unmap(self, fields, body):
        self._memory.unmap(fields["buffers"])

    def _launch(self, fields, body):
        each, launched, failure = [], None, None
        for launch in fields["launches"]:
            try:
                if fields["wiped"]:
                    self._device.scrub()
                seconds, _, resources = self._run([launch], None, as_graph=False)
            except Failure as error:
                failure = error.answer()["Err"]
                break
            each.append(seconds)
            launched = {"kernels": [], "is_list": False, "scratch_bytes": 0, "zeroed": False}
            if resources:
                launched["resources"] = resources
        return {"seconds": each, "launched": launched, "failure": failure}

    def _replay(self, fields, body):
        as_graph = fields["submission"] == "graph" and self._device.has_graphs
        each, uncaptured, failure = [], None, None
        for window in fields["windows"]:
            try:
                seconds, why, _ = self._run(_launches(window["launches"]), fields["flush"], as_graph)
            except Failure as error:
                failure = error.answer()["Err"]
                break
            # The judge's own worker fills, reads and digests: not the process of the kernel.
            each.append([seconds, []])
            uncaptured = uncaptured or why
        return {"windows": each, "uncaptured": uncaptured, "failure": failure}

    def _breaches(self, fields, body):
        # The judge's own worker watches the buffers.
        return []

    def _versions(self, fields, body):
        return versions.of_packages(self._modules.packages() | self._device.packages)

    def _run(self, launches, flush, as_graph):
        """Runs launches one after the other: the seconds, why they did not run as a graph, and resources."""
        calls = [self._call(launch) for launch in launches]
        if flush is not None:
            buffer = self._memory.place(flush[0])
            flush = buffer.address, buffer.length, flush[1]
        self._expect_nothing_opened(calls[0])
        try:
            seconds, uncaptured = self._device.run(calls, flush, as_graph)
        finally:
            self._expect_nothing_opened(calls[0])
            self._interpreter.go_on()
        # What was written is known, and what follows may run code of the kernel.
        return seconds, uncaptured, self._device.resources(calls)

    def _call(self, launch):
        parameters = launch.get("parameters")
        if parameters is None or len(parameters) != len(launch["args"]):
            raise Lab("the launch does not name its parameters: judge and worker are of different versions")
        module, entry = self._modules.use(launch["module"], self._device), launch["entry"]
        found = module.require(entry, parameters)
        call = Call(module, found, launch, self._memory, self._device, self._process, self._interpreter)
        return call.at(lambda address: address)

    def _expect_nothing_opened(self, call):
        found = self._watch.found()
        if found is not None:
            only = "which only the worker may do" if found.startswith("added") else "which only the judge may read"
            raise Crash(f"{call.module.shown}: error: the kernel {found}, {only}")


_REQUESTS = {"Open": "open", "Load": "load", "Reload": "reload", "MissingEntry": "missing_entry", "Allocate": "allocate",
             "Write": "write", "Read": "read", "Fill": "fill", "Free": "free", "Map": "map", "Unmap": "unmap",
             "Launch": "launch", "Replay": "replay", "Breaches": "breaches", "Versions": "versions"}


def _launches(repeated):
    """A launch, and further ones with other arguments."""
    launch = repeated["launch"]
    return [launch] + [{**launch, "args": args} for args in repeated["further"]]


def _split(request):
    """The name and the fields of a request, as serde writes an enum."""
    if type(request) is str:
        return request, {}
    (name, fields), = request.items()
    return name, fields
