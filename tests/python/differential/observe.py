"""A process that runs programs on one library and tells what they gave: `python observe.py torch|opforge LIMIT`, a line of JSON for each line.

It imports the library by that name alone, so that it runs under an interpreter that has PyTorch and nothing of opforge.
"""

from __future__ import annotations

import base64
import copy
import importlib
import json
import math
import operator
import os
import pickle
import resource
import sys
import warnings
from typing import Any

import numpy as np

# As many elements of a tensor are compared.
MANY = 300_000
# Dtypes of numpy that hold a kind of tensors without loss.
WIDE = {"b": "?", "i": "<i8", "u": "<u8", "f": "<f8", "c": "<c16"}


class Observer:
    """What programs give on a library."""

    def __init__(self, torch: Any):
        self.torch = torch
        importlib.import_module(f"{torch.__name__}.nn.functional")

    def run(self, program: dict[str, Any]) -> dict[str, Any]:
        """The kind of a program's end (`fine`, `refused`, `unbuilt`), with its results, arguments and gradients, or its error."""
        space = {"torch": self.torch, "operator": operator, "copy": copy, "pickle": pickle, "inf": math.inf, "nan": math.nan}
        try:
            for name, source in program["setup"]:
                space[name] = eval(source, space)
        except Exception as error:  # noqa: BLE001 (whatever it is, there is nothing to call)
            return self._error("unbuilt", error)
        given = [space[name] for name, _ in program["setup"] if isinstance(space[name], self.torch.Tensor)]
        self.torch.manual_seed(0)
        try:
            results = list(self._leaves(eval(program["call"], space)))
            found = {"results": [self._leaf(r) for r in results], "arguments": [self._leaf(g) for g in given]}
        except BaseException as error:  # noqa: BLE001 (a panic is none of Exception)
            return self._error("refused", error)
        return {"kind": "fine", **found, **self._derivatives(results, given)}

    def _error(self, kind: str, error: BaseException) -> dict[str, Any]:
        return {"kind": kind, "classes": [c.__name__ for c in type(error).__mro__], "error": f"{type(error).__name__}: {error}"[:1500]}

    def _leaves(self, value: Any):
        if isinstance(value, (tuple, list)) and not isinstance(value, self.torch.Size):
            for part in value:
                yield from self._leaves(part)
        else:
            yield value

    def _leaf(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, self.torch.Tensor):
            return {"plain": self._plain(value)}
        tensor = value.detach()
        looks = {"dtype": str(tensor.dtype).split(".")[-1], "shape": list(tensor.shape), "grad": value.requires_grad}
        return looks | {"data": base64.b64encode(self._array(tensor).tobytes()).decode()}

    def _plain(self, value: Any) -> str:
        if isinstance(value, float):
            return f"float {value:.6g}"
        if isinstance(value, self.torch.Size):
            return f"shape {tuple(value)}"
        if isinstance(value, self.torch.dtype):
            return str(value).rpartition(".")[2]
        return f"{type(value).__name__} {value!r}" if isinstance(value, (int, str, complex)) else type(value).__name__

    def _array(self, tensor: Any) -> np.ndarray:
        """The first elements, in a dtype that numpy has."""
        flat = tensor.resolve_conj().resolve_neg().reshape(-1)[:MANY]
        name = str(flat.dtype).split(".")[-1]
        if name == "bfloat16" or name.startswith("float8"):
            flat = flat.to(self.torch.float32)
        array = flat.numpy()
        return array.astype(WIDE[array.dtype.kind])

    def _derivatives(self, results: list[Any], given: list[Any]) -> dict[str, Any]:
        """Gradients of a weighted sum of the results by the leaves, and of such a sum of these for float64."""
        leaves = [g for g in given if g.requires_grad and g.is_leaf]
        outputs = [r for r in results if isinstance(r, self.torch.Tensor) and r.requires_grad and r.numel()]
        if not leaves or not outputs:
            return {}
        try:
            twice = any(leaf.dtype is self.torch.float64 for leaf in leaves)
            first = self.torch.autograd.grad(self._weighed(outputs), leaves, create_graph=twice, allow_unused=True)
            found = {"gradients": [self._gradient(g) for g in first]}
        except Exception as error:  # noqa: BLE001 (told, and compared)
            return {"gradient_error": f"{type(error).__name__}: {error}"[:500]}
        again = [g for g in first if g is not None and g.requires_grad]
        if twice and again:
            try:
                second = self.torch.autograd.grad(self._weighed(again), leaves, allow_unused=True)
                found["second"] = [self._gradient(g) for g in second]
            except Exception as error:  # noqa: BLE001 (told, and compared)
                found["second_error"] = f"{type(error).__name__}: {error}"[:500]
        return found

    def _gradient(self, gradient: Any) -> dict[str, Any] | None:
        return None if gradient is None else self._leaf(gradient)

    def _weighed(self, outputs: list[Any]) -> Any:
        total = 0
        for output in outputs:
            weights = self.torch.from_numpy(np.cos(np.arange(output.numel()) + 1.0)).reshape(output.shape)
            output = output.real + 0.5 * output.imag if output.is_complex() else output
            total = total + (output.to(self.torch.float64) * weights).sum()
        return total


def main(library: str, limit: int) -> None:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if library == "opforge":
        importlib.import_module("opforge.as_torch")
    torch = importlib.import_module("torch")
    torch.set_num_threads(2)
    observer = Observer(torch)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    for line in sys.stdin:
        with open(answers, "w", closefd=False) as out:
            out.write(json.dumps(["fine", observer.run(json.loads(line))]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
