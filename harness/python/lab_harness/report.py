"""Prints the result lines that `lab` reads. docs/run-log.md describes each line.

    from lab_harness import report

    report.stage("verify")
    report.gate("y_error", 2.1e-06, limit=3e-05)
    report.throughput(42013.5, low=41890, high=42102)
    report.finish()

Every function checks its arguments and raises ValueError for what lab could not read: a harness that prints a line which
lab takes for log text would lose a gate without a word.
"""

import math
import re
import sys

STAGES = ("build", "reference", "verify", "measure", "done")
FAULTS = ("lab", "problem")
AGGREGATES = ("geometric", "arithmetic", "worst")

_KEY = re.compile(r"[a-z][a-z0-9_]*")
_WORD = re.compile(r"[^\s=]+")

# lab takes a line of more bytes for log text.
_LINE_LIMIT = 64 * 1024
_SERIES_POINTS = 512

# Whether correctness was printed, and whether a gate failed.
_state = {"correctness": None, "failed": []}


def stage(name):
    """Says what the harness does now: one of STAGES."""
    if name not in STAGES:
        raise ValueError(f"a stage is one of {', '.join(STAGES)}, not {name!r}")
    line("stage", name)


def progress(done, total):
    """Says how far the stage is, in whole numbers."""
    if not 0 <= done <= total:
        raise ValueError(f"progress is from 0 to its total, not {done} of {total}")
    line("progress", f"{int(done)}/{int(total)}")


def gate(name, value, limit, at=None, series=None):
    """Prints a gate, which passes if value <= limit. Returns whether it passes. NaN fails.

    at      the place of the largest difference, such as "step 731"
    series  the largest difference of each cell, drawn as a strip; any length
    """
    value, limit = float(value), float(limit)
    if not math.isfinite(limit) or value == -math.inf:
        raise ValueError(f"gate {name}: {value} with the limit {limit}, and lab judges no gate without finite numbers")
    passes = value <= limit
    place = "" if at is None else " at=" + _word(at)
    line(name, f"{number(value)} limit={number(limit)}{place}")
    if series is not None:
        points = [float(x) for x in series]
        shown = ",".join(number(x) for x in _thinned(points))
        line(f"{name}_series", f"{shown} cells={len(points)}")
    if not passes:
        _state["failed"].append(name)
    return passes


def correctness(passed):
    """Prints the verdict on correctness. finish() does it by itself."""
    _state["correctness"] = bool(passed)
    line("correctness", "pass" if passed else "fail")


def measure(name, value, low=None, high=None, aggregate=None, workloads=None):
    """Prints a figure, with its 95 % interval if low and high are given.

    aggregate, workloads  one of AGGREGATES and of how many workloads, if several became this figure
    """
    if (low is None) != (high is None):
        raise ValueError(f"{name}: give both ends of the interval, or none")
    if math.isinf(value) or not all(math.isfinite(end) for end in (low, high) if end is not None):
        raise ValueError(f"{name}: a figure and the ends of its interval are finite numbers, or nan if nothing was measured")
    if low is not None and (low > value or value > high):
        raise ValueError(f"{name}: {value} lies outside of its interval from {low} to {high}")
    interval = "" if low is None else f" low={number(low)} high={number(high)}"
    line(name, number(value) + interval + _aggregate(aggregate, workloads))


def throughput(value, low=None, high=None, aggregate=None, workloads=None):
    """Prints the objective, in samples per second. More is better. The rest is as in measure()."""
    measure("throughput_sps", value, low, high, aggregate, workloads)


def kernel_us(value, low=None, high=None, aggregate=None, workloads=None):
    """Prints the time of a launch or of a step, in microseconds. The rest is as in measure()."""
    measure("kernel_us", value, low, high, aggregate, workloads)


def turns(seconds, trial=None, workload=None, aggregate=None, workloads=None):
    """Prints the turns of ABBA blocks: incumbent, candidate, candidate, incumbent, each in seconds.

    lab computes ratio, interval and verdict from all such lines.

    trial     the number of the process, from 1, if several processes measure
    workload  what tells this workload from the others, such as {"rows": 3, "cols": 257}. lab then computes the same for
              each workload
    aggregate, workloads  as in measure(), of turns of the whole: what their seconds are of the workloads
    """
    seconds = [float(s) for s in seconds]
    if not seconds or len(seconds) % 4:
        raise ValueError(f"{len(seconds)} turns are no whole ABBA blocks of four")
    if not all(math.isfinite(s) and s > 0 for s in seconds):
        raise ValueError("a turn takes a positive number of seconds")
    of = "" if trial is None else f" trial={int(trial)}"
    if workload is not None:
        of += " workload=" + "~".join(_columns(workload))
        if aggregate is not None:
            raise ValueError("turns of one workload have no aggregate: give it with those of the whole")
    line("turns", " ".join(number(s) for s in seconds) + of + _aggregate(aggregate, workloads))


