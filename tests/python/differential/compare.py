"""What differs between two observations of a call, by kind: the worst first."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

# How far numbers may be apart, as a part of the number or of the largest beside it.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5, "float64": 1e-9, "complex128": 1e-9}
WIDE = {"bool": "?", "uint": "<u8", "int": "<i8", "float": "<f8", "bfloat": "<f8", "complex": "<c16"}
# What is told only if it is asked for: what PyTorch refuses, for its arguments or for want of a kernel, other classes of errors, and signs of zeros.
MINOR = ("accepts", "class", "wider", "zero")
# What comes of a difference, from worst to least.
KINDS = ("died", "hang", "panic", "value", "shape", "dtype", "results", "argument", "gradient", "second gradient", "refuses", *MINOR)
# What PyTorch says where it has no kernel for a dtype, or no such form of arguments.
NO_KERNEL = re.compile(r"^TypeError|not implemented for|unsupported dtype|not supported (for|on)|Unsupported dtype|does not support|only supports|not currently supported", re.I)


@dataclass(frozen=True)
class Difference:
    kind: str
    # What differences of one cause have in common.
    cause: str
    detail: str = ""


def general(text: str) -> str:
    """A message without what is of one call only."""
    text = re.sub(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text.split("\n")[0])
    return re.sub(r"\[[N, ]*\]|\([N, ]*\)", "[]", text)[:140]


def difference(theirs: dict[str, Any], ours: dict[str, Any], values: bool = True) -> Difference | None:
    """The worst difference. Without `values`, numbers are not compared."""
    if theirs["kind"] == "unbuilt" or ours["kind"] == "unbuilt" or theirs["kind"] in ("died", "hang"):
        return None
    if ours["kind"] in ("died", "hang"):
        return Difference(ours["kind"], general(ours["error"]), ours["error"])
    if ours["kind"] == "refused":
        return _refused(theirs, ours)
    if theirs["kind"] == "refused":
        kind = "wider" if NO_KERNEL.search(theirs["error"]) else "accepts"
        return Difference(kind, general(theirs["error"]), theirs["error"])
    room = Room.of(theirs["arguments"] + theirs["results"]) if values else None
    found = [*_results(theirs["results"], ours["results"], room)]
    if not found and room:
        found = [Difference("argument", f.kind + " " + f.cause, f.detail) for f in _results(theirs["arguments"], ours["arguments"], room) if f.kind != "zero"]
    if not found and room:
        found = [*_gradients(theirs, ours, "gradient", room), *_gradients(theirs, ours, "second", room)]
    return min(found, key=lambda d: KINDS.index(d.kind)) if found else None


def _refused(theirs: dict[str, Any], ours: dict[str, Any]) -> Difference | None:
    if "PanicException" in ours["error"]:
        return Difference("panic", general(ours["error"]), ours["error"])
    if "emory" in ours["error"]:
        return None
    if theirs["kind"] == "fine":
        return Difference("refuses", general(ours["error"]), ours["error"])
    wanted = theirs["classes"][0]
    if wanted in ours["classes"] or wanted in ("RuntimeError", "NotImplementedError"):
        return None
    return Difference("class", f"{theirs['error'].split(':')[0]}, here {ours['error'].split(':')[0]}", f"there {theirs['error']}, here {ours['error']}")


@dataclass(frozen=True)
class Room:
    """How far numbers of a call may be apart: as a part of them, and at least."""

    part: float
    least: float

    @staticmethod
    def of(leaves: list[Any]) -> Room:
        """Of the coarsest dtype that takes part; at least what rounding an element that is of the size of an argument's may be."""
        tensors = [leaf for leaf in leaves if "dtype" in leaf]
        part = max((TOLERANCE.get(leaf["dtype"], 0.0) for leaf in tensors), default=0.0)
        sizes = [abs(array[np.isfinite(array)]).max(initial=0.0) for array in map(_array, tensors) if array.dtype.kind in "fc"]
        return Room(part, 0.01 * part * min(1.0, max(sizes, default=0.0)))


def _results(theirs: list[Any], ours: list[Any], room: Room | None):
    if len(theirs) != len(ours):
        yield Difference("results", f"{len(theirs)}, here {len(ours)}")
        return
    for a, b in zip(theirs, ours, strict=True):
        yield from _leaf(a, b, room)


