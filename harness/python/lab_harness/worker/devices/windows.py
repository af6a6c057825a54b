"""Timed windows on a CUDA device: launches between two events, as one CUDA graph or one after the other.

A graph begins with work that is not timed, the flush of the L2 cache or else a kernel that waits, so that the device has
taken up the launches when the clock starts (harness/device/src/cuda/driver/replay.rs has the measurements).

Work that the events do not see is found. A graph holds what was recorded; the buffers are scrambled while it is recorded, so
that work beside the recording is of no use. Behind plain launches the worker takes digests of what they may write, then waits
for the whole device and takes the digests again. Nothing may have been written before the window.
"""

import ctypes
import os
import time

from ..failures import Crash, Failure
from ..private import BUILTINS as __builtins__

_RELAXED = 2
# CU_EVENT_RECORD_EXTERNAL: the event becomes a node of the graph, and its time can be read after the replay.
_EXTERNAL = 1
# The wait before launches without a flush, in nanoseconds: as long as a flush takes on an H200.
_WAIT_NS = 60_000
# Bytes behind a copy of a buffer, for a kernel that reads or writes out of bounds.
_SLACK = 64 << 10
# The device may need this much longer than the stream, in seconds, and this part of the window.
_LATER_S, _LATER_PART = 300e-6, 0.1
_FLOAT, _VOID = ctypes.c_float, ctypes.c_void_p
_byref = ctypes.byref
_perf_counter, _thread_time, _random = time.perf_counter, time.thread_time, os.urandom

_ELSEWHERE = ("the kernel ran work on a stream that the measured time does not hold: {}. Launch on "
              "torch.cuda.current_stream(), or let that stream wait for your stream before the function returns.")


class _Uncaptured(Exception):
    """The launches cannot be recorded as a graph; the text says why."""


