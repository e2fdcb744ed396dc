"""Names of what opforge does not have, for programs that import them without using them. Whoever uses one gets an error that says what is missing."""

from __future__ import annotations


def absent_function(name, reason):
    """A function of that name whose call is a NotImplementedError: `"name: reason"`."""

    def missing(*args, **kwargs):
        raise NotImplementedError(f"{name}: {reason}")

    missing.__name__ = missing.__qualname__ = name.rpartition(".")[2]
    missing.__doc__ = f"Not there: {reason}."
    return missing


def absent_class(name, reason, base=object):
    """A class of that name, which nothing is an instance of: to make one is a NotImplementedError."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(f"{name}: {reason}")

    return type(name.rpartition(".")[2], (base,), {"__new__": __new__, "__doc__": f"Not there: {reason}."})


def absent_names(module, reason, *, functions="", classes=""):
    """Functions and classes, whose names are words of a text, as a dictionary: for `globals().update`."""
    prefix = module.replace("opforge", "torch", 1)
    made = {name: absent_function(f"{prefix}.{name}", reason) for name in functions.split()}
    return made | {name: absent_class(f"{prefix}.{name}", reason) for name in classes.split()}
