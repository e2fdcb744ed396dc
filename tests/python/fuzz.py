"""Calls every declared function with wild arguments: `python fuzz.py SEED ROUNDS`. What it calls is printed before, so that the last line of a
crash names it; at the end it prints how many calls went through."""

import math
import random
import sys
import warnings

import opforge as torch
from cases import CATALOGUE, PLACES

INTS = [-(2**63), -(2**31), -7, -2, -1, 0, 0, 1, 1, 2, 3, 4, 2**31, 2**40, 2**62, 2**63 - 1]
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.5, 1e-300, 1e300, math.inf, -math.inf, math.nan]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 2), (2, 0, 3), (2, 3, 3), (1, 2, 3, 3), (1, 1, 2, 2, 2)]
DTYPES = [torch.float32] * 4 + [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int64, torch.int8, torch.uint8, torch.bool, torch.complex64]
TEXTS = ["", "mean", "sum", "none", "constant", "reflect", "ij,jk->ik", "ii", "...", "linear", "fro", "ij", "\0", "é" * 50]
WRONG = [None, object(), "text", [], [None], {}, 1 + 2j, 2**80, -(2**80), [[1]], (1, "a"), range(3), print, type, b"bytes", float("nan")]


def tensor(pick):
    shape, dtype = pick.choice(SHAPES), pick.choice(DTYPES)
    count = math.prod(shape)
    if dtype in (torch.int64, torch.int8):
        values = [pick.choice([-(2**7), -1, 0, 0, 1, 1, 2, 5, 127]) for _ in range(count)]
    elif dtype in (torch.uint8, torch.bool):
        values = [pick.choice([0, 1]) for _ in range(count)]
    else:
        values = [pick.choice(FLOATS[:5] + FLOATS[7:]) for _ in range(count)]
    t = torch.tensor(values, dtype=torch.float32 if dtype is torch.complex64 else dtype).to(dtype).reshape(shape)
    if t.ndim > 1 and pick.random() < 0.2:
        t = t.transpose(0, -1)
    if t.is_floating_point() and pick.random() < 0.2:
        t.requires_grad_()
    return t.to("meta") if pick.random() < 0.03 else t


def argument(pick, annotation):
    if pick.random() < 0.06:
        return pick.choice(WRONG)
    kind = annotation.removesuffix(" | None")
    if kind != annotation and pick.random() < 0.3:
        return None
    if kind == "Tensor | Number":
        kind = pick.choice(["Tensor", "Number"])
    if kind.startswith("Sequence[Tensor"):
        return [tensor(pick) for _ in range(pick.randrange(4))]
    if kind == "int | Sequence[int]":
        return pick.choice(INTS) if pick.random() < 0.3 else [pick.choice(INTS) for _ in range(pick.randrange(5))]
    if kind == "Sequence[float]":
        return [pick.choice(FLOATS) for _ in range(pick.randrange(4))]
    return {
        "Tensor": lambda: tensor(pick),
        "Number": lambda: pick.choice([*FLOATS, *INTS, True, 1j]),
        "int": lambda: pick.choice(INTS),
        "float": lambda: pick.choice([*FLOATS, 2]),
        "bool": lambda: pick.random() < 0.5,
        "dtype": lambda: pick.choice(DTYPES),
        "device | str": lambda: pick.choice(["cpu", "meta", "cuda", torch.device("cpu")]),
        "Generator": lambda: torch.Generator(),
        "str": lambda: pick.choice(TEXTS),
    }[kind]()


def forms(function):
    places = [PLACES[face] for face in function["faces"] if face in PLACES]
    found = [getattr(place, function["python_name"]) for place in places]
    return found + ([getattr(torch.Tensor, function["python_name"] + "_")] if function["in_place"] else [])


def look(result):
    """Reads a result, so that late errors come, and goes back through it."""
    for part in result if isinstance(result, tuple) else [result]:
        if isinstance(part, torch.Tensor) and part.numel() < 10**6:
            repr(part)
            if part.requires_grad and part.is_floating_point():
                part.sum().backward()


def main(seed, rounds):
    warnings.simplefilter("ignore")
    torch._core.set_memory_limit(2**28)
    pick, fine, complaints = random.Random(seed), 0, []
    for turn in range(rounds):
        for name, function in CATALOGUE.items():
            call = pick.choice(forms(function))
            args = [argument(pick, p["type"]) for p in function["parameters"] if not p["keyword_only"]]
            options = {p["name"]: argument(pick, p["type"]) for p in function["parameters"] if p["keyword_only"] and pick.random() < 0.5}
            args = args[: len(args) - (pick.random() < 0.05)]
            told = [f"{list(a.shape)}:{a.dtype}" if isinstance(a, torch.Tensor) else repr(a)[:60] for a in args]
            print(turn, name, told, {k: repr(v)[:40] for k, v in options.items()}, flush=True)
            try:
                look(call(*args, **options))
                fine += 1
            except Exception as error:  # noqa: BLE001 (every kind is looked at)
                text = str(error)
                if len(text) < 10 or "has a bug" in text or "Scalar(" in text or "panicked" in text or type(error).__name__ in ("SystemError", "KernelError"):
                    complaints.append(f"{name}{told}{options}: {type(error).__name__}: {text}")
    print("fine", fine)
    for complaint in complaints[:50]:
        print("COMPLAINT", complaint[:600])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
