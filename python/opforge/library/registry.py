"""The operators by name, and what is declared of names before they are defined."""

from __future__ import annotations

# By "ns::name", or "ns::name.overload" of a further overload; and the names of overloads by "ns::name", in the order of their definition.
_operators = {}
_overloads = {}
_early = {}

# The namespaces of PyTorch's own operators, which are functions of opforge's.
OWN = ("aten", "prims", "prim")


def find(name: str):
    """The operator of that name, or None."""
    return _operators.get(name)


def overloads(name: str) -> list[str]:
    """The names of an operator's overloads, in the order of their definition; the one without a name is "default"."""
    return list(_overloads.get(name, ()))


def split(name: str) -> tuple[str, str]:
    """Namespace and name. ValueError if there is none."""
    namespace, mark, rest = name.partition("::") if isinstance(name, str) else ("", "", "")
    if not (namespace and mark and rest):
        raise ValueError(f"library: {name!r} is no name of an operator (accepted: namespace::name)")
    return namespace, rest


def add(op, replaces: bool = False):
    """Keeps an operator under its name. RuntimeError if there is one already and this one does not replace it."""
    if op.name in _operators and not replaces:
        raise RuntimeError(f"library: an operator {op.name} is defined already, as {op.name}{_operators[op.name]._schema}")
    _operators[op.name] = op
    packet, _, overload = op.name.partition(".")
    _overloads.setdefault(packet, {})[overload or "default"] = None
    for action in _early.pop(op.name, ()):
        action(op)


def remove(name: str):
    """Forgets an operator."""
    if _operators.pop(name, None) is not None:
        packet, _, overload = name.partition(".")
        del _overloads[packet][overload or "default"]


def declare(name: str, action):
    """Calls `action` with the operator, now or as soon as it is defined. NotImplementedError for opforge's own operators, which nothing can be declared of."""
    namespace, _ = split(name)
    if name in _operators:
        return action(_operators[name])
    if namespace in OWN:
        raise NotImplementedError(f"library: {name}: opforge's own operators cannot be replaced")
    _early.setdefault(name, []).append(action)