def _leaf(a: dict[str, Any], b: dict[str, Any], room: Room | None):
    if "plain" in a or "plain" in b:
        if a.get("plain", "Tensor") != b.get("plain", "Tensor") and room:
            yield Difference("value", "plain", f"{a.get('plain', 'Tensor')}, here {b.get('plain', 'Tensor')}")
    elif a["shape"] != b["shape"]:
        yield Difference("shape", f"rank {len(a['shape'])}, here {len(b['shape'])}", f"{a['shape']}, here {b['shape']}")
    elif a["dtype"] != b["dtype"]:
        yield Difference("dtype", f"{a['dtype']}, here {b['dtype']}")
    elif a["grad"] != b["grad"]:
        yield Difference("gradient", f"requires_grad {a['grad']}, here {b['grad']}")
    elif room and (found := apart(_array(a), _array(b), room)):
        kind, text = found
        yield Difference("zero" if kind == "sign of zero" else "value", f"{kind} of {a['dtype'].rstrip('0123456789')}", text)


def _array(leaf: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(leaf["data"]), WIDE[re.sub(r"\d.*", "", leaf["dtype"])])


def _gradients(theirs: dict[str, Any], ours: dict[str, Any], order: str, room: Room):
    names, kind = (("gradients", "gradient_error"), "gradient") if order == "gradient" else (("second", "second_error"), "second gradient")
    if names[1] in ours and names[0] in theirs:
        yield Difference(kind, general(ours[names[1]]), ours[names[1]])
    if names[0] in theirs and not any(name in ours for name in names) and any(np.any(_array(x)) for x in theirs[names[0]] if x is not None):
        yield Difference(kind, "there is none")
    if names[0] not in theirs or names[0] not in ours:
        return
    if len(theirs[names[0]]) != len(ours[names[0]]):
        yield Difference(kind, "of other tensors", f"{len(theirs[names[0]])}, here {len(ours[names[0]])}")
        return
    for a, b in zip(theirs[names[0]], ours[names[0]], strict=True):
        # What no path reaches is None or zeros.
        zero = [not np.any(_array(x)) for x in (a, b) if x is not None]
        if a is None or b is None:
            if not all(zero):
                yield Difference(kind, "one is None", f"{a and 'a tensor'}, here {b and 'a tensor'}")
        else:
            for d in _leaf({**a, "grad": 0}, {**b, "grad": 0}, room):
                if d.kind != "zero":
                    yield Difference(kind, f"{d.kind} {d.cause}", d.detail)


def apart(a: np.ndarray, b: np.ndarray, room: Room) -> tuple[str, str] | None:
    """How two arrays of one dtype differ: in a word, and with the first elements that do."""
    if a.dtype.kind not in "fc":
        return _first("integers", a, b, a != b)
    finite = np.isfinite(a) & np.isfinite(b)
    if a.dtype.kind == "c":
        if bad := _first("finiteness", a, b, np.isfinite(a) != np.isfinite(b)):
            return bad
    else:
        if bad := _first("NaN", a, b, np.isnan(a) != np.isnan(b)):
            return bad
        if bad := _first("infinity", a, b, ~finite & ~np.isnan(a) & (a != b)):
            return bad
    if not finite.any():
        return None
    x, y = np.where(finite, a, 0), np.where(finite, b, 0)
    allowed = room.part * np.maximum(np.abs(x), 0.1 * np.abs(x).max()) + room.least + 1e-300
    if bad := _first("numbers", a, b, finite & ~(np.abs(x - y) <= allowed)):
        return bad
    return None if a.dtype.kind == "c" else _first("sign of zero", a, b, finite & (a == 0) & (b == 0) & (np.signbit(x) != np.signbit(y)))


def _first(word: str, a: np.ndarray, b: np.ndarray, wrong: np.ndarray) -> tuple[str, str] | None:
    if not wrong.any():
        return None
    i = int(np.argmax(wrong))
    return word, f"{a[i]!s}, here {b[i]!s} (element {i} of {a.size}, {int(wrong.sum())} differ)"
