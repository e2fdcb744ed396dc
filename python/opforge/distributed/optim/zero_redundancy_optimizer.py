"""An optimizer whose state is split over processes."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...optim.lbfgs import LBFGS
from ...optim.optimizer import Optimizer
from .. import _coalesced
from .._objects import gather_object
from .._state import get_group_rank, resolve

__all__ = ["ZeroRedundancyOptimizer"]

_NAME = "ZeroRedundancyOptimizer"


class ZeroRedundancyOptimizer(Optimizer):
    """Has each process of a group update some of the parameters, with an optimizer of `optimizer_class` that has their state alone; after each step, all
    get what the others have updated. Gradients are the same on all ranks, as after the backward of a `DistributedDataParallel` model.

    Parameters are whole: each belongs to the rank that has the fewest elements when its turn comes, the largest first. `defaults` are arguments of
    `optimizer_class`. `parameters_as_bucket_view` changes nothing. All ranks call `step`, `consolidate_state_dict` and `add_param_group`.

    Raises TypeError for a class that is no optimizer; ValueError for LBFGS, whose steps are of all parameters together; NotImplementedError for
    `overlap_with_ddp`; DistError if ranks differ.

    >>> import opforge as torch, opforge.distributed as dist
    >>> from opforge.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group(world_size=1, rank=0)
    >>> layer = torch.nn.Linear(3, 1)
    >>> optimizer = ZeroRedundancyOptimizer(layer.parameters(), torch.optim.AdamW, lr=0.1)
    >>> layer(torch.ones(2, 3)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.consolidate_state_dict()
    >>> sorted(optimizer.state_dict()["state"])
    [0, 1]
    >>> dist.destroy_process_group()
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):
        if not (isinstance(optimizer_class, type) and issubclass(optimizer_class, Optimizer)):
            raise TypeError(f"{_NAME}: optimizer_class={optimizer_class!r}, expected a class of optimizers")
        if issubclass(optimizer_class, LBFGS):
            raise ValueError(f"{_NAME}: optimizer_class=LBFGS, whose steps depend on all parameters; expected one that updates each by its own gradient")
        if overlap_with_ddp:
            raise NotImplementedError(f"{_NAME}: overlap_with_ddp=True is not there: expected False")
        self.process_group = resolve(process_group)
        if self.process_group is None:
            raise ValueError(f"{_NAME}: process_group: this process is not in it, expected a group of its own")
        self._optimizer_class, self._arguments = optimizer_class, defaults
        self._owners, self._loads, self._consolidated, self.optim = {}, [0] * self.process_group.size(), None, None
        # What an optimizer of all parameters would be: its groups have every setting.
        whole = optimizer_class(params, **defaults)
        super().__init__(whole.param_groups, whole.defaults)
        self.optim = optimizer_class([self._part(group) for group in self.param_groups], **defaults)
        self.state = self.optim.state

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own, and spreads them over the ranks."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in sorted(group["params"], key=lambda param: -param.numel()):
            self._owners[id(param)] = owner = self._loads.index(min(self._loads))
            self._loads[owner] += param.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._part(group))

    def _is_own(self, param):
        return self._owners[id(param)] == self.process_group.rank()

    def _part(self, group):
        """A group with the parameters of this rank alone."""
        kept = [i for i, param in enumerate(group["params"]) if self._is_own(param)]
        part = {**group, "params": [group["params"][i] for i in kept]}
        if "param_names" in group:
            part["param_names"] = [group["param_names"][i] for i in kept]
        return part

    def _copy_settings(self, source, target):
        for ours, theirs in zip(source, target, strict=True):
            theirs.update({name: value for name, value in ours.items() if name not in ("params", "param_names")})

    def step(self, closure=None, **kwargs):
        """Updates this rank's parameters, then gives all ranks what each has updated. `closure`, if given, computes the loss again and is returned."""
        # Schedulers change the settings here.
        self._copy_settings(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._copy_settings(self.optim.param_groups, self.param_groups)
        self._consolidated = None
        owned = [[] for _ in self._loads]
        for group in self.param_groups:
            for param in group["params"]:
                owned[self._owners[id(param)]].append(param.detach())
        with no_grad():
            _coalesced.broadcast_each(owned, self.process_group)
        return loss

    def _positions(self):
        params = [param for group in self.param_groups for param in group["params"]]
        return {id(param): position for position, param in enumerate(params)}

    def consolidate_state_dict(self, to=0):
        """Gathers the state of all ranks on rank `to`, for `state_dict` there."""
        self._copy_settings(self.param_groups, self.optim.param_groups)
        positions = self._positions()
        mine = {positions[id(param)]: state for param, state in self.optim.state.items()}
        root = get_group_rank(self.process_group, to)
        is_root = self.process_group.rank() == root
        parts = [None] * self.process_group.size() if is_root else None
        gather_object(mine, parts, group=self.process_group, group_dst=root)
        if is_root:
            parts[root] = mine
            merged = {position: state for part in parts for position, state in part.items()}
            self._consolidated = dict(sorted(merged.items()))

    def state_dict(self):
        """The state as `optimizer_class` gives it for all parameters, on the rank where `consolidate_state_dict` has gathered it since the last step.
        RuntimeError elsewhere."""
        if self._consolidated is None:
            raise RuntimeError(
                f"{_NAME}.state_dict: this rank ({self.process_group.rank()}) has its own part of the state alone; expected "
                "consolidate_state_dict(to=rank) on all ranks before, since the last step"
            )
        own, self.state = self.state, {}
        try:
            result = super().state_dict()
        finally:
            self.state = own
        return {**result, "state": self._consolidated}

    def load_state_dict(self, state_dict):
        """Takes a state of all parameters: this optimizer's, with any number of ranks, or one of `optimizer_class`. Each rank keeps its part."""
        positions, state_dict = self._positions(), dict(state_dict)
        owners = {position: self._owners[param] for param, position in positions.items()}
        saved = [position for group in state_dict["param_groups"] for position in group["params"]]
        ours = dict(zip(saved, range(len(saved))))
        rank = self.process_group.rank()
        state_dict["state"] = {key: value for key, value in state_dict["state"].items() if owners.get(ours.get(key), rank) == rank}
        super().load_state_dict(state_dict)
        self._copy_settings(self.param_groups, self.optim.param_groups)
        self.optim.state, self._consolidated = self.state, None

    def __getstate__(self):
        raise TypeError(f"{_NAME}: a copy would have a part of the state alone: expected consolidate_state_dict() and state_dict()")
