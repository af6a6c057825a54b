"""Copies as PyTorch has them. Each function writes y or returns it."""

import torch


def copy_into(x, y):
    y.copy_(x)


def clone(x, y):
    return x.clone()


@torch.compile
def _copied(x):
    return x.clone()


def compiled(x, y):
    # Each size is compiled for itself.
    torch._dynamo.mark_static(x)
    return _copied(x)
