"""The worker process that runs a Python kernel for the judge of `lab`.

The judge starts `python -m lab_harness.worker` and sends requests over a socket. The worker holds the device, runs the
kernel. It knows no problem and no expected value.
"""
