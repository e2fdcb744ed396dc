"""`Cell`: what MindSpore's networks are made of."""

from __future__ import annotations

from collections import OrderedDict
from inspect import signature

from ...graph._surroundings import watch
from ..gradient import WithBprop
from ..parameter import UNNAMED, Parameter
from ..tensor import Tensor
from .inputs import check_inputs, check_kind


class Cell:
    """A part of a network: subclasses make parameters, operators and other cells in `__init__`, and compute in `construct`.

    A subclass may also define `bprop(self, *inputs, out, dout)`, which then gives the gradients by its inputs.

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
    _inputs = None

    def __init__(self, auto_prefix=True, flags=None):
        self.__dict__.update(_params=OrderedDict(), _cells=OrderedDict())

    def construct(self, *args, **kwargs):
        """Computes the cell's result; subclasses define it."""
        raise AttributeError(f"For '{type(self).__name__}', the method 'construct' is not defined.")

    def __call__(self, *args, **kwargs):
        if self._inputs is not None:
            check_inputs(self._inputs, args)
        if hasattr(type(self), "bprop"):
            run = (lambda *given: self.construct(*given, **kwargs)) if kwargs else self.construct
            return WithBprop.call(type(self).__name__, run, self.bprop, args)
        return self.construct(*args, **kwargs)

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

    # Attributes

    def __setattr__(self, name, value):
        members = self.__dict__
        if isinstance(value, (Parameter, Cell)) and "_cells" not in members:
            raise AttributeError(f"{type(self).__name__}: call Cell.__init__() before parameters or cells are assigned")
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            self.insert_child_to_cell(name, value)
        elif isinstance(value, Tensor) and name in members.get("_params", ()):
            self._params[name].set_data(value)
        else:
            _forget(self, name)
            members[name] = value

    def __getattr__(self, name):
        for kind in ("_params", "_cells"):
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.")

    def __delattr__(self, name):
        getattr(self, name)
        _forget(self, name)

    def insert_param_to_cell(self, param_name, param, check_name_contain_dot=True):
        """Registers a parameter under a name; it is named so too, if it has no name yet."""
        if not param_name or "." in param_name:
            raise KeyError(f"insert_param_to_cell: param_name must be a name without dots, not {param_name!r}")
        _forget(self, param_name)
        self._params[param_name] = param
        if param.name == UNNAMED:
            param.name = param_name

    def insert_child_to_cell(self, child_name, child_cell):
        """Registers a cell under a name, with which its parameters' names then begin."""
        _forget(self, child_name)
        self._cells[child_name] = child_cell
        child_cell.update_parameters_name(f"{child_name}.")

    def update_parameters_name(self, prefix="", recurse=True):
        """Names the parameters after where they are, after a prefix."""
        for name, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + name

    # Parameters and cells

    def cells_and_names(self, cells=None, name_prefix=""):
        """This cell and those in it, each once, with their names."""
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, cell in self._cells.items():
            yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def parameters_and_names(self, name_prefix="", expand=True):
        """The parameters of this cell and, if `expand`, of those in it, each once, with their names."""
        seen = set()
        for prefix, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, parameter in cell._params.items():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{prefix}.{name}" if prefix else name, parameter

    def get_parameters(self, expand=True):
        """The parameters of this cell and, if `expand`, of those in it."""
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def parameters_dict(self, recurse=True):
        """The parameters by their own names."""
        return OrderedDict((parameter.name, parameter) for parameter in self.get_parameters(recurse))

    def trainable_params(self, recurse=True):
        """The parameters that `require_grad`, as a list."""
        return [parameter for parameter in self.get_parameters(recurse) if parameter.requires_grad]

    def untrainable_params(self, recurse=True):
        """The parameters that do not `require_grad`, as a list."""
        return [parameter for parameter in self.get_parameters(recurse) if not parameter.requires_grad]

    def cells(self):
        """The cells directly in this one."""
        return self.name_cells().values()

    def name_cells(self):
        """The cells directly in this one, by name."""
        return OrderedDict(self._cells)

    # Settings

    def set_train(self, mode=True):
        """Sets `training` in this cell and those in it; returns the cell."""
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad=True):
        """Returns the cell: gradients need no preparation."""
        return self

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


def _forget(cell, name):
    """Takes away what is registered under a name."""
    for members in (cell.__dict__.get("_params", {}), cell.__dict__.get("_cells", {}), cell.__dict__):
        members.pop(name, None)
