"""Checks with messages that are made when they fail."""

import pytest

import opforge as torch


def test_checks():
    torch._assert(torch.tensor(True), "")
    torch._check(True)
    for function, error in (torch._check, RuntimeError), (torch._check_value, ValueError), (torch._check_index, IndexError), (torch._check_type, TypeError):
        with pytest.raises(error, match="told"):
            function(False, lambda: "told")
    with pytest.raises(AssertionError, match="told"):
        torch._assert(torch.tensor(False), "told")
