"""Tensor parallelism by plans: which submodules' weights are split, and how their inputs and outputs lie.

>>> from opforge.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
>>> plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
"""

from __future__ import annotations

import contextlib
import fnmatch

from ... import _core
from ._dtensor import DTensor, _mesh, distribute_module, distribute_tensor, redistribute
from .placement_types import Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip


@contextlib.contextmanager
def loss_parallel():
    """A context in which cross entropies of logits that are split by classes are computed by parts. They always are: nothing is different.

    >>> import opforge
    >>> with loss_parallel():
    ...     loss = opforge.nn.functional.cross_entropy(opforge.zeros(2, 4), opforge.tensor([1, 2]))
    """
    yield


class ParallelStyle:
    """How a module is parallelized; subclasses say it by `_apply(module, mesh)`."""

    src_data_rank = 0

    def _apply(self, module, device_mesh):
        raise NotImplementedError(f"{type(self).__name__}._apply(module, device_mesh): a ParallelStyle must define it")


def _given(value, mesh, layout):
    """A local value as a global one that lies so on every rank."""
    if not isinstance(value, _core.Tensor):
        return value
    return value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, [layout])


def _wanted(value, layout, use_local_output):
    if not isinstance(value, DTensor):
        return value
    value = redistribute(value, placements=[layout])
    return value.to_local() if use_local_output else value


class _OfWeights(ParallelStyle):
    """Splits weights of `Linear` and `Embedding`, in place."""

    _input, _output = Replicate(), Replicate()

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        self.input_layouts, self.output_layouts = input_layouts or self._input, output_layouts or self._output
        self.use_local_output = use_local_output

    def _layouts(self, module):
        raise NotImplementedError

    def _apply(self, module, device_mesh):
        from ...nn import Embedding, Linear

        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} of {type(module).__name__} (accepted: Linear, Embedding)")

        def partition(name, submodule, mesh):
            for parameter, layout in self._layouts(submodule).items():
                if (tensor := getattr(submodule, parameter, None)) is not None:
                    tensor.data = distribute_tensor(tensor.data, mesh, [layout])

        def inputs(module, values, mesh):
            return tuple(_given(value, mesh, self.input_layouts) for value in values)

        def outputs(module, value, mesh):
            return _wanted(value, self.output_layouts, self.use_local_output)

        return distribute_module(module, device_mesh, partition, inputs, outputs)


class ColwiseParallel(_OfWeights):
    """A `Linear` whose outputs, or an `Embedding` whose vectors, are split over the mesh. The input is replicated, the output is split along its last
    dimension, each rank getting its part (`use_local_output`), unless layouts say otherwise."""

    _output = Shard(-1)

    def _layouts(self, module):
        from ...nn import Embedding

        return {"weight": Shard(1)} if isinstance(module, Embedding) else {"weight": Shard(0), "bias": Shard(0)}


class RowwiseParallel(_OfWeights):
    """A `Linear` whose inputs, or an `Embedding` whose rows, are split over the mesh. The input is split along its last dimension (of an `Embedding`:
    replicated), the output is replicated, unless layouts say otherwise."""

    _input = Shard(-1)

    def _layouts(self, module):
        return {"weight": Shard(0 if type(module).__name__ == "Embedding" else 1), "bias": Replicate()}

    def _apply(self, module, device_mesh):
        if type(module).__name__ == "Embedding" and self.input_layouts == Shard(-1):
            self.input_layouts = Replicate()
        return super()._apply(module, device_mesh)


class SequenceParallel(ParallelStyle):
    """A norm or dropout that works on parts of a sequence: inputs and outputs are split along `sequence_dim`, parameters replicated."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_sharding, self.use_local_output = Shard(sequence_dim), use_local_output

    def _apply(self, module, device_mesh):
        def inputs(module, values, mesh):
            split = lambda value: redistribute(_given(value, mesh, self.sequence_sharding), placements=[self.sequence_sharding])  # noqa: E731
            return tuple(split(value) if isinstance(value, _core.Tensor) else value for value in values)

        def outputs(module, value, mesh):
            return value.to_local() if self.use_local_output and isinstance(value, DTensor) else value

        return distribute_module(module, device_mesh, None, inputs, outputs)


class PrepareModuleInput(ParallelStyle):
    """Converts a module's inputs: local ones are `input_layouts`, which become `desired_input_layouts`; None leaves an input as it is."""

    def __init__(
        self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None, use_local_output=False
    ):
        single = lambda layouts: layouts if layouts is None or isinstance(layouts, (tuple, list)) else (layouts,)  # noqa: E731
        self.input_layouts, self.desired = single(input_layouts) or (), single(desired_input_layouts) or ()
        self.input_kwarg_layouts, self.desired_kwargs = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired):
            raise ValueError("PrepareModuleInput: input_layouts and desired_input_layouts should have same length!")

    def _apply(self, module, device_mesh):
        def convert(value, layout, desired):
            if layout is None or not isinstance(value, _core.Tensor):
                return value
            return _wanted(_given(value, device_mesh, layout), desired, self.use_local_output)

        def hook(module, args, kwargs):
            if len(args) != len(self.input_layouts) and self.input_layouts:
                raise ValueError("module inputs and input_layouts should have same length!")
            args = tuple(map(convert, args, self.input_layouts, self.desired)) if self.input_layouts else args
            named = {name: convert(value, self.input_kwarg_layouts.get(name), self.desired_kwargs.get(name)) for name, value in kwargs.items()}
            return args, named

        module.register_forward_pre_hook(hook, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Converts a module's outputs: local ones are `output_layouts`, which become `desired_output_layouts`."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        single = lambda layouts: layouts if isinstance(layouts, (tuple, list)) else (layouts,)  # noqa: E731
        self.output_layouts, self.desired, self.use_local_output = single(output_layouts), single(desired_output_layouts), use_local_output

    def _apply(self, module, device_mesh):
        def hook(module, inputs, outputs):
            several = isinstance(outputs, tuple)
            values = outputs if several else (outputs,)
            made = tuple(
                value if layout is None else _wanted(_given(value, device_mesh, layout), desired, self.use_local_output)
                for value, layout, desired in zip(values, self.output_layouts, self.desired, strict=True)
            )
            return made if several else made[0]

        module.register_forward_hook(hook)
        return module


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Parallelizes a module in place by a style, or submodules by a dictionary of styles under their names, which may hold `*`; gives the module.

    The mesh has one dimension: of a larger one, `mesh["tp"]`. Raises ValueError for other meshes, and TypeError for plans of another kind.
    """
    mesh = _mesh(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module: a mesh of {mesh.ndim} dimensions, expected 1: mesh['name'] is one of its dimensions")
    if parallelize_plan is None:
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"parallelize_plan must be a ParallelStyle or a dict of them, not {type(parallelize_plan).__name__}")
    for pattern, style in parallelize_plan.items():
        for name, submodule in list(module.named_modules()):
            if fnmatch.fnmatchcase(name, pattern) and name.count(".") == pattern.count("."):
                parallelize_module(submodule, mesh, style)
    return module
