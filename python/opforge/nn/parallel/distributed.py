"""Training by several processes, each with its own part of the data."""

from __future__ import annotations

from contextlib import contextmanager

from ... import _core as _C
from ... import distributed as dist
from ..._calls.tracing import refuse
from ...autograd.grad_mode import no_grad
from ...distributed import _coalesced
from ..modules.module import Module
from ..parameter import UninitializedTensorMixin
from . import _buckets
from ._reducer import Reducer

__all__ = ["DistributedDataParallel"]

_NAME = "DistributedDataParallel"
_IGNORED = "_ddp_params_and_buffers_to_ignore"


class DistributedDataParallel(Module):
    """A module that is trained by all processes of a group, each with its own part of every batch: their gradients are averaged in backward.

    Parameters and buffers are those of rank 0 at the beginning. Gradients travel in buckets of `bucket_cap_mb` MiB (25 by default, the first of 1 MiB),
    from the last parameter to the first; the call of a bucket begins in backward, as soon as its gradients are there. After backward, `.grad` is the
    average over all ranks, with the same bits on each: so optimizers, `clip_grad_norm_` and schedulers do the same everywhere.

    - `broadcast_buffers`: each forward takes the buffers of rank 0 (running averages of batch normalization), also the first evaluation after training.
    - `find_unused_parameters`: parameters may have no gradient in a backward, on some ranks (they count as zeros) or on all (`.grad` stays as it is).
      Without it that is an error on every rank.
    - `gradient_as_bucket_view`: `.grad` are views of the buckets, which saves a copy.
    - `static_graph`: each iteration uses the same parameters as often as the first, which counts them, and begins its calls at its end. Parameters may
      be used in several backwards inside of one, and may be unused.
    - `init_sync=False` takes the parameters as they are; `skip_all_reduce_unused_params` and `check_reduction` change nothing.

    Raises DistError if the modules of ranks differ; RuntimeError for modules without parameters that need a gradient; ValueError for `device_ids`: ranks
    hold tensors in main memory; NotImplementedError for `mixed_precision`, `device_mesh` and `delay_all_reduce_named_params`.

    >>> import opforge as torch, opforge.distributed as dist
    >>> dist.init_process_group(world_size=1, rank=0)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    >>> model(torch.ones(2, 3)).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 2., 2.]])
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None, bucket_cap_mb=None,
        find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None, skip_all_reduce_unused_params=False,
    ):  # fmt: skip
        super().__init__()
        _check_absent(mixed_precision=mixed_precision, device_mesh=device_mesh, delay_all_reduce_named_params=delay_all_reduce_named_params)
        if device_ids or output_device not in (None, "cpu", _C.device("cpu")):
            raise ValueError(f"{_NAME}: device_ids={device_ids}, output_device={output_device}, expected None: modules are on the CPU")
        if not isinstance(module, Module):
            raise TypeError(f"{_NAME}: module must be an nn.Module, not {type(module).__name__}")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        self.process_group = _member(process_group)
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.bucket_bytes_cap = _bytes(bucket_cap_mb)
        self._first_bucket_bytes = min(_buckets.FIRST_BUCKET_BYTES, self.bucket_bytes_cap)
        self.parameters_to_ignore = set(getattr(module, _IGNORED, ()))
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._joining = None
        if init_sync:
            self._check_same()
            self._share([*self._named("named_parameters").values(), *self._named("named_buffers").values()])
        self._make_reducer()

    def _named(self, members):
        """Parameters or buffers by name, without those that are to be ignored."""
        found = dict(getattr(self.module, members)())
        for name, tensor in found.items():
            if isinstance(tensor, UninitializedTensorMixin):
                raise RuntimeError(f"{_NAME}: module: '{name}' is not initialized, expected a module that was called once, with a batch")
        return {name: tensor for name, tensor in found.items() if name not in self.parameters_to_ignore}

    def _make_reducer(self):
        trained = {name: tensor for name, tensor in self._named("named_parameters").items() if tensor.requires_grad}
        if not trained:
            raise RuntimeError(f"{_NAME} is not needed when a module doesn't have any parameters that require a gradient.")
        parameters = list(trained.values())
        buckets = _buckets.buckets_of(parameters, self._first_bucket_bytes, self.bucket_bytes_cap)
        self.__dict__["reducer"] = Reducer(
            list(trained), parameters, self.process_group, buckets, find_unused=self.find_unused_parameters, static=self.static_graph,
            as_views=self.gradient_as_bucket_view,
        )  # fmt: skip

    def _check_same(self):
        """Compares the modules of all ranks, which get an error each if they differ."""
        mine = [f"parameter {name} {tuple(p.shape)} {p.dtype}{'' if p.requires_grad else ', frozen'}" for name, p in self._named("named_parameters").items()]
        mine += [f"buffer {name} {tuple(b.shape)} {b.dtype}" for name, b in self._named("named_buffers").items()]
        options = f"bucket_cap_mb of {self.bucket_bytes_cap} bytes, find_unused_parameters={bool(self.find_unused_parameters)}"
        mine.append(f"{options}, static_graph={bool(self.static_graph)}, broadcast_buffers={bool(self.broadcast_buffers)}")
        ranks = [None] * self.process_group.size()
        dist.all_gather_object(ranks, mine, self.process_group)
        for rank, theirs in enumerate(ranks):
            if theirs != ranks[0]:
                first, other = next(pair for pair in zip([*ranks[0], "nothing"], [*theirs, "nothing"]) if pair[0] != pair[1])
                counts = f"{len(ranks[0]) - 1} and {len(theirs) - 1} parameters and buffers" if len(theirs) != len(ranks[0]) else "in the same number"
                raise dist.DistError(f"{_NAME}: module: ranks differ ({counts}): rank 0 has {first}, rank {rank} has {other}; expected the same module on all")

    def _share(self, tensors, root=0):
        """Gives all ranks the elements that one rank of the group has."""
        with no_grad():
            _coalesced.broadcast([tensor.detach() for tensor in tensors], root, self.process_group)

    def forward(self, *inputs, **kwargs):
        """The module's output. In functions that are compiled it is a call between processes, which graphs do not hold: compile the module, then wrap it."""
        refuse("DistributedDataParallel exchanges data with other processes: compile the module that it is made of")
        is_syncing = _C.is_grad_enabled() and self.require_backward_grad_sync
        is_shared, root = self.require_forward_param_sync and self.broadcast_buffers, 0
        if _C.is_grad_enabled():
            self.reducer.prepare(is_syncing)
            if self._joining is not None:
                root = self._joining.announce(is_shared, is_syncing)
        elif self._joining is not None:
            # Ranks that have no more data know of no evaluations.
            is_shared = False
        if is_shared:
            self._share(self._named("named_buffers").values(), root)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = is_syncing
        return output

    @contextmanager
    def no_sync(self):
        """Within, gradients are added up on each rank alone; the first backward of a forward after it averages the sums. Forward counts, not backward:
        it must be called within.

        >>> with model.no_sync():                                     # doctest: +SKIP
        ...     model(first).sum().backward()
        >>> model(second).sum().backward()                            # doctest: +SKIP
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        """Has `hook(state, bucket)` average the gradients: it gets a `distributed.GradBucket` and returns a Future of a vector of as many elements, as
        those of `distributed.algorithms.ddp_comm_hooks.default_hooks`. All ranks register the same.

        Raises TypeError for what cannot be called, RuntimeError for a second hook.
        """
        if not callable(hook):
            raise TypeError(f"register_comm_hook: hook must be callable, not {type(hook).__name__}")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once: a communication hook is registered already")
        self.reducer.hook, self.reducer.state = hook, state

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A block in which ranks may have different numbers of batches: those that have no more join in the calls of the others, with gradients of 0.
        At its end all ranks have the parameters and buffers of the last to end.

        Averages are over all ranks, or over those that still have batches with `divide_by_initial_world_size=False`. With
        `throw_on_early_termination`, all ranks raise RuntimeError when the first has no more. Each forward that records gradients has one backward. Raises
        RuntimeError within another such block; NotImplementedError where a communication hook is to divide by fewer ranks than all.

        >>> with model.join():                                        # doctest: +SKIP
        ...     for batch in batches:
        ...         model(batch).sum().backward()
        """
        from ._join import joined

        return joined(self, divide_by_initial_world_size, enable, throw_on_early_termination)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        """Has a module's parameters and buffers of these names be neither shared nor averaged."""
        setattr(module, _IGNORED, list(params_and_buffers_to_ignore))

    def __getstate__(self):
        state = super().__getstate__()
        if state.pop("process_group") is not dist.group.WORLD:
            raise RuntimeError(f"{_NAME}: a copy is of the world's group, and this one's is another: expected process_group=None")
        state.pop("reducer")
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__["process_group"] = _member(None)
        self._make_reducer()


def _check_absent(**options):
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError(f"{_NAME}: {name} is not there: expected None")


def _member(group):
    found = dist._state.resolve(group)
    if found is None:
        raise ValueError(f"{_NAME}: process_group: this process is not in it, expected a group of its own")
    return found


def _bytes(megabytes):
    megabytes = _buckets.DEFAULT_BUCKET_MB if megabytes is None else megabytes
    if not megabytes > 0:
        raise ValueError(f"{_NAME}: bucket_cap_mb={megabytes}, expected more than 0")
    return max(1, int(megabytes * (1 << 20)))
