"""A product with a number as PyTorch has it. Each function returns y."""

import torch


def mul(x, y, a):
    return a * x


@torch.compile
def _scaled(x, a):
    return a * x


def compiled(x, y, a):
    # Each size is compiled for itself. With dynamic=False each a would be too.
    torch._dynamo.mark_static(x)
    return _scaled(x, a)
