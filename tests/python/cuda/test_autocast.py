"""Automatic mixed precision on a device."""

import pytest

import opforge as torch
from opforge import nn
from opforge.nn import functional as F


def test_autocast_has_cuda_s_rules():
    model, scaler = nn.Linear(4, 2).cuda(), torch.amp.GradScaler("cuda", init_scale=8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.weight.detach().clone()
    with torch.autocast("cuda"):
        y = model(torch.randn(3, 4, device="cuda"))
        loss = F.mse_loss(y, torch.zeros_like(y))
        assert (y.dtype, loss.dtype, y.softmax(-1).dtype, y.relu().dtype) == (torch.float16, torch.float32, torch.float32, torch.float16)
        # The CPU's calls are as they are without.
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
        with torch.autocast("cpu"):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16 and (y @ y.t()).dtype is torch.float16
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(y.sigmoid(), torch.zeros_like(y))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.grad.dtype is torch.float32 and not torch.equal(before, model.weight) and scaler.get_scale() == 8.0
    scaler.scale(loss.detach() * float("inf"))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (before @ before.t()).dtype is torch.bfloat16
