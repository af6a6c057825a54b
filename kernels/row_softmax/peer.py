"""Softmax over rows as PyTorch has it. Each function returns y."""

import torch
import torch.nn.functional as F


def _formula(x):
    wide = x.float()
    power = torch.exp(wide - wide.amax(-1, keepdim=True))
    return (power / power.sum(-1, keepdim=True)).to(x.dtype)


def eager(x, y):
    return _formula(x)


def softmax(x, y):
    return F.softmax(x, dim=-1)


_compiled_formula = torch.compile(_formula)


def compiled(x, y):
    # Each shape is compiled for itself.
    torch._dynamo.mark_static(x)
    return _compiled_formula(x)
