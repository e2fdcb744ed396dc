"""Type stubs from the catalogue, the built module, and the hand-written annotations of what is not declared."""

from __future__ import annotations

import ast
import inspect
import keyword
import pathlib
import re
import types
from typing import Any

HANDWRITTEN = pathlib.Path(__file__).with_name("handwritten.pyi")

# Names that the module itself gives another meaning, and what stubs call them instead.
SHADOWED = {
    "int": "_int", "float": "_float", "bool": "_bool", "complex": "_complex", "Number": "_Number", "dtype": "_DTypeLike", "device": "_device",
}  # fmt: skip

HEAD = """\
# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
"""

ALIASES = """
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, final, overload
"""


def annotation(text: str, *, result: bool = False) -> str:
    """The catalogue's annotation in the stubs' names; results are dtypes, parameters whatever stands for one."""
    if result:
        text = re.sub(r"\bdtype\b", "_dtype", text)
    return re.sub(r"[A-Za-z_]+", lambda name: SHADOWED.get(name[0], name[0]), text)


def named_tuple(function: dict) -> str:
    """The private name of the class of a function's named results."""
    return "_" + "".join(part.title() for part in function["python_name"].split("_")) + "Result"


def returned(function: dict) -> str:
    return named_tuple(function) if function["results"] else annotation(function["returns"], result=True)


def parameter(param: dict, *, optional: bool) -> str:
    name = param["name"] + "_" * keyword.iskeyword(param["name"])
    default = f" = {param['default']}" if optional and param["default"] is not None else ""
    return f"{name}: {annotation(param['type'])}{default}"


def parameters(function: dict, *, method: bool) -> list[str]:
    """The parameters as written, with `*` before those given by name."""
    given = function["parameters"]
    positional = [p for p in given if not p["keyword_only"]]
    required = max((i for i, p in enumerate(positional) if p["default"] is None), default=-1)
    parts = [parameter(p, optional=i > required) for i, p in enumerate(positional)]
    by_name = [parameter(p, optional=True) for p in given if p["keyword_only"]]
    if function["out"] and not method:
        out = "Tensor" if function["returns"] == "Tensor" else "tuple[Tensor, ...]"
        by_name.append(f"out: {out} | None = None")
    return (["self", *parts[1:]] if method else parts) + (["*", *by_name] if by_name else [])


def rest(function: dict, plain: list[str], *, method: bool) -> list[str] | None:
    """The parameters with a list spelled out as arguments of their own, if the function takes it so: `f(2, 3)` for `f((2, 3))`."""
    positional = [p for p in function["parameters"] if not p["keyword_only"]]
    last = len(positional) - 1
    element = {"int | Sequence[int]": "_int", "Sequence[Tensor]": "Tensor"}.get(positional[last]["type"].removesuffix(" | None")) if positional else None
    if last < int(method) or element is None:
        return None
    by_name = [p for p in plain[last + 1 :] if p != "*"]
    return [*(p.split(" = ")[0] for p in plain[:last]), f"*{positional[last]['name']}: {element}", *by_name]


def definitions(name: str, overloads: list[dict], *, method: bool = False, in_place: bool = False) -> list[str]:
    """The lines that define one name: a function, or its overloads."""
    signatures: list[str] = []
    for function in overloads:
        plain = parameters(function, method=method)
        for parts in filter(None, [plain, rest(function, plain, method=method)]):
            line = f"def {name}({', '.join(parts)}) -> {'Self' if in_place else returned(function)}: ..."
            if line not in signatures:
                signatures.append(line)
    if len(signatures) == 1:
        return signatures
    return [line for signature in signatures for line in ("@overload", signature)]


def with_inplace(function: dict) -> dict:
    """The function as `nn.functional` has it, with `inplace` after its other positional parameters."""
    inplace = {"name": "inplace", "type": "bool", "default": "False", "keyword_only": False}
    given = function["parameters"]
    positional = [p for p in given if not p["keyword_only"]]
    return {**function, "parameters": [*positional, inplace, *given[len(positional) :]]}


def grouped(functions: list[dict], face: str) -> dict[str, list[dict]]:
    """The functions of one face by Python name."""
    groups: dict[str, list[dict]] = {}
    for function in functions:
        if face in function["faces"]:
            if face == "nn" and "inplace" in function["faces"]:
                function = with_inplace(function)
            groups.setdefault(function["python_name"], []).append(function)
    return groups


def named_tuples(functions: list[dict]) -> list[str]:
    lines: list[str] = []
    for function in functions:
        if function["results"] and (head := f"class {named_tuple(function)}(NamedTuple):") not in lines:
            lines += [head, *(f"    {field}: Tensor" for field in function["results"]), ""]
    return lines


class Handwritten:
    """The hand-written annotations, by class and name."""

    def __init__(self) -> None:
        text = HANDWRITTEN.read_text()
        self.lines = text.splitlines()
        tree = ast.parse(text)
        self.functions = self.by_name([n for n in tree.body if isinstance(n, ast.FunctionDef)])
        self.classes = {n.name: self.by_name(n.body) for n in tree.body if isinstance(n, ast.ClassDef)}

    def by_name(self, nodes: list[ast.stmt]) -> dict[str, list[str]]:
        entries: dict[str, list[str]] = {}
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                lines = [line.removeprefix(" " * node.col_offset) for line in self.lines[first - 1 : node.end_lineno]]
                entries.setdefault(node.name, []).extend(lines)
        return entries


