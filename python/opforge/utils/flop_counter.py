"""Counts floating-point operations of products: of matrices, convolutions, attention."""

from __future__ import annotations

import math

from .. import _core
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..overrides import TorchFunctionMode
from ._flop_formulas import FORMULAS, Call

__all__ = ["FlopCounterMode", "register_flop_formula"]


def register_flop_formula(targets, get_raw=False):
    """Decorates a formula for calls of a function, or of each of a list of them, given themselves or by name: `formula(*args, out_shape=.., **kwargs)`, where
    tensors are their shapes; with `get_raw` it gets `out_val=..` and the tensors."""

    def register(formula):
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            FORMULAS[_name(target)] = _given(formula, get_raw)
        return formula

    return register


def _name(target):
    return target if isinstance(target, str) else target.__name__


def _given(formula, get_raw):
    """A formula of a user's in the form of those here."""

    def count(args, kwargs, out):
        if get_raw:
            return Call(formula(*args, **kwargs, out_val=out))
        shapes = [_shape(arg) for arg in args]
        return Call(formula(*shapes, **{name: _shape(value) for name, value in kwargs.items()}, out_shape=_shape(out)))

    return count


def _shape(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(_shape, value)) if type(value) in (tuple, list) else [_shape(item) for item in value]
    return value.shape if isinstance(value, _core.Tensor) else value


class FlopCounterMode:
    """A block in which the operations of products are counted, two for each multiplication and addition, by functions and by modules: `get_flop_counts()`,
    `get_total_flops()`, `get_table()`, which the end of the block prints unless `display` is false.

    Counted are products of matrices and vectors (`mm`, `matmul`, `linear`, `einsum`, ..), convolutions, attention and recurrent layers, and of `backward` within the block one
    product for each factor that needs a gradient, under the name with `_backward`; further derivatives are not. Functions of elements, reductions, `multi_dot`,
    `matrix_power`, products with sparse tensors and factorisations count nothing. `custom_mapping` adds formulas, as `register_flop_formula` does, by functions or
    names. Names are those of the functions that are called, where PyTorch has its operators. `mods` is for older programs, and not used.

    >>> counter = FlopCounterMode(display=False)
    >>> with counter:
    ...     y = opforge.ones(3, 4) @ opforge.ones(4, 5)
    >>> counter.get_total_flops()
    120
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self._formulas = {_name(target): _given(formula, getattr(formula, "_get_raw", False)) for target, formula in (custom_mapping or {}).items()}
        self.flop_counts, self._active, self._names, self._depth = {"Global": {}}, [], {}, 0

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict:
        """What was counted, by module, `"Global"` for all, and function."""
        return {module: dict(counts) for module, counts in self.flop_counts.items() if counts}

    def get_table(self, depth=None) -> str:
        """What was counted as a table, of modules down to `depth` levels."""
        depth = self.depth if depth is None else depth
        rows, total = [("Module", "FLOP", "% Total")], self.get_total_flops()
        for module, counts in sorted(self.get_flop_counts().items(), key=lambda item: item[0] != "Global"):
            level = 0 if module == "Global" else module.count(".") + 1
            if level <= depth:
                rows.append((" " * level + module, *_row(sum(counts.values()), total)))
                rows += [(f"{' ' * level} - {name}", *_row(count, total)) for name, count in counts.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [f"{first:<{widths[0]}}  {second:>{widths[1]}}  {third:>{widths[2]}}" for first, second, third in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self):
        self.flop_counts, self._active, self._names = {"Global": {}}, [], {}
        self._hooks = register_module_forward_pre_hook(self._begin), register_module_forward_hook(self._end, always_call=True)
        self._mode, self._depth = _Watching(self), 1
        self._mode.__enter__()
        return self

    def __exit__(self, *exception):
        self._mode.__exit__(*exception)
        self._depth = 0
        for hook in self._hooks:
            hook.remove()
        if self.display and exception[0] is None:
            print(self.get_table())

    def _begin(self, module, args):
        name = self._names.setdefault(module, type(module).__name__)
        for child, submodule in module.named_children():
            self._names[submodule] = f"{name}.{child}"
        self._active.append(name)

    def _end(self, module, args, output):
        if self._active:
            self._active.pop()

    def _add(self, modules, name, count):
        for module in modules:
            counts = self.flop_counts.setdefault(module, {})
            counts[name] = counts.get(name, 0) + count

    def _called(self, func, args, kwargs, out):
        """Counts a call, and has its backward counted."""
        name = getattr(func, "__name__", "")
        formula = self._formulas.get(name) or FORMULAS.get(name)
        call = None if formula is None else formula(args, kwargs, out)
        if call is None or not call.count:
            return
        modules = {"Global", *self._active}
        self._add(modules, name, call.count)
        out = out[0] if isinstance(out, (tuple, list)) else out
        if call.backward and out.requires_grad:
            out.register_hook(lambda grad: self._add(modules, f"{name}_backward", call.backward) if self._depth else None)


class _Watching(TorchFunctionMode):
    def __init__(self, counter):
        self._counter = counter

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self._counter._called(func, args, kwargs or {}, out)
        return out


def _row(count, total):
    """A count and its part of all, to be read."""
    power = min(int(math.log10(count)) // 3, 4) if count else 0
    number = f"{count}" if not power else f"{count / 1000**power:.3f}{' KMBT'[power]}"
    return number, f"{100 * count / total if total else 0:.2f}%"
