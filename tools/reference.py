"""The function reference, in Markdown, from the catalogue."""

from __future__ import annotations

INTRODUCTION = """\
# Functions

<!-- Written by `make generate` from the declared functions; do not edit. -->

Every function that opforge declares, by family. Each stands with its signatures, where it is found, the dtypes that its kernels take (for
compositions: those of their parts), and what it does. Functions that return tensors also take `out=`; `axis`, `keepdims`, `x` and `x2` are
other names for `dim`, `keepdim`, `input` and `other`; sizes may be given as a list or one by one. Shapes broadcast and dtypes are promoted
as PyTorch does it. Results have memory of their own, except where "may share memory" stands: those may be views of arguments.
"""

FLOATS = {"float16", "bfloat16", "float32", "float64"}
INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
SIGNED = {f"int{bits}" for bits in (8, 16, 32, 64)}
COMPLEX = {"complex64", "complex128"}
FLOAT8 = {"float8_e4m3fn", "float8_e5m2"}
SETS = [("float8", FLOAT8), ("floats", FLOATS), ("integers", INTEGERS), ("signed integers", SIGNED), ("complex", COMPLEX)]
PLACES = {
    "torch": "`opforge.{}`", "method": "`Tensor.{}`", "in_place": "`Tensor.{}_`", "nn": "`nn.functional.{}`",
    "fft": "`fft.{}`", "linalg": "`linalg.{}`", "special": "`special.{}`",
}  # fmt: skip


def dtypes(names: list[str]) -> str:
    """A set of dtypes in few words."""
    left, words = set(names), []
    for word, members in SETS:
        if members <= left:
            words.append(word)
            left -= members
    return ", ".join([*words, *(name for name in names if name in left)])


def signature(function: dict) -> str:
    parts, by_name = [], False
    for param in function["parameters"]:
        if param["keyword_only"] and not by_name:
            parts.append("*")
            by_name = True
        default = f" = {param['default']}" if param["default"] is not None else ""
        parts.append(f"{param['name']}: {param['type']}{default}")
    results = f"({', '.join(function['results'])})" if function["results"] else function["returns"]
    return f"{function['python_name']}({', '.join(parts)}) -> {results}"


def facts(functions: list[dict]) -> str:
    """Where a function is found, and what its kernels take."""
    first = functions[0]
    faces = {face for function in functions for face in function["faces"]}
    parts = [", ".join(place.format(first["python_name"]) for face, place in PLACES.items() if face in faces)]
    if first["operator"]:
        parts.append(dtypes(first["dtypes"]))
        parts.append("gradient" if first["differentiable"] else "no gradient")
    if any(function["view"] for function in functions):
        parts.append("may share memory")
    return " · ".join(filter(None, parts))


def section(functions: list[dict]) -> str:
    """A Python name: its signatures, facts, and texts."""
    texts = list(dict.fromkeys(function["doc"] for function in functions if function["doc"]))
    signatures = list(dict.fromkeys(map(signature, functions)))
    return "\n\n".join([
        f"### {functions[0]['python_name']}",
        "```python\n" + "\n".join(signatures) + "\n```",
        facts(functions),
        *texts,
    ])  # fmt: skip


def reference(catalogue: list[dict]) -> str:
    families: dict[str, dict[str, list[dict]]] = {}
    for function in catalogue:
        if function["faces"] != ["hidden"]:
            family = families.setdefault(function["family"], {})
            family.setdefault(function["python_name"], []).append(function)
    index = " · ".join(f"[{family}](#{family})" for family in sorted(families))
    parts = [INTRODUCTION + "\n" + index]
    for family, names in sorted(families.items()):
        parts.append(f"## {family}")
        parts += [section(functions) for _, functions in sorted(names.items())]
    return "\n\n".join(parts) + "\n"
