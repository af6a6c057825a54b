"""A sum of two vectors as PyTorch has it. Each function returns c."""

import torch


def add(a, b, c):
    return a + b


@torch.compile
def _added(a, b):
    return a + b


def compiled(a, b, c):
    # Each size is compiled for itself.
    for tensor in (a, b):
        torch._dynamo.mark_static(tensor)
    return _added(a, b)
