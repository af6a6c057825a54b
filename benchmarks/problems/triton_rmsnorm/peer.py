"""RMSNorm as PyTorch has it. Each function writes into y."""

import torch
import torch.nn.functional as F


def eager(x, gain, y, eps):
    wide = x.float()
    y.copy_((wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)) * gain)


def rms_norm(x, gain, y, eps):
    y.copy_(F.rms_norm(x, (x.shape[-1],), gain, eps))


@torch.compile(dynamic=False)
def _formula(x, gain, y, eps):
    wide = x.float()
    y.copy_((wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)) * gain)


def compiled(x, gain, y, eps):
    _formula(x, gain, y, eps)
