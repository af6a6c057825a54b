"""Times a candidate in turns with the incumbent.

    from lab_harness import turns

    turns.abba(lambda inputs: run(old, inputs), lambda inputs: run(new, inputs), inputs=batches, blocks=10)

An ABBA block is four turns: incumbent, candidate, candidate, incumbent. Its first two turns have the same inputs, and so
have its last two. What disturbs the machine for longer than a pair affects both kernels alike.
"""

import itertools
import time

from . import report

# Fewer blocks give no verdict.
LEAST_BLOCKS = 3


def abba(incumbent, candidate, inputs=(None,), blocks=10, clock=None, trial=None, workload=None, aggregate=None, workloads=None):
    """Times both in turns and prints a turns: line for each block. Returns the seconds, four for each block.

    incumbent, candidate  functions of one input. Each must return when its work is done: on a GPU, synchronise in it.
    inputs                what the pairs of turns get, one after the other, from the beginning again at the end
    clock                 clock(function, input) runs a turn and returns its seconds, for example by device events.
                          Without it, wall time.
    trial, workload       as in report.turns
    aggregate, workloads  as in report.turns
    """
    if blocks < LEAST_BLOCKS:
        raise ValueError(f"{blocks} blocks give no verdict: time at least {LEAST_BLOCKS}")
    given = list(inputs)
    if not given:
        raise ValueError("there are no inputs")
    clock = clock or wall_time
    pairs = itertools.cycle(given)
    seconds = []
    for _ in range(blocks):
        first, second = next(pairs), next(pairs)
        block = [clock(incumbent, first), clock(candidate, first), clock(candidate, second), clock(incumbent, second)]
        report.turns(block, trial, workload, aggregate, workloads)
        seconds.extend(block)
    return seconds


def wall_time(function, given):
    """Runs the function and returns the seconds that it took."""
    began = time.perf_counter()
    function(given)
    return time.perf_counter() - began
