"""Tools for a harness that `lab` runs, in Python. The standard library is enough for these three.

report  prints the result lines that lab reads (docs/run-log.md)
turns   times a candidate in turns with the incumbent
compare compares results with a reference, as gates

`lab` itself starts two more: worker runs a Python kernel, and standby is a parent that forks workers. They need NumPy.
"""
