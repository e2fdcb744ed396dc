"""Libraries: the operators of a namespace."""

from __future__ import annotations

from contextlib import contextmanager

from . import keys, registry
from .operator import CustomOpDef
from .parsing import parse

_KINDS = ("DEF", "FRAGMENT", "IMPL")


def fallthrough_kernel():
    """Given to `impl` and `fallback` in the place of a function, leaves a dispatch key to what would run without one."""
    raise NotImplementedError("fallthrough_kernel() says that a key has no function; it is not called")


class Library:
    """The operators of a namespace: `kind` is "DEF" or "FRAGMENT" for what defines some, "IMPL" for what implements those of others. `dispatch_key` is the
    key that `impl` takes where it is given none.

    >>> library = Library("mine", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> library.impl("twice", lambda x: 2 * x, "CPU")
    >>> opforge.ops.mine.twice(opforge.ones(1)).tolist()
    [2.0]
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in _KINDS:
            raise ValueError(f"Library({ns!r}): kind {kind!r} (accepted: {', '.join(_KINDS)})")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"Library({ns!r}): the namespace is PyTorch's own (accepted: another name)")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined = []

    def _named(self, name):
        """A name with the namespace; an operator's too."""
        name = name if isinstance(name, str) else getattr(name, "_qualname", None) or name.name()
        return name if "::" in name else f"{self.ns}::{name}"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator by a text that begins with its name, as "twice(Tensor x) -> Tensor", and returns the name. "twice.out(..)" is an overload."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Library.define(): alias_analysis {alias_analysis!r} (accepted: FROM_SCHEMA, CONSERVATIVE)")
        name = schema.partition("(")[0].strip()
        define_operator(self._named(name), schema)
        self._defined.append(self._named(name))
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Tells what an operator computes for a dispatch key: "CPU", "Meta", "Autograd", .., or of differentiable calls, "CompositeImplicitAutograd"."""
        if not callable(fn):
            raise TypeError(f"Library.impl(): fn must be callable, not {type(fn).__name__}")
        if with_keyset:
            raise NotImplementedError("Library.impl(): with_keyset: opforge chooses the function by itself and has no set of keys to hand on")
        key = dispatch_key or self.dispatch_key or keys.COMPOSITION
        keys.key_of(key)
        if fn is not fallthrough_kernel:
            registry.declare(self._named(op_name), lambda op: op.implement(fn, key, allow_override))

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Leaves a key of all operators to what would run without: `fallthrough_kernel` is the only function that it takes."""
        if self.ns != "_":
            raise RuntimeError(f'Library.fallback(): the library is of the namespace {self.ns!r} (accepted: "_", which is all of them)')
        keys.key_of(dispatch_key or self.dispatch_key)
        if fn is not fallthrough_kernel:
            raise NotImplementedError("Library.fallback(): a function that sees every operator (accepted: fallthrough_kernel)")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        self.impl(op_name, fn, "Meta", allow_override=allow_override)

    def _destroy(self):
        """Forgets the operators that it defined."""
        while self._defined:
            registry.remove(self._defined.pop())

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"


def define_operator(name: str, schema: str):
    """Defines an operator that nothing computes yet."""
    registry.split(name)
    registry.add(CustomOpDef(name, parse(schema, name)))


@contextmanager
def _scoped_library(*args, **kwargs):
    """A block with a library whose operators are forgotten after it."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
