"""A sum of two vectors as PyTorch has it. Each function writes c or returns it."""

import torch


def add(a, b, c):
    return a + b


def add_out(a, b, c):
    torch.add(a, b, out=c)


@torch.compile
def _added(a, b):
    return a + b


def compiled(a, b, c):
    # Each size is compiled for itself.
    for tensor in (a, b):
        torch._dynamo.mark_static(tensor)
    return _added(a, b)