class Window:
    """The events of a device, and the known facts about the launches between them."""

    def __init__(self, device):
        self._device, driver = device, device.driver
        self._began = driver.ask(_VOID, "cuEventCreate", 0, action="create an event")
        self._ended = driver.ask(_VOID, "cuEventCreate", 0, action="create an event")
        self._key = _secret(8)
        # Why an entry of a module cannot be recorded as a graph, by module and entry.
        self._uncaptured = {}
        # The launches that have run since their module was loaded: each compiles in its first one.
        self._warm = set()

    def reloaded(self):
        """Notes that a module was loaded anew."""
        self._warm.clear()

    def run(self, calls, flush, as_graph):
        """Runs the calls. Returns the seconds of all, and why they did not run as a graph (None if they did)."""
        self._device.use_own_stream()
        self._device.driver.let_go_of_kept_lines()
        outputs = _Outputs(self._device, calls, self._key)
        if not as_graph:
            if flush is not None or len(calls) > 1:
                self._warm_up(calls, can_record=True)
            return self._run_plain(calls, flush, outputs), None
        name = (calls[0].module.path, calls[0].entry)
        why = self._uncaptured.get(name)
        if why is None:
            try:
                return self._run_graph(calls, flush, outputs), None
            except _Uncaptured:
                pass
            # The first launch may set up what cannot be set up while a stream records.
            self._run_on_copies(calls[0])
            try:
                return self._run_graph(calls, flush, outputs), None
            except _Uncaptured as error:
                why = self._uncaptured[name] = str(error)
        self._warm_up(calls, can_record=False)
        return self._run_plain(calls, flush, outputs), why

    def _warm_up(self, calls, can_record):
        """Lets each kind of call compile before the time is taken. A recording compiles, and runs nothing."""
        for call in calls:
            if call.kind in self._warm:
                continue
            self._warm.add(call.kind)
            try:
                if not can_record:
                    raise _Uncaptured
                self._destroy(*self._record([call], None))
            except _Uncaptured:
                self._run_on_copies(call)

    def _run_on_copies(self, call):
        """Runs a call on copies of its buffers, so that a kernel that remembers results by address remembers wrong ones."""
        self._warm.add(call.kind)
        copies = {}
        try:
            try:
                for address, length in call.buffers:
                    copies[address] = self._device.allocate(length + _SLACK)
                    self._device.copy(copies[address], address, length)
            except Failure:
                # There is no memory for copies. The launch then compiles within the measured time.
                return
            copy = call.at(lambda address: copies[address])
            self._device.wait("copy buffers")
            copy.run()
            self._device.use_own_stream()
            self._wait_for_all("run the kernel")
        finally:
            # After a fault of the kernel nothing can be freed, and the next call of the driver says so.
            for address in copies.values():
                try:
                    self._device.free(address)
                except Failure:
                    break

    def _run_graph(self, calls, flush, outputs):
        graph, executable = self._record(calls, flush)
        try:
            outputs.expect_untouched("while its launches were recorded as a graph")
            driver = self._device.driver
            driver.call("cuGraphLaunch", executable, self._device.stream, action=_action(calls))
            # A graph holds all that it does: nothing can go on after its last node.
            return self._seconds(_action(calls))
        finally:
            self._destroy(graph, executable)

    def _record(self, calls, flush):
        """Records flush or wait, event, calls, event. Returns the graph and its executable form.

        Meanwhile the buffers are scrambled: a kernel that runs work on another stream, which is not recorded, gets results
        that are wrong, in whatever memory it keeps them.
        """
        buffers = list({place: None for call in calls for place in call.buffers if place[1]})
        digester, word = self._device.digester, _secret(4)
        if digester is not None and buffers:
            digester.scramble(buffers, word)
        try:
            return self._record_scrambled(calls, flush)
        finally:
            self._wait_for_all("record launches")
            if digester is not None and buffers:
                digester.scramble(buffers, word)

    def _record_scrambled(self, calls, flush):
        driver, stream = self._device.driver, self._device.stream
        graph, executable = _VOID(), _VOID()
        driver.call("cuStreamBeginCapture_v2", stream, _RELAXED, action="record launches")
        failure = None
        try:
            if flush is not None:
                driver.call("cuMemsetD32Async", flush[0], flush[2], flush[1] // 4, stream, action="flush the cache")
            elif self._device.digester is not None:
                self._device.digester.wait(_WAIT_NS)
            driver.call("cuEventRecordWithFlags", self._began, stream, _EXTERNAL, action="record an event")
            for call in calls:
                call.run()
                # A kernel that changed the current stream has left it changed.
                self._device.use_own_stream()
            driver.call("cuEventRecordWithFlags", self._ended, stream, _EXTERNAL, action="record an event")
            for call in calls:
                call.store()
        except Failure as error:
            failure = error
        code = driver.code("cuStreamEndCapture", stream, _byref(graph))
        self._device.use_own_stream()
        if failure is None and code == 0:
            code = driver.code("cuGraphInstantiateWithFlags", _byref(executable), graph, 0)
        if failure is not None or code:
            self._destroy(graph.value, executable.value)
            raise _Uncaptured(_first_line(failure) if failure else f"error {code} of the driver")
        return graph.value, executable.value

    def _destroy(self, graph, executable):
        if executable:
            self._device.driver.code("cuGraphExecDestroy", executable)
        if graph:
            self._device.driver.code("cuGraphDestroy", graph)

    def _run_plain(self, calls, flush, outputs):
        driver, stream, action = self._device.driver, self._device.stream, _action(calls)
        outputs.expect_untouched("before its launches")
        if flush is not None:
            driver.call("cuMemsetD32Async", flush[0], flush[2], flush[1] // 4, stream, action="flush the cache")
        # The flush has ended when the clock starts, so that it hides none of the host's time for a launch.
        self._wait_for_all("flush the cache")
        launch_digest, results = outputs.staged()
        began = _perf_counter()
        driver.call("cuEventRecord", self._began, stream, action="record an event")
        for call in calls:
            call.run()
        self._device.use_own_stream()
        driver.call("cuEventRecord", self._ended, stream, action="record an event")
        for call in calls:
            call.store()
        launch_digest()
        at_the_end = results()
        window, own = _perf_counter() - began, _thread_time()
        driver.call("cuCtxSynchronize", action=action)
        # The wait is busy. The time in which Linux ran another process does not count.
        later = _thread_time() - own
        launch_digest()
        if results() != at_the_end:
            raise Crash(_ELSEWHERE.format("it wrote to its outputs after the last launch had ended"))
        if later > max(_LATER_S, _LATER_PART * window):
            raise Crash(_ELSEWHERE.format(f"the device went on for {later * 1e6:.0f} µs after the last launch had ended"))
        return self._seconds(action)

    def _seconds(self, action):
        """Waits for the device. Returns the seconds between the events."""
        self._wait_for_all(action)
        milliseconds = _FLOAT()
        self._device.driver.call("cuEventElapsedTime", _byref(milliseconds), self._began, self._ended, action="read the time")
        return milliseconds.value / 1e3

    def _wait_for_all(self, action):
        self._device.driver.call("cuCtxSynchronize", action=action)


class _Outputs:
    """What some calls may write, as it was before them."""

    def __init__(self, device, calls, key):
        self._device, self._key = device, key
        self._ranges = list({place: None for call in calls for place in call.outputs if place[1]})
        self._before = device.digests(self._ranges, key)

    def expect_untouched(self, when):
        """Raises Crash if something has changed since."""
        if self._before is not None and self._device.digests(self._ranges, self._key) != self._before:
            raise Crash(_ELSEWHERE.format(f"it wrote to its outputs {when}"))

    def staged(self):
        """A function that launches digests of the present content without delay, and one that waits for them."""
        digester = self._device.digester
        staged = digester.staged(self._ranges, self._key) if digester is not None else None
        return staged or (lambda: None, lambda: self._device.digests(self._ranges, self._key))


def _action(calls):
    return f"run {calls[0].entry}" + (f" ({len(calls)} launches)" if len(calls) > 1 else "")


def _secret(length):
    """A random key of so many bytes."""
    return int.from_bytes(_random(length), "little")


def _first_line(failure):
    return str(failure).partition("\n")[0]
