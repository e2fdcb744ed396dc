"""Leaves of histories, as tests begin with them."""

import opforge as torch


def leaf(*values):
    """A vector of float64 that needs a gradient."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)
