"""Tools for a harness that `lab` runs, in Python. The standard library is enough for all of them.

report  prints the result lines that lab reads (docs/run-log.md)
turns   times a candidate in turns with the incumbent
compare compares results with a reference, as gates
"""
