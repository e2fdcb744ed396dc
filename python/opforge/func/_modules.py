"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps

from .. import _core
from ..nn.modules.batchnorm import _BatchNorm

_ABSENT = object()


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """`module(*args, **kwargs)` with other parameters and buffers: those that a dictionary, or several, have under the names of `named_parameters()` and
    `named_buffers()`. The module's own are back afterwards; what the module changes in place is changed in the dictionaries' tensors, and what it assigns
    to its parameters and buffers meanwhile is put into the dictionaries.

    `args` may be one value that is no tuple. Names of one tensor get what one of them is given, unless `tie_weights` is false. With `strict`, it is an
    error to leave names out, or to name what the module does not have.

    >>> layer = opforge.nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": opforge.ones(1, 2)}, opforge.ones(3, 2)).tolist()
    [[2.0], [2.0], [2.0]]
    """
    given = _merged(parameter_and_buffer_dicts)
    own = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
    given = _tied(given, own) if tie_weights else given
    if strict:
        _check_names(module, given, own)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        with _replaced(module, given):
            return module(*args, **(kwargs or {}))
    finally:
        for dictionary in _several(parameter_and_buffer_dicts):
            dictionary.update((name, given[name]) for name in list(dictionary))


def _several(dictionaries):
    return [dictionaries] if isinstance(dictionaries, dict) else dictionaries


def _merged(dictionaries):
    dictionaries = _several(dictionaries)
    if not isinstance(dictionaries, (list, tuple)) or not all(isinstance(d, dict) for d in dictionaries):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dictionaries)}")
    merged = {}
    for dictionary in dictionaries:
        twice = [name for name in dictionary if name in merged]
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(dictionary)
    for value in merged.values():
        if not isinstance(value, _core.Tensor):
            raise TypeError(f"{value!r} is not an instance of torch.Tensor")
    return merged


def _tied(given, own):
    """What is given, under each name of the same tensor of the module's own."""
    names = {}
    for name, tensor in own.items():
        names.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for same in names.values():
        values = [name for name in same if name in given]
        if len({id(given[name]) for name in values}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {values}, which are tied. Consider using tie_weights=False")
        if values:
            complete.update(dict.fromkeys(same, given[values[0]]))
    return complete


def _check_names(module, given, own):
    missing, unexpected = [name for name in own if name not in given], [name for name in given if name not in own]
    faults = [f"\n\t{kind} key(s): {', '.join(map(repr, names))}." for kind, names in (("Unexpected", unexpected), ("Missing", missing)) if names]
    if faults:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(faults)}")


@contextmanager
def _replaced(module, given):
    """The module has other tensors in the block; `given` holds what it has at the end of it."""
    before = []
    try:
        for path, tensor in given.items():
            prefix, _, name = path.rpartition(".")
            owner = module.get_submodule(prefix)
            table = owner._buffers if name in owner._buffers else owner._parameters
            before.append((table, name, table.get(name, _ABSENT)))
            table[name] = tensor
        yield
    finally:
        for (path, tensor), (table, name, _) in zip(list(given.items()), before):
            given[path] = table.get(name, tensor)
        for table, name, tensor in reversed(before):
            if tensor is _ABSENT:
                table.pop(name, None)
            else:
                table[name] = tensor


def stack_module_state(models):
    """The parameters, and the buffers, of modules of one class, each name's stacked: what `vmap` maps `functional_call` over for an ensemble. The stacked
    parameters are leaves of their own, which need gradients as those of the modules do.

    >>> parameters, buffers = stack_module_state([opforge.nn.Linear(2, 3) for _ in range(4)])
    >>> tuple(parameters["weight"].shape)
    (4, 3, 2)
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(model.named_parameters()) for model in models])
    return parameters, _stacked([dict(model.named_buffers()) for model in models])


def _stacked(tables):
    stacked = {}
    for name in tables[0]:
        tensors = [table[name] for table in tables]
        needs = {tensor.requires_grad for tensor in tensors}
        if len(needs) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked[name] = _core.stack([tensor.detach() for tensor in tensors]).requires_grad_(needs.pop())
    return stacked


def replace_all_batch_norm_modules_(root):
    """Has the batch norms of a module compute with each batch's own statistics and keep none, in place: `vmap` has no batch to keep them of."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func, *, remove="mutations"):
    """The function as it is. PyTorch makes one here that changes nothing in place inside, for compilers; opforge's graphs keep such changes, so nothing
    has to be removed."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): Expected remove to be 'mutations' or 'mutations_and_views', got {remove!r}")

    @wraps(func)
    def same(*args, **kwargs):
        return func(*args, **kwargs)

    return same
