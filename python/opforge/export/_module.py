"""Exported programs as modules."""

from __future__ import annotations

from .. import _core
from ..autograd.function import Function
from ..nn.modules.module import Module
from ..nn.parameter import Parameter

_READS = "an exported program reads the memory that it was exported with: load_state_dict() and changes in place reach it"


class ExportedModule(Module):
    """What an exported program computes, as a module without code of its own.

    It has the parameters and buffers that the program uses under their names in the module that was exported, and reads their memory at each call: what
    `load_state_dict` copies into them shows in results. They keep their memory, dtype and device, which is a NotImplementedError otherwise; so is
    `backward` of what the program gives. Parameters require no gradients.
    """

    def __init__(self, program):
        super().__init__()
        self._program = program
        # What must stay as it is: objects in their dictionaries, and where tensors lie.
        self._objects, self._places = [], []
        about, weights = program._about, program._graph.weights
        aliases, transient = about.get("aliases", {}), about.get("transient", ())
        parameters = {name: Parameter(weights[name], requires_grad=False) for name in about["parameters"]}
        tensors = parameters | {name: weights[name] for name in about["buffers"]}
        for name, tensor in [*tensors.items(), *((alias, tensors[name]) for alias, name in aliases.items())]:
            self._register(name, tensor, name not in transient)
        self._places = [(name, tensor, tensor.data_ptr()) for name, tensor in tensors.items()]

    def _register(self, name, tensor, persistent):
        owner = self
        *path, last = name.split(".")
        for depth, part in enumerate(path, 1):
            if part not in owner._modules:
                owner.add_module(part, Module())
                self._objects.append((".".join(path[:depth]), owner._modules, part, owner._modules[part]))
            owner = owner._modules[part]
        if isinstance(tensor, Parameter):
            owner.register_parameter(last, tensor)
        else:
            owner.register_buffer(last, tensor, persistent)
        tensors = owner._parameters if isinstance(tensor, Parameter) else owner._buffers
        self._objects.append((name, tensors, last, tensor))

    def forward(self, *args, **kwargs):
        for name, held, key, value in self._objects:
            if held.get(key) is not value:
                raise NotImplementedError(f"{name} is another object than the module had: {_READS}")
        for name, tensor, place in self._places:
            if tensor.data_ptr() != place:
                raise NotImplementedError(f"{name} has other memory than the module had: {_READS}")
        return self._program._run(args, kwargs, [tensor for _, tensor, _ in self._places if tensor.requires_grad])

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """As of any module. What the program does not use of the module that was exported is passed over."""
        if assign:
            raise NotImplementedError(f"load_state_dict(): assign=True gives parameters other memory, and {_READS}")
        if hasattr(state_dict, "items"):
            unused = set(self._program._about.get("unused", ()))
            state_dict = {name: value for name, value in state_dict.items() if name not in unused}
        return super().load_state_dict(state_dict, strict)

    def _apply(self, fn, recurse=True):
        for name, tensor, _ in self._places:
            given = fn(tensor)
            if given.dtype != tensor.dtype or not given.is_set_to(tensor):
                raise NotImplementedError(f"{name} would have another dtype, device or memory: {_READS}; convert the module before export()")
        return self

    def train(self, mode=True):
        raise NotImplementedError("an exported module stays in the mode in which it was exported; call train() or eval() before export()")

    def eval(self):
        return self.train(False)

    def extra_repr(self):
        return f"{len(self._program._graph.weights)} tensors"


def called(graph, tensors, parameters=()):
    """The results of a graph, which computes no gradients: backward through them is an error where one of the tensors or parameters wants some."""
    if _core.is_grad_enabled() and (parameters or any(tensor.requires_grad for tensor in tensors)):
        return list(_WithoutGradients.apply(graph, len(tensors), *tensors, *parameters))
    return graph(tensors)


class _WithoutGradients(Function):
    """A graph's call."""

    @staticmethod
    def forward(ctx, graph, count, *tensors):
        return tuple(graph([tensor.detach() for tensor in tensors[:count]]))

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("backward of what an exported program gave: exported programs compute no gradients")


def names_beside(mod, named, used):
    """What names of a module say beyond those of the tensors that the graph uses, as entries of a program's structure: other names of them
    (`aliases`), names of tensors that it does not use (`unused`), and of buffers that are no part of the state (`transient`)."""
    every = dict(mod.named_parameters(remove_duplicate=False)) | dict(mod.named_buffers(remove_duplicate=False))
    names = {id(tensor): name for name, tensor in named.items()}
    own = {f"{prefix}.{name}".lstrip("."): part for prefix, part in mod.named_modules() for name in part._non_persistent_buffers_set}
    aliases = {name: names[id(tensor)] for name, tensor in every.items() if name not in named and names[id(tensor)] in used}
    unused = [name for name in every if name not in used and name not in aliases and name not in own]
    transient = [name for name in own if name in used or name in aliases]
    beside = {"aliases": aliases, "unused": unused, "transient": transient}
    return {key: value for key, value in beside.items() if value}


def check_beside(about):
    """Raises ValueError for entries that [`names_beside`] does not make."""
    aliases, known = about.get("aliases", {}), [*about["parameters"], *about["buffers"]]
    if not isinstance(aliases, dict) or not all(isinstance(name, str) and name in known for name in aliases.values()):
        raise ValueError("aliases of parameters and buffers that the graph does not have")
    for key in ("unused", "transient"):
        names = about.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{key} is no list of names")
