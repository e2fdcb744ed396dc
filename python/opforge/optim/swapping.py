"""Other parameters and another state for an optimizer, for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Within the context the optimizer's parameters are these tensors, in the order of its own, and its state and settings those of a
    `state_dict()`; afterwards it has its own again. What is changed in place within is changed in the tensors that were given.

    Raises ValueError where there are more or fewer parameters or groups than the optimizer's.
    """
    tensors = list(swapin_parameters.values() if isinstance(swapin_parameters, dict) else swapin_parameters)
    groups = swapin_optim_state["param_groups"]
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    if [len(group["params"]) for group in groups] != sizes or len(tensors) != sum(sizes):
        raise ValueError(f"swap_in_optimizer_params_and_state: expected groups of {sizes} parameters and {sum(sizes)} tensors")
    by_position = dict(zip((place for group in groups for place in group["params"]), tensors))
    state = defaultdict(dict)
    for place, value in swapin_optim_state["state"].items():
        state[by_position.get(place, place)] = dict(value) if isinstance(value, dict) else value
    own = optimizer.state, optimizer.param_groups
    optimizer.state = state
    optimizer.param_groups = [{**group, "params": [by_position[place] for place in group["params"]]} for group in groups]
    try:
        yield
    finally:
        optimizer.state, optimizer.param_groups = own
