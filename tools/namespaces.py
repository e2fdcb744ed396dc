"""Stubs of the package's modules whose names are put there at run time."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import types

from stubs import HEAD, annotation


def origin(package: str, name: str, value: object) -> str | None:
    """The line that declares a name of a package where its value comes from; None for what is not the package's to show."""
    core = importlib.import_module("opforge._core")
    if isinstance(value, types.ModuleType):
        own = value.__name__.startswith(f"{package}.")
        return f"from . import {name} as {name}" if own and "_core" not in value.__name__ else None
    if getattr(core, name, None) is value:
        return f"from ._core import {name} as {name}"
    if getattr(core.Tensor, name, None) is value:
        return f"{name} = Tensor.{name}"
    module = getattr(value, "__module__", None)
    if isinstance(module, str) and module.startswith("opforge.") and getattr(value, "__name__", None):
        public = value.__name__
        return f"from {module.replace('opforge', '', 1)} import {public} as {name}"
    if isinstance(value, (bool, int, float, str)):
        return f"{name}: {annotation(type(value).__name__).lstrip('_')}"
    return None


def package_stub(package: types.ModuleType) -> str:
    """The stub of `opforge` itself: each public name, from where it is defined."""
    names = [name for name in dir(package) if not name.startswith("_") or name == "__version__"]
    found = {name: getattr(package, name) for name in sorted(names)}
    lines = [line for name, value in found.items() if (line := origin(package.__name__, name, value))]
    functions = [line for line in lines if line.startswith("from")]
    values = [line.replace(": float", ": builtins.float") for line in lines if not line.startswith("from")]
    return "\n".join([HEAD + "import builtins", *functions, "", *values]) + "\n"


def own_functions(path: pathlib.Path) -> list[str]:
    """The functions that a module's file defines, with `Any` where it has no annotation."""
    lines = []
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if arg is not None and arg.annotation is None:
                arg.annotation = ast.Name("Any")
        result = ast.unparse(node.returns) if node.returns else "Any"
        lines.append(f"def {node.name}({ast.unparse(node.args)}) -> {result}: ...")
    return lines


def facade_stub(module: types.ModuleType, core: types.ModuleType) -> str:
    """The stub of a module that shows a submodule of the core's: what comes from there, and what it defines itself."""
    path = pathlib.Path(inspect.getfile(module))
    dots = "." * module.__name__.count(".")
    place = core.__name__.removeprefix("opforge.")
    shown = [name for name in sorted(vars(core)) if not name.startswith("_") and getattr(module, name, None) is getattr(core, name)]
    imports = [f"from {dots}{place} import {name} as {name}" for name in shown]
    return "\n".join([HEAD + "from typing import Any", *imports, "", *own_functions(path)]) + "\n"
