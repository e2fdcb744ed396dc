"""Names in the texts of graphs: of functions as programs write them, and of nodes."""

from __future__ import annotations

import builtins
import keyword
import re

# What a node's name would hide from the forward that it stands in.
_TAKEN = frozenset((*dir(builtins), *keyword.kwlist, "torch", "operator", "inf", "nan", "self"))


def name_of_function(function):
    """A function's name with that of its module, as PyTorch's programs write it: `torch.cat`, `operator.add`, `builtins.getattr`."""
    from ..overrides import resolve_name  # which looks through all functions

    known = resolve_name(function)
    if known is not None:
        return known
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None) or "builtins"
    module = {"_operator": "operator"}.get(module, re.sub(r"^opforge\b", "torch", module))
    return f"{module}.{name}"


class Namespace:
    """Gives out names, each once: `sum` of Python becomes `sum_1`, a second `add` `add_1`."""

    def __init__(self):
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def unique(self, label):
        """A name like `label`, which may be any text."""
        base = re.sub(r"\W+", "_", label) or "_unnamed"
        base = f"_{base}" if base[0].isdigit() else base
        name, (stem, count) = base, _split(base)
        count = count or self._counts.get(stem, 0)
        while name in self._used or name in _TAKEN:
            count += 1
            name = f"{stem}_{count}"
        self._used.add(name)
        self._counts[stem] = count
        return name


def _split(name):
    found = re.fullmatch(r"(.*)_(\d+)", name)
    return (found[1], int(found[2])) if found else (name, 0)


def label_of(target):
    """What a node is called after: its target's name, in small letters with `_` between words."""
    label = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    label = label[2:-2] if label.startswith("__") and label.endswith("__") and len(label) > 4 else label
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label).lower()