def unknown(name: str, value: object) -> list[str]:
    """What can be said of a member without annotations: whether it is a property, and its parameters' names."""
    if isinstance(value, (types.GetSetDescriptorType, property)):
        return ["@property", f"def {name}(self) -> Any: ..."]
    if not callable(value) and not hasattr(value, "__get__"):
        # The class of capsules has a name only from Python 3.13 on.
        kind = type(value).__name__
        return [f"{name}: {'Any' if kind == 'PyCapsule' else annotation(kind)}"]
    decorator = ["@staticmethod"] if isinstance(value, staticmethod) else []
    decorator = ["@classmethod"] if isinstance(value, (classmethod, types.ClassMethodDescriptorType)) else decorator
    try:
        signature = inspect.signature(getattr(value, "__func__", value))
    except (ValueError, TypeError):
        receiver = [] if decorator else ["self"]
        return [*decorator, f"def {name}({', '.join([*receiver, '*args: Any', '**options: Any'])}) -> Any: ..."]
    receivers = {"self", "cls", "type"}
    parameters = [p if p.name in receivers else p.replace(annotation=Any) for p in signature.parameters.values()]
    return [*decorator, f"def {name}{signature.replace(parameters=parameters, return_annotation=Any)}: ...".replace("Ellipsis", "...")]


# Py_TPFLAGS_BASETYPE
SUBCLASSABLE = 1 << 10
# What every class has, and what is the interpreter's own business.
IGNORED = {"__doc__", "__module__", "__dict__", "__weakref__", "__init_subclass__", "__new__", "__repr__", "__str__"}
ORDER = {"__lt__", "__le__", "__gt__", "__ge__"}
OPERATORS = re.compile(r"__(r|i)?(add|sub|mul|truediv|floordiv|mod|matmul|and|or|xor|lshift|rshift)__")


def operator(name: str) -> list[str]:
    result = "Self" if OPERATORS.fullmatch(name)[1] == "i" and name != "__invert__" else "Tensor"
    return [f"def {name}(self, value: Tensor | _Number, /) -> {result}: ..."]


def class_stub(cls: type, handwritten: dict[str, list[str]], functions: list[dict]) -> list[str]:
    bases = f"({', '.join(base.__name__ for base in cls.__bases__)})" if cls.__base__ is not object else ""
    methods, in_place = grouped(functions, "method"), grouped(functions, "in_place")
    body: list[str] = []
    for name in list(vars(cls)):
        getattr(cls, name, None)  # what is imported when it is first used is in its place then
    for name in sorted(name for name in vars(cls) if name not in IGNORED | ORDER or name in handwritten):
        if name in methods:
            body += definitions(name, methods[name], method=True)
        elif name.endswith("_") and name[:-1] in in_place:
            body += definitions(name, in_place[name[:-1]], method=True, in_place=True)
        elif name in handwritten:
            body += handwritten[name]
        elif OPERATORS.fullmatch(name):
            body += operator(name)
        else:
            body += unknown(name, vars(cls)[name])
    final = [] if cls.__flags__ & SUBCLASSABLE else ["@final"]
    return [*final, f"class {cls.__name__}{bases}:", *(f"    {line}" for line in body or ["..."]), ""]


def exported(module: types.ModuleType) -> list[str]:
    """`__all__`, if the module has one."""
    return [f"__all__ = {sorted(module.__all__)}", ""] if hasattr(module, "__all__") else []


def core_stub(core: types.ModuleType, functions: list[dict]) -> str:
    """The stub of the extension module."""
    handwritten = Handwritten()
    shown = {**grouped(functions, "hidden"), **grouped(functions, "torch")}
    for name, overloads in grouped(functions, "hidden").items():
        shown[name] = [f for f in functions if f["python_name"] == name and {"torch", "hidden"} & set(f["faces"])]
    classes, values, defined = [], [], []
    for name, value in sorted(vars(core).items()):
        if name in shown:
            defined += definitions(name, shown[name])
        elif isinstance(value, type) and issubclass(value, Exception):
            bases = [base.__name__ if base.__module__ == "opforge" else f"builtins.{base.__name__}" for base in value.__bases__]
            classes.append((len(value.__mro__), [f"class {name}({', '.join(bases)}): ...", ""]))
        elif isinstance(value, type):
            declared = functions if name == "Tensor" else []
            classes.append((99, class_stub(value, handwritten.classes.get(name, {}), declared)))
        elif isinstance(value, types.ModuleType):
            defined.append(f"from . import {name} as {name}")
        elif callable(value):
            defined += handwritten.functions.get(name) or unknown(name, value)
        elif isinstance(value, core.dtype):
            values.append(f"{name}: _dtype")
        elif not name.startswith("__") or name == "__version__":
            values.append(f"{name}: {annotation(type(value).__name__)}")
    lines = [
        "import builtins", ALIASES.strip(), "", "from .._tensors.size import Size", "",
        "_Number: TypeAlias = _bool | _int | _float | _complex", "_dtype: TypeAlias = dtype",
        "_DTypeLike: TypeAlias = dtype | type[Any] | str", "_device: TypeAlias = device", '_T = TypeVar("_T")', "",
        *exported(core),
        *named_tuples(functions),
        *(line for _, stub in sorted(classes, key=lambda c: c[0]) for line in stub),
        *values, "", *defined,
    ]  # fmt: skip
    return HEAD + "\n".join(lines) + "\n"


def submodule_stub(module: types.ModuleType, functions: list[dict], face: str) -> str:
    """The stub of a submodule of the extension module: `nn`, `linalg`, `special`."""
    defined = [line for name, group in sorted(grouped(functions, face).items()) for line in definitions(name, group)]
    body = "\n".join(defined)
    used = sorted(set(re.findall(r"\b(?:_Number|_DTypeLike|_dtype|_device|_\w+Result|Tensor|Generator)\b", body)))
    imports = f"from . import {', '.join(used)}\n" if used else ""
    return "\n".join([HEAD + ALIASES.strip(), "", imports, *exported(module), body]) + "\n"
