"""Switches of backends and of determinism are kept, and tell one another."""

import pytest

import opforge as torch


def test_switches_are_kept():
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        assert torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32
    with torch.backends.cudnn.flags(allow_tf32=False):
        assert not torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cudnn.allow_tf32 and torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert not torch.backends.cuda.matmul.allow_tf32
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 1
    torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0
    with pytest.raises(RuntimeError, match="highest"):
        torch.set_float32_matmul_precision("low")
    with torch._dynamo.config.patch(verbose=True):
        assert torch._dynamo.config.verbose
    assert not torch._dynamo.config.verbose
