"""Compares results with a reference, as gates.

A difference counts by the rule of the built-in harness: a cell is right if |got - expected| <= atol + rtol * |expected|.
The value of the gate is the largest difference in units of what is allowed, so its limit is 1.
"""

import math

from . import report


def gate(name, got, expected, atol, rtol):
    """Compares two flat sequences of numbers cell by cell and prints the gate `name`. Returns whether it passes.

    An expected NaN asks for NaN, an expected infinity for the same infinity. Arrays of NumPy and PyTorch can be given
    flat: got.ravel().tolist().
    """
    got, expected = list(got), list(expected)
    if len(got) != len(expected):
        raise ValueError(f"{name}: {len(got)} cells where {len(expected)} were expected")
    if not expected:
        raise ValueError(f"{name}: there is no cell to compare")
    errors = [error(float(g), float(e), atol, rtol) for g, e in zip(got, expected)]
    worst = max(range(len(errors)), key=lambda i: errors[i])
    passes = report.gate(name, errors[worst], limit=1, at=f"cell {worst}", series=errors)
    if not passes:
        first = next(i for i, e in enumerate(errors) if not e <= 1)
        report.first_failure(
            f"{name}: cell {first} is {report.number(got[first])}, expected {report.number(expected[first])}"
        )
    return passes


def error(got, expected, atol, rtol):
    """The difference of two numbers in units of the tolerance; infinite if no difference is allowed, or one number is NaN."""
    if math.isnan(expected):
        return 0.0 if math.isnan(got) else math.inf
    if got == expected:
        return 0.0
    if not (math.isfinite(got) and math.isfinite(expected)):
        return math.inf
    allowed = atol + rtol * abs(expected)
    return abs(got - expected) / allowed if allowed > 0 else math.inf
