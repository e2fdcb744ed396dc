"""Prints the names of parameters of PyTorch's functions, a line a form, for `tests/python/pytorch_arguments.txt`. The interpreter has PyTorch:

    bench/.venv/bin/python tools/pytorch_arguments.py > tests/python/pytorch_arguments.txt

Those of functions that PyTorch writes in Python are what `inspect` says; those of the others what its registry of operators does, where the first of a
function is `self` and called `input` by users. Functions are those that `pytorch_names.toml` lists.
"""

from __future__ import annotations

import collections
import inspect
import pathlib
import tomllib

import torch

# Places, where they are, and what the registry's names begin with.
PLACES = {
    "": (torch, ""),
    "linalg.": (torch.linalg, "linalg_"),
    "fft.": (torch.fft, "fft_"),
    "special.": (torch.special, "special_"),
    "nn.functional.": (torch.nn.functional, ""),
    "Tensor.": (torch.Tensor, ""),
}
# What every function that makes a tensor takes.
LAYING = {"layout", "pin_memory", "memory_format"}


def of_python(function) -> list[list[str]]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters):
        return []
    return [[p.name for p in parameters if p.name not in ("self", "out") and not p.name.startswith("_")]]


def of_registry(schemas, is_method: bool) -> list[list[str]]:
    forms = []
    for schema in schemas:
        arguments = [a for a in schema.arguments if not a.is_out]
        names = [a.name for a in arguments if a.name not in LAYING]
        # Forms of numbers alone are TorchScript's, and dimensions have no names here.
        of_tensors = any("Tensor" in str(a.type) for a in arguments) or {"dtype", "device"} & set(names)
        if not of_tensors or "Dimname" in str(schema) or "names" in names or is_method and "self" not in names:
            continue
        forms.append([name for name in names if name != "self"] if is_method else ["input" if name == "self" else name for name in names])
    return forms


def main() -> None:
    lists = tomllib.loads((pathlib.Path(__file__).parent / "pytorch_names.toml").read_text())["list"]
    documented = {name for each in lists for name in each["names"].split()}
    schemas = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        schemas[schema.name.removeprefix("aten::")].append(schema)
    for place, (module, prefix) in PLACES.items():
        for name in sorted(documented & set(dir(module))):
            function = getattr(module, name)
            if inspect.isclass(function) or not callable(function):
                continue
            forms = of_python(function) or of_registry(schemas[prefix + name], place == "Tensor.")
            for form in dict.fromkeys(map(tuple, forms)):
                print(f"{place}{name}({', '.join(form)})")


main()
