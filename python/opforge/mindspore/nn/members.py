"""The parameters and cells in a cell: how they are registered, named and listed."""

from __future__ import annotations

from collections import OrderedDict

from ..parameter import UNNAMED, Parameter, ParameterTuple
from ..tensor import Tensor


class Members:
    """Attributes of a cell, of which parameters, tuples of them, cells and buffers are registered."""

    def _start(self, auto_prefix):
        self.__dict__.update(_params=OrderedDict(), _cells=OrderedDict(), _buffers=OrderedDict(), _unnamed=0, _auto_prefix=auto_prefix)

    # Attributes

    def __setattr__(self, name, value):
        members = self.__dict__
        if isinstance(value, (Parameter, Members, ParameterTuple)) and "_cells" not in members:
            raise AttributeError(f"{type(self).__name__}: call Cell.__init__() before parameters or cells are assigned")
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Members):
            self.insert_child_to_cell(name, value)
        elif isinstance(value, Tensor) and name in members.get("_params", ()):
            self._params[name].set_data(value)
        elif isinstance(value, Tensor) and name in members.get("_buffers", ()):
            self._buffers[name] = value
        else:
            _forget(self, name)
            members[name] = value
            if isinstance(value, ParameterTuple):
                self._insert_tuple(value)

    def __getattr__(self, name):
        for kind in ("_params", "_cells", "_buffers"):
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.")

    def __delattr__(self, name):
        getattr(self, name)
        _forget(self, name)

    def insert_param_to_cell(self, param_name, param, check_name_contain_dot=True):
        """Registers a parameter under a name; it is named so too, if it has no name yet."""
        if not param_name or "." in param_name and check_name_contain_dot:
            raise KeyError(f"insert_param_to_cell: param_name must be a name without dots, not {param_name!r}")
        _forget(self, param_name)
        self._params[param_name] = param
        if param.name == UNNAMED:
            param.name = param_name

    def _insert_tuple(self, parameters):
        """Registers parameters under their own names; those that have none are numbered."""
        for parameter in parameters:
            if parameter.name == UNNAMED:
                self.__dict__["_unnamed"] += 1
                parameter.name = f"{UNNAMED}${self._unnamed}"
            if self._params.setdefault(parameter.name, parameter) is not parameter:
                raise ValueError(f"{type(self).__name__}: there are two parameters of the name {parameter.name!r} (accepted: each name once)")

    def insert_child_to_cell(self, child_name, child_cell):
        """Registers a cell under a name, with which its parameters' names then begin, unless the cell was made with `auto_prefix=False`."""
        _forget(self, child_name)
        self._cells[child_name] = child_cell
        if self._auto_prefix:
            child_cell.update_parameters_name(f"{child_name}.")

    def register_buffer(self, name, tensor, persistent=True):
        """Registers a tensor that is no parameter, under a name; `state_dict` has it if it is `persistent`."""
        _forget(self, name)
        self._buffers[name] = tensor
        self.__dict__.setdefault("_passing", set()).discard(name)
        if not persistent:
            self._passing.add(name)

    def update_parameters_name(self, prefix="", recurse=True):
        """Names the parameters after where they are, after a prefix."""
        for name, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + name

    # Lists

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
        return self._registered("_params", name_prefix, expand)

    def buffers_and_names(self, name_prefix="", expand=True):
        """The buffers of this cell and, if `expand`, of those in it, each once, with their names."""
        return self._registered("_buffers", name_prefix, expand)

    def _registered(self, kind, name_prefix, expand):
        seen = set()
        for prefix, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, tensor in getattr(cell, kind).items():
                if id(tensor) not in seen and tensor is not None:
                    seen.add(id(tensor))
                    yield f"{prefix}.{name}" if prefix else name, tensor

    def get_parameters(self, expand=True):
        """The parameters of this cell and, if `expand`, of those in it."""
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def parameters_dict(self, recurse=True):
        """The parameters by their own names."""
        return OrderedDict((parameter.name, parameter) for parameter in self.get_parameters(recurse))

    def state_dict(self):
        """The parameters and persistent buffers, by where they are."""
        passing = {id(cell._buffers.get(name)) for _, cell in self.cells_and_names() for name in cell.__dict__.get("_passing", ())}
        found = OrderedDict(self.parameters_and_names())
        found.update((name, buffer) for name, buffer in self.buffers_and_names() if id(buffer) not in passing)
        return found

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


def _forget(cell, name):
    """Takes away what is registered under a name."""
    for kind in ("_params", "_cells", "_buffers"):
        cell.__dict__.get(kind, {}).pop(name, None)
    earlier = cell.__dict__.pop(name, None)
    for parameter in earlier if isinstance(earlier, ParameterTuple) else ():
        cell._params.pop(parameter.name, None)