def take_turns_back():
    """Takes all turns so far back, for example because the incumbent failed."""
    line("turns", "none")


def workload(**values):
    """Prints one workload as a row of a table, such as workload(rows=3, T="f32", kernel_us=4.1)."""
    line("workload", " ".join(_columns(values)))


def caveat(text):
    """Prints a sentence that limits what the figures show."""
    line("caveat", text)


def first_failure(text):
    """Prints the first wrong value: tensor, index, both values, workload."""
    line("first_failure", text)


def device(name, uuid=None, emulated=False):
    """Prints the device's name and its identifier, as nvidia-smi -L shows it."""
    line("device", name + (" emulated=yes" if emulated else ""))
    if uuid is not None:
        line("device_uuid", uuid)


def build_failed():
    """Says that the kernel does not build. Print the compiler's messages as they are."""
    line("build", "failed")


def fault(of, why):
    """Says that something else than the kernel failed, so that the run is not judged. of is one of FAULTS."""
    if of not in FAULTS:
        raise ValueError(f"a fault is of {' or '.join(FAULTS)}, not of {of!r}")
    line("fault", of)
    line("stopped", why)


def finish():
    """Prints the verdict on correctness, if it is not printed yet, and ends the process: with 0 after a pass, else 1.

    The verdict is pass if every gate passed.
    """
    if _state["correctness"] is None:
        correctness(not _state["failed"])
    stage("done")
    passed = _state["correctness"] and not _state["failed"]
    sys.exit(0 if passed else 1)


def line(key, value):
    """Prints any result line. The value is one line of text."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is no key: a key has small letters, digits and _, and begins with a letter")
    value = " ".join(str(value).split())
    if not value:
        raise ValueError(f"{key}: there is no value")
    if value[0] in ":/":
        raise ValueError(f"{key}: lab takes a value that begins with {value[0]!r} for log text")
    text = f"{key}: {value}"
    if len(text.encode()) > _LINE_LIMIT:
        raise ValueError(f"{key}: the line has more than {_LINE_LIMIT} bytes, so lab would take it for log text")
    print(text, flush=True)


def number(value):
    """A number as lab reads it: nan and inf in words, otherwise nine digits, which distinguish any two 32-bit floats."""
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return format(value, ".9g")


def _aggregate(name, workloads):
    """The words that say how the figures of several workloads became one."""
    if (name is None) != (workloads is None):
        raise ValueError("give both the aggregate and the number of workloads, or none")
    if name is None:
        return ""
    if name not in AGGREGATES:
        raise ValueError(f"an aggregate is one of {', '.join(AGGREGATES)}, not {name!r}")
    if int(workloads) < 2:
        raise ValueError(f"an aggregate is of two workloads or more, not of {workloads}")
    return f" aggregate={name} workloads={int(workloads)}"


def _columns(values):
    """The key=value words of a workload."""
    if not values:
        raise ValueError("a workload has at least one value")
    words = []
    for key, value in values.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise ValueError(f"{key!r} is no name of a column")
        words.append(f"{key}={number(value) if isinstance(value, float) else _word(value)}")
    return words


def _word(value):
    """A value inside of a line, where a blank would end it: lab shows ~ as a blank."""
    word = "~".join(str(value).split())
    if not _WORD.fullmatch(word):
        raise ValueError(f"{value!r} cannot stand in a result line: it is empty or has a =")
    return word


def _thinned(points):
    """At most _SERIES_POINTS points: of neighbouring cells the largest, and NaN before any number."""
    count = len(points)
    if count <= _SERIES_POINTS:
        return points
    bounds = [i * count // _SERIES_POINTS for i in range(_SERIES_POINTS + 1)]
    worst = lambda cells: max(cells, key=lambda x: math.inf if math.isnan(x) else x)
    return [worst(points[a:b]) for a, b in zip(bounds, bounds[1:])]
