"""`Cell`: what MindSpore's networks are made of."""

from __future__ import annotations

from inspect import signature

from ...graph._surroundings import watch
from ..bprop import call_with_bprop
from ..dtype import to_core
from ..parameter import Parameter
from ..structure import mapped
from ..tensor import Base, adopt
from .hooks import Hooks
from .inputs import check_inputs, check_kind
from .members import Members


class Cell(Members, Hooks):
    """A part of a network: subclasses make parameters, operators and other cells in `__init__`, and compute in `construct`.

    A subclass may also define `bprop(self, *inputs, out, dout)`, which then gives the gradients by its inputs; it gets those that have a default, or are
    given by name, at their positions.

    >>> class Scale(Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter(Tensor([2.0, 3.0]))
    ...     def construct(self, x):
    ...         return x * self.factor
    >>> print(Scale()(Tensor([1.0, 1.0])))
    [2. 3.]
    """

    training = False
    param_prefix = ""
    _inputs = None
    _float = None

    def __init__(self, auto_prefix=True, flags=None):
        self._start(auto_prefix)
        self.add_flags(**(flags or {}))

    def construct(self, *args, **kwargs):
        """Computes the cell's result; subclasses define it."""
        raise AttributeError(f"For '{type(self).__name__}', the method 'construct' is not defined.")

    def __call__(self, *args, **kwargs):
        if self._inputs is not None:
            check_inputs(self._inputs, args)
        if self._float is not None:
            args, kwargs = mapped(self._in_float, (args, kwargs))
        if self._before or self._after or self._on_gradients or self._on_results:
            return self._called_with_hooks(args, kwargs)
        return self._computed(args, kwargs)

    def _computed(self, args, kwargs):
        if hasattr(type(self), "bprop"):
            return call_with_bprop(type(self).__name__, self.construct, self.bprop, self._by_position(args, kwargs))
        return self.construct(*args, **kwargs)

    def _by_position(self, args, kwargs):
        """All that `construct` gets, by position."""
        bound = signature(self.construct).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{type(self).__name__}: bprop cannot get {', '.join(bound.kwargs)} by name (accepted: what construct takes by position)")
        return bound.args

    # Inputs

    def set_inputs(self, *inputs, **by_name):
        """Declares the inputs' dtypes and shapes, which calls must match: `Tensor(shape=[4, None], dtype=...)` leaves a size open, and
        `Tensor(dtype=...)` the whole shape. None, and what is not named among inputs given by name, stands for any argument."""
        names = list(signature(self.construct).parameters)[len(inputs) :] if by_name else ()
        inputs += tuple(by_name.get(name) for name in names)
        for i, given in enumerate(inputs):
            check_kind(i, given)
        self._inputs = inputs or None

    def get_inputs(self):
        """What `set_inputs` was given."""
        return self._inputs or ()

    # Settings

    def apply(self, fn):
        """Calls `fn` with the cells in this one, then with this one; returns the cell."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    def set_train(self, mode=True):
        """Sets `training` in this cell and those in it; returns the cell."""
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def to_float(self, dst_type):
        """Computes in a dtype of floating point, `float16`, `bfloat16` or `float32`, from now on: inputs and parameters are converted in this cell and those
        in it. Returns the cell."""
        core = to_core(dst_type)
        for _, cell in self.cells_and_names():
            cell._float = core
        return self

    def _in_float(self, tensor):
        return adopt(Base.to(tensor, self._float)) if Base.is_floating_point(tensor) else tensor

    def __getattr__(self, name):
        found = super().__getattr__(name)
        return found if self._float is None or not isinstance(found, Parameter) else self._in_float(found)

    def add_flags(self, **flags):
        """Sets attributes, which `get_flags` lists; returns the cell."""
        for name, value in flags.items():
            self.__dict__.setdefault("_flags", {})[name] = value
            setattr(self, name, value)
        return self

    def add_flags_recursive(self, **flags):
        """`add_flags` of this cell and those in it."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict:
        """What `add_flags` set, by name."""
        return dict(self.__dict__.get("_flags", {}))

    def init_parameters_data(self, auto_parallel_mode=False) -> dict:
        """The parameters that were replaced: none, as they have their elements from the beginning."""
        return {}

    def _unused(self, *args, **kwargs):
        """Returns the cell: it concerns how MindSpore compiles, or distributes, a network."""
        return self

    set_grad = set_jit_config = recompute = set_comm_fusion = set_parallel_input_with_inputs = set_broadcast_flag = compile = shard = place = _unused

    @property
    def cls_name(self):
        """The class's name."""
        return type(self).__name__

    def extend_repr(self):
        """What `repr` shows of this cell besides the cells in it; subclasses may define it."""
        return ""

    def __repr__(self):
        lines = [f"({name}): {cell!r}".replace("\n", "\n  ") for name, cell in self._cells.items()]
        extra = self.extend_repr()
        if not lines:
            return f"{self.cls_name}({extra})"
        return "\n  ".join([f"{self.cls_name}({extra}", *lines]) + "\n)"


watch(Cell, "_cells", "_params")


watch(Cell, "_cells", "_params", "_buffers")


class GraphCell(Cell):
    """A network that was loaded from MindSpore's file of a graph, which opforge does not read."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("mindspore.nn.GraphCell: files of MindSpore's graphs are not read (accepted: cells, with load_checkpoint)")
