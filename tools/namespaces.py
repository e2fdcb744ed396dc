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
    if value is None:
        return f"{name}: None"
    if getattr(core, name, None) is value:
        return f"from ._core import {name} as {name}"
    if getattr(core.Tensor, name, None) is value and not inspect.isfunction(value):
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


def declaration(function: types.FunctionType, name: str) -> str:
    """The line that declares a function of the package under a name: by its definition, if its module's file has one."""
    path = pathlib.Path(inspect.getfile(importlib.import_module(function.__module__)))
    head = f"def {function.__name__}("
    line = next((line for line in own_functions(path) if line.startswith(head)), f"{head}*args: Any, **options: Any) -> Any: ...")
    return f"def {name}({line.removeprefix(head)}"


def facade_stub(module: types.ModuleType, core: types.ModuleType) -> str:
    """The stub of a module that shows a submodule of the core's: what comes from there, what it defines itself, and functions from elsewhere."""
    path = pathlib.Path(inspect.getfile(module))
    dots = "." * module.__name__.count(".")
    place = core.__name__.removeprefix("opforge.")
    imports, own = [], own_functions(path)
    defined = {line.split("(")[0].removeprefix("def ") for line in own}
    for name in sorted(name for name in dir(module) if not name.startswith("_") and name not in defined):
        value = getattr(module, name)
        origin = str(getattr(value, "__module__", ""))
        if getattr(core, name, None) is value or origin == core.__name__:
            imports.append(f"from {dots}{place} import {name} as {name}")
        elif inspect.isfunction(value) and origin.startswith("opforge."):
            own.append(declaration(value, name))
        elif isinstance(value, type) and origin.startswith("opforge"):
            imports.append(f"from {dots}_core import {value.__name__} as {name}")
    return "\n".join([HEAD + "from typing import Any", *imports, "", *own]) + "\n"
