"""Model folders for the tests of the examples, with weights that are far enough from 0 to show what is wrong."""

import json
import pathlib
import sys

import numpy
import pytest

import opforge as torch

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))

from common.command import run  # noqa: E402
from small.__main__ import main as small  # noqa: E402


def write(folder, kind, **config):
    """A folder as `small` writes it, with livelier weights and changes of its configuration. Gives its path."""
    small([kind, str(folder)])
    change_json(folder / "config.json", **config)
    random = numpy.random.default_rng(0)
    change_weights(folder, lambda name, x: x + random.normal(0, 0.15 if x.ndim > 1 else 0.3, x.shape).astype(numpy.float32))
    return folder


def weights(folder):
    """The weights of a folder in f64, by name."""
    return {name: tensor.double().numpy() for name, tensor in torch.load(folder / "model.safetensors").items()}


def change_weights(folder, change, rename=lambda name: name):
    """Rewrites the weights: `change(name, array)` gives a new array, or None to leave it out."""
    path = folder / "model.safetensors"
    changed = {rename(name): change(name, tensor.numpy()) for name, tensor in torch.load(path).items()}
    torch.save({name: torch.from_numpy(array.copy()) for name, array in changed.items() if array is not None}, path)


def change_json(path, **entries):
    """Changes entries of a JSON file; `...` removes one."""
    values = json.loads(path.read_text()) if path.exists() else {}
    values |= entries
    path.write_text(json.dumps({name: value for name, value in values.items() if value is not ...}))


def failing(capsys, program, main, *arguments):
    """What a program says on stderr that ends with status 2: one line, no traceback."""
    with pytest.raises(SystemExit) as ended:
        run(program, lambda: main([str(argument) for argument in arguments]))
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"{program}: ") and said.count("\n") == 1
    return said
